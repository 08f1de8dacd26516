/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a task can share in space, as `xsched run --share=space` finds out. */
#ifndef XS_SLURM_SPACE_H
#define XS_SLURM_SPACE_H

#include "base/xs_base.h"

#include <limits.h>

struct xs_slurm_space {
    bool space;                    /* it shares in space */
    char pipe[PATH_MAX];           /* CUDA_MPS_PIPE_DIRECTORY for it; "": as it was */
    char client_priority[16];      /* CUDA_MPS_CLIENT_PRIORITY; "": as it was */
    char why[512];                 /* of a task that shares in time: the launcher's line; "": it gave none */
};

/** Runs the launcher in the task's environment, as the task's user. It uses an MPS daemon that is there and starts none: a
 *  daemon would end with the step that started it, under the programs of other steps.
 *  @param env  of the task */
void xs_slurm_space_try(const char *launcher, char *const *env, int priority, struct xs_slurm_space *ret);

#endif
