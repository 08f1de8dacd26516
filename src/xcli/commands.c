/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that change something but the policy, and status. */
#include "xcli/xcli.h"

#include "base/str.h"
#include "policy/policies.h"
#include "query/policy_in_force.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints the answer of a change. */
static void done(json_t *answer, const char *text)
{
    if (g_xcli.json)
        xcli_print_json(answer);
    else
        puts(text);
    json_decref(answer);
}

/* ---- config ---- */

struct config {
    uint64_t handle;
    int64_t level, threshold, batch;
};

static error_t parse_config(int key, char *arg, struct argp_state *state)
{
    struct config *c = state->input;

    switch (key) {
    case 'x':
        if (c->handle)
            argp_error(state, "one queue at a time");
        c->handle = xcli_handle_arg(state, arg);
        return 0;
    case 'l':
        c->level = xcli_number_arg(state, "level", arg, 1, kPreemptLevelMax - 1);
        return 0;
    case 't':
        c->threshold = xcli_number_arg(state, "threshold", arg, 1, INT64_MAX);
        return 0;
    case 'b':
        c->batch = xcli_number_arg(state, "batch size", arg, 1, INT64_MAX);
        return 0;
    case ARGP_KEY_END:
        if (!c->handle)
            argp_error(state, "give -x HANDLE");
        if (!c->level && !c->threshold && !c->batch)
            argp_error(state, "nothing to change: give -l, -t or -b");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int xcli_config(int argc, char **argv)
{
    static const struct argp_option k_options[] = {
        {"xqueue", 'x', "HANDLE", 0, "the queue", 0},
        {"level", 'l', "N", 0, "preemption level, 1 to 3", 0},
        {"threshold", 't', "N", 0, "commands in flight at most", 0},
        {"batch-size", 'b', "N", 0, "commands between two completion marks", 0},
        {"batch", 0, NULL, OPTION_ALIAS, NULL, 0},
        {0},
    };
    static const struct argp k_argp = {.options = k_options,
                                       .parser = parse_config,
                                       .children = xcli_json_child,
                                       .doc = "Changes level and launch configuration of a queue."};
    struct config c = {0};
    char path[200], text[200];
    json_t *answer;
    int r;

    argp_parse(&k_argp, argc, argv, ARGP_IN_ORDER, NULL, &c);
    snprintf(path, sizeof(path),
             "/config/%" PRIx64 "?level=%" PRId64 "&threshold=%" PRId64 "&batch_size=%" PRId64, c.handle,
             c.level, c.threshold ? c.threshold : -1, c.batch ? c.batch : -1);
    r = xcli_ask("POST", path, "", &answer);
    if (r)
        return r;
    snprintf(text, sizeof(text), "Configuration of XQueue 0x%" PRIx64 " changed", c.handle);
    done(answer, text);
    return XCLI_OK;
}

/* ---- hint ---- */

enum { KEY_PID = 256, KEY_LAX, KEY_CRITICAL };

/* One hint a call; hint_type of the interface. */
enum { NONE = 0, PRIORITY = 1, UTILIZATION = 2, TIMESLICE = 3, DEADLINE = 4, K = 5, LAXITY = 6 };

static const struct {
    const char *member, *name;
    bool whom;
    uint32_t of_queue, of_process; /* XS_POLICY_READS_*: a policy that reads one of these uses the hint */
} k_hints[] = {
    [PRIORITY] = {"priority", "Priority", true, XS_POLICY_READS_PRIORITY, XS_POLICY_READS_PRIORITY},
    [UTILIZATION] = {"utilization", "Utilization", true, XS_POLICY_READS_UTILIZATION, XS_POLICY_READS_PROCESS_UTILIZATION},
    [TIMESLICE] = {"timeslice", "Timeslice", false, 0, 0},
    [DEADLINE] = {"deadline", "Deadline", true, XS_POLICY_READS_DEADLINE, XS_POLICY_READS_DEADLINE},
    [K] = {"k", "K of KEDF", false, 0, 0},
    [LAXITY] = {"laxity", "Laxity", true, XS_POLICY_READS_LAXITY, XS_POLICY_READS_LAXITY},
};

struct hint {
    uint64_t handle;
    int64_t pid;
    int type;
    int64_t value, lax, critical;
    bool unlimited, lax_given, critical_given;
};

static void set_hint(struct argp_state *state, int type, const char *arg, int64_t min, int64_t max)
{
    struct hint *h = state->input;

    if (h->type)
        argp_error(state, "one hint at a time");
    h->type = type;
    if (type == TIMESLICE && xs_str_equal_nocase(arg, "UNLIMITED"))
        h->unlimited = true;
    else
        h->value = xcli_number_arg(state, k_hints[type].member, arg, min, max);
}

static error_t parse_hint(int key, char *arg, struct argp_state *state)
{
    struct hint *h = state->input;

    switch (key) {
    case 'x':
        if (h->handle)
            argp_error(state, "one queue at a time");
        h->handle = xcli_handle_arg(state, arg);
        return 0;
    case ARGP_KEY_ARG:
    case KEY_PID:
        if (h->pid)
            argp_error(state, "one process at a time");
        h->pid = xcli_pid_arg(state, arg);
        return 0;
    case 'p':
        set_hint(state, PRIORITY, arg, PRIORITY_NO_EXECUTE, PRIORITY_MAX);
        return 0;
    case 'u':
        set_hint(state, UTILIZATION, arg, UTILIZATION_MIN, UTILIZATION_MAX);
        return 0;
    case 't':
        set_hint(state, TIMESLICE, arg, TIMESLICE_MIN, TIMESLICE_MAX);
        return 0;
    case 'd':
        set_hint(state, DEADLINE, arg, NO_DEADLINE, INT64_MAX / 1000);
        return 0;
    case 'k':
        set_hint(state, K, arg, 1, 1000000);
        return 0;
    case 'l':
        set_hint(state, LAXITY, arg, NO_LAXITY, INT64_MAX / 1000);
        return 0;
    case KEY_LAX:
        h->lax = xcli_number_arg(state, "lax-priority", arg, PRIORITY_NO_EXECUTE, PRIORITY_MAX);
        h->lax_given = true;
        return 0;
    case KEY_CRITICAL:
        h->critical = xcli_number_arg(state, "critical-priority", arg, PRIORITY_NO_EXECUTE, PRIORITY_MAX);
        h->critical_given = true;
        return 0;
    case ARGP_KEY_END:
        if (!h->type)
            argp_error(state, "give a hint: -p, -u, -d, -l, -t or -k");
        if (k_hints[h->type].whom && !h->handle && !h->pid)
            argp_error(state, "give -x HANDLE or --pid PID");
        if (!k_hints[h->type].whom && (h->handle || h->pid))
            argp_error(state, "this hint is for all programs: it takes neither -x nor --pid");
        if (h->handle && h->pid)
            argp_error(state, "-x or --pid, not both");
        if (h->type != LAXITY && (h->lax_given || h->critical_given))
            argp_error(state, "--lax-priority and --critical-priority belong to -l");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void hint_text(const struct hint *h, char *ret, size_t size)
{
    char whom[64] = "";

    if (h->handle)
        snprintf(whom, sizeof(whom), " of XQueue 0x%" PRIx64, h->handle);
    else if (h->pid)
        snprintf(whom, sizeof(whom), " of process %" PRId64, h->pid);
    if (h->unlimited)
        snprintf(ret, size, "%s%s set to UNLIMITED", k_hints[h->type].name, whom);
    else
        snprintf(ret, size, "%s%s set to %" PRId64, k_hints[h->type].name, whom, h->value);
}

/* Prints a line if the policy does not read the hint. */
static void say_unread(const struct hint *h)
{
    uint32_t wanted = h->handle ? k_hints[h->type].of_queue : k_hints[h->type].of_process;
    struct xs_policy_in_force policy;
    char text[256], what[96], *body;
    json_t *answer;

    if (!wanted || (h->type == PRIORITY && h->value == PRIORITY_NO_EXECUTE) || xcli_ask("GET", "/policy", NULL, &answer))
        return;
    body = json_dumps(answer, JSON_COMPACT);
    json_decref(answer);
    snprintf(what, sizeof(what), "the %s of a %s", k_hints[h->type].member, h->handle ? "queue" : "process");
    if (body && xs_policy_in_force_parse(body, &policy) &&
        xs_policy_in_force_unread(&policy, wanted, what, "xcli policy", text, sizeof(text)))
        fprintf(stderr, "xcli: %s\n", text);
    free(body);
}

int xcli_hint(int argc, char **argv)
{
    static const struct argp_option k_options[] = {
        {"xqueue", 'x', "HANDLE", 0, "of this queue", 1},
        {"pid", KEY_PID, "PID", 0, "of this process, as xserver sees it", 1},
        {"priority", 'p', "PRIORITY", 0, "-255 to 255, larger is more urgent; -256 never runs", 2},
        {"utilization", 'u', "PERCENT", 0, "share of the device (UP by queue, PUP and SPUP by process)", 2},
        {"deadline", 'd', "US", 0, "from becoming ready (KEDF); -1: none", 2},
        {"laxity", 'l', "US", 0, "lax for so long after becoming ready, then critical (LAX); -1: none", 2},
        {"lax-priority", KEY_LAX, "PRIORITY", 0, "with -l; default 0", 2},
        {"critical-priority", KEY_CRITICAL, "PRIORITY", 0, "with -l; default the queue's priority", 2},
        {"timeslice", 't', "US", 0, "length of a slice for all, 100 to 10000000, or UNLIMITED", 3},
        {"k", 'k', "COUNT", 0, "how many queues KEDF runs at a time", 3},
        {0},
    };
    static const struct argp k_argp = {.options = k_options,
                                       .parser = parse_hint,
                                       .args_doc = "[PID]",
                                       .children = xcli_json_child,
                                       .doc = "Changes a hint of a queue or of a process, or one for all."};
    struct hint h = {0};
    json_t *o, *answer;
    char *body, text[160];
    int r;

    argp_parse(&k_argp, argc, argv, ARGP_IN_ORDER, NULL, &h);
    o = json_pack("{s:i}", "hint_type", h.type);
    if (k_hints[h.type].whom) {
        json_object_set_new(o, "handle", json_integer((json_int_t)h.handle));
        json_object_set_new(o, "pid", json_integer(h.pid));
    }
    json_object_set_new(o, k_hints[h.type].member,
                        h.unlimited ? json_string("UNLIMITED") : json_integer(h.value));
    if (h.lax_given)
        json_object_set_new(o, "lax_priority", json_integer(h.lax));
    if (h.critical_given)
        json_object_set_new(o, "critical_priority", json_integer(h.critical));
    body = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    r = xcli_ask("POST", "/hint", body, &answer);
    free(body);
    if (r)
        return r;
    hint_text(&h, text, sizeof(text));
    done(answer, text);
    say_unread(&h);
    return XCLI_OK;
}

/* ---- suspend, resume ---- */

enum { KEY_FOR = 512 };

struct whom {
    int64_t pid;
    uint64_t for_ms;
};

static error_t parse_whom(int key, char *arg, struct argp_state *state)
{
    struct whom *w = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
    case KEY_PID:
        if (w->pid)
            argp_error(state, "one process at a time");
        w->pid = xcli_pid_arg(state, arg);
        return 0;
    case KEY_FOR: /* an option of suspend alone */
        w->for_ms = xcli_duration_arg(state, arg);
        return 0;
    case ARGP_KEY_END:
        if (!w->pid)
            argp_error(state, "give a PID");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int xcli_suspend(int argc, char **argv)
{
    static const struct argp_option k_options[] = {
        {"pid", KEY_PID, "PID", 0, "the process, as xserver sees it; works without the option's name, too", 0},
        {"for", KEY_FOR, "TIME", 0, "xserver resumes it after 500ms, 30s, 5m, ...", 0},
        {0},
    };
    static const struct argp k_argp = {.options = k_options,
                                       .parser = parse_whom,
                                       .args_doc = "PID",
                                       .children = xcli_json_child,
                                       .doc = "Suspends all queues of a process, whatever the policy says, until "
                                              "`xcli resume` or for a time."};
    struct whom w = {0};
    char body[96], text[96];
    json_t *answer;
    int r;

    argp_parse(&k_argp, argc, argv, 0, NULL, &w);
    snprintf(body, sizeof(body), "{\"pid\":%" PRId64 "}", w.pid);
    snprintf(text, sizeof(text), "Process %" PRId64 " suspended", w.pid);
    if (w.for_ms) {
        snprintf(body, sizeof(body), "{\"pid\":%" PRId64 ",\"for_ms\":%" PRIu64 "}", w.pid, w.for_ms);
        snprintf(text, sizeof(text), "Process %" PRId64 " suspended for %g s", w.pid, (double)w.for_ms / 1e3);
    }
    r = xcli_ask("POST", "/suspend", body, &answer);
    if (r)
        return r;
    done(answer, text);
    return XCLI_OK;
}

int xcli_resume(int argc, char **argv)
{
    static const struct argp_option k_options[] = {
        {"pid", KEY_PID, "PID", 0, "the process, as xserver sees it; works without the option's name, too", 0},
        {0},
    };
    static const struct argp k_argp = {.options = k_options,
                                       .parser = parse_whom,
                                       .args_doc = "PID",
                                       .children = xcli_json_child,
                                       .doc = "Ends a suspension by `xcli suspend`."};
    struct whom w = {0};
    char body[64], text[96];
    json_t *answer;
    int r;

    argp_parse(&k_argp, argc, argv, 0, NULL, &w);
    snprintf(body, sizeof(body), "{\"pid\":%" PRId64 "}", w.pid);
    r = xcli_ask("POST", "/resume", body, &answer);
    if (r)
        return r;
    snprintf(text, sizeof(text), "Process %" PRId64 " resumed", w.pid);
    done(answer, text);
    return XCLI_OK;
}

/* ---- status ---- */

/* ", P99 at most 16.4 us": the upper bound of the bucket that contains this per mille; "" when unknown. */
static const char *percentile(const json_t *latency, const char *name, int64_t per_mille, char *ret, size_t size)
{
    const json_t *buckets = json_object_get(latency, "buckets"), *b;
    int64_t count = xcli_int(latency, "count"), sum = 0;
    size_t i;

    ret[0] = 0;
    json_array_foreach((json_t *)(uintptr_t)buckets, i, b)
    {
        sum += xcli_int(b, "count");
        if (count > 0 && sum * 1000 >= count * per_mille) {
            int64_t most_ns = xcli_int(latency, "max_ns"); /* the last bucket has no bound, and no latency
                                                              is above this */

            if (json_is_integer(json_object_get(b, "below_ns")))
                most_ns = XS_MIN(most_ns, xcli_int(b, "below_ns"));
            snprintf(ret, size, ", %s at most %.1f us", name, (double)most_ns / 1e3);
            break;
        }
    }
    return ret;
}

static void print_latency(const char *row, const char *what, const json_t *latency)
{
    char p50[48], p99[48];

    printf("%-16s %" PRId64 " %s, mean %.1f us%s%s, max %.1f us\n", row, xcli_int(latency, "count"), what,
           (double)xcli_int(latency, "mean_ns") / 1e3, percentile(latency, "P50", 500, p50, sizeof(p50)),
           percentile(latency, "P99", 990, p99, sizeof(p99)), (double)xcli_int(latency, "max_ns") / 1e3);
}

int xcli_status(int argc, char **argv)
{
    static const struct argp k_argp = {.children = xcli_json_child,
                                       .doc = "Shows the server's version, counters and decision latency."};
    json_t *answer, *value;
    const char *name;
    int r;

    argp_parse(&k_argp, argc, argv, ARGP_IN_ORDER, NULL, NULL);
    r = xcli_ask("GET", "/status", NULL, &answer);
    if (r)
        return r;
    if (g_xcli.json) {
        xcli_print_json(answer);
        json_decref(answer);
        return XCLI_OK;
    }
    json_object_foreach(answer, name, value)
    {
        if (strcmp(name, "whole_server") == 0)
            continue;
        if (json_is_string(value))
            printf("%-16s %s\n", name, json_string_value(value));
        else if (json_is_integer(value))
            printf("%-16s %" JSON_INTEGER_FORMAT "\n", name, json_integer_value(value));
        else if (json_is_boolean(value))
            printf("%-16s %s\n", name, json_is_true(value) ? "yes" : "no");
    }
    if (json_is_false(json_object_get(answer, "whole_server"))) {
        puts("clients and queues are yours; root and operators (operator-group in xserver.conf) also see all others,\n"
             "counters, and the latencies of decisions and preemptions");
    } else {
        print_latency("latency", "decisions", json_object_get(answer, "decision_latency"));
        print_latency("preemption", "suspensions", json_object_get(answer, "preemption_latency"));
    }
    json_decref(answer);
    return XCLI_OK;
}
