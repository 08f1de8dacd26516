/* SPDX-License-Identifier: Apache-2.0 */
/* xcli list: the queues, the programs that left, or (list_devices.c) the devices. */
#include "xcli/text_table.h"
#include "xcli/xcli.h"

#include "base/clock.h"
#include "query/mps_priority.h"
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
    PID,
    HANDLE,
    USER,
    STATE,
    WHY,
    WAY,
    LANE,
    SHARE,
    ASKED,
    PRIORITY,
    LEVEL,
    DEVICE,
    PERMITTED,
    MEMORY,
    THRESHOLD,
    BATCH,
    COMMANDS,
    CMD,
    N_COLUMNS
};

enum { KEY_FORMAT = 256, KEY_USER, KEY_DEVICE, KEY_DEVICES };

static const struct xs_column k_columns[N_COLUMNS] = {
    [PID] = {"PID", true, 1},               [HANDLE] = {"XQUEUE", false, 2},
    [USER] = {"USER", false, 7},            [STATE] = {"STATE", false, 3},
    [WHY] = {"WHY", false, 4},
    [WAY] = {"IN", false, 15},              [LANE] = {"LANE", true, 16},
    [SHARE] = {"SHARE%", true, 5},          [ASKED] = {"ASKED%", true, 10},
    [PRIORITY] = {"PRIORITY", true, 4},     [LEVEL] = {"LEVEL", true, 8},
    [DEVICE] = {"DEVICE", false, 8},        [PERMITTED] = {"PERMITTED%", true, 12},
    [MEMORY] = {"MEMORY/LIMIT", true, 9},   [THRESHOLD] = {"THRESHOLD", true, 13},
    [BATCH] = {"BATCH", true, 14},          [COMMANDS] = {"COMMANDS", true, 11},
    [CMD] = {"COMMAND", false, 6},
};

#define SHARE_US 200000 /* between the two looks for the shares */

/* Shares of the device in the time between two looks. @param ret_shares  < 0: not known */
static void shares_of(const json_t **queues, size_t n, const json_t *before, double interval_us, double *ret_shares)
{
    uint64_t *devices = calloc(n + 1, sizeof(*devices));
    double *known = calloc(n + 1, sizeof(*known));
    json_t *by_handle = json_object(), *q;
    char handle[24];
    size_t k;

    json_array_foreach(json_object_get(before, "xqueues"), k, q)
    {
        snprintf(handle, sizeof(handle), "%" PRIx64, xcli_int(q, "handle"));
        json_object_set(by_handle, handle, q);
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *old;
        double more;

        snprintf(handle, sizeof(handle), "%" PRIx64, xcli_int(queues[i], "handle"));
        old = json_object_get(by_handle, handle);
        more = old ? (double)(xcli_int(queues[i], "service_us") - xcli_int(old, "service_us")) : -1;
        ret_shares[i] = more < 0 || interval_us <= 0 ? -1 : more / interval_us;
        if (devices && known) {
            devices[i] = (uint64_t)xcli_int(queues[i], "device");
            known[i] = XS_MAX(ret_shares[i], 0);
        }
    }
    if (devices && known) {
        xcli_scale_shares(devices, known, n);
        for (size_t i = 0; i < n; i++)
            ret_shares[i] = ret_shares[i] < 0 ? -1 : known[i];
    }
    json_decref(by_handle);
    free(known);
    free(devices);
}

static void queue_row(const json_t *q, const json_t *process, struct xs_table *t)
{
    char device[64], lane[48], memory[48], why[64];
    const char *way = process ? xcli_text(process, "share") : "";
    double waiting = (double)xcli_int(q, "waiting_us");
    /* xserver does not watch a lone program: its running time may show in the device time alone */
    double running = (double)XS_MAX(xcli_int(q, "running_us"), xcli_int(q, "service_us"));

    xcli_device_text((uint64_t)xcli_int(q, "device"), device, sizeof(device));
    xs_table_row(t);
    xs_table_set(t, HANDLE, "0x%" PRIx64, xcli_int(q, "handle"));
    xs_table_set(t, PID, "%" PRId64, xcli_int(q, "pid"));
    xs_table_set(t, USER, "%s", process ? xcli_user_name(xcli_int(process, "uid")) : "?");
    xs_table_set(t, STATE, "%s", xcli_state_names[xcli_queue_state(q, process)]);
    xcli_why_text(q, why, sizeof(why));
    xs_table_set(t, WHY, "%s", why[0] ? why : "-");
    xs_table_set(t, WAY, "%s", way[0] ? way : "-");
    xcli_lane_text(xcli_int(q, "lane"), xcli_int(q, "reserve"), lane, sizeof(lane));
    xs_table_set(t, LANE, "%s", lane);
    xs_table_set(t, ASKED, "%" PRId64, xcli_int(q, "utilization"));
    xs_table_set(t, PRIORITY, "%" PRId64, xcli_int(q, "priority"));
    xs_table_set(t, LEVEL, "%" PRId64, xcli_int(q, "level"));
    xs_table_set(t, DEVICE, "%s", device);
    xs_table_set(t, THRESHOLD, "%" PRId64, xcli_int(q, "threshold"));
    xs_table_set(t, BATCH, "%" PRId64, xcli_int(q, "batch_size"));
    xs_table_set(t, COMMANDS, "%" PRId64, xcli_int(q, "commands"));
    if (running + waiting > 0) {
        /* since it is there: of the time in which it had work */
        xs_table_set(t, PERMITTED, "%.0f", 100 * running / (running + waiting));
    } else {
        xs_table_set(t, PERMITTED, "-");
    }
    xcli_memory_text(process, memory, sizeof(memory));
    xs_table_set(t, MEMORY, "%s", memory);
    xs_table_set(t, CMD, "%s", xcli_text(process, "cmdline"));
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

/* @param queues  in order of pid */
static void say_stale_priorities(const json_t **queues, size_t n, const json_t *processes)
{
    for (size_t i = 0, next; i < n; i = next) {
        int64_t pid = xcli_int(queues[i], "pid"), priority = INT32_MIN;
        char text[256];

        for (next = i; next < n && xcli_int(queues[next], "pid") == pid; next++)
            priority = XS_MAX(priority, xcli_int(queues[next], "priority"));
        if (xs_mps_priority_is_stale(xcli_find(processes, "pid", pid), priority, text, sizeof(text)))
            fprintf(stderr, "xcli: %s\n", text);
    }
}

/* @param before  an earlier answer, that long ago; NULL: none */
static void print_queues(const json_t *answer, const json_t *before, double interval_us, bool original)
{
    const json_t *queues = json_object_get(answer, "xqueues"),
                 *processes = json_object_get(answer, "processes");
    size_t n = json_array_size(queues), i;
    const json_t **sorted = calloc(n + 1, sizeof(*sorted));
    const char **commands = calloc(n + 1, sizeof(*commands));
    double *shares = calloc(n + 1, sizeof(*shares));
    struct xs_table t;
    json_t *q;

    if (!sorted || !commands || !shares) {
        free(shares);
        free(sorted);
        free(commands);
        fputs("xcli: out of memory\n", stderr);
        return;
    }
    xs_table_init(&t, k_columns, N_COLUMNS);
    json_array_foreach(queues, i, q) sorted[i] = q;
    qsort(sorted, n, sizeof(*sorted), by_pid_and_handle);
    shares_of(sorted, n, before, interval_us, shares);
    for (i = 0; i < n; i++) {
        const json_t *process = xcli_find(processes, "pid", xcli_int(sorted[i], "pid"));

        commands[i] = xcli_text(process, "cmdline");
        queue_row(sorted[i], process, &t);
        xs_table_set(&t, SHARE, shares[i] < 0 ? "-" : "%.0f", 100 * shares[i]);
    }
    if (original) {
        xcli_list_original(sorted, commands, n);
    } else {
        xs_table_print(&t, print_width());
        say_stale_priorities(sorted, n, processes);
    }
    xs_table_free(&t);
    free(shares);
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

static void client_table(const json_t *list, const struct xcli_filter *f, struct xs_table *t)
{
    static const struct xs_column k_ended[] = {
        {"PID", true, 1},        {"USER", false, 6},      {"LEFT", false, 3},    {"WHY", false, 4},
        {"JOINED", false, 8},    {"QUEUES", true, 7},   {"COMMANDS", true, 2}, {"SUSPENDED ms", true, 5},
        {"SERVICE ms", true, 6}, {"COMMAND", false, 4},
    };
    size_t i;
    json_t *c;

    xs_table_init(t, k_ended, XS_ARRAY_LEN(k_ended));
    json_array_foreach(list, i, c)
    {
        char joined[32], left[32];

        if (f->by_user && f->uid != xcli_int(c, "uid"))
            continue;
        time_text(xcli_int(c, "joined"), joined, sizeof(joined));
        time_text(xcli_int(c, "left"), left, sizeof(left));
        xs_table_row(t);
        xs_table_set(t, 0, "%" PRId64, xcli_int(c, "pid"));
        xs_table_set(t, 1, "%s", xcli_user_name(xcli_int(c, "uid")));
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
    bool ended, devices, original;
    struct xcli_filter filter;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct list_options *l = state->input;

    switch (key) {
    case 'e':
        l->ended = true;
        return 0;
    case KEY_DEVICES:
        l->devices = true;
        return 0;
    case KEY_USER:
        if (!xcli_filter_user(&l->filter, arg))
            argp_error(state, "there is no user '%s'", arg);
        return 0;
    case KEY_DEVICE:
        l->filter.device = arg;
        return 0;
    case KEY_FORMAT:
        if (strcmp(arg, "original") != 0 && strcmp(arg, "table") != 0 && strcmp(arg, "json") != 0)
            argp_error(state, "'%s' is no format: table, original or json", arg);
        l->original = strcmp(arg, "original") == 0;
        g_xcli.json = g_xcli.json || strcmp(arg, "json") == 0;
        return 0;
    case ARGP_KEY_END:
        if ((l->ended || l->devices) && l->original)
            argp_error(state, "--%s has no format 'original'", l->ended ? "ended" : "devices");
        if (l->devices && (l->ended || l->filter.by_user))
            argp_error(state, "--devices lists devices, neither programs nor those of a user");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int list_ended(const struct list_options *l)
{
    json_t *answer;
    struct xs_table t;
    int r = xcli_ask("GET", "/clients", NULL, &answer);

    if (r)
        return r;
    if (g_xcli.json) {
        xcli_print_json(answer);
    } else {
        client_table(json_object_get(answer, "ended"), &l->filter, &t);
        xs_table_print(&t, print_width());
        xs_table_free(&t);
    }
    json_decref(answer);
    return XCLI_OK;
}

static bool any_ready(const json_t *answer)
{
    size_t i;
    json_t *q;

    json_array_foreach(json_object_get(answer, "xqueues"), i, q) if (xcli_true(q, "ready")) return true;
    return false;
}

static int list_queues(const struct list_options *l)
{
    json_t *answer, *before = NULL;
    uint64_t at_ns = xs_now_ns();
    int r = xcli_ask("GET", "/xqueues", NULL, &answer);

    if (r == XCLI_OK && !g_xcli.json && !l->original && any_ready(answer)) { /* shares need two looks */
        before = answer;
        usleep(SHARE_US);
        r = xcli_ask("GET", "/xqueues", NULL, &answer);
    }
    if (r == XCLI_OK) {
        xcli_filter_apply(&l->filter, answer);
        if (g_xcli.json)
            xcli_print_json(answer);
        else
            print_queues(answer, before, (double)(xs_now_ns() - at_ns) / 1e3, l->original);
        json_decref(answer);
    }
    json_decref(before);
    return r;
}

int xcli_list(int argc, char **argv)
{
    static const struct argp_option k_options[] = {
        {"ended", 'e', NULL, 0, "the last programs that left, instead of the queues", 0},
        {"devices", KEY_DEVICES, NULL, 0, "the devices with queues, instead: model, memory in use, temperature, clock", 0},
        {"format", KEY_FORMAT, "FORMAT", 0, "table (default), json, or original: the columns of the original XSched's xcli", 0},
        {"user", KEY_USER, "USER", 0, "only of this user, by name or number", 0},
        {"device", KEY_DEVICE, "DEVICE", 0, "only on this device: the driver's number, UUID, a part of its address or model", 0},
        {0},
    };
    static const struct argp k_argp = {.options = k_options,
                                       .parser = parse,
                                       .children = xcli_json_child,
                                       .doc = "Lists the queues that xserver schedules."};
    struct list_options l = {0};
    int r;

    argp_parse(&k_argp, argc, argv, ARGP_IN_ORDER, NULL, &l);
    r = xcli_filter_begin(&l.filter, false);
    if (r == XCLI_OK)
        r = l.ended     ? list_ended(&l)
            : l.devices ? xcli_list_devices(&l.filter, print_width())
                        : list_queues(&l);
    xcli_filter_end(&l.filter);
    return r;
}
