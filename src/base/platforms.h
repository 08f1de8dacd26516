/* SPDX-License-Identifier: Apache-2.0 */
/* The platforms (platforms.def). Constant data: any thread. */
#ifndef XS_PLATFORMS_H
#define XS_PLATFORMS_H

#include "base/env.h"
#include "base/xs_base.h"

#include "xsched/types.h"

/* Index into xs_platforms: XS_PLATFORM_CUDA, ... */
enum xs_platform_row {
#define XS_PLATFORM(number, name, stem, prefix, ...) XS_PLATFORM_##prefix,
#include "base/platforms.def"
    XS_PLATFORM_COUNT
};

/* The first column: XS_PLATFORM_NUMBER_CUDA, ... */
enum {
#define XS_PLATFORM(number, name, stem, prefix, ...) XS_PLATFORM_NUMBER_##prefix = number,
#include "base/platforms.def"
};

/* Whether `xsched doctor --probe` tries levels on the platform's devices, and how it names a device. */
enum xs_platform_probe { XS_PLATFORM_PROBE_NONE, XS_PLATFORM_PROBE_UUID, XS_PLATFORM_PROBE_PCI };

/** The columns of platforms.def, which explains them. */
struct xs_platform {
    int number;                   /* XPlatform */
    const char *name, *stem, *prefix, *api, *calls, *library, *vendor, *sonames, *layers;
    enum xs_platform_probe probe;
    const char *module, *devices;
    enum xs_env_id lib;           /* XSCHED_<PREFIX>_LIB: the path of the user's vendor library */
};

extern const struct xs_platform xs_platforms[XS_PLATFORM_COUNT];

/** "CUDA"; "unknown" for a number that has no row. */
const char *xs_platform_name(uint32_t number);
/** Whether a file of this name (without folders) is one of the vendor's library. */
bool xs_platform_is_vendor(const struct xs_platform *p, const char *file);
/** Whether LD_PRELOAD brings the platform's shim; else the vendor's loader alone brings it, as a layer. */
bool xs_platform_is_preloaded(const struct xs_platform *p);
/** Whether the shim exports only the vendor's functions that it must see, since the vendor's library is a loader, which
 *  takes an object of ours as a driver or as a layer. */
bool xs_platform_shim_is_partial(const struct xs_platform *p);
/** The index-th of the names to search for. @return false: there are no more, or it does not fit */
bool xs_platform_soname(const struct xs_platform *p, size_t index, char *ret, size_t size);

#endif
