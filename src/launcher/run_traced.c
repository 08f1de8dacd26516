/* SPDX-License-Identifier: Apache-2.0 */
/* xsched trace: runs a program with XSCHED_TRACE and sums the lines of the trace up. The program is a child
 * here, since this process sums up after its end. */
#include "base/env.h"
#include "launcher/child.h"
#include "launcher/commands.h"
#include "launcher/program.h"
#include "launcher/say.h"
#include "launcher/trace_summary.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "keep the trace there (emptied first); one line a call", 1},
    {"summary", 's', "FILE", 0, "write the table there instead of stderr", 1},
    {"quiet", 'q', NULL, 0, "no notes and warnings from xsched itself", 1},
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

/* The program appends to it, and this process reads it in the end: only a regular file gives that back. */
static void check_output(const struct argp_state *state, const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        argp_error(state, "--output takes a regular file, and %s is none", path);
}

struct trace {
    char **program;
    const char *output, *summary;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct trace *t = state->input;

    switch (key) {
    case 'o':
        check_output(state, arg);
        t->output = arg;
        break;
    case 's':
        t->summary = arg;
        break;
    case 'q':
        xs_say_set_quiet(true);
        break;
    case ARGP_KEY_ARG:
        return ARGP_ERR_UNKNOWN; /* give it to ARGP_KEY_ARGS: the rest is the program's */
    case ARGP_KEY_ARGS:
        t->program = state->argv + state->next;
        break;
    case ARGP_KEY_END:
        if (!t->program)
            argp_error(state, "name a program to run");
        break;
    case 'h': /* as --help */
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* @return as waitpid() has it */
static int run_child(char **program)
{
    pid_t pid = xs_child_fork();
    int status = 0;

    if (pid == 0)
        _exit(xs_exec_program(program));
    if (pid < 0) {
        xs_say_error("fork: %s", strerror(errno));
        return 1 << 8;
    }
    xs_child_wait(0, &status);
    xs_child_signals_back();
    return status;
}

static int sum_up(const char *path, FILE *out)
{
    struct xs_trace_sum *s = xs_trace_sum_new();
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    int err = s && f ? 0 : -errno;

    while (err == 0 && getline(&line, &room, f) >= 0)
        err = xs_trace_sum_add(s, line);
    if (err == 0)
        xs_trace_sum_print(s, out);
    free(line);
    if (f)
        fclose(f);
    if (s)
        xs_trace_sum_free(s);
    return err;
}

/* Ends in the same way as the program. */
static int same_end(int status)
{
    if (WIFSIGNALED(status)) {
        struct rlimit none = {0, 0};

        setrlimit(RLIMIT_CORE, &none); /* one core file is enough */
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
        return 128 + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

/* The trace file: the one that the user named, or a temporary one. Absolute, since programs change folder,
 * and without links, since the program opens none. */
static int make_file(const char *output, char *ret, size_t size)
{
    const char *tmp = getenv("TMPDIR");
    int fd;

    if (output) {
        fd = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd >= 0 && !realpath(output, ret)) {
            close(fd);
            return -errno;
        }
    } else {
        snprintf(ret, size, "%s/xsched-trace-XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp");
        fd = mkstemp(ret);
    }
    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}

int xs_command_trace(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "PROGRAM [ARG...]",
        .doc = "Runs PROGRAM and lists its device calls: how often it makes each, and how XSched handles it.\v"
               "submit: a command on a scheduled queue; sync: waited for a queue; hand: looked at for "
               "another reason; "
               "pass: left alone. Unless the environment says otherwise, a local policy of its own schedules "
               "the program.\n\nExit status: the program's; 64 for wrong arguments, 126 when xsched cannot start the "
               "program, 127 when it does not find it."};
    struct trace t = {0};
    char path[2 * PATH_MAX], name[] = "xsched trace";
    char why[PATH_MAX + 32];
    FILE *out = stderr;
    int err, status;

    argp_err_exit_status = XS_EXIT_USAGE;
    argv[0] = name;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &t) != 0)
        return XS_EXIT_USAGE;
    status = xs_program_absent(t.program[0], why, sizeof(why));
    if (status) {
        xs_say_error("%s", why);
        return status;
    }
    err = make_file(t.output, path, sizeof(path));
    if (err < 0) {
        xs_say_error("%s: %s", t.output ? t.output : path, strerror(-err));
        return 1;
    }
    if (t.summary && !(out = fopen(t.summary, "we"))) {
        xs_say_error("%s: %s", t.summary, strerror(errno));
        if (!t.output)
            unlink(path);
        return 1;
    }
    setenv("XSCHED_TRACE", path, 1);
    if (!xs_env_get(XS_ENV_XSCHED_AUTO_XQUEUE))
        setenv("XSCHED_AUTO_XQUEUE", "ON", 1);
    if (!xs_env_get(XS_ENV_XSCHED_SCHEDULER) && !xs_env_get(XS_ENV_XSCHED_PRIORITY) &&
        !xs_env_get(XS_ENV_XSCHED_POLICY))
        setenv("XSCHED_POLICY", "HPF", 1);
    xs_prepare_program(t.program);
    status = run_child(t.program);
    err = sum_up(path, out);
    if (err < 0)
        xs_say_error("%s: %s", path, strerror(-err));
    if (out != stderr && fclose(out) != 0)
        xs_say_error("%s: %s", t.summary, strerror(errno));
    if (!t.output)
        unlink(path);
    return same_end(status);
}
