/* SPDX-License-Identifier: Apache-2.0 */
/* ioctl_entry.c without the rest of the shim. */
#include "hal/cuda/rm/rm.h"

void xs_rm_group_made(void)
{
}
