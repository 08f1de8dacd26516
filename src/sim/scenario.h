/* SPDX-License-Identifier: Apache-2.0 */
/* A scenario: devices, processes, queues and their arrivals. docs/man/xsched-sim.1 has the words. */
#ifndef XS_SIM_SCENARIO_H
#define XS_SIM_SCENARIO_H

#include "sched/sched.h"
#include "sim/words.h"

enum xs_sim_model { XS_SIM_EXCLUSIVE, XS_SIM_SHARED };
enum xs_sim_arrival { XS_SIM_PERIODIC, XS_SIM_POISSON, XS_SIM_CLOSED };
enum xs_sim_length { XS_SIM_FIXED, XS_SIM_EXPONENTIAL };

struct xs_sim_device {
    char name[XS_NAME_BYTES];
    int model;                     /* exclusive: one command at a time; shared: all at equal rates */
};

struct xs_sim_process {
    char name[XS_NAME_BYTES], group[XS_NAME_BYTES];
    int32_t utilization, cpu;      /* utilization -1: not given */
    uint64_t user, weight;         /* weight: the user's */
    bool window, intra, exempt;
};

struct xs_sim_queue {
    char name[XS_NAME_BYTES], process[XS_NAME_BYTES], device[XS_NAME_BYTES];
    struct xs_hints hints;
    struct xs_hints_later later;
    int32_t level;                 /* preemption level 1..3 */
    uint64_t interrupt_ns;         /* level 3: from the decision until the running command stops */
    int arrival;
    uint64_t period_ns;            /* between arrivals; closed loop: thinking time after each job */
    uint64_t start_ns, stop_ns;    /* arrivals in between */
    uint64_t commands;             /* of a job */
    uint64_t length_ns;            /* of a command, alone on the device; the mean, if exponential */
    int length;
    uint64_t inflight_ns;          /* work that may be on the device at a time; at least one command */
    size_t process_index, device_index;
};

struct xs_scenario {
    const struct xs_policy_ops *policy;
    struct xs_sched_config config;
    uint64_t k;                    /* becomes config.params.k */
    uint64_t react_ns;             /* from a fact to the decision */
    uint64_t duration_ns, seed;
    struct xs_sim_device *devices;
    struct xs_sim_process *processes;
    struct xs_sim_queue *queues;
    size_t ndevices, nprocesses, nqueues;
};

/** Defaults: HPF, 10 s, seed 1, 20 us to react. */
void xs_scenario_init(struct xs_scenario *sc);
void xs_scenario_fini(struct xs_scenario *sc);

/** Takes one line. @return 0 or -EINVAL with a text in error, -ENOMEM */
int xs_scenario_line(struct xs_scenario *sc, char *line, char error[XS_ERROR_BYTES]);
/** Reads a file ("-": standard input). @return as above; the text names file and line */
int xs_scenario_file(struct xs_scenario *sc, const char *path, char error[XS_ERROR_BYTES]);
/** Ties names together. Adds devices and processes that queues only name: all of them where the
 *  scenario declares none, else those that a queue has by default. Refuses a scenario that would take
 *  very long. */
int xs_scenario_finish(struct xs_scenario *sc, char error[XS_ERROR_BYTES]);

#endif
