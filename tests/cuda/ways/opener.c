/* SPDX-License-Identifier: Apache-2.0 */
/* An extension that opens the driver itself. */
#include <dlfcn.h>

#include "ways.h"

__attribute__((visibility("default"))) int opens(const char *file);

int opens(const char *file)
{
    void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    struct ways_driver d;

    return lib && ways_bind(&d, lib, dlsym) && ways_work(&d, 6);
}
