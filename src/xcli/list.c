/* SPDX-License-Identifier: Apache-2.0 */
/* xcli list: the queues, or the programs that left. */
#include "xcli/text_table.h"
#include "xcli/xcli.h"

#include "xsched/types.h"

#include <argp.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
    HANDLE,
    PID,
    DEVICE,
    LV,
    PRIO,
    THRESHOLD,
    BATCH,
    STATE,
    SCHED,
    RUN,
    UTIL,
    COMMANDS,
    CMD,
    N_COLUMNS
};

enum { KEY_FORMAT = 256 };

static const struct xs_column k_columns[N_COLUMNS] = {
    [HANDLE] = {"XQUEUE", false, 1}, [PID] = {"PID", true, 2},      [DEVICE] = {"DEVICE", false, 7},
    [LV] = {"LV", true, 6},          [PRIO] = {"PRIO", true, 3},    [THRESHOLD] = {"THRES", true, 12},
    [BATCH] = {"BATCH", true, 13},   [STATE] = {"STAT", false, 5},  [SCHED] = {"SCHED", false, 4},
    [RUN] = {"RUN%", true, 9},       [UTIL] = {"UTIL", true, 11},   [COMMANDS] = {"COMMANDS", true, 10},
    [CMD] = {"COMMAND", false, 8},
};

void xcli_device_type(uint64_t device, char *ret, size_t size)
{
    static const char *const k_types[] = {"?", "CPU", "GPU", "NPU", "FPGA", "ASIC", "MCA"};
    uint64_t type = device >> 32;

    snprintf(ret, size, "%s", type < XS_ARRAY_LEN(k_types) ? k_types[type] : "?");
}

void xcli_device_text(uint64_t device, char *ret, size_t size)
{
    uint32_t id = (uint32_t)device;
    char name[16];

    xcli_device_type(device, name, sizeof(name));

    if (id >> 16 == 0xffff) /* no PCI device: a hash of its name */
        snprintf(ret, size, "%s:%04x", name, id & 0xffff);
    else
        snprintf(ret, size, "%s:%04x:%02x:%02x.%x", name, id >> 16, id >> 8 & 0xff, id >> 3 & 0x1f, id & 7);
}

static const json_t *find(const json_t *list, const char *key, int64_t value)
{
    size_t i;
    json_t *o;

    json_array_foreach(list, i, o) if (xcli_int(o, key) == value) return o;
    return NULL;
}

static void queue_row(const json_t *q, const json_t *process, struct xs_table *t)
{
    char device[64];
    double waiting = (double)xcli_int(q, "waiting_us");
    /* what a lone program has on the device is not watched, and may show in the device time alone */
    double running = (double)XS_MAX(xcli_int(q, "running_us"), xcli_int(q, "service_us"));

    xcli_device_text((uint64_t)xcli_int(q, "device"), device, sizeof(device));
    xs_table_row(t);
    xs_table_set(t, HANDLE, "0x%" PRIx64, xcli_int(q, "handle"));
    xs_table_set(t, PID, "%" PRId64, xcli_int(q, "pid"));
    xs_table_set(t, DEVICE, "%s", device);
    xs_table_set(t, LV, "%" PRId64, xcli_int(q, "level"));
    xs_table_set(t, PRIO, "%" PRId64, xcli_int(q, "priority"));
    xs_table_set(t, THRESHOLD, "%" PRId64, xcli_int(q, "threshold"));
    xs_table_set(t, BATCH, "%" PRId64, xcli_int(q, "batch_size"));
    xs_table_set(t, STATE, "%s", xcli_true(q, "ready") ? "RDY" : "IDL");
    xs_table_set(t, SCHED, "%s", xcli_true(q, "suspended") ? "SUS" : "RUN");
    xs_table_set(t, UTIL, "%" PRId64, xcli_int(q, "utilization"));
    xs_table_set(t, COMMANDS, "%" PRId64, xcli_int(q, "commands"));
    if (running + waiting > 0) {
        /* since it is there: of the time in which it had work */
        xs_table_set(t, RUN, "%.0f", 100 * running / (running + waiting));
    } else {
        xs_table_set(t, RUN, "-");
    }
    xs_table_set(t, CMD, "%s%s", xcli_true(process, "held") ? "[held] " : "", xcli_text(process, "cmdline"));
}

static int by_pid_and_handle(const void *a, const void *b)
{
    const json_t *qa = *(const json_t *const *)a, *qb = *(const json_t *const *)b;
    int64_t pa = xcli_int(qa, "pid"), pb = xcli_int(qb, "pid"), ha = xcli_int(qa, "handle"),
            hb = xcli_int(qb, "handle");

    return pa != pb ? (pa < pb ? -1 : 1) : ha < hb ? -1 : ha > hb;
}

static size_t print_width(void)
{
    struct winsize size;

    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return SIZE_MAX / 4;
}

static void print_queues(const json_t *answer, bool original)
{
    const json_t *queues = json_object_get(answer, "xqueues"),
                 *processes = json_object_get(answer, "processes");
    size_t n = json_array_size(queues), i;
    const json_t **sorted = calloc(n + 1, sizeof(*sorted));
    const char **commands = calloc(n + 1, sizeof(*commands));
    struct xs_table t;
    json_t *q;

    if (!sorted || !commands) {
        free(sorted);
        free(commands);
        fputs("xcli: out of memory\n", stderr);
        return;
    }
    xs_table_init(&t, k_columns, N_COLUMNS);
    json_array_foreach(queues, i, q) sorted[i] = q;
    qsort(sorted, n, sizeof(*sorted), by_pid_and_handle);
    for (i = 0; i < n; i++) {
        const json_t *process = find(processes, "pid", xcli_int(sorted[i], "pid"));

        commands[i] = xcli_text(process, "cmdline");
        queue_row(sorted[i], process, &t);
    }
    if (original)
        xcli_list_original(sorted, commands, n);
    else
        xs_table_print(&t, print_width());
    xs_table_free(&t);
    free(commands);
    free(sorted);
}

static void time_text(int64_t s, char *ret, size_t size)
{
    time_t when = (time_t)s;
    struct tm tm;

    if (!localtime_r(&when, &tm) || !strftime(ret, size, "%F %T", &tm))
        snprintf(ret, size, "?");
}

static void client_table(const json_t *list, struct xs_table *t)
{
    static const struct xs_column k_ended[] = {
        {"PID", true, 1},        {"UID", true, 6},      {"LEFT", false, 3},    {"WHY", false, 4},
        {"JOINED", false, 8},    {"QUEUES", true, 7},   {"COMMANDS", true, 2}, {"HELD ms", true, 5},
        {"SERVICE ms", true, 6}, {"COMMAND", false, 4},
    };
    size_t i;
    json_t *c;

    xs_table_init(t, k_ended, XS_ARRAY_LEN(k_ended));
    json_array_foreach(list, i, c)
    {
        char joined[32], left[32];

        time_text(xcli_int(c, "joined"), joined, sizeof(joined));
        time_text(xcli_int(c, "left"), left, sizeof(left));
        xs_table_row(t);
        xs_table_set(t, 0, "%" PRId64, xcli_int(c, "pid"));
        xs_table_set(t, 1, "%" PRId64, xcli_int(c, "uid"));
        xs_table_set(t, 2, "%s", left);
        xs_table_set(t, 3, "%s", xcli_text(c, "why"));
        xs_table_set(t, 4, "%s", joined);
        xs_table_set(t, 5, "%" PRId64, xcli_int(c, "queues_ever"));
        xs_table_set(t, 6, "%" PRId64, xcli_int(c, "commands"));
        xs_table_set(t, 7, "%.1f", (double)xcli_int(c, "held_us") / 1000);
        xs_table_set(t, 8, "%.1f", (double)xcli_int(c, "service_us") / 1000);
        xs_table_set(t, 9, "%s", xcli_text(c, "cmdline"));
    }
}

struct list_options {
    bool ended, original;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct list_options *l = state->input;

    switch (key) {
    case 'e':
        l->ended = true;
        return 0;
    case 'j':
        g_xcli.json = true;
        return 0;
    case KEY_FORMAT:
        if (strcmp(arg, "original") != 0 && strcmp(arg, "table") != 0 && strcmp(arg, "json") != 0)
            argp_error(state, "'%s' is no format: table, original or json", arg);
        l->original = strcmp(arg, "original") == 0;
        g_xcli.json = g_xcli.json || strcmp(arg, "json") == 0;
        return 0;
    case ARGP_KEY_END:
        if (l->ended && l->original)
            argp_error(state, "--ended has no format 'original'");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int xcli_list(int argc, char **argv)
{
    static const struct argp_option k_options[] = {
        {"ended", 'e', NULL, 0, "the last programs that left, instead of the queues", 0},
        {"format", KEY_FORMAT, "FORMAT", 0, "table (default), json, or original: the columns of the original XSched's xcli", 0},
        {"json", 'j', NULL, 0, "print the answer as JSON", 0},
        {0},
    };
    static const struct argp k_argp = {.options = k_options,
                                       .parser = parse,
                                       .doc = "Lists the queues that xserver schedules."};
    struct list_options l = {0};
    struct xs_table t;
    json_t *answer;
    int r;

    argp_parse(&k_argp, argc, argv, ARGP_IN_ORDER, NULL, &l);
    r = xcli_ask("GET", l.ended ? "/clients" : "/xqueues", NULL, &answer);
    if (r)
        return r;
    if (g_xcli.json) {
        xcli_print_json(answer);
    } else if (l.ended) {
        client_table(json_object_get(answer, "ended"), &t);
        xs_table_print(&t, print_width());
        xs_table_free(&t);
    } else {
        print_queues(answer, l.original);
    }
    json_decref(answer);
    return XCLI_OK;
}
