/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: the processes that a launcher started together. Batch systems, MPI and torchrun say so in
 * variables of the environment. Sessions, control groups and containers do not show it. torchrun
 * starts each rank in a session of its own. Slurm does so in a control group of its own, an operator
 * of Kubernetes in a pod of its own. */
#ifndef XS_BASE_JOB_H
#define XS_BASE_JOB_H

#include "base/xs_base.h"

#define XS_JOB_BYTES 64u

/** Gives a variable's value, or NULL. */
typedef const char *xs_job_get(void *ctx, const char *name);

/** The job of a process: the same text for each of its processes on a host, and another one for every
 *  other job. The widest known job counts: if the scheduler took members for strangers, it might
 *  suspend them while they wait for each other.
 *  @param get  NULL: the environment of this process (at which a set-user-id program does not look)
 *  @param ret  "" without a job */
void xs_job_name(xs_job_get *get, void *ctx, char ret[XS_JOB_BYTES]);

/** Whether the job has processes on other hosts, as far as its launcher says.
 *  @param ret_why  the variables that say so, for users; written on true only */
bool xs_job_spans_hosts(xs_job_get *get, void *ctx, char *ret_why, size_t size);

#endif
