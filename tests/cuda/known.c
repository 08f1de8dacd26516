/* SPDX-License-Identifier: Apache-2.0 */
/* A program that asks for a kernel of NCCL's says so in its page before it launches any: known NAME before|after, where
 * the function is asked for before its first command, or after. Prints what the page says. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "wire/page.h"

#include "mappings.h"
#include "ways/ways.h"

int main(int argc, char **argv)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    struct xs_client_page *p;
    struct ways_driver d;
    ways_p ctx, f;

    if (argc != 3 || !lib || !ways_bind(&d, lib, dlsym))
        return 2;
    if (d.cuInit(0) || d.cuDevicePrimaryCtxRetain(&ctx, 0) || d.cuCtxSetCurrent(ctx))
        return 2;
    if (strcmp(argv[2], "before") == 0 && d.cuModuleGetFunction(&f, NULL, argv[1]))
        return 2;
    if (!ways_work(&d, 2))
        return 2;
    if (strcmp(argv[2], "after") == 0 && d.cuModuleGetFunction(&f, NULL, argv[1]))
        return 2;
    p = mappings_client_page();
    if (!p || p->h.magic != XS_PAGE_MAGIC)
        return 2;
    printf("collectives %d\n", (int)atomic_load(&p->h.collectives));
    return 0;
}
