/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the configuration file: lines that are a [section], a comment, or `key = value`. */
#include "config/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES 1024 /* the longest value has 255 */
#define BLANKS     " \t\r\v\f"
#define BOM        "\xEF\xBB\xBF" /* editors of Windows begin a file with it */

struct reading {
    struct xs_options *options;
    xs_option_check *check;
    FILE *file;
    uint64_t seen; /* bit i: the file has option i */
    int number;    /* of the line */
    size_t bytes;  /* at most LINE_BYTES + 1, which means that the line is longer */
    char line[LINE_BYTES + 2];
    char section[LINE_BYTES];
};

static bool is_comment(const char *line)
{
    line += strspn(line, BLANKS);
    return *line == ';' || *line == '#';
}

/* Reads one line without its end, of a long one the beginning. Skips the rest of a long comment.
 * @return false: there is no more line */
static bool next_line(struct reading *rd)
{
    int c = getc(rd->file);

    if (c == EOF)
        return false;
    rd->number++;
    rd->bytes = 0;
    memset(rd->line, 0, sizeof(rd->line));
    for (; c != EOF && c != '\n' && (rd->bytes <= LINE_BYTES || is_comment(rd->line)); c = getc(rd->file))
        if (rd->bytes <= LINE_BYTES)
            rd->line[rd->bytes++] = (char)c;
    return true;
}

static char *trim(char *text)
{
    size_t n;

    text += strspn(text, BLANKS);
    for (n = strlen(text); n && strchr(BLANKS, text[n - 1]); n--)
        ;
    text[n] = 0;
    return text;
}

static int refuse(char *ret_why, size_t size, const char *why)
{
    snprintf(ret_why, size, "%s", why);
    return -EINVAL;
}

/* @return the option, or -EINVAL with the reason */
static int find_key(const char *section, const char *name, char *ret_why, size_t size)
{
    bool section_known = false;

    for (unsigned i = 0; i < XS_OPT_COUNT; i++) {
        const struct xs_option_row *r = &xs_option_rows[i];

        if (strcmp(r->section, section) != 0)
            continue;
        section_known = true;
        if (strcmp(r->name, name) == 0)
            return (int)i;
    }
    if (section_known)
        snprintf(ret_why, size, "there is no key '%.40s' in [%.40s]", name, section);
    else if (!section[0])
        snprintf(ret_why, size, "'%.40s' stands before any [section]", name);
    else
        snprintf(ret_why, size, "there is no section [%.40s]", section);
    return -EINVAL;
}

static int take_key(struct reading *rd, const char *name, const char *value, char *ret_why, size_t size)
{
    struct xs_options scratch;
    int id;

    if (xs_options_note_withdrawn(rd->options, name))
        return 0;
    id = find_key(rd->section, name, ret_why, size);
    if (id < 0)
        return id;
    if (rd->seen & 1ull << id) {
        snprintf(ret_why, size, "%s stands there twice", name);
        return -EINVAL;
    }
    rd->seen |= 1ull << id;
    /* a value that the command line overrides must be right too */
    scratch = *rd->options;
    if (xs_options_set(&scratch, (enum xs_option_id)id, value, ret_why, size) < 0)
        return -EINVAL;
    if (rd->options->given & 1ull << id)
        return 0;
    if (rd->check && rd->check((enum xs_option_id)id, value, ret_why, size) < 0)
        return -EINVAL;
    if (xs_option_rows[id].tier == XS_TIER_TUNE)
        scratch.old_way |= 1ull << id;
    *rd->options = scratch;
    return 0;
}

/* @param text  without blanks at its ends */
static int take_text(struct reading *rd, char *text, char *ret_why, size_t size)
{
    static const char k_other[] = "this is no [section], 'key = value' or comment";
    size_t n = strlen(text);

    if (text[0] == '[') {
        if (strcspn(text, "]") != n - 1)
            return refuse(ret_why, size, k_other);
        text[n - 1] = 0;
        snprintf(rd->section, sizeof(rd->section), "%s", text + 1);
        return 0;
    }
    n = strcspn(text, "=:");
    if (!text[n])
        return refuse(ret_why, size, k_other);
    text[n] = 0;
    return take_key(rd, trim(text), trim(text + n + 1), ret_why, size);
}

static int take_line(struct reading *rd, char *ret_why, size_t size)
{
    char *line = rd->line;

    if (rd->number == 1 && !strncmp(line, BOM, strlen(BOM)))
        line += strlen(BOM);
    if (is_comment(line))
        return 0;
    if (rd->bytes > LINE_BYTES) {
        snprintf(ret_why, size, "this line is longer than %d bytes", LINE_BYTES);
        return -EINVAL;
    }
    if (strlen(rd->line) != rd->bytes)
        return refuse(ret_why, size, "there is a NUL byte in this line");
    line = trim(line);
    return line[0] ? take_text(rd, line, ret_why, size) : 0;
}

static int take_lines(struct reading *rd, const char *path, char *ret_error, size_t error_size)
{
    char why[400]; /* the loader's reason has the path of a policy twice */

    while (next_line(rd)) {
        if (take_line(rd, why, sizeof(why)) < 0) {
            snprintf(ret_error, error_size, "%s:%d: %s", path, rd->number, why);
            return -EINVAL;
        }
    }
    if (!ferror(rd->file))
        return 0;
    snprintf(ret_error, error_size, "%s: %s", path, errno ? strerror(errno) : "reading it failed");
    return -EINVAL;
}

int xs_options_read_file(struct xs_options *o, const char *path, xs_option_check *check, char *ret_error,
                         size_t error_size)
{
    struct reading rd = {.options = o, .check = check, .file = fopen(path, "re")};
    int r;

    if (!rd.file) {
        r = -errno;
        snprintf(ret_error, error_size, "%s: %s", path, strerror(errno));
        return r;
    }
    errno = 0;
    r = take_lines(&rd, path, ret_error, error_size);
    fclose(rd.file);
    return r;
}
