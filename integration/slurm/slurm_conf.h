/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin's arguments in plugstack.conf. */
#ifndef XS_SLURM_CONF_H
#define XS_SLURM_CONF_H

#include "base/xs_base.h"

#include <limits.h>

#define XS_SLURM_RULES_MAX 64
#define XS_SLURM_SOCKET    "/run/xsched/xserver.sock"

struct xs_slurm_rule {
    enum { XS_SLURM_QOS, XS_SLURM_PARTITION } kind;
    char name[64];
    int priority;
};

/* Steps of jobs whose priority in Slurm is from low to high, both included. */
struct xs_slurm_range {
    uint32_t low, high;
    int priority;
};

struct xs_slurm_conf {
    int min, max; /* what users may ask for */
    bool has_default;
    int default_priority;
    size_t rules_count;
    struct xs_slurm_rule rules[XS_SLURM_RULES_MAX];
    size_t ranges_count;
    struct xs_slurm_range ranges[XS_SLURM_RULES_MAX];
    char libdir[PATH_MAX];  /* folder of the shims */
    char socket[PATH_MAX];  /* of the node's server; "": where programs look by themselves */
    char account[PATH_MAX]; /* log of what steps used; "": none */
    char launcher[PATH_MAX]; /* xsched; it tries whether a task can share in space */
};

/** Reads the words: min=N max=N default=N partition=NAME:N qos=NAME:N jobpriority=LOW[-HIGH]:N libdir=DIR socket=PATH
 *  account=FILE launcher=PATH.
 *  @param ret        always usable: what was wrong has its built-in value
 *  @param ret_error  the first thing that was wrong, for people
 *  @return 0 or -EINVAL */
int xs_slurm_conf_read(struct xs_slurm_conf *ret, int count, char **words, char *ret_error, size_t size);

/** The priority of a step that asks for none: that of its QOS, else of its partition, else of the first range that its
 *  job's priority is in, else the default.
 *  @param job_priority  in Slurm; NULL: not known
 *  @return false: such a step is left alone */
bool xs_slurm_conf_default(const struct xs_slurm_conf *c, const char *partition, const char *qos,
                           const uint32_t *job_priority, int *ret_priority);

#endif
