/* SPDX-License-Identifier: Apache-2.0 */
/* Makes rows from two answers of the server: rates, sums a program, order, filter. */
#include "xcli/top.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const top_sort_names[TOP_SORTS] = {
    [TOP_BY_SHARE] = "share",       [TOP_BY_WAIT] = "wait", [TOP_BY_PREEMPTIONS] = "preemptions",
    [TOP_BY_PRIORITY] = "priority", [TOP_BY_PID] = "pid",   [TOP_BY_COMMANDS] = "commands",
    [TOP_BY_COMMAND] = "command",
};

static void *must(void *p)
{
    if (!p) {
        fputs("xcli: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

static int64_t pid_of(const void *p)
{
    return xcli_int(*(const json_t *const *)p, "pid");
}

static int by_pid(const void *a, const void *b)
{
    int64_t pa = pid_of(a), pb = pid_of(b);

    return pa < pb ? -1 : pa > pb;
}

static int by_handle(const void *a, const void *b)
{
    int64_t ha = xcli_int(*(const json_t *const *)a, "handle"),
            hb = xcli_int(*(const json_t *const *)b, "handle");

    return ha < hb ? -1 : ha > hb;
}

static int by_pid_and_handle(const void *a, const void *b)
{
    int r = by_pid(a, b);

    return r ? r : by_handle(a, b);
}

/* The members of an array in that order; the caller frees it. */
static const json_t **sorted(const json_t *answer, const char *name, size_t *ret_n,
                             int (*order)(const void *, const void *))
{
    const json_t *list = json_object_get(answer, name);
    const json_t **all = must(calloc(json_array_size(list) + 1, sizeof(*all)));
    size_t i;
    json_t *o;

    json_array_foreach(list, i, o) all[i] = o;
    *ret_n = json_array_size(list);
    qsort(all, *ret_n, sizeof(*all), order);
    return all;
}

static const json_t *find(const json_t **all, size_t n, const json_t *like,
                          int (*order)(const void *, const void *))
{
    const json_t **at = bsearch(&like, all, n, sizeof(*all), order);

    return at ? *at : NULL;
}

static double more(const json_t *now, const json_t *before, const char *name)
{
    double d = before ? (double)xcli_int(now, name) - (double)xcli_int(before, name) : 0;

    return d > 0 ? d : 0;
}

static void fill_queue(const json_t *q, const json_t *before, double interval_us, struct top_row *row)
{
    *row = (struct top_row){
        .is_queue = true,
        .pid = xcli_int(q, "pid"),
        .handle = (uint64_t)xcli_int(q, "handle"),
        .device = (uint64_t)xcli_int(q, "device"),
        .level = xcli_int(q, "level"),
        .priority = xcli_int(q, "priority"),
        .queues = 1,
        .waited_us = xcli_int(q, "waiting_us"),
        .preemptions = xcli_int(q, "preemptions"),
        .commands = xcli_int(q, "commands"),
        .command = "",
        .way = "",
        .lane = xcli_int(q, "lane"),
        .reserve = xcli_int(q, "reserve"),
        .state = xcli_queue_state(q, NULL),
        .of = q,
    };
    if (interval_us > 0) {
        row->share = more(q, before, "service_us") / interval_us;
        row->waiting = more(q, before, "waiting_us") / interval_us;
        row->preemptions_a_second = more(q, before, "preemptions") / interval_us * 1e6;
        row->commands_a_second = more(q, before, "commands") / interval_us * 1e6;
    }
}

/* Whether a program with queues in both states is in the first one. */
static bool is_before(enum xcli_state a, enum xcli_state b)
{
    static const int k_rank[] = {
        [XCLI_IDLE] = 0, [XCLI_WAITING] = 1, [XCLI_BESIDE] = 2, [XCLI_RUNNING] = 3, [XCLI_SWAPPED] = 4,
        [XCLI_SUSPENDED] = 5};

    return k_rank[a] > k_rank[b];
}

static void add(struct top_row *sum, const struct top_row *q)
{
    if (sum->queues == 0) {
        sum->device = q->device;
        sum->level = q->level;
        sum->priority = q->priority;
    }
    if (sum->device != q->device)
        sum->device = UINT64_MAX;
    sum->level = XS_MAX(sum->level, q->level);
    sum->priority = XS_MAX(sum->priority, q->priority);
    if (is_before(q->state, sum->state))
        sum->state = q->state;
    if (q->state == XCLI_BESIDE) {
        sum->lane = q->lane;
        sum->reserve = q->reserve;
    }
    sum->queues++;
    sum->share += q->share;
    sum->waiting += q->waiting;
    sum->preemptions_a_second += q->preemptions_a_second;
    sum->commands_a_second += q->commands_a_second;
    sum->waited_us += q->waited_us;
    sum->preemptions += q->preemptions;
    sum->commands += q->commands;
}

static bool passes(const struct top_row *program, const char *filter)
{
    char device[64], pid[24];

    if (!filter[0])
        return true;
    xcli_device_text(program->device, device, sizeof(device));
    snprintf(pid, sizeof(pid), "%" PRId64, program->pid);
    return strcasestr(program->command, filter) || strcasestr(xcli_user_name(program->uid), filter) ||
           strcasestr(device, filter) || strstr(pid, filter);
}

static int compare_numbers(double a, double b)
{
    return a < b ? 1 : a > b ? -1 : 0; /* the largest first */
}

static int compare(const struct top_row *a, const struct top_row *b, int sort)
{
    switch (sort) {
    case TOP_BY_SHARE:
        return compare_numbers(a->share, b->share);
    case TOP_BY_WAIT:
        return compare_numbers(a->waiting, b->waiting);
    case TOP_BY_PREEMPTIONS:
        return compare_numbers((double)a->preemptions, (double)b->preemptions);
    case TOP_BY_PRIORITY:
        return compare_numbers((double)a->priority, (double)b->priority);
    case TOP_BY_COMMANDS:
        return compare_numbers((double)a->commands, (double)b->commands);
    case TOP_BY_COMMAND:
        return strcmp(a->command, b->command);
    default:
        return 0; /* the number of the process decides, as in all ties */
    }
}

/* qsort has no context. One thread. */
static int g_sort;
static bool g_reverse;

static int in_order(const void *va, const void *vb)
{
    const struct top_row *a = va, *b = vb;
    int r = compare(a, b, g_sort);

    if (r == 0)
        r = a->pid != b->pid        ? (a->pid < b->pid ? -1 : 1)
            : a->handle < b->handle ? -1
                                    : a->handle > b->handle;
    return g_reverse ? -r : r;
}

/* Queues stand in order of pid. */
static size_t first_of(const struct top_row *queues, size_t n, int64_t pid)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (queues[mid].pid < pid)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Behind each program its queues. */
static void unfold(struct top_rows *programs, struct top_row *queues, size_t n_queues)
{
    struct top_row *all = must(calloc(programs->n + n_queues + 1, sizeof(*all)));
    size_t n = 0;

    for (size_t i = 0; i < programs->n; i++) {
        size_t first = n + 1;

        all[n++] = programs->rows[i];
        for (size_t k = first_of(queues, n_queues, programs->rows[i].pid);
             k < n_queues && queues[k].pid == programs->rows[i].pid; k++)
            all[n++] = queues[k];
        qsort(all + first, n - first, sizeof(*all), in_order);
    }
    free(programs->rows);
    programs->rows = all;
    programs->n = n;
}

/* @return whether they are estimates */
static bool scale(struct top_row *queues, size_t n)
{
    uint64_t *devices = must(calloc(n + 1, sizeof(*devices)));
    double *shares = must(calloc(n + 1, sizeof(*shares)));
    bool scaled;

    for (size_t i = 0; i < n; i++) {
        devices[i] = queues[i].device;
        shares[i] = queues[i].share;
    }
    scaled = xcli_scale_shares(devices, shares, n);
    for (size_t i = 0; i < n; i++)
        queues[i].share = shares[i];
    free(shares);
    free(devices);
    return scaled;
}

void top_rows_make(struct top_facts *f, const struct top_options *o, struct top_rows *ret)
{
    double interval_us = f->before ? (double)(f->at_ns - f->before_ns) / 1e3 : 0;
    size_t n_queues, n_before, n_programs;
    const json_t **queues = sorted(f->queues, "xqueues", &n_queues, by_pid_and_handle);
    const json_t **before = sorted(f->before, "xqueues", &n_before, by_handle);
    const json_t **programs = sorted(f->queues, "processes", &n_programs, by_pid);
    struct top_row *of_queues = must(calloc(n_queues + 1, sizeof(*of_queues)));

    for (size_t i = 0; i < n_queues; i++)
        fill_queue(queues[i], find(before, n_before, queues[i], by_handle), interval_us, &of_queues[i]);
    f->estimates = scale(of_queues, n_queues);
    ret->rows = must(calloc(n_programs + 1, sizeof(*ret->rows)));
    ret->n = 0;
    for (size_t i = 0; i < n_programs; i++) {
        int64_t pid = xcli_int(programs[i], "pid");
        bool held = xcli_true(programs[i], "held");
        struct top_row *row = &ret->rows[ret->n];

        if (i > 0 && xcli_int(programs[i - 1], "pid") == pid)
            continue; /* joined twice: its queues are all in the first row */
        *row = (struct top_row){
            .pid = pid,
            .uid = xcli_int(programs[i], "uid"),
            .device = UINT64_MAX,
            .command = xcli_text(programs[i], "cmdline"),
            .way = xcli_text(programs[i], "share"),
            .state = held ? XCLI_SUSPENDED : XCLI_IDLE,
            .of = programs[i],
        };
        for (size_t k = first_of(of_queues, n_queues, pid); k < n_queues && of_queues[k].pid == pid; k++) {
            if (held)
                of_queues[k].state = XCLI_SUSPENDED;
            if (xcli_filter_device(&o->only, of_queues[k].device))
                add(row, &of_queues[k]);
        }
        if (passes(row, o->filter) && (!o->only.by_user || o->only.uid == row->uid) &&
            (!o->only.device || row->queues))
            ret->n++;
    }
    g_sort = o->sort;
    g_reverse = o->reverse;
    qsort(ret->rows, ret->n, sizeof(*ret->rows), in_order);
    if (o->queues)
        unfold(ret, of_queues, n_queues);
    free(of_queues);
    free(programs);
    free(before);
    free(queues);
}

void top_rows_free(struct top_rows *r)
{
    free(r->rows);
    r->rows = NULL;
    r->n = 0;
}

/* ---- as text ---- */

enum {
    PID,
    USER,
    DEVICE,
    PRIO,
    LV,
    STATE,
    WAY,
    LANE,
    SHARE,
    WAIT,
    WAITED,
    PREEMPTIONS,
    PREEMPT_RATE,
    RATE,
    MEM,
    QUEUES,
    CMD,
    N_COLUMNS
};

static const struct xs_column k_columns[N_COLUMNS] = {
    [PID] = {"PID", true, 1},
    [USER] = {"USER", false, 9},
    [DEVICE] = {"DEVICE", false, 8},
    [PRIO] = {"PRI", true, 2},
    [LV] = {"LV", true, 6},
    [STATE] = {"STATE", false, 3},
    [WAY] = {"IN", false, 12},
    [LANE] = {"LANE", true, 13},
    [SHARE] = {"DEV%", true, 4},
    [WAIT] = {"WAIT%", true, 5},
    [WAITED] = {"WAITED", true, 11},
    [PREEMPTIONS] = {"PREEMPT", true, 10},
    [PREEMPT_RATE] = {"P/S", true, 12},
    [RATE] = {"CMD/S", true, 10},
    [MEM] = {"MEM", true, 9},
    [QUEUES] = {"Q", true, 10},
    [CMD] = {"COMMAND", false, 7},
};

void top_time_text(int64_t us, char *ret, size_t size)
{
    if (us < 1000000)
        snprintf(ret, size, "%" PRId64 "ms", us / 1000);
    else if (us < 600 * (int64_t)1000000)
        snprintf(ret, size, "%.1fs", (double)us / 1e6);
    else
        snprintf(ret, size, "%" PRId64 "h%02" PRId64, us / 3600000000, us / 60000000 % 60);
}

static void percent(struct xs_table *t, size_t column, double part)
{
    xs_table_set(t, column, part >= 0.0995 || part < 0.0005 ? "%.0f" : "%.1f", part * 100);
}

void top_table(const struct top_rows *r, struct xs_table *t)
{
    xs_table_init(t, k_columns, N_COLUMNS);
    for (size_t i = 0; i < r->n; i++) {
        const struct top_row *row = &r->rows[i];
        char text[64];

        xs_table_row(t);
        if (!row->is_queue) {
            xs_table_set(t, PID, "%" PRId64, row->pid);
            xs_table_set(t, USER, "%.10s", xcli_user_name(row->uid));
            xs_table_set(t, QUEUES, "%zu", row->queues);
        }
        if (row->is_queue || row->queues) {
            if (row->device == UINT64_MAX)
                snprintf(text, sizeof(text), "several");
            else
                xcli_device_text(row->device, text, sizeof(text));
            xs_table_set(t, DEVICE, "%s", text);
            xs_table_set(t, PRIO, "%" PRId64, row->priority);
            xs_table_set(t, LV, "%" PRId64, row->level);
        }
        xs_table_set(t, STATE, "%s", xcli_state_names[row->state]);
        if (!row->is_queue) {
            xs_table_set(t, WAY, "%s", row->way[0] ? row->way : "-");
            xcli_memory_text(row->of, text, sizeof(text));
            xs_table_set(t, MEM, "%s", text);
        }
        xcli_lane_text(row->state == XCLI_BESIDE ? row->lane : 0, row->reserve, text, sizeof(text));
        xs_table_set(t, LANE, "%s", text);
        percent(t, SHARE, row->share);
        percent(t, WAIT, row->waiting);
        top_time_text(row->waited_us, text, sizeof(text));
        xs_table_set(t, WAITED, "%s", text);
        xs_table_set(t, PREEMPTIONS, "%" PRId64, row->preemptions);
        xs_table_set(t, PREEMPT_RATE, "%.0f", row->preemptions_a_second);
        xs_table_set(t, RATE, "%.0f", row->commands_a_second);
        if (row->is_queue)
            xs_table_set(t, CMD, "  queue 0x%" PRIx64, row->handle);
        else
            xs_table_set(t, CMD, "%s", row->command);
    }
}

void top_summary(const struct top_facts *f, char *ret, size_t size)
{
    const json_t *queues = json_object_get(f->queues, "xqueues");
    const char *policy = f->status ? xcli_text(f->status, "policy_name") : "";
    size_t i, n, count[XCLI_SWAPPED + 1] = {0};
    char beside[32] = "", suspended[40] = "", swapped[40] = "";
    const json_t **programs;
    json_t *q;

    if (f->state != XCLI_OK) {
        snprintf(ret, size, "%s", f->state == XCLI_ABSENT ? "no xserver answers" : f->why);
        return;
    }
    programs = sorted(f->queues, "processes", &n, by_pid);
    json_array_foreach(queues, i, q)
        count[xcli_queue_state(q, find(programs, n, q, by_pid))]++;
    free(programs);
    if (count[XCLI_BESIDE])
        snprintf(beside, sizeof(beside), "%zu beside, ", count[XCLI_BESIDE]);
    if (count[XCLI_SUSPENDED])
        snprintf(suspended, sizeof(suspended), ", %zu suspended", count[XCLI_SUSPENDED]);
    if (count[XCLI_SWAPPED])
        snprintf(swapped, sizeof(swapped), ", %zu swapped out", count[XCLI_SWAPPED]);
    snprintf(ret, size, "%s%s%zu programs, %zu queues: %zu running, %s%zu waiting%s%s%s", policy, policy[0] ? ", " : "", n,
             json_array_size(queues), count[XCLI_RUNNING], beside, count[XCLI_WAITING], suspended, swapped,
             f->estimates ? "; shares are estimates" : "");
}

size_t top_devices(const struct top_facts *f, struct top_device *ret, size_t max)
{
    double interval_us = f->before ? (double)(f->at_ns - f->before_ns) / 1e3 : 0;
    size_t n_queues, n_before, n = 0;
    const json_t **queues = sorted(f->queues, "xqueues", &n_queues, by_pid_and_handle);
    const json_t **before = sorted(f->before, "xqueues", &n_before, by_handle);

    for (size_t i = 0; i < n_queues; i++) {
        uint64_t device = (uint64_t)xcli_int(queues[i], "device");
        size_t d = 0;

        while (d < n && ret[d].device != device)
            d++;
        if (d == n && n == max)
            continue;
        if (d == n)
            ret[n++] = (struct top_device){.device = device};
        if (interval_us > 0)
            ret[d].share +=
                more(queues[i], find(before, n_before, queues[i], by_handle), "service_us") / interval_us;
    }
    for (size_t d = 0; d < n; d++)
        ret[d].share = XS_MIN(ret[d].share, 1); /* as the scaled shares of its queues */
    free(queues);
    free(before);
    return n;
}
