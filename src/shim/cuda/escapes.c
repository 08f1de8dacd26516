/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that pass us by. */
#include "shim/common/loader.h"

#include "hal/common/objects.h"
#include "hal/cuda/rm/rm.h"
#include "shim/stream/stream_table.h"

#include <stdlib.h>

void xs_rm_group_made(void)
{
    char (*paths)[XS_PATH_MAX];

    xs_rm_lend();                 /* to Vulkan's queues */
    /* Graphics libraries make channel groups as well: only if the process maps CUDA's driver. */
    if (xs_api_mode_now() != XS_SHIM_UNBOUND)
        return;
    paths = calloc(1, XS_PATH_MAX);
    if (paths && xs_object_find("libcuda", paths, 1) > 0)
        xs_loader_note(XS_LOADER_BELOW, paths[0]);
    free(paths);
}
