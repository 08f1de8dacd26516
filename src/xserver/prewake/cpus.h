/* SPDX-License-Identifier: Apache-2.0 */
/* How many CPUs this process may keep busy. */
#ifndef XS_XSERVER_PREWAKE_CPUS_H
#define XS_XSERVER_PREWAKE_CPUS_H

#include "base/xs_base.h"

/** By affinity, and by the quotas of its control group and of those above it (cpu.max, or
 *  cpu.cfs_quota_us of version 1). Rounds down. A file that it cannot read limits nothing.
 *  @param root  a folder instead of /, for tests; "" else */
uint64_t xs_cpus_available(const char *root);

#endif
