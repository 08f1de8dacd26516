/* SPDX-License-Identifier: Apache-2.0 */
/* The results of `xsched doctor --probe`, in $XDG_CACHE_HOME/xsched/STEM-levels for each platform that
 * has a probe. A line for each device: version of the kernel driver ("-": there is none), the
 * device's UUID or PCI address, the user's number, the level, the version of the probe. Any thread;
 * errno stays. */
#ifndef XS_PROBED_LEVELS_H
#define XS_PROBED_LEVELS_H

#include "base/platforms.h"

#define XS_PROBED_MAX 64u

struct xs_probed_row {
    char device[64];
    int level;                    /* 1, 2, 3 */
};

/** @return 0 or -errno: -ENOENT there is neither XDG_CACHE_HOME nor HOME; -EPERM the program runs
 *          set-user-id */
int xs_probed_path(const struct xs_platform *of, char *ret, size_t size);
/** The version of the loaded kernel driver; "-": none. */
void xs_probed_driver(const struct xs_platform *of, char *ret, size_t size);
/** Counts up when the probe of a platform judges in another way: results of an older one do not count
 *  then. */
unsigned xs_probe_version(const struct xs_platform *of);

/** The rows of this user under the loaded driver. @return how many, at most XS_PROBED_MAX */
size_t xs_probed_rows(const struct xs_platform *of, struct xs_probed_row *rows);
/** The lowest level of those; 0: there is no row, or the rows are about other devices than the driver's
 *  present ones. */
int xs_probed_level(const struct xs_platform *of);

#endif
