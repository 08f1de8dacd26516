/* SPDX-License-Identifier: Apache-2.0 */
#include "config/pod_limits.h"

#include "base/log.h"
#include "base/str.h"
#include "config/priority_limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define UID_BYTES 37 /* with the zero */

struct pod_limit {
    char pod[UID_BYTES];
    int32_t least, most;
};

/* The main thread's. */
static struct {
    char path[256];
    struct pod_limit *rows; /* by UID */
    size_t n;
    struct stat seen; /* of the file that was read last; st_ino 0: of none */
} g_limits;

void xs_pod_limits_set_file(const char *path)
{
    if (strcmp(path, g_limits.path) == 0)
        return;
    free(g_limits.rows);
    memset(&g_limits, 0, sizeof(g_limits));
    xs_str_copy(g_limits.path, sizeof(g_limits.path), path);
}

static int by_pod(const void *a, const void *b)
{
    return strcmp(((const struct pod_limit *)a)->pod, ((const struct pod_limit *)b)->pod);
}

/* "UID LEAST..MOST" */
static bool parse_row(char *line, struct pod_limit *ret)
{
    char *save = NULL, *pod = strtok_r(line, " \t\n", &save), *range = strtok_r(NULL, " \t\n", &save);

    if (!range || strtok_r(NULL, " \t\n", &save) || strlen(pod) != UID_BYTES - 1)
        return false;
    memcpy(ret->pod, pod, UID_BYTES);
    return xs_limits_parse_range(range, &ret->least, &ret->most) == 0;
}

/* @return 0 or -errno; -EBADMSG with the number of the line */
static int read_rows(FILE *f, struct pod_limit **ret_rows, size_t *ret_n, size_t *ret_line)
{
    struct pod_limit *rows = NULL, *more, row;
    size_t n = 0, size = 0, number = 0, room = 0;
    char *line = NULL;
    int r = 0;

    while (r == 0 && getline(&line, &size, f) >= 0) {
        number++;
        if (line[strspn(line, " \t\n")] == 0 || line[0] == '#')
            continue;
        if (n == room) {
            room = room ? 2 * room : 64;
            more = room > XS_POD_LIMITS_MAX ? NULL : realloc(rows, room * sizeof(*rows));
            if (!more) {
                r = -ENOMEM;
                break;
            }
            rows = more;
        }
        if (!parse_row(line, &row))
            r = -EBADMSG;
        else
            rows[n++] = row;
    }
    free(line);
    if (r == 0 && ferror(f))
        r = -EIO;
    *ret_line = number;
    if (r < 0) {
        free(rows);
        return r;
    }
    if (n)
        qsort(rows, n, sizeof(*rows), by_pod);
    *ret_rows = rows;
    *ret_n = n;
    return 0;
}

static void read_file(void)
{
    FILE *f = fopen(g_limits.path, "re");
    struct pod_limit *rows;
    size_t n, line;
    int r;

    if (!f) {
        XS_WARN("pod-limits-file %s: %s; the earlier limits stay", g_limits.path, strerror(errno));
        return;
    }
    r = read_rows(f, &rows, &n, &line);
    fclose(f);
    if (r == -EBADMSG) {
        XS_WARN("pod-limits-file %s:%zu: a line is UID LEAST..MOST; the earlier limits stay", g_limits.path, line);
    } else if (r < 0) {
        XS_WARN("pod-limits-file %s: %s; the earlier limits stay", g_limits.path, strerror(-r));
    } else {
        free(g_limits.rows);
        g_limits.rows = rows;
        g_limits.n = n;
    }
}

static void look(void)
{
    const struct stat *seen = &g_limits.seen;
    struct stat now;

    if (stat(g_limits.path, &now) < 0) {
        free(g_limits.rows); /* who removes it wants none */
        g_limits.rows = NULL;
        g_limits.n = 0;
        memset(&g_limits.seen, 0, sizeof(g_limits.seen));
        return;
    }
    if (now.st_ino != seen->st_ino || now.st_dev != seen->st_dev || now.st_size != seen->st_size ||
        now.st_mtim.tv_sec != seen->st_mtim.tv_sec || now.st_mtim.tv_nsec != seen->st_mtim.tv_nsec) {
        g_limits.seen = now;
        read_file();
    }
}

bool xs_pod_limits_are_wanted(void)
{
    return g_limits.path[0] != 0;
}

bool xs_pod_limits_get(const char *pod, int32_t *ret_least, int32_t *ret_most)
{
    struct pod_limit key = {.pod = ""};
    const struct pod_limit *row;

    if (!xs_pod_limits_are_wanted() || !pod[0])
        return false;
    look();
    xs_str_copy(key.pod, sizeof(key.pod), pod);
    row = g_limits.n ? bsearch(&key, g_limits.rows, g_limits.n, sizeof(key), by_pod) : NULL;
    if (!row)
        return false;
    *ret_least = row->least;
    *ret_most = row->most;
    return true;
}
