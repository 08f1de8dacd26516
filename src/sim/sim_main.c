/* SPDX-License-Identifier: Apache-2.0 */
/* xsched-sim: a policy over synthetic queues in virtual time. */
#include "sched/policy_load.h"
#include "sim/sim.h"

#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

XS_EXPORT const char *argp_program_version = "xsched-sim (XSched) " XSCHED_VERSION;

struct sim_options {
    struct xs_scenario sc;
    bool json, unscheduled;
    struct xs_policy_module *module;   /* the process's end unloads it */
};

static char g_policy_help[XS_POLICY_NAMES_BYTES + 80];   /* main() writes it before anything reads it */

static const struct argp_option rows[] = {
    {"policy", 'p', "NAME", 0, g_policy_help, 0},
    {"param", 'P', "KEY=VALUE...", 0,
     "parameters: timeslice_us, k, starvation_ms, switch_us, linger_us, "
     "stall_ms, react_us, duration_ms, seed",
     0},
    {"device", 'd', "NAME [KEY=VALUE...]", 0, "a device: model=exclusive or shared", 0},
    {"process", 'r', "NAME [KEY=VALUE...]", 0, "a process: utilization, cpu, window, group, intra", 0},
    {"queue", 'q', "NAME [KEY=VALUE...]", 0,
     "a queue: process, device, level, hints, arrival, period_us, "
     "think_us, commands, length_us, lengths, inflight_us, start_ms, stop_ms",
     0},
    {"duration", 't', "SECONDS", 0, "simulated time (10)", 0},
    {"seed", 's', "N", 0, "of the random numbers (1)", 0},
    {"native", 'n', NULL, 0, "without a scheduler: every queue is open all the time", 0},
    {"json", 'j', NULL, 0, "print JSON", 0},
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

static void take(struct argp_state *state, const char *word, const char *arg)
{
    struct sim_options *o = state->input;
    char line[1024], error[XS_ERROR_BYTES];
    int r;

    if (!arg[strspn(arg, " \t")])
        argp_error(state, "--%s takes %s, not '%s'", word,
                   strcmp(word, "param") ? "NAME [KEY=VALUE...]" : "KEY=VALUE...", arg);
    if (snprintf(line, sizeof(line), "%s %s", word, arg) >= (int)sizeof(line))
        argp_error(state, "--%s: too long", word);
    r = xs_scenario_line(&o->sc, line, error);
    if (r == -ENOMEM)
        argp_failure(state, 1, 0, "out of memory");
    if (r < 0)
        argp_error(state, "--%s: %s", word, error);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sim_options *o = state->input;
    char word[64], error[XS_ERROR_BYTES];
    int r;

    switch (key) {
    case 'p':
        o->sc.policy = xs_policy_find(arg, &o->module, error, sizeof(error));
        if (!o->sc.policy && xs_policy_is_path(arg))
            argp_failure(state, 2, 0, "%s", error);
        else if (!o->sc.policy)
            argp_error(state, "--policy: %s", error);
        return 0;
    case 'P':
        take(state, "param", arg);
        return 0;
    case 'd':
        take(state, "device", arg);
        return 0;
    case 'r':
        take(state, "process", arg);
        return 0;
    case 'q':
        take(state, "queue", arg);
        return 0;
    case 't':
        if (xs_words_time(arg, XS_NS_PER_S, &o->sc.duration_ns) < 0 || o->sc.duration_ns == 0 ||
            o->sc.duration_ns > 1000000 * XS_NS_PER_S)
            argp_error(state, "--duration: '%s' is no number of seconds", arg);
        return 0;
    case 's':
        snprintf(word, sizeof(word), "seed=%.50s", arg);
        take(state, "param", word);
        return 0;
    case 'n':
        o->unscheduled = true;
        return 0;
    case 'j':
        o->json = true;
        return 0;
    case ARGP_KEY_ARG:
        r = xs_scenario_file(&o->sc, arg, error);
        if (r < 0)
            argp_failure(state, 2, 0, "%s", r == -ENOMEM ? "out of memory" : error);
        return 0;
    case ARGP_KEY_END:
        r = xs_scenario_finish(&o->sc, error);
        if (r < 0)
            argp_error(state, "%s", r == -ENOMEM ? "out of memory" : error);
        return 0;
    case 'h': /* as --help */
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_text(const struct sim_options *o, const struct xs_sim_result *r)
{
    const struct xs_scenario *sc = &o->sc;

    printf("policy %s, %.3f s, seed %llu\n", o->unscheduled ? "none" : sc->policy->name,
           (double)sc->duration_ns / 1e9, (unsigned long long)sc->seed);
    printf("%-20s %8s %10s %12s %12s %12s %8s\n", "queue", "share %", "jobs", "p50 us", "p99 us", "max us",
           "held");
    for (size_t i = 0; i < sc->nqueues; i++) {
        const struct xs_sim_queue_result *q = &r->queues[i];

        printf("%-20s %8.2f %10llu %12.1f %12.1f %12.1f %8llu\n", sc->queues[i].name, q->share,
               (unsigned long long)q->jobs, (double)q->p50_ns / 1e3, (double)q->p99_ns / 1e3,
               (double)q->max_ns / 1e3, (unsigned long long)q->suspensions);
    }
    if (!o->unscheduled)
        printf("%llu decisions in %llu calls, %llu permits, %llu holds\n",
               (unsigned long long)r->counters.decisions, (unsigned long long)r->wakes,
               (unsigned long long)r->counters.permits, (unsigned long long)r->counters.holds);
}

static int print_json(const struct sim_options *o, const struct xs_sim_result *r)
{
    const struct xs_scenario *sc = &o->sc;
    json_t *queues = json_array(), *root;
    int rc;

    for (size_t i = 0; i < sc->nqueues; i++) {
        const struct xs_sim_queue_result *q = &r->queues[i];

        json_array_append_new(queues, json_pack("{s:s, s:s, s:f, s:I, s:I, s:I, s:I, s:I, s:I}",
            "queue", sc->queues[i].name, "process", sc->queues[i].process, "share", q->share,
            "jobs", (json_int_t)q->jobs, "service_ns", (json_int_t)q->service_ns,
            "p50_ns", (json_int_t)q->p50_ns, "p99_ns", (json_int_t)q->p99_ns,
            "max_ns", (json_int_t)q->max_ns, "suspensions", (json_int_t)q->suspensions));
    }
    root = json_pack("{s:s, s:f, s:I, s:o, s:I, s:I, s:I, s:I}", "policy",
        o->unscheduled ? "none" : sc->policy->name, "seconds", (double)sc->duration_ns / 1e9,
        "seed", (json_int_t)sc->seed, "queues", queues, "decisions", (json_int_t)r->counters.decisions,
        "calls", (json_int_t)r->wakes, "permits", (json_int_t)r->counters.permits,
        "holds", (json_int_t)r->counters.holds);
    rc = root ? json_dumpf(root, stdout, JSON_INDENT(2)) : -1;
    putchar('\n');
    json_decref(root);
    return rc;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = rows, .parser = parse, .args_doc = "[SCENARIO...]",
        .doc = "Runs a scheduling policy over synthetic queues in virtual time and prints the device time of each."
               "\vA SCENARIO has one statement a line: policy NAME, param KEY=VALUE..., "
               "device NAME ..., process NAME ..., queue NAME ...; see xsched-sim(1).",
    };
    static struct sim_options o; /* the process ends with its policy's library loaded */
    char names[XS_POLICY_NAMES_BYTES], name[] = "xsched-sim";
    struct xs_sim_result r;
    int rc = 0;

    snprintf(g_policy_help, sizeof(g_policy_help), "policy (%s), or the path of a shared object",
             xs_policy_names(names, sizeof(names), ", "));
    xs_scenario_init(&o.sc);
    argv[0] = name;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    if (xs_sim_run(&o.sc, o.unscheduled, &r) < 0) {
        fprintf(stderr, "xsched-sim: out of memory\n");
        return 1;
    }
    if (o.json)
        rc = print_json(&o, &r);
    else
        print_text(&o, &r);
    if (fflush(stdout) != 0 || rc != 0) {
        fprintf(stderr, "xsched-sim: cannot write: %s\n", strerror(errno));
        rc = 1;
    }
    xs_sim_result_fini(&r);
    xs_scenario_fini(&o.sc);
    return rc;
}
