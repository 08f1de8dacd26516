/* SPDX-License-Identifier: Apache-2.0 */
/* A program on the fake driver: beside KERNEL_US PAUSE_US SECONDS BLOCKS. Launches a kernel in a stream, and the next one
 * when it is over and a pause, too. It asks for the end and never waits in a call. Prints how many kernels it ran in all, and how
 * many of them on a lane, each 0.1 s. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../stream/check.h"

typedef void *P;
static int (*Init)(unsigned), (*Retain)(P *, int), (*SetCurrent)(P), (*GetFunction)(P *, P, const char *);
static int (*Create)(P *, unsigned), (*Query)(P), (*Confined)(void);
static int (*Launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);

static uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *fake = dlopen(getenv("FAKE"), RTLD_NOW);
    uint64_t ns, pause, end, told = 0;
    unsigned blocks, kernels = 0;
    uint32_t *log = NULL, tag = 0;
    void *params[] = {&ns, &log, &tag};
    P ctx, work, stream;

    TRUE(argc == 5 && lib && fake);
    ns = strtoull(argv[1], NULL, 10) * 1000;
    pause = strtoull(argv[2], NULL, 10);
    blocks = (unsigned)strtoul(argv[4], NULL, 10);
    get(lib, &Init, "cuInit"), get(lib, &Retain, "cuDevicePrimaryCtxRetain"), get(lib, &SetCurrent, "cuCtxSetCurrent");
    get(lib, &GetFunction, "cuModuleGetFunction"), get(lib, &Create, "cuStreamCreate"), get(lib, &Query, "cuStreamQuery");
    get(lib, &Launch, "cuLaunchKernel"), get(fake, &Confined, "fake_cuda_confined");
    TRUE(Init(0) == 0 && Retain(&ctx, 0) == 0 && SetCurrent(ctx) == 0);
    TRUE(GetFunction(&work, NULL, "work") == 0 && Create(&stream, 1) == 0);
    for (end = now_us() + strtoull(argv[3], NULL, 10) * 1000000; now_us() < end;) {
        TRUE(Launch(work, blocks, 1, 1, 32, 1, 1, 0, stream, params, NULL) == 0);
        kernels++;
        while (Query(stream) != 0)
            usleep(50);
        if (now_us() - told > 100000) {
            told = now_us();
            printf("%u %d\n", kernels, Confined());
            fflush(stdout);
        }
        usleep((useconds_t)pause);
    }
    return 0;
}
