/* SPDX-License-Identifier: Apache-2.0 */
/* xsched-replay: reads a trace of facts, prints the decisions of a policy. */
#include "sched/policy_load.h"
#include "sim/replay.h"

#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

XS_EXPORT const char *argp_program_version = "xsched-replay (XSched) " XSCHED_VERSION;

struct replay_options {
    const struct xs_policy_ops *policy;
    const char *file;
    bool json, decided;
    struct xs_policy_module *module;   /* the process's end unloads it */
};

static char g_policy_help[XS_POLICY_NAMES_BYTES + 100];   /* main() writes it before anything reads it */

static const struct argp_option rows[] = {
    {"policy", 'p', "NAME", 0, g_policy_help, 0},
    {"json", 'j', NULL, 0, "print one JSON object a line", 0},
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct replay_options *o = state->input;
    char error[XS_ERROR_BYTES];

    switch (key) {
    case 'p':
        o->policy = xs_policy_find(arg, &o->module, error, sizeof(error));
        if (!o->policy && xs_policy_is_path(arg))
            argp_failure(state, 2, 0, "%s", error);
        else if (!o->policy)
            argp_error(state, "--policy: %s", error);
        return 0;
    case 'j':
        o->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->file)
            argp_error(state, "one trace at a time");
        o->file = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which trace? (- reads standard input)");
        return 0;
    case 'h': /* as --help */
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print(void *ctx, uint64_t time_ns, const char *queue, bool run)
{
    struct replay_options *o = ctx;

    o->decided = true;
    if (o->json) {
        json_t *j = json_pack("{s:f, s:s, s:b}", "time_us", (double)time_ns / 1e3, "queue", queue,
                              "run", run);

        json_dumpf(j, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(j);
    } else if (time_ns % 1000) {
        printf("%llu.%03llu %s %s\n", (unsigned long long)(time_ns / 1000),
               (unsigned long long)(time_ns % 1000), queue, run ? "run" : "hold");
    } else {
        printf("%llu %s %s\n", (unsigned long long)(time_ns / 1000), queue, run ? "run" : "hold");
    }
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = rows, .parser = parse, .args_doc = "TRACE",
        .doc = "Reads a trace of facts (which queue is ready, when) and prints what a scheduling policy decides."
               "\vA TRACE has one fact a line, a time in microseconds first; see xsched-replay(1).",
    };
    static struct replay_options o; /* the process ends with its policy's library loaded */
    char line[1024], error[XS_ERROR_BYTES], names[XS_POLICY_NAMES_BYTES], name[] = "xsched-replay";
    unsigned long number = 0;
    struct xs_replay *r;
    bool facts = false;
    int e = 0, unread;
    FILE *f;

    snprintf(g_policy_help, sizeof(g_policy_help),
             "policy until the trace names one (%s; HPF), or the path of a shared object",
             xs_policy_names(names, sizeof(names), ", "));
    argv[0] = name;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    f = strcmp(o.file, "-") == 0 ? stdin : fopen(o.file, "re");
    if (!f) {
        fprintf(stderr, "xsched-replay: %s: %s\n", o.file, strerror(errno));
        return 2;
    }
    r = xs_replay_new(o.policy, print, &o);
    if (!r)
        e = -ENOMEM;
    while (e == 0 && fgets(line, sizeof(line), f)) {
        number++;
        if (!strchr(line, '\n') && !feof(f)) {
            snprintf(error, sizeof(error), strlen(line) + 1 < sizeof(line) ? "there is a NUL in it" : "the line is too long");
            e = -EINVAL;
        } else {
            facts |= line[strspn(line, " \t\r\n")] && line[strspn(line, " \t")] != '#';
            e = xs_replay_line(r, line, error);
        }
    }
    unread = e == 0 && ferror(f) ? errno : 0;
    if (e == 0)
        xs_replay_end(r);
    if (unread) {
        fprintf(stderr, "xsched-replay: %s: %s\n", o.file, strerror(unread));
        e = -EINVAL;
    } else if (e == 0 && !facts) {
        fprintf(stderr, "xsched-replay: %s: there is no fact in it\n", o.file);
        e = -EINVAL;
    } else if (e == 0 && !o.decided) {
        fprintf(stderr, "xsched-replay: %s: %lu lines, and no decision\n", o.file, number);
    } else if (e == -EINVAL)
        fprintf(stderr, "xsched-replay: %s:%lu: %s\n", o.file, number, error);
    else if (e < 0)
        fprintf(stderr, "xsched-replay: out of memory\n");
    if (f != stdin)
        fclose(f);
    xs_replay_free(r);
    if (fflush(stdout) != 0) {
        fprintf(stderr, "xsched-replay: cannot write: %s\n", strerror(errno));
        return 1;
    }
    return e == 0 ? 0 : e == -EINVAL ? 2 : 1;
}
