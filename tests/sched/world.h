/* SPDX-License-Identifier: Apache-2.0 */
/* A scheduler over private pages, with a hand that plays the processes: what a process would do
 * to its page, step by step, at times of the test's choosing. */
#ifndef XS_TEST_WORLD_H
#define XS_TEST_WORLD_H

#include "sched/sched.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define WORLD_DEVICE 7ull

#define US XS_NS_PER_US
#define MS XS_NS_PER_MS

struct proc {
    struct xs_sched *s;
    struct xs_client_page *client;
    struct xs_server_page *server;
    struct xs_sched_process *p;
    bool device_marks;       /* completions are stored in `marked`, and nobody rings for them */
};

extern const struct xs_hints world_hints;   /* the defaults */

struct proc world_join(struct xs_sched *s, uint64_t id, const char *group, bool intra);
struct proc world_join_as(struct xs_sched *s, struct xs_sched_process_info info);
/** Frees the pages; call after the scheduler let go. */
void world_free(struct proc *p);
struct xs_sched_queue *world_queue(struct proc *p, uint32_t cell, XDevice device, int32_t priority, uint64_t now);

/** n submits of est_ns each: counted, and rung for if that was asked. @return true if it rang */
bool world_submit(struct proc *p, uint32_t cell, unsigned n, uint64_t est_ns);
/** n of the submitted ones end. @return true if it rang */
bool world_complete(struct proc *p, uint32_t cell, unsigned n, uint64_t est_ns);
bool world_open(const struct proc *p, uint32_t cell);
/** Reads the doorbell and decides. @return when it wants to run again */
uint64_t world_step(struct xs_sched *s, struct proc *procs, size_t n, uint64_t now);

struct xs_sched *world_sched(const char *policy);
/** Two processes: low in w[0], high in w[1], each with a queue in cell 0 on device WORLD_DEVICE;
 *  both idle, at 1 ms. */
struct xs_sched *world_pair(struct proc w[2], const char *policy, int32_t low, int32_t high);
void world_done(struct xs_sched *s, struct proc *w, size_t n);

#endif
