/* SPDX-License-Identifier: Apache-2.0 */
/* What `xsched doctor --probe` found, kept for `xsched run`: $XDG_CACHE_HOME/xsched/cuda-levels and hip-levels, a line for
 * each device: version of the kernel driver ("-": none is loaded), the device's UUID (HIP: PCI address), the user's number,
 * the level. */
#ifndef XS_LAUNCHER_LEVELS_H
#define XS_LAUNCHER_LEVELS_H

#include "base/xs_base.h"

#define XS_LEVELS_MAX 64u

struct xs_level_row {
    char uuid[64];
    int level;                    /* 1, 2, 3 */
};

struct xs_levels_of {
    const char *name;             /* "cuda", "hip" */
    const char *module;           /* the kernel's driver */
    const char *devices;          /* folder in which the driver has a file or folder for each device it knows */
};
extern const struct xs_levels_of xs_levels_cuda, xs_levels_hip;

/** @return 0 or -errno: -ENOENT neither XDG_CACHE_HOME nor HOME is set */
int xs_levels_path(const struct xs_levels_of *of, char *ret, size_t size);
/** Replaces the file. @return 0 or -errno */
int xs_levels_write(const struct xs_levels_of *of, const struct xs_level_row *rows, size_t n);
/** The lowest level of the devices probed by this user under the driver that is loaded now; 0: there is no answer, or
 *  it is about other devices than those that the driver has now. */
int xs_levels_get(const struct xs_levels_of *of);

#endif
