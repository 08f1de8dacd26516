/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <string.h>
#include <sys/mman.h>

const struct xs_hints world_hints = { 0, 100, -1, -1, 0, 0 };

struct proc world_join(struct xs_sched *s, uint64_t id, const char *group, bool intra)
{
    return world_join_as(s, (struct xs_sched_process_info){ .id = id, .group = group, .intra = intra });
}

struct proc world_join_as(struct xs_sched *s, struct xs_sched_process_info info)
{
    struct proc p = { .s = s };

    p.client = mmap(NULL, sizeof(*p.client), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p.server = mmap(NULL, sizeof(*p.server), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p.client != MAP_FAILED && p.server != MAP_FAILED);
    info.client = p.client;
    info.server = p.server;
    p.p = xs_sched_process_add(s, &info, NULL);
    assert_non_null(p.p);
    return p;
}

void world_free(struct proc *p)
{
    munmap(p->client, sizeof(*p->client));
    munmap(p->server, sizeof(*p->server));
}

struct xs_sched_queue *world_queue(struct proc *p, uint32_t cell, XDevice device, int32_t priority, uint64_t now)
{
    struct xs_hints h = world_hints;
    struct xs_sched_queue *q;

    h.priority = priority;
    q = xs_sched_queue_add(p->s, p->p, 1000 + cell, device, cell, &h, now, NULL);
    assert_non_null(q);
    return q;
}

bool world_submit(struct proc *p, uint32_t cell, unsigned n, uint64_t est_ns)
{
    struct xs_client_cell *c = &p->client->cells[cell];

    atomic_fetch_add(&c->est_entered_ns, n * est_ns);
    atomic_fetch_add(&c->entered, n);
    atomic_fetch_add(&c->returned, n);
    if (!(atomic_load(&p->server->cells[cell].armed) & XS_ARMED_SUBMIT))
        return false;
    xs_page_ring(p->client, p->server, cell);
    return true;
}

bool world_complete(struct proc *p, uint32_t cell, unsigned n, uint64_t est_ns)
{
    struct xs_client_cell *c = &p->client->cells[cell];

    atomic_fetch_add(&c->est_completed_ns, n * est_ns);
    if (p->device_marks) {
        atomic_fetch_add(&c->marked, n);
        return false;
    }
    atomic_fetch_add(&c->completed, n);
    if (atomic_load(&c->completed) < atomic_load(&c->entered) ||
        !(atomic_load(&p->server->cells[cell].armed) & XS_ARMED_IDLE))
        return false;
    xs_page_ring(p->client, p->server, cell);
    return true;
}

bool world_open(const struct proc *p, uint32_t cell)
{
    return atomic_load(&p->server->cells[cell].permitted) == XS_PERMIT_OPEN;
}

uint64_t world_step(struct xs_sched *s, struct proc *procs, size_t n, uint64_t now)
{
    for (size_t i = 0; i < n; i++)
        xs_sched_process_poll(s, procs[i].p, now);
    return xs_sched_run(s, now);
}

struct xs_sched *world_sched(const char *policy)
{
    struct xs_sched *s = xs_sched_new(xs_policy_by_name(policy), NULL, NULL, NULL);

    assert_non_null(s);
    return s;
}


struct xs_sched *world_pair(struct proc w[2], const char *policy, int32_t low, int32_t high)
{
    struct xs_sched *s = world_sched(policy);

    w[0] = world_join(s, 1, NULL, false);
    w[1] = world_join(s, 2, NULL, false);
    world_queue(&w[0], 0, WORLD_DEVICE, low, MS);
    world_queue(&w[1], 0, WORLD_DEVICE, high, MS);
    world_step(s, w, 2, MS);
    return s;
}

void world_done(struct xs_sched *s, struct proc *w, size_t n)
{
    xs_sched_free(s);
    for (size_t i = 0; i < n; i++)
        world_free(&w[i]);
}
