/* SPDX-License-Identifier: Apache-2.0 */
/* What `xsched doctor --probe` found, kept for `xsched run`: $XDG_CACHE_HOME/xsched/STEM-levels for each platform that has a
 * probe, a line for each device: version of the kernel driver ("-": none is loaded), the device's UUID or PCI address, the
 * user's number, the level. */
#ifndef XS_LAUNCHER_LEVELS_H
#define XS_LAUNCHER_LEVELS_H

#include "base/platforms.h"

#define XS_LEVELS_MAX 64u

struct xs_level_row {
    char uuid[64];
    int level;                    /* 1, 2, 3 */
};

/** @return 0 or -errno: -ENOENT neither XDG_CACHE_HOME nor HOME is set */
int xs_levels_path(const struct xs_platform *of, char *ret, size_t size);
/** Replaces the file. @return 0 or -errno */
int xs_levels_write(const struct xs_platform *of, const struct xs_level_row *rows, size_t n);
/** The lowest level of the devices probed by this user under the driver that is loaded now; 0: there is no answer, or
 *  it is about other devices than those that the driver has now. */
int xs_levels_get(const struct xs_platform *of);

#endif
