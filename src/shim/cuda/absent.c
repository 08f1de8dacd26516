/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of functions that the driver lacks, and the steps after the first queue. */
#include "base/env.h"
#include "hal/cuda/rm/rm.h"
#include "shim/stream/stream_table.h"

#include <string.h>

static CUresult no_driver(void)
{
    return XS_CU_NOT_INITIALIZED;
}

static CUresult not_supported(void)
{
    return XS_CU_NOT_SUPPORTED;
}

void *xs_api_absent(enum xs_row row, bool no_library)
{
    (void)row;
    return no_library ? (void *)no_driver : (void *)not_supported;
}

/* Level 3 works from outside: offers the scheduler the channel groups, which exist by now. */
void xs_api_first_queue_made(void)
{
    const char *level = xs_env_get(XS_ENV_XSCHED_AUTO_XQUEUE_LEVEL); /* level auto, or level 3 itself */
    bool wanted = xs_env_i64(XS_ENV_XSCHED_CUDA_LEVEL, 3) == 3 && !atomic_load(&xsched_priv_cuda_at_level1);
    bool works = wanted && xs_rm_level() == 3;

    if (works)
        xs_rm_publish();
    else if (wanted && !(level && (strcmp(level, "1") == 0 || strcmp(level, "2") == 0)))
        xs_rm_warn();
    xsched_priv_cuda_level(1u << kPreemptLevelInterrupt, works);
}

void xs_api_level1_only(void)
{
    xsched_priv_cuda_level1_only();
    xs_rm_end("functions that submit work pass unseen");
}
