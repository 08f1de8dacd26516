/* SPDX-License-Identifier: Apache-2.0 */
/* How a GPU shares itself between the channel groups of several processes: one group at a time, each for
 * its slice, in turn; when the one that is loaded has nothing, at once the next; a change takes a while, in
 * which nobody gets on. Pure: no clock, no memory of its own. All times in ns. */
#ifndef FAKE_WORLD_GPU_H
#define FAKE_WORLD_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_group {
    uint64_t left_ns;             /* of the kernel at its head; 0: it has none */
    uint64_t slice_ns;            /* what is changed counts from its next slice on */
    uint64_t ran_ns;              /* on the device so far */
};

struct gpu {
    uint64_t now_ns, switch_ns;
    int loaded;                   /* -1: none yet */
    bool idle;                    /* the loaded one had nothing to do when last looked at */
    bool switching, restart;
    int to;
    uint64_t switch_end_ns, slice_end_ns;
    uint64_t switches, switching_ns, idle_ns;
};

void gpu_start(struct gpu *g, uint64_t now_ns, uint64_t switch_ns);
/** The list of groups was made anew, as for another slice: the first group that has work begins, whoever is loaded.
 *  Measured on an H200 (docs/results/2026-11-22-h200-ladder). */
void gpu_restart(struct gpu *g);
/** What changed at this time has changed: who goes on? */
void gpu_decide(struct gpu *g, const struct gpu_group *groups, int n);
/** When a kernel ends or the device changes over, if nothing else happens; UINT64_MAX: never. */
uint64_t gpu_next(const struct gpu *g, const struct gpu_group *groups, int n);
/** Lets time go on, at most to gpu_next. A kernel that ended has left_ns 0. */
void gpu_advance(struct gpu *g, struct gpu_group *groups, int n, uint64_t to_ns);

#endif
