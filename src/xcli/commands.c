/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that change something but the policy, and status. */
#include "xcli/xcli.h"

#include "base/settings/hint_rows.h"
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

/* One hint a call: a row of base/settings/hints.def, perhaps with its further fields. */
enum {
    KEY_PID = 256,
#define MORE(symbol, field, ...) KEY_##field,
#include "base/settings/hints.def"
};

/* The fields that a hint has beside its value. */
static const struct more {
    int key;
    enum xs_hint_kind of;
    const char *name, *option;
    struct xs_value_type type;
} k_more[] = {
#define MORE(symbol, field, type, without, name, option, ...) {KEY_##field, XS_HINT_##symbol, name, option, XS_TYPE type},
#include "base/settings/hints.def"
};

struct hint {
    uint64_t handle;
    int64_t pid;
    int number;                     /* XS_HINT_*; 0: not given */
    struct xs_value value;
    bool given[XS_ARRAY_LEN(k_more)];
    int64_t more[XS_ARRAY_LEN(k_more)];
};

static bool is_unlimited(const struct hint *h)
{
    return xs_hint_rows[h->number].type.unlimited && h->value.number == -1;
}

static error_t parse_hint(int key, char *arg, struct argp_state *state)
{
    struct hint *h = state->input;
    const struct xs_hint_row *row;

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
    case ARGP_KEY_END:
        row = &xs_hint_rows[h->number];
        if (!h->number)
            argp_error(state, "give a hint: -p, -u, -d, -l, -t, -k, ...; --help lists them");
        if (row->of_queue && !h->handle && !h->pid)
            argp_error(state, "give -x HANDLE or --pid PID");
        if (!row->of_queue && (h->handle || h->pid))
            argp_error(state, "this hint is for all programs: it takes neither -x nor --pid");
        if (h->handle && h->pid)
            argp_error(state, "-x or --pid, not both");
        for (size_t i = 0; i < XS_ARRAY_LEN(k_more); i++)
            if (h->given[i] && (int)k_more[i].of != h->number)
                argp_error(state, "--%s belongs to --%s", k_more[i].option, xs_hint_rows[k_more[i].of].name);
        return 0;
    default:
        break;
    }
    for (size_t i = 0; i < XS_ARRAY_LEN(k_more); i++) {
        if (key != k_more[i].key)
            continue;
        h->more[i] = xcli_value_arg(state, k_more[i].option, &k_more[i].type, arg);
        h->given[i] = true;
        return 0;
    }
    for (size_t i = 0; i < xs_hint_rows_count; i++) {
        row = &xs_hint_rows[i];
        if (!row->name || key != row->xcli_key)
            continue;
        if (h->number)
            argp_error(state, "one hint at a time");
        h->number = (int)i;
        h->value.number = xcli_value_arg(state, row->name, &row->type, arg);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static void hint_text(const struct hint *h, char *ret, size_t size)
{
    char whom[64] = "";
    int at;

    if (h->handle)
        snprintf(whom, sizeof(whom), " of XQueue 0x%" PRIx64, h->handle);
    else if (h->pid)
        snprintf(whom, sizeof(whom), " of process %" PRId64, h->pid);
    at = snprintf(ret, size, "%s%s set to ", xs_hint_rows[h->number].name, whom);
    if (ret[0] >= 'a' && ret[0] <= 'z')
        ret[0] = (char)(ret[0] - 'a' + 'A');
    if (is_unlimited(h))
        snprintf(ret + at, size - (size_t)at, "UNLIMITED");
    else
        snprintf(ret + at, size - (size_t)at, "%" PRId64, h->value.number);
}

/* Prints a line if the policy does not read the hint. */
static void say_unread(const struct hint *h)
{
    const struct xs_hint_row *row = &xs_hint_rows[h->number];
    uint32_t wanted = h->handle ? row->reads : row->reads_of_process;
    struct xs_policy_in_force policy;
    char text[256], what[96], *body;
    json_t *answer;

    if (!wanted || (h->number == XS_HINT_PRIORITY && h->value.number == PRIORITY_NO_EXECUTE) ||
        xcli_ask("GET", "/policy", NULL, &answer))
        return;
    body = json_dumps(answer, JSON_COMPACT);
    json_decref(answer);
    snprintf(what, sizeof(what), "the %s of a %s", row->name, h->handle ? "queue" : "process");
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
#define QUEUE_HINT(symbol, number, field, type, without, unit, reads, process, name, run, xcli, arg, help) \
    {name, XS_HINT_OPTION(xcli, number), arg, 0, help, 2},
#define MORE(symbol, field, type, without, name, option, arg, help) {option, KEY_##field, arg, 0, help, 2},
#define SCHED_HINT(symbol, number, type, usual, name, run, xcli, arg, help) \
    {name, XS_HINT_OPTION(xcli, number), arg, 0, help ", for all programs", 3},
#include "base/settings/hints.def"
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
    o = json_pack("{s:i}", "hint_type", h.number);
    if (xs_hint_rows[h.number].of_queue) {
        json_object_set_new(o, "handle", json_integer((json_int_t)h.handle));
        json_object_set_new(o, "pid", json_integer(h.pid));
    }
    json_object_set_new(o, xs_hint_rows[h.number].name,
                        is_unlimited(&h) ? json_string("UNLIMITED") : json_integer(h.value.number));
    for (size_t i = 0; i < XS_ARRAY_LEN(k_more); i++)
        if (h.given[i])
            json_object_set_new(o, k_more[i].name, json_integer(h.more[i]));
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
