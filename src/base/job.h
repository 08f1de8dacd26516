/* SPDX-License-Identifier: Apache-2.0 */
/* What a launcher started together: batch systems, MPI and torchrun say so in variables of the environment. Sessions,
 * control groups and containers do not tell: torchrun starts each rank in a session of its own, Slurm in a control
 * group of its own, and an operator of Kubernetes in a pod of its own. */
#ifndef XS_BASE_JOB_H
#define XS_BASE_JOB_H

#include "base/xs_base.h"

#define XS_JOB_BYTES 64u

/** Gives a variable's value, or NULL. */
typedef const char *xs_job_get(void *ctx, const char *name);

/** The job that a process belongs to: the same text for each of its processes on a host, for no other's. The widest that
 *  is known counts, since processes taken for strangers may be suspended while they wait for each other.
 *  @param get  NULL: the environment of this process (which a set-user-id program does not look at)
 *  @param ret  "" where nothing is known */
void xs_job_name(xs_job_get *get, void *ctx, char ret[XS_JOB_BYTES]);

/** Whether the job has processes on other hosts, as far as its launcher says.
 *  @param ret_why  which variables say so, for people; written on true only */
bool xs_job_spans_hosts(xs_job_get *get, void *ctx, char *ret_why, size_t size);

#endif
