/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim.h"

#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_STEPS 65536u
#define PROGRESS_NS    (5 * XS_NS_PER_S)

/* A command of a queue that passed the gate. */
struct command {
    uint64_t left_ns, length_ns;
    uint64_t order;                /* when it reached the device */
};

struct job {
    uint64_t arrived_ns, commands_left;
};

struct sim_queue {
    const struct xs_sim_queue *spec;
    struct xs_sched_queue *sched;
    struct sim_device *device;
    uint64_t rng;
    uint64_t next_arrival_ns;      /* UINT64_MAX: none is due */
    struct job *jobs;              /* ring of those that are not complete */
    size_t jobs_first, jobs_n, jobs_cap;
    uint64_t waiting;              /* commands that did not pass the gate yet */
    struct command *flight;        /* ring of those that did */
    size_t flight_first, flight_n, flight_cap;
    uint64_t flight_ns;            /* their length */
    bool open;                     /* permitted */
    uint64_t stops_ns;             /* level 3: the running command stops then */
    bool started;                  /* its first command has run a part */
    bool ready;
    uint64_t service_ns, suspensions;
    uint64_t *latencies;
    size_t nlatencies, cap_latencies;
};

struct sim_device {
    int model;
    struct sim_queue **queues;
    size_t n;
    struct sim_queue *running;         /* exclusive: the one on the device; the device itself does
                                          not preempt it */
    uint64_t order;
};

struct sim {
    const struct xs_scenario *sc;
    struct xs_sched *sched;
    struct sim_queue *queues;
    struct sim_device *devices;
    uint64_t now_ns;
    uint64_t decide_ns;            /* the driver runs then */
    bool failed;
};

/* ---- random numbers: splitmix64, one stream a queue ---- */

static uint64_t rng_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static uint64_t rng_exponential(uint64_t *state, uint64_t mean_ns)
{
    double u = ((double)(rng_next(state) >> 11) + 1.0) / 9007199254740993.0; /* 0 < u <= 1 */
    double x = -log(u) * (double)mean_ns;

    return x < 1.0 ? 1 : x > 1e15 ? (uint64_t)1e15 : (uint64_t)x;
}

/* ---- rings ---- */

static void *ring_push(void **ring, size_t *first, size_t *n, size_t *cap, size_t size)
{
    if (*n == *cap) {
        size_t grown = *cap ? *cap * 2 : 16;
        char *a = malloc(grown * size);

        if (!a)
            return NULL;
        for (size_t i = 0; i < *n; i++)
            memcpy(a + i * size, (char *)*ring + (*first + i) % *cap * size, size);
        free(*ring);
        *ring = a;
        *cap = grown;
        *first = 0;
    }
    return (char *)*ring + (*first + (*n)++) % *cap * size;
}

static struct command *head(const struct sim_queue *q)
{
    return &q->flight[q->flight_first];
}

/* ---- queues ---- */

static void wake(struct sim *m, uint64_t at_ns)
{
    m->decide_ns = XS_MIN(m->decide_ns, at_ns);
}

static void set_ready(struct sim *m, struct sim_queue *q)
{
    bool ready = q->waiting > 0 || q->flight_n > 0;

    if (ready == q->ready)
        return;
    q->ready = ready;
    if (m->sched) {
        xs_sched_queue_set_ready(m->sched, q->sched, ready, m->now_ns);
        wake(m, m->now_ns + m->sc->react_ns);
    }
}

/* Hands commands to the device while the gate is open and the bound allows. */
static void feed(struct sim *m, struct sim_queue *q)
{
    while (q->open && q->waiting > 0) {
        uint64_t ns = q->spec->length_ns;
        struct command *c;

        if (q->flight_n > 0 && q->flight_ns + ns > q->spec->inflight_ns)
            return;
        c = ring_push((void **)&q->flight, &q->flight_first, &q->flight_n, &q->flight_cap, sizeof(*c));
        if (!c) {
            m->failed = true;
            return;
        }
        if (q->spec->length == XS_SIM_EXPONENTIAL)
            ns = rng_exponential(&q->rng, ns);
        c->left_ns = c->length_ns = ns;
        c->order = q->device->order++;
        q->flight_ns += ns;
        q->waiting--;
    }
}

static void arrive(struct sim *m, struct sim_queue *q)
{
    const struct xs_sim_queue *spec = q->spec;
    struct job *j = ring_push((void **)&q->jobs, &q->jobs_first, &q->jobs_n, &q->jobs_cap, sizeof(*j));

    if (!j) {
        m->failed = true;
        return;
    }
    j->arrived_ns = m->now_ns;
    j->commands_left = spec->commands;
    q->waiting += spec->commands;
    if (spec->arrival == XS_SIM_CLOSED)
        q->next_arrival_ns = UINT64_MAX;
    else
        q->next_arrival_ns += spec->arrival == XS_SIM_PERIODIC ? spec->period_ns
                                                               : rng_exponential(&q->rng, spec->period_ns);
    if (q->next_arrival_ns >= spec->stop_ns)
        q->next_arrival_ns = UINT64_MAX;
    feed(m, q);
    set_ready(m, q);
}

static void job_done(struct sim *m, struct sim_queue *q, const struct job *j)
{
    if (q->nlatencies == q->cap_latencies) {
        size_t cap = q->cap_latencies ? q->cap_latencies * 2 : 64;
        uint64_t *a = realloc(q->latencies, cap * sizeof(*a));

        if (!a) {
            m->failed = true;
            return;
        }
        q->latencies = a;
        q->cap_latencies = cap;
    }
    q->latencies[q->nlatencies++] = m->now_ns - j->arrived_ns;
    if (q->spec->arrival == XS_SIM_CLOSED && m->now_ns + q->spec->period_ns < q->spec->stop_ns)
        q->next_arrival_ns = m->now_ns + q->spec->period_ns;
}

static void complete(struct sim *m, struct sim_queue *q)
{
    struct job *j = &q->jobs[q->jobs_first];

    q->service_ns += head(q)->length_ns;
    q->flight_ns -= head(q)->length_ns;
    q->flight_first = (q->flight_first + 1) % q->flight_cap;
    q->flight_n--;
    q->started = false;
    if (q->device->running == q)
        q->device->running = NULL;
    if (m->sched)
        xs_sched_queue_set_service(m->sched, q->sched, q->service_ns);
    if (--j->commands_left == 0) {
        struct job done = *j;

        q->jobs_first = (q->jobs_first + 1) % q->jobs_cap;
        q->jobs_n--;
        job_done(m, q, &done);
        if (q->next_arrival_ns == m->now_ns) { /* the loop goes on at once, without idle time */
            arrive(m, q);
            return;
        }
    }
    feed(m, q);
    set_ready(m, q);
}

/* ---- devices ---- */

/* Whether the device may work on the queue's first command. Level 1 stops no command that passed the
 * gate. Level 2 stops those that have not started. Level 3 stops the running command too, after a
 * while. */
static bool may_run(const struct sim *m, const struct sim_queue *q)
{
    if (q->flight_n == 0)
        return false;
    if (q->open || q->spec->level == 1)
        return true;
    if (q->spec->level == 2)
        return q->started;
    return q->started && m->now_ns < q->stops_ns;
}

static void choose(const struct sim *m, struct sim_device *d)
{
    if (d->running && may_run(m, d->running))
        return;
    d->running = NULL;
    for (size_t i = 0; i < d->n; i++) {
        struct sim_queue *q = d->queues[i];

        if (may_run(m, q) && (!d->running || head(q)->order < head(d->running)->order))
            d->running = q;
    }
    if (d->running)
        d->running->started = true;
}

static size_t active(struct sim *m, struct sim_device *d)
{
    size_t n = 0;

    if (d->model == XS_SIM_EXCLUSIVE) {
        choose(m, d);
        return d->running != NULL;
    }
    for (size_t i = 0; i < d->n; i++) {
        if (may_run(m, d->queues[i])) {
            d->queues[i]->started = true;
            n++;
        }
    }
    return n;
}

static bool works_on(const struct sim *m, const struct sim_device *d, const struct sim_queue *q)
{
    return d->model == XS_SIM_EXCLUSIVE ? d->running == q : may_run(m, q);
}

static uint64_t device_next(struct sim *m, struct sim_device *d)
{
    size_t n = active(m, d);
    uint64_t next = UINT64_MAX;

    for (size_t i = 0; i < d->n && n > 0; i++) {
        struct sim_queue *q = d->queues[i];

        if (!works_on(m, d, q))
            continue;
        next = XS_MIN(next, m->now_ns + head(q)->left_ns * n);
        if (!q->open && q->spec->level == 3)
            next = XS_MIN(next, q->stops_ns);
    }
    return next;
}

static void device_advance(struct sim *m, struct sim_device *d, uint64_t to_ns)
{
    uint64_t passed = to_ns - m->now_ns;
    size_t n = active(m, d);

    for (size_t i = 0; i < d->n && n > 0; i++) {
        struct sim_queue *q = d->queues[i];

        if (works_on(m, d, q))
            head(q)->left_ns -= XS_MIN(head(q)->left_ns, passed / n);
    }
}

static void device_complete(struct sim *m, struct sim_device *d)
{
    for (size_t i = 0; i < d->n; i++) {
        struct sim_queue *q = d->queues[i];

        if (q->flight_n > 0 && q->started && head(q)->left_ns == 0)
            complete(m, q);
    }
}

/* ---- the run ---- */

static void on_permit(void *ctx, struct xs_sched_queue *sq, bool run, uint64_t now_ns)
{
    struct sim *m = ctx;
    struct sim_queue *q = xs_sched_queue_user(sq);

    if (!q) /* xs_sched_queue_add is still running */
        return;
    q->open = run;
    if (run) {
        feed(m, q);
    } else {
        q->suspensions++;
        q->stops_ns = now_ns + q->spec->interrupt_ns;
    }
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* The smallest value that at least `percent` of the samples do not exceed. */
static uint64_t percentile(const uint64_t *sorted, size_t n, unsigned percent)
{
    size_t rank = (n * percent + 99) / 100;

    return n ? sorted[rank ? rank - 1 : 0] : 0;
}

static int set_up(struct sim *m, bool unscheduled)
{
    static const struct xs_sched_ops ops = { .on_permit = on_permit };
    const struct xs_scenario *sc = m->sc;
    struct xs_sched_process **procs = calloc(sc->nprocesses, sizeof(struct xs_sched_process *));

    m->queues = calloc(sc->nqueues, sizeof(*m->queues));
    m->devices = calloc(sc->ndevices, sizeof(*m->devices));
    m->sched = unscheduled ? NULL : xs_sched_new(sc->policy, &sc->config, &ops, m);
    if (!procs || !m->queues || !m->devices || (!unscheduled && !m->sched))
        goto oom;
    for (size_t i = 0; i < sc->nprocesses && m->sched; i++) {
        const struct xs_sim_process *sp = &sc->processes[i];
        struct xs_sched_process_info info = { .id = i + 1, .group = sp->group, .intra = sp->intra,
                                              .user = sp->user, .uid = (uint32_t)sp->user,
                                              .weight = (uint32_t)sp->weight, .exempt = sp->exempt };

        procs[i] = xs_sched_process_add(m->sched, &info, NULL);
        if (!procs[i])
            goto oom;
        if (sp->utilization >= 0)
            xs_sched_process_set_utilization(m->sched, procs[i], sp->utilization);
        xs_sched_process_set_cpu_class(m->sched, procs[i], sp->cpu);
        xs_sched_process_set_window(m->sched, procs[i], sp->window);
    }
    for (size_t i = 0; i < sc->ndevices; i++) {
        m->devices[i].model = sc->devices[i].model;
        m->devices[i].queues = calloc(sc->nqueues, sizeof(struct sim_queue *));
        if (!m->devices[i].queues)
            goto oom;
    }
    for (size_t i = 0; i < sc->nqueues; i++) {
        struct sim_queue *q = &m->queues[i];
        uint64_t seed = sc->seed * 1000003 + i;

        q->spec = &sc->queues[i];
        q->device = &m->devices[q->spec->device_index];
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the loop above made all devices */
        q->device->queues[q->device->n++] = q;
        q->rng = rng_next(&seed);
        q->next_arrival_ns = q->spec->start_ns;
        q->open = true;
        if (m->sched) {
            struct xs_sched_process *p = procs[q->spec->process_index];
            uint32_t cell = 0;

            for (size_t k = 0; k < i; k++)
                cell += sc->queues[k].process_index == q->spec->process_index;
            q->sched = xs_sched_queue_add(m->sched, p, i + 1, q->spec->device_index, cell,
                                          &q->spec->hints, 0, q);
            if (!q->sched)
                goto oom;
            xs_sched_queue_set_later(q->sched, &q->spec->later);
        }
    }
    free(procs);
    return 0;
oom:
    free(procs);
    return -ENOMEM;
}

static uint64_t next_event(struct sim *m)
{
    uint64_t next = m->decide_ns;

    for (size_t i = 0; i < m->sc->nqueues; i++)
        next = XS_MIN(next, m->queues[i].next_arrival_ns);
    for (size_t i = 0; i < m->sc->ndevices; i++) {
        uint64_t at = device_next(m, &m->devices[i]);

        next = XS_MIN(next, at);
    }
    return next;
}

/* One line each few seconds, so that a long simulation does not look like a hang. */
static void tell_progress(const struct sim *m, uint64_t *told_ns)
{
    uint64_t now = xs_now_ns();

    if (now - *told_ns < PROGRESS_NS)
        return;
    *told_ns = now;
    fprintf(stderr, "xsched-sim: %.3f of %.3f s\n", (double)m->now_ns / 1e9, (double)m->sc->duration_ns / 1e9);
}

static void run(struct sim *m, struct xs_sim_result *ret)
{
    uint64_t steps = 0, told_ns = xs_now_ns();

    if (m->sched)
        m->decide_ns = 0;
    for (;;) {
        uint64_t t = next_event(m);

        if (t > m->sc->duration_ns || m->failed)
            break;
        for (size_t i = 0; i < m->sc->ndevices; i++)
            device_advance(m, &m->devices[i], t);
        m->now_ns = t;
        for (size_t i = 0; i < m->sc->ndevices; i++)
            device_complete(m, &m->devices[i]);
        for (size_t i = 0; i < m->sc->nqueues; i++) {
            if (m->queues[i].next_arrival_ns <= t)
                arrive(m, &m->queues[i]);
        }
        if (m->sched && m->decide_ns <= t) {
            uint64_t next;

            m->decide_ns = UINT64_MAX;
            ret->wakes++;
            next = xs_sched_run(m->sched, t);
            wake(m, XS_MAX(next, t + 1));
        }
        if (++steps % PROGRESS_STEPS == 0)
            tell_progress(m, &told_ns);
    }
}

static void collect(struct sim *m, struct xs_sim_result *ret)
{
    for (size_t i = 0; i < m->sc->nqueues; i++) {
        struct sim_queue *q = &m->queues[i];
        struct xs_sim_queue_result *r = &ret->queues[i];

        r->jobs = q->nlatencies;
        r->service_ns = q->service_ns;
        r->share = 100.0 * (double)q->service_ns / (double)m->sc->duration_ns;
        r->suspensions = q->suspensions;
        if (q->nlatencies == 0)
            continue;
        qsort(q->latencies, q->nlatencies, sizeof(*q->latencies), compare_u64);
        r->p50_ns = percentile(q->latencies, q->nlatencies, 50);
        r->p99_ns = percentile(q->latencies, q->nlatencies, 99);
        r->max_ns = q->latencies[q->nlatencies - 1];
    }
    if (m->sched)
        xs_sched_counters(m->sched, &ret->counters);
}

int xs_sim_run(const struct xs_scenario *sc, bool unscheduled, struct xs_sim_result *ret)
{
    struct sim m = { .sc = sc, .decide_ns = UINT64_MAX };
    struct xs_sim_result res = { 0 };
    int r;

    res.queues = calloc(sc->nqueues, sizeof(*res.queues));
    r = res.queues ? set_up(&m, unscheduled) : -ENOMEM;
    if (r == 0) {
        run(&m, &res);
        r = m.failed ? -ENOMEM : 0;
    }
    if (r == 0)
        collect(&m, &res);
    xs_sched_free(m.sched);
    for (size_t i = 0; m.queues && i < sc->nqueues; i++) {
        free(m.queues[i].jobs);
        free(m.queues[i].flight);
        free(m.queues[i].latencies);
    }
    for (size_t i = 0; m.devices && i < sc->ndevices; i++)
        free(m.devices[i].queues);
    free(m.queues);
    free(m.devices);
    if (r < 0)
        free(res.queues);
    else
        *ret = res;
    return r;
}

void xs_sim_result_fini(struct xs_sim_result *r)
{
    free(r->queues);
    memset(r, 0, sizeof(*r));
}
