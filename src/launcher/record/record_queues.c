/* SPDX-License-Identifier: Apache-2.0 */
/* The known state of each queue and program while a recording runs. */
#include "launcher/record/record.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct record_process {
    int64_t pid;
    bool named;
    char command[96]; /* as far as it is known */
    int64_t service_us, counted_us; /* device time of its queues: at the last answer; during the sum */
    bool asked, held; /* held: by a user, at the last answer */
    UT_hash_handle hh;
};

struct record_queue {
    uint64_t handle;
    unsigned number;
    struct record_process *process;
    uint64_t device;
    int64_t priority;
    bool ready, permitted;
    int64_t lane; /* multiprocessors to which its kernels are confined; 0: they have the device */
    bool held; /* a user suspended the program, so it has no permit */
    char why[16]; /* the reason of its last suspension, in one word */
    enum record_state state;
    uint64_t since_ns;
    UT_hash_handle hh;
};

static int64_t number_of(const json_t *o, const char *name)
{
    return json_integer_value(json_object_get(o, name));
}

static struct record_process *process_of(struct record *r, int64_t pid)
{
    struct record_process *p;

    HASH_FIND(hh, r->processes, &pid, sizeof(pid), p);
    if (p)
        return p;
    p = calloc(1, sizeof(*p));
    if (!p)
        abort();
    p->pid = pid;
    HASH_ADD(hh, r->processes, pid, sizeof(pid), p);
    return p;
}

static struct record_queue *find(struct record *r, uint64_t handle)
{
    struct record_queue *q;

    HASH_FIND(hh, r->queues, &handle, sizeof(handle), q);
    return q;
}

/* A viewer keeps the first name that it reads. The server shows "[name]" until it has read the command
 * line of a program that just joined. */
static void take_name(struct record *r, struct record_process *p, const char *command, bool last)
{
    if (p->named || !command)
        return;
    xs_str_copy(p->command, sizeof(p->command), command);
    if (command[0] == '[' && !last)
        return;
    p->named = true;
    r->to->process(r->f, p->pid, command);
}

static void name(struct record *r, const json_t *list)
{
    size_t i;
    json_t *o;

    json_array_foreach(list, i, o)
    {
        struct record_process *p = process_of(r, number_of(o, "pid"));

        p->held = json_is_true(json_object_get(o, "held"));
        take_name(r, p, json_string_value(json_object_get(o, "cmdline")), false);
    }
}

/* A program that joined after the server's last answer with names; slices of devices need its name at
 * once. */
static void name_new(struct record *r, const struct record_process *p)
{
    json_t *answer;

    if (p->named || r->names_asked || !r->ask)
        return;
    r->names_asked = true;
    answer = r->ask(r->ctx, "/clients");
    name(r, json_object_get(answer, "clients"));
    name(r, json_object_get(answer, "ended"));
    json_decref(answer);
}

static struct record_queue *add(struct record *r, uint64_t handle, int64_t pid, uint64_t device,
                                int64_t priority)
{
    struct record_queue *q = calloc(1, sizeof(*q));
    char name[128];

    if (!q)
        abort();
    q->handle = handle;
    q->number = ++r->next_number;
    q->process = process_of(r, pid);
    q->device = device;
    name_new(r, q->process);
    q->priority = priority;
    q->permitted = true;
    q->state = RECORD_IDLE;
    q->since_ns = r->at_ns;
    HASH_ADD(hh, r->queues, handle, sizeof(handle), q);
    record_device_name(r, device, name, sizeof(name));
    r->to->queue(r->f, q->number, pid, handle, device, name, priority, r->at_ns);
    r->written++;
    return q;
}

static bool on_device(enum record_state state)
{
    return state == RECORD_RUN || state == RECORD_BESIDE;
}

static void enter(struct record *r, struct record_queue *q, enum record_state state)
{
    if (q->state == state)
        return;
    if (on_device(state) != on_device(q->state))
        record_device_change(r, q->device, q->process->pid, q->process->command, on_device(state));
    if (q->state > RECORD_IDLE && r->at_ns > q->since_ns) {
        r->to->slice(r->f, q->number, q->process->pid, q->state, q->priority,
                     q->state == RECORD_BESIDE ? q->lane : 0, q->state >= RECORD_WAIT ? q->why : "", q->since_ns, r->at_ns);
        r->written++;
    }
    q->state = state;
    q->since_ns = r->at_ns;
}

static void settle(struct record *r, struct record_queue *q, bool ready, bool permitted, bool held)
{
    bool preempted = on_device(q->state) && ready && !permitted && !held;

    q->held = held && !permitted;
    if (ready != q->ready) {
        q->ready = ready;
        r->to->ready(r->f, q->number, ready, r->at_ns);
    }
    if (permitted != q->permitted) {
        q->permitted = permitted;
        r->to->decision(r->f, q->number, q->process->pid, permitted, preempted, r->at_ns);
    }
    if (q->held) /* with work or without */
        enter(r, q, RECORD_SUSPENDED);
    else if (preempted)
        enter(r, q, RECORD_PREEMPTED);
    else if (!ready)
        enter(r, q, RECORD_IDLE);
    else if (permitted)
        enter(r, q, q->lane ? RECORD_BESIDE : RECORD_RUN);
    else if (q->state != RECORD_PREEMPTED)
        enter(r, q, RECORD_WAIT);
}

/* Letters alone: it goes into the file as it is. @param why  NULL: an older xserver says none */
static void set_why(struct record_queue *q, const char *why)
{
    size_t n = why ? strspn(why, "abcdefghijklmnopqrstuvwxyz") : 0;

    snprintf(q->why, sizeof(q->why), "%.*s", (int)XS_MIN(n, sizeof(q->why) - 1), why ? why : "");
}

static void set_lane(struct record *r, struct record_queue *q, int64_t lane)
{
    bool runs = on_device(q->state);

    if (q->lane == lane)
        return;
    if (runs)
        enter(r, q, RECORD_IDLE); /* a slice has one lane */
    q->lane = lane;
    if (runs)
        enter(r, q, lane ? RECORD_BESIDE : RECORD_RUN);
}

static void forget(struct record *r, struct record_queue *q)
{
    enter(r, q, RECORD_IDLE);
    r->to->gone(r->f, q->number, r->at_ns);
    HASH_DEL(r->queues, q);
    free(q);
}

static void set_priority(struct record *r, struct record_queue *q, int64_t priority)
{
    if (q->priority == priority)
        return;
    if (q->state > RECORD_IDLE) { /* a slice has one priority */
        enum record_state state = q->state;

        enter(r, q, RECORD_IDLE);
        enter(r, q, state);
    }
    q->priority = priority;
    r->to->priority(r->f, q->number, priority, r->at_ns);
}

static void set_policy(struct record *r, const char *name)
{
    if (!strcmp(r->policy, name))
        return;
    xs_str_copy(r->policy, sizeof(r->policy), name);
    r->to->policy(r->f, name, r->at_ns);
}

/* [time_ns, "kind", handle, pid, value, device or policy name] */
static void event(struct record *r, const json_t *e)
{
    uint64_t time_ns = (uint64_t)json_integer_value(json_array_get(e, 0));
    const char *kind = json_string_value(json_array_get(e, 1));
    uint64_t handle = (uint64_t)json_integer_value(json_array_get(e, 2));
    int64_t pid = json_integer_value(json_array_get(e, 3)), value = json_integer_value(json_array_get(e, 4));
    const json_t *last = json_array_get(e, 5);
    struct record_queue *q = find(r, handle);

    if (!kind)
        return;
    time_ns = time_ns > r->began_ns ? time_ns - r->began_ns : 0;
    r->at_ns = XS_MAX(r->at_ns, time_ns);
    if (!strcmp(kind, "policy")) {
        set_policy(r, json_string_value(last) ? json_string_value(last) : "?");
        return;
    }
    if (!strcmp(kind, "add")) {
        if (!q)
            add(r, handle, pid, (uint64_t)json_integer_value(last), value);
        return;
    }
    if (!q)
        return;
    if (!strcmp(kind, "remove"))
        forget(r, q);
    else if (!strcmp(kind, "hint"))
        set_priority(r, q, value);
    else if (!strcmp(kind, "lane"))
        set_lane(r, q, value);
    else if (!strcmp(kind, "ready") || !strcmp(kind, "idle"))
        settle(r, q, kind[0] == 'r', q->permitted, q->held);
    else if (!strcmp(kind, "permit") || !strcmp(kind, "hold")) {
        if (kind[0] == 'h')
            set_why(q, json_string_value(last));
        if (kind[0] == 'p' || strcmp(q->why, "gather") != 0) /* its commands gather: it runs, and others as well */
            settle(r, q, q->ready, kind[0] == 'p', kind[0] == 'h' && value == 1);
    }
}

void record_events(struct record *r, const json_t *answer)
{
    uint64_t lost = (uint64_t)number_of(answer, "lost");
    size_t i;
    json_t *e;

    r->names_asked = false;
    if (lost) {
        r->lost += lost;
        r->to->lost(r->f, lost, r->at_ns);
    }
    json_array_foreach(json_object_get(answer, "events"), i, e) event(r, e);
}

void record_snapshot(struct record *r, const json_t *answer, uint64_t now_ns, bool states)
{
    uint64_t at_ns = now_ns > r->began_ns ? now_ns - r->began_ns : 0;
    static uint64_t before_ns;
    size_t i;
    json_t *o;

    name(r, json_object_get(answer, "processes"));
    json_array_foreach(json_object_get(answer, "xqueues"), i, o)
    {
        uint64_t handle = (uint64_t)number_of(o, "handle");
        struct record_queue *q = find(r, handle);

        process_of(r, number_of(o, "pid"))->counted_us += number_of(o, "service_us");
        if (!states && q && !q->permitted && q->held != q->process->held) { /* suspended while it waited, or no longer */
            r->at_ns = XS_MAX(r->at_ns, at_ns);
            settle(r, q, q->ready, q->permitted, q->process->held);
        }
        if (!states)
            continue;
        if (!q)
            q = add(r, handle, number_of(o, "pid"), (uint64_t)number_of(o, "device"),
                    number_of(o, "priority"));
        set_priority(r, q, number_of(o, "priority"));
        set_lane(r, q, number_of(o, "lane"));
        set_why(q, json_string_value(json_object_get(o, "why")));
        settle(r, q, json_is_true(json_object_get(o, "ready")), !json_is_true(json_object_get(o, "suspended")),
               q->process->held);
    }
    for (struct record_process *p = r->processes; p; p = p->hh.next) {
        int64_t more = p->counted_us - p->service_us;

        if (p->asked && at_ns > before_ns && more >= 0)
            r->to->share(r->f, p->pid, 1e5 * (double)more / (double)(at_ns - before_ns), before_ns, at_ns);
        p->asked = true;
        p->service_us = p->counted_us;
        p->counted_us = 0;
    }
    before_ns = at_ns;
}

void record_names(struct record *r, const json_t *answer)
{
    static const char *const k_lists[] = {"clients", "ended"};

    for (size_t k = 0; k < XS_ARRAY_LEN(k_lists); k++) {
        size_t i;
        json_t *o;

        json_array_foreach(json_object_get(answer, k_lists[k]), i, o)
        {
            int64_t pid = number_of(o, "pid");
            struct record_process *p;

            HASH_FIND(hh, r->processes, &pid, sizeof(pid), p);
            if (p)
                take_name(r, p, json_string_value(json_object_get(o, "cmdline")), true);
        }
    }
}

void record_end(struct record *r, uint64_t now_ns)
{
    uint64_t at_ns = now_ns > r->began_ns ? now_ns - r->began_ns : 0;
    struct record_queue *q, *next_q;
    struct record_process *p, *next_p;

    r->at_ns = XS_MAX(r->at_ns, at_ns);
    /* NOLINTBEGIN(clang-analyzer-unix.Malloc,clang-analyzer-core.NullDereference): HASH_DEL moves the head
     * on, unseen */
    HASH_ITER(hh, r->queues, q, next_q)
    {
        enter(r, q, RECORD_IDLE);
        HASH_DEL(r->queues, q);
        free(q);
    }
    HASH_ITER(hh, r->processes, p, next_p)
    {
        HASH_DEL(r->processes, p);
        free(p);
    }
    /* NOLINTEND(clang-analyzer-unix.Malloc,clang-analyzer-core.NullDereference) */
    record_devices_end(r);
    r->to->end(r->f, r->at_ns, r->lost);
}
