/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: the real decision driver and policies over modelled devices. The same scenario
 * and seed give the same result on every machine. */
#ifndef XS_SIM_SIM_H
#define XS_SIM_SIM_H

#include "sim/scenario.h"

struct xs_sim_queue_result {
    uint64_t jobs;                 /* completed */
    uint64_t service_ns;           /* device time received */
    double share;                  /* of the simulated time, percent */
    uint64_t p50_ns, p99_ns, max_ns;   /* from arrival to completion of a job; 0 without jobs */
    uint64_t suspensions;
};

struct xs_sim_result {
    struct xs_sim_queue_result *queues;   /* as in the scenario */
    uint64_t wakes;                /* calls of the driver */
    struct xs_sched_counters counters;
};

/** @param unscheduled  leaves every queue open, to show the device by itself
 *  @return 0 or -ENOMEM */
int xs_sim_run(const struct xs_scenario *sc, bool unscheduled, struct xs_sim_result *ret);
void xs_sim_result_fini(struct xs_sim_result *r);

#endif
