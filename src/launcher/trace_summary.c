/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/trace_summary.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct function {
    char name[96];
    uint64_t count[XS_TRACE_HOWS], failed;
    double total_us;
    UT_hash_handle hh;
};

struct traced_process {
    uint64_t pid, scheduled;
    UT_hash_handle hh;
};

struct traced_queue {
    uint64_t key[2]; /* pid, handle */
    UT_hash_handle hh;
};

struct xs_trace_sum {
    struct function *functions;
    struct traced_process *processes;
    struct traced_queue *queues;
    uint64_t unreadable;
    char *notes[16]; /* each once, without the mark; NULL behind the last */
};

static const char *const hows[XS_TRACE_HOWS] = {"pass", "submit", "sync", "hand"};

struct xs_trace_sum *xs_trace_sum_new(void)
{
    return calloc(1, sizeof(struct xs_trace_sum));
}

void xs_trace_sum_free(struct xs_trace_sum *s)
{
    struct function *f, *next_f;
    struct traced_process *p, *next_p;
    struct traced_queue *q, *next_q;

    /* NOLINTBEGIN(clang-analyzer-unix.Malloc): HASH_DEL moves the head on, unseen by the analyzer */
    HASH_ITER(hh, s->functions, f, next_f)
    {
        HASH_DEL(s->functions, f);
        free(f);
    }
    HASH_ITER(hh, s->processes, p, next_p)
    {
        HASH_DEL(s->processes, p);
        free(p);
    }
    HASH_ITER(hh, s->queues, q, next_q)
    {
        HASH_DEL(s->queues, q);
        free(q);
    }
    /* NOLINTEND(clang-analyzer-unix.Malloc) */
    for (size_t i = 0; i < XS_ARRAY_LEN(s->notes); i++)
        free(s->notes[i]);
    free(s);
}

static int note(struct xs_trace_sum *s, const char *text)
{
    size_t length = strcspn(text, "\n");

    for (size_t i = 0; i < XS_ARRAY_LEN(s->notes); i++) {
        if (!s->notes[i])
            return (s->notes[i] = strndup(text, length)) ? 0 : -ENOMEM;
        if (strncmp(s->notes[i], text, length) == 0 && !s->notes[i][length])
            return 0;
    }
    return 0;
}

static struct function *get_function(struct xs_trace_sum *s, const char *name)
{
    struct function *f;

    HASH_FIND_STR(s->functions, name, f);
    if (!f && (f = calloc(1, sizeof(*f)))) {
        xs_str_copy(f->name, sizeof(f->name), name);
        HASH_ADD_STR(s->functions, name, f);
    }
    return f;
}

static struct traced_process *get_process(struct xs_trace_sum *s, uint64_t pid)
{
    struct traced_process *p;

    HASH_FIND(hh, s->processes, &pid, sizeof(pid), p);
    if (!p && (p = calloc(1, sizeof(*p)))) {
        p->pid = pid;
        HASH_ADD(hh, s->processes, pid, sizeof(p->pid), p);
    }
    return p;
}

static int note_queue(struct xs_trace_sum *s, uint64_t pid, const char *text)
{
    struct traced_queue *q;
    uint64_t key[2] = {pid, 0};

    if (xs_str_parse_u64(text, 16, &key[1]) < 0)
        return 0;
    HASH_FIND(hh, s->queues, key, sizeof(key), q);
    if (q)
        return 0;
    q = calloc(1, sizeof(*q));
    if (!q)
        return -ENOMEM;
    memcpy(q->key, key, sizeof(key));
    HASH_ADD(hh, s->queues, key, sizeof(q->key), q);
    return 0;
}

int xs_trace_sum_add(struct xs_trace_sum *s, const char *line)
{
    char time[32], who[48], name[96], how[16], queue[32], result[32], took[32], scheduled[32] = "";
    struct function *f;
    struct traced_process *p;
    uint64_t pid, count;
    unsigned h = 0;
    int fields;

    if (line[0] == '#')
        return strstr(line, "calls go to") ? note(s, line + 1 + (line[1] == ' ')) : 0;
    if (line[0] == '\n' || !line[0])
        return 0;
    fields = sscanf(line, "%31s %47s %95s %15s %31s %31s %31s %31s", time, who, name, how, queue, result,
                    took, scheduled);
    while (fields >= 7 && h < XS_TRACE_HOWS && strcmp(how, hows[h]) != 0)
        h++;
    if (fields >= 7)
        who[strcspn(who, "/")] = 0;
    if (fields < 7 || h == XS_TRACE_HOWS || xs_str_parse_u64(who, 10, &pid) < 0) {
        s->unreadable++;
        return 0;
    }
    f = get_function(s, name);
    p = get_process(s, pid);
    if (!f || !p)
        return -ENOMEM;
    f->count[h]++;
    f->failed += strcmp(result, "0") != 0 && strncmp(result, "0x", 2) != 0;
    f->total_us += strtod(took, NULL);
    if (h == XS_TRACE_SUBMIT && xs_str_parse_u64(scheduled, 10, &count) == 0 && count > p->scheduled)
        p->scheduled = count;
    return h == XS_TRACE_SUBMIT ? note_queue(s, pid, queue) : 0; /* of other calls it may be a command list */
}

void xs_trace_sum_totals(const struct xs_trace_sum *s, struct xs_trace_totals *ret)
{
    struct function *f;
    struct traced_process *p;

    memset(ret, 0, sizeof(*ret));
    for (f = s->functions; f; f = f->hh.next) {
        for (unsigned h = 0; h < XS_TRACE_HOWS; h++) {
            ret->by_how[h] += f->count[h];
            ret->calls += f->count[h];
        }
        ret->failed += f->failed;
    }
    for (p = s->processes; p; p = p->hh.next)
        ret->scheduled += p->scheduled;
    ret->processes = HASH_COUNT(s->processes);
    ret->queues = HASH_COUNT(s->queues);
    ret->unreadable = s->unreadable;
}

static uint64_t calls_of(const struct function *f)
{
    return f->count[0] + f->count[1] + f->count[2] + f->count[3];
}

static int by_calls(struct function *a, struct function *b)
{
    uint64_t x = calls_of(a), y = calls_of(b);

    return x != y ? (x < y) - (x > y) : strcmp(a->name, b->name);
}

void xs_trace_sum_print(struct xs_trace_sum *s, FILE *f)
{
    struct xs_trace_totals t;
    struct function *i;

    xs_trace_sum_totals(s, &t);
    HASH_SORT(s->functions, by_calls);
    fprintf(f, "%-40s %9s %9s %9s %9s %9s %9s %12s\n", "function", "calls", "submit", "sync", "hand", "pass",
            "failed", "total ms");
    for (i = s->functions; i; i = i->hh.next)
        fprintf(f, "%-40s %9llu %9llu %9llu %9llu %9llu %9llu %12.3f\n", i->name,
                (unsigned long long)calls_of(i), (unsigned long long)i->count[XS_TRACE_SUBMIT],
                (unsigned long long)i->count[XS_TRACE_SYNC], (unsigned long long)i->count[XS_TRACE_HAND],
                (unsigned long long)i->count[XS_TRACE_PASS], (unsigned long long)i->failed,
                i->total_us / 1e3);
    fprintf(f, "%-40s %9llu %9llu %9llu %9llu %9llu %9llu\n", "all", (unsigned long long)t.calls,
            (unsigned long long)t.by_how[XS_TRACE_SUBMIT], (unsigned long long)t.by_how[XS_TRACE_SYNC],
            (unsigned long long)t.by_how[XS_TRACE_HAND], (unsigned long long)t.by_how[XS_TRACE_PASS],
            (unsigned long long)t.failed);
    if (t.unreadable)
        fprintf(f, "lines that are no calls: %llu\n", (unsigned long long)t.unreadable);
    fprintf(f, "processes: %llu, queues: %llu, scheduled commands: %llu\n", (unsigned long long)t.processes,
            (unsigned long long)t.queues, (unsigned long long)t.scheduled);
    for (size_t k = 0; k < XS_ARRAY_LEN(s->notes) && s->notes[k]; k++)
        fprintf(f, "%s\n", s->notes[k]);
    if (!t.calls)
        fputs("the shims saw no call: the program used no device, or reached its driver past them; "
              "`xsched doctor PID` tells which, while it runs\n",
              f);
}
