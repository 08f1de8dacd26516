/* SPDX-License-Identifier: Apache-2.0 */
/* A program that opens memory of another process says so in its page: peers FUNCTION before|after, where it opens it before
 * its first command, or after. "nothing" opens none. Prints how often, as the page says. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "hal/cuda/cuda_abi.h"
#include "mappings.h"
#include "ways/ways.h"

static bool opens(void *lib, const char *name)
{
    int (*open_ipc)(CUdeviceptr *, struct xs_cu_ipc_handle, unsigned);
    int (*import)(void *, void *, int, uint64_t);
    struct xs_cu_ipc_handle handle = {{0}};
    uint64_t got;
    void *p = dlsym(lib, name);

    if (strcmp(name, "nothing") == 0)
        return true;
    if (!p)
        return false;
    memcpy(&open_ipc, &p, sizeof(p));
    memcpy(&import, &p, sizeof(p));
    return (strncmp(name, "cuIpc", 5) == 0 ? open_ipc(&got, handle, 0) : import(&got, NULL, 1, 0)) == 0;
}

int main(int argc, char **argv)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    struct xs_client_page *p;
    struct ways_driver d;
    ways_p ctx;

    if (argc != 3 || !lib || !ways_bind(&d, lib, dlsym))
        return 2;
    if (d.cuInit(0) || d.cuDevicePrimaryCtxRetain(&ctx, 0) || d.cuCtxSetCurrent(ctx))
        return 2;
    if (strcmp(argv[2], "before") == 0 && !opens(lib, argv[1]))
        return 3;
    if (!ways_work(&d, 2))
        return 2;
    if (strcmp(argv[2], "after") == 0 && !opens(lib, argv[1]))
        return 3;
    p = mappings_client_page();
    if (!p || p->h.magic != XS_PAGE_MAGIC)
        return 2;
    printf("peers %d, collectives %d\n", (int)atomic_load(&p->h.peer_memory), (int)atomic_load(&p->h.collectives));
    return 0;
}
