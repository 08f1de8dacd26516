/* SPDX-License-Identifier: Apache-2.0 */
/* A library that calls the vendor's, whatever it is linked with. */
#include "caller.h"

function FUNCTION;
int GO(void);

__attribute__((visibility("default"))) int GO(void)
{
    int v = -1, r = CALL(FUNCTION, &v);

    return r ? -r : v;
}

#ifdef OPENS
#include <dlfcn.h>
#include <string.h>

int opens(const char *file);

/* An extension that opens the vendor's library itself. */
__attribute__((visibility("default"))) int opens(const char *file)
{
    void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL), *p = lib ? dlsym(lib, NAME) : 0;
    int v = -1, r;
    function *fn;

    if (!p)
        return -9999;
    memcpy(&fn, &p, sizeof(fn));
    r = CALL(fn, &v);
    return r ? -r : v;
}
#endif
