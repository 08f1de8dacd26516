/* SPDX-License-Identifier: Apache-2.0 */
/* xcli top: all about one program. */
#include "xcli/top.h"

#include "query/mps_priority.h"
#include "xsched/types.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_WIDTH 13 /* of what a line tells */

static void *must(void *p)
{
    if (!p) {
        fputs("xcli: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

static struct top_line *add_line(struct top_lines *l, char *text)
{
    l->lines = must(realloc(l->lines, (l->n + 1) * sizeof(*l->lines)));
    l->lines[l->n] = (struct top_line){.text = must(text), .state = XCLI_IDLE};
    return &l->lines[l->n++];
}

/* Bytes of the first n characters of UTF-8 text. */
static size_t bytes_of(const char *text, size_t n)
{
    size_t at = 0;

    for (; text[at] && n > 0; n--)
        do
            at++;
        while (((unsigned char)text[at] & 0xc0) == 0x80);
    return at;
}

/* Bytes of a first line of at most n characters, which ends between words if one ends in its second half. */
static size_t first_line(const char *text, size_t n)
{
    size_t all = bytes_of(text, n), end = all;

    if (text[all] == 0)
        return all;
    while (end > all / 2 && text[end - 1] != ' ')
        end--;
    return end > all / 2 ? end : all;
}

/* "Memory       1.5/8.0G"; a long text goes on below. */
static struct top_line *tell(struct top_lines *l, size_t width, const char *name, const char *text)
{
    size_t room = width > NAME_WIDTH + 8 ? width - NAME_WIDTH : 8, first = l->n;

    do {
        size_t n = first_line(text, room);
        char *line = NULL;

        if (asprintf(&line, "%-*s%.*s", NAME_WIDTH, l->n == first ? name : "", (int)n, text) < 0)
            line = NULL;
        add_line(l, line);
        text += n;
    } while (*text);
    return &l->lines[first];
}

/* The queue of the program that is in this state and has a reason. */
static const json_t *with_reason(const struct top_row *p, size_t n_queues)
{
    for (const struct top_row *q = p + 1; q < p + 1 + n_queues; q++)
        if (q->state == p->state && xcli_text(q->of, "why_text")[0])
            return q->of;
    return NULL;
}

/* Why it is in this state. */
static void reason(const struct top_row *p, size_t n_queues, char *ret, size_t size)
{
    int64_t held_for_us = xcli_int(p->of, "held_for_us");
    const json_t *q = with_reason(p, n_queues);
    const char *words = q ? xcli_text(q, "why_text") : "";
    char text[64];

    switch (p->state) {
    case XCLI_SUSPENDED:
        top_time_text(held_for_us, text, sizeof(text));
        snprintf(ret, size, "suspended: by a user%s%s",
                 held_for_us ? ", for another " : ", until it is resumed", held_for_us ? text : "");
        return;
    case XCLI_SWAPPED:
        snprintf(ret, size, "swapped out: %s", words[0] ? words : "its memory moves");
        return;
    case XCLI_IDLE:
        snprintf(ret, size, "idle: %s", p->queues ? "it has no work" : "it has no queue yet");
        return;
    case XCLI_RUNNING:
        snprintf(ret, size, "running: %s", words[0] ? words : "it has work, and permission");
        return;
    case XCLI_BESIDE:
        xcli_lane_text(p->lane, p->reserve, text, sizeof(text));
        snprintf(ret, size, "beside: %s; this one has %s multiprocessors",
                 words[0] ? words : "a more important program is active", text);
        return;
    default: /* an older xserver says nothing */
        snprintf(ret, size, "waiting: %s", words[0] ? words : "for its turn");
    }
}

/* @param p  in front of its queues */
static void tell_program(struct top_facts *f, const struct top_row *p,
                         size_t n_queues, size_t width, struct top_lines *l)
{
    char text[512], time[32], memory[48];
    int64_t service_us = 0;
    const char *group = xcli_text(p->of, "group");

    snprintf(text, sizeof(text), "%" PRId64 ", of user %s", p->pid, xcli_user_name(p->uid));
    tell(l, width, "Process", text);
    tell(l, width, "Command", p->command);
    if (group[0])
        tell(l, width, "Group", group);
    reason(p, n_queues, text, sizeof(text));
    tell(l, width, "State", text)->state = p->state;
    if (p->queues) {
        snprintf(text, sizeof(text), "%" PRId64 "; preemption level %" PRId64 "; it shares in %s",
                 p->priority, p->level, p->way[0] ? p->way : "time");
        tell(l, width, "Priority", text);
    }
    if (xs_mps_priority_is_stale(p->of, p->priority, text, sizeof(text)))
        tell(l, width, "", text);
    for (const struct top_row *q = p + 1; q < p + 1 + n_queues; q++)
        service_us += xcli_int(q->of, "service_us");
    top_time_text(service_us, time, sizeof(time));
    snprintf(text, sizeof(text), "%.0f %% of the last interval%s, %s in all", p->share * 100,
             f->estimates ? " (an estimate)" : "", time);
    tell(l, width, "Device time", text);
    top_time_text(p->waited_us, time, sizeof(time));
    snprintf(text, sizeof(text), "%.0f %% of the last interval, %s in all; preempted %" PRId64 " time%s",
             p->waiting * 100, time, p->preemptions, p->preemptions == 1 ? "" : "s");
    tell(l, width, "Waits", text);
    if (xcli_int(p->of, "gathered_us")) {
        top_time_text(xcli_int(p->of, "gathered_us"), time, sizeof(time));
        snprintf(text, sizeof(text), "its commands gathered for %s in all, and others computed meanwhile", time);
        tell(l, width, "Idle time", text);
    }
    xcli_memory_text(p->of, memory, sizeof(memory));
    snprintf(text, sizeof(text), "%s%s", strcmp(memory, "-") ? memory : "not counted",
             strcmp(memory, "-") ? ", of its limit" : ": it has no limit (xsched run --memory)");
    tell(l, width, "Memory", text);
    snprintf(text, sizeof(text), "%zu", p->queues);
    tell(l, width, "Queues", text);
}

static void tell_queues(const struct top_row *rows, size_t n, size_t width, struct top_lines *l)
{
    enum {
        HANDLE,
        DEVICE,
        STATE,
        PRIO,
        LV,
        SHARE,
        WAIT,
        WAITED,
        PREEMPTIONS,
        INFLIGHT,
        COMMANDS,
        THRESHOLD,
        N_COLUMNS
    };
    static const struct xs_column k_columns[N_COLUMNS] = {[HANDLE] = {"XQUEUE", false, 1},
                                                          [DEVICE] = {"DEVICE", false, 4},
                                                          [STATE] = {"STATE", false, 2},
                                                          [PRIO] = {"PRI", true, 3},
                                                          [LV] = {"LV", true, 7},
                                                          [SHARE] = {"DEV%", true, 5},
                                                          [WAIT] = {"WAIT%", true, 6},
                                                          [WAITED] = {"WAITED", true, 8},
                                                          [PREEMPTIONS] = {"PREEMPT", true, 9},
                                                          [INFLIGHT] = {"FLIGHT", true, 11},
                                                          [COMMANDS] = {"COMMANDS", true, 10},
                                                          [THRESHOLD] = {"THRESHOLD", true, 12}};
    struct xs_table t;

    xs_table_init(&t, k_columns, N_COLUMNS);
    for (size_t i = 0; i < n; i++) {
        const struct top_row *q = &rows[i];
        char text[64];

        xs_table_row(&t);
        xs_table_set(&t, HANDLE, "0x%" PRIx64, q->handle);
        xcli_device_text(q->device, text, sizeof(text));
        xs_table_set(&t, DEVICE, "%s", text);
        xs_table_set(&t, STATE, "%s", xcli_state_names[q->state]);
        xs_table_set(&t, PRIO, "%" PRId64, q->priority);
        xs_table_set(&t, LV, "%" PRId64, q->level);
        xs_table_set(&t, SHARE, "%.0f", q->share * 100);
        xs_table_set(&t, WAIT, "%.0f", q->waiting * 100);
        top_time_text(q->waited_us, text, sizeof(text));
        xs_table_set(&t, WAITED, "%s", text);
        xs_table_set(&t, PREEMPTIONS, "%" PRId64, q->preemptions);
        xs_table_set(&t, INFLIGHT, "%.1fms", (double)xcli_int(q->of, "inflight_us") / 1e3);
        xs_table_set(&t, COMMANDS, "%" PRId64, q->commands);
        xs_table_set(&t, THRESHOLD, "%" PRId64, xcli_int(q->of, "threshold"));
    }
    for (size_t i = 0; i < n + 1; i++) {
        struct top_line *line = add_line(l, xs_table_line(&t, i, width));

        line->head = i == 0;
        line->state = i ? rows[i - 1].state : XCLI_IDLE;
        line->handle = i ? rows[i - 1].handle : 0;
    }
    xs_table_free(&t);
}

void top_detail(struct top_facts *f, int64_t pid, size_t width, struct top_lines *ret)
{
    const struct top_options all_of_them = {.queues = true, .sort = TOP_BY_PID};
    struct top_rows rows;
    size_t at = 0, n = 0;

    *ret = (struct top_lines){0};
    top_rows_make(f, &all_of_them, &rows);
    while (at < rows.n && (rows.rows[at].is_queue || rows.rows[at].pid != pid))
        at++;
    while (at + 1 + n < rows.n && rows.rows[at + 1 + n].is_queue)
        n++;
    if (at < rows.n) {
        tell_program(f, &rows.rows[at], n, width, ret);
        if (n)
            tell_queues(&rows.rows[at + 1], n, width, ret);
    }
    top_rows_free(&rows);
}

void top_lines_free(struct top_lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->lines[i].text);
    free(l->lines);
    *l = (struct top_lines){0};
}
