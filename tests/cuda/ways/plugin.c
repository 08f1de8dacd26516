/* SPDX-License-Identifier: Apache-2.0 */
/* An extension that is linked with the driver, as Triton's are, and one that opens it. */
#include <dlfcn.h>

#include "ways.h"

#define X(name, params) int name params;
WAYS(X)
#undef X

__attribute__((visibility("default"))) int linked(const char *unused);
__attribute__((visibility("default"))) int opens(const char *file);

int linked(const char *unused)
{
    struct ways_driver d = {
#define X(name, params) .name = name,
        WAYS(X)
#undef X
    };

    (void)unused;
    return ways_work(&d, 6);
}

int opens(const char *file)
{
    void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    struct ways_driver d;

    return lib && ways_bind(&d, lib, dlsym) && ways_work(&d, 6);
}
