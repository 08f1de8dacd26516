/* SPDX-License-Identifier: Apache-2.0 */
/* linux/kfd_ioctl.h takes its integer types from libdrm's header of this name, which is not installed everywhere. */
#include <linux/ioctl.h>
#include <linux/types.h>
