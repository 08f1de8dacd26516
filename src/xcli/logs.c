/* SPDX-License-Identifier: Apache-2.0 */
/* xcli logs: the server's log: its log file, else its lines in the journal. */
#include "xcli/xcli.h"

#include "query/find_xserver.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct log_wish {
    bool follow;
    int64_t lines;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct log_wish *w = state->input;

    switch (key) {
    case 'f':
        w->follow = true;
        return 0;
    case 'n':
        w->lines = xcli_number_arg(state, "--lines", arg, 0, 1000000);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The process of the server that answers xcli. @return 0: not known */
static pid_t server_pid(void)
{
    struct xs_places places;
    pid_t pid = 0;
    int i;

    if (g_xcli.socket)
        return xs_place_probe(g_xcli.socket, &pid, NULL) == 0 ? pid : 0;
    xs_places_get(&places);
    i = xs_places_first(&places);
    return i >= 0 && xs_place_probe(places.items[i].path, &pid, NULL) == 0 ? pid : 0;
}

static int become(char **argv)
{
    fflush(stdout);
    execvp(argv[0], argv);
    fprintf(stderr, "xcli: %s: %s\n", argv[0], strerror(errno));
    return XCLI_REFUSED;
}

static int tail(const char *path, const struct log_wish *w)
{
    char name[] = "tail", n[] = "-n", follow[] = "-F", end[] = "--", lines[24];
    char *argv[7] = {name, n, lines};
    int i = 3;

    snprintf(lines, sizeof(lines), "%" PRId64, w->lines);
    if (w->follow)
        argv[i++] = follow;
    argv[i++] = end;
    argv[i] = (char *)(uintptr_t)path;
    return become(argv);
}

/* What the server has as its stderr, as far as this user may see it: a file, a terminal, a pipe. The journal's is a socket.
 * @return whether the journal cannot have it; ret is "" where it is not known */
static bool stderr_of(pid_t pid, char *ret, size_t size)
{
    char link[64];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/%d/fd/2", (int)pid);
    n = readlink(link, ret, size - 1);
    ret[n > 0 ? n : 0] = 0;
    return ret[0] && strncmp(ret, "socket:", 7) != 0;
}

static int journal(pid_t pid, const struct log_wish *w)
{
    char name[] = "journalctl", n[] = "-n", follow[] = "-f", pager[] = "--no-pager", lines[24], match[32];
    char *argv[7] = {name, pager, n, lines};
    int i = 4;

    snprintf(lines, sizeof(lines), "%" PRId64, w->lines);
    snprintf(match, sizeof(match), "_PID=%d", (int)pid);
    if (w->follow)
        argv[i++] = follow;
    argv[i] = match;
    return become(argv);
}

/* The log of a server without a log file. */
static int log_of(pid_t pid, const struct log_wish *w)
{
    char to[PATH_MAX];
    struct stat st;

    if (!stderr_of(pid, to, sizeof(to)))
        return journal(pid, w);
    if (stat(to, &st) == 0 && S_ISREG(st.st_mode))
        return tail(to, w);
    fprintf(stderr,
            "xcli: this xserver keeps no log: its lines go to its stderr (%s). --log-file=PATH, or the key "
            "log-file, "
            "keeps them\n",
            to);
    return XCLI_REFUSED;
}

int xcli_logs(int argc, char **argv)
{
    static const struct argp_option k_options[] = {
        {"follow", 'f', NULL, 0, "and lines to come", 0},
        {"lines", 'n', "COUNT", 0, "the last so many; default 50", 0},
        {0},
    };
    static const struct argp k_argp = {.options = k_options,
                                       .parser = parse,
                                       .children = xcli_json_child,
                                       .doc = "Shows the server's log: its log file, else the journal's lines of it.\v"
                                              "With --json: where the log is."};
    struct log_wish w = {.lines = 50};
    char *path = NULL;
    json_t *answer;
    pid_t pid;
    int r;

    argp_parse(&k_argp, argc, argv, 0, NULL, &w);
    r = xcli_ask("GET", "/status", NULL, &answer);
    if (r)
        return r;
    path = strdup(xcli_text(answer, "log_file"));
    json_decref(answer);
    pid = server_pid();
    if (g_xcli.json) {
        answer = json_pack("{s:s?, s:i}", "log_file", path && path[0] ? path : NULL, "pid", (int)pid);
        xcli_print_json(answer);
        json_decref(answer);
    } else if (path && path[0]) {
        r = tail(path, &w);
    } else if (pid) {
        r = log_of(pid, &w);
    } else {
        fputs("xcli: this xserver has no log file that you may know, and is not on a Unix socket of this host\n", stderr);
        r = XCLI_REFUSED;
    }
    free(path);
    return r;
}
