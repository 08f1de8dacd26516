/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded beside the shim: moves the program's device memory out and in at moments that nobody knows, for
 * tests/sequences and tests/gpu. SWAPPER_US: the longest pause between two moves; SWAPPER_PIPE: instead, a pipe to read
 * commands from, one a line, "out [LIMIT_MS]", "in [LIMIT_MS]" or "follow [LIMIT_MS]". Each is answered by a line of
 * JSON in SWAPPER_OUT. Without either it does nothing. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hal/cuda/swap/swap.h"

#define LIMIT_NS (50 * XS_NS_PER_MS)

typedef int (*move_fn)(uint64_t, struct xs_swap_report *);

static move_fn find(const char *name)
{
    void *p = dlsym(RTLD_DEFAULT, name), *hal;
    move_fn fn = NULL;

    if (!p) {
        hal = dlopen("libhalcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        p = hal ? dlsym(hal, name) : NULL;
    }
    memcpy(&fn, &p, sizeof(fn));
    return fn;
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * XS_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void *at_random(void *us)
{
    move_fn out = find("xsched_priv_cuda_swap_out"), in = find("xsched_priv_cuda_swap_in");
    unsigned most = (unsigned)(uintptr_t)us, seed = (unsigned)now_ns(), swapped = 0;
    struct xs_swap_report r;

    while (out && in) {
        seed = seed * 1103515245u + 12345u;
        usleep(seed / 65536 % most);
        if (out(LIMIT_NS, &r) != 0)
            continue;
        swapped += r.bytes > 0;
        usleep(seed / 65536 % most / 4);
        while (in(LIMIT_NS, &r) != 0)
            usleep(1000);
        dprintf(2, "swapped %u\n", swapped);
    }
    return NULL;
}

static void say(FILE *to, const char *what, int code, const struct xs_swap_report *r)
{
    fprintf(to,
            "{\"what\":\"%s\",\"code\":%d,\"why\":\"%s\",\"bytes\":%llu,\"blocks\":%llu,\"prepare_s\":%.6f,\"pause_s\":%.6f,"
            "\"copy_s\":%.6f,\"map_s\":%.6f,\"total_s\":%.6f,\"others\":[",
            what, code, r->why, (unsigned long long)r->bytes, (unsigned long long)r->blocks, (double)r->prepare_ns / 1e9,
            (double)r->pause_ns / 1e9, (double)r->copy_ns / 1e9, (double)r->map_ns / 1e9, (double)r->total_ns / 1e9);
    for (unsigned i = 0; i < XS_SWAP_OTHERS; i++)
        fprintf(to, "%s%llu", i ? "," : "", (unsigned long long)r->others[i]);
    fprintf(to, "]}\n");
    fflush(to);
}

/* One line of the pipe. Not by stdio: exit waits for the lock of a stream that is being read (glibc 2.39). */
static int read_line(int from, char *line, size_t size)
{
    size_t n = 0;

    while (n + 1 < size && read(from, line + n, 1) == 1 && line[n] != '\n')
        n++;
    line[n] = 0;
    return n > 0;
}

static void *on_command(void *none)
{
    int from = open(getenv("SWAPPER_PIPE"), O_RDWR | O_CLOEXEC); /* O_RDWR: it never ends */
    FILE *to = fopen(getenv("SWAPPER_OUT"), "ae");
    char line[128], what[16], name[48];

    (void)none;
    while (from >= 0 && to && read_line(from, line, sizeof(line))) {
        move_fn fn;
        struct xs_swap_report r = {.why = "no libhalcuda here"};
        unsigned long limit_ms = 10000;
        int code = -1;

        if (sscanf(line, "%15s %lu", what, &limit_ms) < 1)
            continue;
        snprintf(name, sizeof(name), "xsched_priv_cuda_swap_%s", what);
        fn = find(name);
        if (fn)
            code = fn(limit_ms * XS_NS_PER_MS, &r);
        say(to, what, code, &r);
    }
    return NULL;
}

__attribute__((constructor)) static void begin(void)
{
    const char *us = getenv("SWAPPER_US");
    pthread_t t;

    if (us && atoi(us) > 0)
        pthread_create(&t, NULL, at_random, (void *)(uintptr_t)atoi(us));
    else if (getenv("SWAPPER_PIPE") && getenv("SWAPPER_OUT"))
        pthread_create(&t, NULL, on_command, NULL);
}
