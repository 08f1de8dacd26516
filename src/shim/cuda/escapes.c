/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of calls that we do not see. */
#include "shim/cuda/loader.h"

#include "base/env.h"
#include "base/log.h"
#include "hal/common/objects.h"
#include "hal/cuda/rm/rm.h"
#include "shim/stream/stream_table.h"

#include <stdlib.h>

static const char *const k_ways[] = {
    [XS_LOADER_ORIGIN] = "a path that begins at its caller's folder",
    [XS_LOADER_NAMESPACE] = "a namespace of its own (dlmopen)",
    [XS_LOADER_BELOW] = "a way past us (an object that was loaded with RTLD_DEEPBIND, a namespace of its own)",
};

void xs_loader_note(enum xs_loader_way way, const char *file)
{
    static _Atomic uint32_t said;

    if (xs_env_bool(XS_ENV_XSCHED_DISABLE, false) || (atomic_fetch_or(&said, 1u << way) & 1u << way))
        return;
    if (xsched_priv_auto())
        XS_WARN("CUDA: %s is reached by %s: what is done with it is not scheduled", file ? file : "the driver",
                k_ways[way]);
    else
        XS_INFO("CUDA: %s is reached by %s", file ? file : "the driver", k_ways[way]);
    if (xs_trace_start())
        xs_trace_note(XS_API_NAME ": %s is reached by %s: calls are not seen", file ? file : "the driver", k_ways[way]);
}

void xs_rm_group_made(void)
{
    char (*paths)[XS_PATH_MAX];

    /* Graphics libraries make channel groups as well: only where the driver of CUDA is mapped. */
    if (xs_api_mode_now() != XS_SHIM_UNBOUND)
        return;
    paths = calloc(1, XS_PATH_MAX);
    if (paths && xs_object_find("libcuda", paths, 1) > 0)
        xs_loader_note(XS_LOADER_BELOW, paths[0]);
    free(paths);
}
