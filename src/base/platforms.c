/* SPDX-License-Identifier: Apache-2.0 */
#include "base/platforms.h"

#include <string.h>

const struct xs_platform xs_platforms[XS_PLATFORM_COUNT] = {
#define XS_PLATFORM(number_, name_, stem_, prefix_, api_, calls_, library_, vendor_, sonames_, layers_, probe_, module_, \
                    devices_)                                                                                      \
    {.number = number_, .name = name_, .stem = stem_, .prefix = #prefix_, .api = api_, .calls = calls_,            \
     .library = library_, .vendor = vendor_, .sonames = sonames_, .layers = layers_,                               \
     .probe = XS_PLATFORM_PROBE_##probe_, .module = module_, .devices = devices_,                                  \
     .lib = XS_ENV_XSCHED_##prefix_##_LIB},
#include "base/platforms.def"
};

#define XS_PLATFORM(number, ...) \
    _Static_assert((number) > kPlatformUnknown && (number) <= 255, "a message has one byte for it (messages.def)");
#define XS_PLATFORM_NAME(number, name) XS_PLATFORM(number, name)
#include "base/platforms.def"

/* If two rows have one number, the compiler reports an error here. */
const char *xs_platform_name(uint32_t number)
{
    switch (number) {
#define XS_PLATFORM(number, name, ...) \
    case number:                       \
        return name;
#define XS_PLATFORM_NAME(number, name) XS_PLATFORM(number, name)
#include "base/platforms.def"
    default:
        return "unknown";
    }
}

bool xs_platform_is_vendor(const struct xs_platform *p, const char *file)
{
    size_t n = strlen(p->vendor);

    return strncmp(file, p->vendor, n) == 0 && strncmp(file + n, ".so", 3) == 0;
}

bool xs_platform_shim_is_partial(const struct xs_platform *p)
{
    return p->layers[0] && !strstr(p->layers, "{shim}");
}

bool xs_platform_is_preloaded(const struct xs_platform *p)
{
    return strncmp(p->layers, "only ", strlen("only ")) != 0;
}

bool xs_platform_soname(const struct xs_platform *p, size_t index, char *ret, size_t size)
{
    const char *at = p->sonames, *end;
    size_t n;

    while (index-- && at) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    if (!at)
        return false;
    end = strchr(at, ' ');
    n = end ? (size_t)(end - at) : strlen(at);
    if (n >= size)
        return false;
    memcpy(ret, at, n);
    ret[n] = 0;
    return true;
}
