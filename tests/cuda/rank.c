/* SPDX-License-Identifier: Apache-2.0 */
/* One of two programs that do a collective together, again and again: rank FILE 0|1 KERNEL GROUPS [DEVICE]. FILE is
 * shared and has room for a counter a collective; the second one has work of its own before each, so that the first
 * one's kernel waits on the device. Prints the longest time between a collective's launch and its end, in ms; with
 * DEVICE as tests/gpu/nccl_rank.py does: a line when ready, begins after a line on stdin, stays until its end. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define A_GROUP 10

typedef void *P;

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *p;
    bool obeys = argc == 6;
    int fd = argc == 5 || obeys ? open(argv[1], O_RDWR) : -1, groups = fd >= 0 ? atoi(argv[4]) : 0;
    int (*init)(unsigned), (*retain)(P *, int), (*set)(P), (*create)(P *, unsigned), (*sync)(P);
    int (*function)(P *, P, const char *);
    int (*launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
    uint32_t *log = NULL, tag = 0, two = 2, *at;
    uint64_t ns = 3000000;
    void *own[] = {&ns, &log, &tag}, *shared[] = {&at, &two};
    double most = 0, began;
    P ctx, s, work, meet;

    if (!lib || fd < 0)
        return 1;
    at = mmap(NULL, (size_t)groups * A_GROUP * sizeof(*at), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
#define GET(fn, name) p = dlsym(lib, name), memcpy(&fn, &p, sizeof(p))
    GET(init, "cuInit");
    GET(retain, "cuDevicePrimaryCtxRetain");
    GET(set, "cuCtxSetCurrent");
    GET(create, "cuStreamCreate");
    GET(sync, "cuStreamSynchronize");
    GET(launch, "cuLaunchKernel");
    GET(function, "cuModuleGetFunction");
    if (at == MAP_FAILED || init(0) || retain(&ctx, obeys ? atoi(argv[5]) : 0) || set(ctx) || create(&s, 1) ||
        function(&work, NULL, "work") || function(&meet, NULL, argv[3]))
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
        if (launch(meet, 1, 1, 1, 1, 1, 1, 0, s, shared, NULL))
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
