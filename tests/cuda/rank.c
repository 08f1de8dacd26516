/* SPDX-License-Identifier: Apache-2.0 */
/* One of two programs that do a collective together, again and again: rank FILE 0|1 KERNEL GROUPS [DEVICE]. FILE is
 * shared and has room for a counter a collective; the second one has work of its own before each, so that the first
 * one's kernel waits on the device. Prints the longest time between a collective's launch and its end, in ms; with
 * DEVICE as tests/gpu/nccl_rank.py does: a line when ready, begins after a line on stdin, stays until its end. With
 * RANK_OPENS in the environment it opens memory of another process first. */
#include "../stream/begin.h"

#include "hal/hip/hip_abi.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define A_GROUP 10

typedef int launch_fn(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);

#ifdef HIP
/* As RCCL does it: its kernels are registered when it is loaded, asked about when a communicator is made, and launched by
 * the address of a host stub. */
static char g_stub;
static int (*g_launch)(const void *, struct xs_dim3, struct xs_dim3, P *, size_t, P, P, P, int);

static int get_meet(void *lib, int (*function)(P *, P, const char *), const char *name, P *ret)
{
    P (*fat)(const void *), p;
    void (*add)(P, const void *, char *, const char *, unsigned, P, P, P, P, int *);
    int (*attributes)(void *, const void *);
    char about[256];

    (void)function;
    GET(fat, "__hipRegisterFatBinary");
    GET(add, "__hipRegisterFunction");
    GET(attributes, "hipFuncGetAttributes");
    GET(g_launch, "hipExtLaunchKernel");
    add(fat("fat"), &g_stub, NULL, name, 0, NULL, NULL, NULL, NULL, NULL);
    attributes(about, &g_stub);
    *ret = &g_stub;
    return 0;
}

static int launch_meet(launch_fn *launch, P meet, P stream, P *params)
{
    (void)launch;
    return g_launch(meet, (struct xs_dim3){1, 1, 1}, (struct xs_dim3){1, 1, 1}, params, 0, stream, NULL, NULL, 0);
}
#else
static int get_meet(void *lib, int (*function)(P *, P, const char *), const char *name, P *ret)
{
    (void)lib;
    return function(ret, NULL, name);
}

static int launch_meet(launch_fn *launch, P meet, P stream, P *params)
{
    return launch(meet, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}
#endif

/* CUipcMemHandle, hipIpcMemHandle_t */
struct handle {
    char of[64];
};

static int open_other(void *lib)
{
    int (*open_memory)(P *, struct handle, unsigned);
    struct handle h = {{0}};
    P got, p;

    if (!getenv("RANK_OPENS"))
        return 0;
    GET(open_memory, PREFIX "IpcOpenMemHandle");
    return open_memory(&got, h, 0);
}

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    void *lib = dlopen(LIBRARY, RTLD_NOW), *p;
    bool obeys = argc == 6;
    int fd = argc == 5 || obeys ? open(argv[1], O_RDWR) : -1, groups = fd >= 0 ? atoi(argv[4]) : 0;
    int (*create)(P *, unsigned), (*sync)(P), (*function)(P *, P, const char *);
    launch_fn *launch;
    uint32_t *log = NULL, tag = 0, two = 2, *at;
    uint64_t ns = 3000000;
    void *own[] = {&ns, &log, &tag}, *shared[] = {&at, &two};
    double most = 0, began;
    P s, work, meet;

    if (!lib || fd < 0)
        return 1;
    at = mmap(NULL, (size_t)groups * A_GROUP * sizeof(*at), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED || begin_device(lib, obeys ? atoi(argv[5]) : 0))
        return 1;
    GET(create, STREAM_CREATE);
    GET(sync, PREFIX "StreamSynchronize");
    GET(launch, LAUNCH);
    GET(function, PREFIX "ModuleGetFunction");
    if (open_other(lib) || create(&s, 1) || function(&work, NULL, "work") || get_meet(lib, function, argv[3], &meet))
        return 1;
    if (obeys) {
        printf("{\"ready\":true}\n");
        fflush(stdout);
        getchar();
    }
    began = now_ms();
    for (int i = 0; i < groups * A_GROUP; i++, at++) {
        double begin;

        if (argv[2][0] == '1' && launch(work, 1, 1, 1, 1, 1, 1, 0, s, own, NULL))
            return 1;
        if (launch_meet(launch, meet, s, shared))
            return 1;
        begin = now_ms();
        if (sync(s))
            return 1;
        most = now_ms() - begin > most ? now_ms() - begin : most;
        if (i % A_GROUP == A_GROUP - 1)
            usleep(30000); /* here nothing is under way, and both may be held */
    }
    if (!obeys) {
        printf("%.1f\n", most);
        return 0;
    }
    printf("{\"seconds\":%.3f,\"collective_ms\":[%.1f]}\n", (now_ms() - began) / 1e3, most);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
