/* SPDX-License-Identifier: Apache-2.0 */
/* A program of a world whose clock moves only when everybody sleeps (fakes/world); its calls take no time.
 *
 *   exact low KERNEL_US UNTIL_US
 *     keeps launching, for so long; prints "kernels N in_flight_us M gates G": how many, the most that was in flight,
 *     and how many waits for memory were put into its stream
 *   exact high KERNEL_US KERNELS GAP_US FIRST_US EACH_US REQUESTS
 *     a request each EACH_US: so many kernels, each waited for, with a pause between; prints what each took beyond its
 *     own kernels and pauses, in us
 *   exact each KERNEL_US UNTIL_US
 *     one kernel after the other; prints when each ended
 *   exact bad HOW AT_US UNTIL_US
 *     always has work, until something happens to it: killed, exits, lost (its device), destroys (its context, with
 *     work pending), idle, stopped (until SIGCONT). Prints "code N" of its last synchronisation
 *
 * Times count from the beginning of the world. */
#include <dlfcn.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fakes/vtime.h"

typedef void *P;
static int (*destroy)(P), (*init)(unsigned), (*retain)(P *, int), (*set)(P), (*create)(P *, unsigned), (*sync_stream)(P);
static int (*function)(P *, P, const char *), (*create_context)(P *, unsigned, int);
static int (*launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static uint64_t (*waits)(void);
static void (*lose)(void);
static P g_stream, g_burn;
static uint64_t g_done_ns;

static uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec - VTIME_START_NS) / 1000;
}

static void sleep_us(uint64_t us)
{
    struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};

    nanosleep(&t, NULL);
}

static void check(int r, const char *what)
{
    if (!r)
        return;
    printf("FAILED %s -> %d\n", what, r);
    exit(1);
}
#define OK(call) check(call, #call)

static void burn(uint64_t us)
{
    static uint32_t started, stamp;
    uint64_t ns = us * 1000, *sum = &g_done_ns;
    uint32_t *at = &started;
    void *params[] = {&ns, &at, &stamp, &sum};

    stamp++;
    OK(launch(g_burn, 1, 1, 1, 1, 1, 1, 0, g_stream, params, NULL));
}

static int low(uint64_t kernel_us, uint64_t until_us)
{
    uint64_t n = 0, most = 0, in_flight;

    while (now_us() < until_us) {
        burn(kernel_us);
        n++;
        in_flight = n * kernel_us - __atomic_load_n(&g_done_ns, __ATOMIC_ACQUIRE) / 1000;
        most = in_flight > most && now_us() > until_us / 2 ? in_flight : most; /* when its time is known */
    }
    OK(sync_stream(g_stream));
    printf("kernels %" PRIu64 " in_flight_us %" PRIu64 " gates %" PRIu64 "\n", n, most, waits());
    return 0;
}

static int each(uint64_t kernel_us, uint64_t until_us)
{
    while (now_us() < until_us) {
        burn(kernel_us);
        OK(sync_stream(g_stream));
        printf("%" PRIu64 "\n", now_us());
    }
    return 0;
}

static int bad(const char *how, uint64_t at_us, uint64_t until_us, P ctx)
{
    int r = 0;

    while (now_us() < at_us)
        burn(1000);
    if (strcmp(how, "killed") == 0)
        kill(getpid(), SIGKILL);
    else if (strcmp(how, "exits") == 0)
        _exit(0);
    else if (strcmp(how, "stopped") == 0)
        kill(getpid(), SIGSTOP);
    else if (strcmp(how, "lost") == 0)
        lose();
    else if (strcmp(how, "destroys") == 0)
        OK(destroy(ctx));
    if (strcmp(how, "destroys") != 0)
        r = sync_stream(g_stream);
    printf("code %d\n", r);
    if (until_us > now_us())
        sleep_us(until_us - now_us());
    return 0;
}

static int high(uint64_t kernel_us, uint64_t kernels, uint64_t gap_us, uint64_t first_us, uint64_t each_us,
                uint64_t requests)
{
    for (uint64_t i = 0; i < requests; i++) {
        uint64_t begin = first_us + i * each_us;

        if (begin > now_us())
            sleep_us(begin - now_us());
        begin = now_us();
        for (uint64_t k = 0; k < kernels; k++) {
            if (k)
                sleep_us(gap_us);
            burn(kernel_us);
            OK(sync_stream(g_stream));
        }
        printf("%" PRIu64 "\n", now_us() - begin - kernels * kernel_us - (kernels - 1) * gap_us);
    }
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t number[8] = {0};
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *fake = dlopen(getenv("FAKE"), RTLD_NOW), *p;
    P ctx, made;

    if (!lib || !fake || argc < 4)
        return 2;
    for (int i = 2; i < argc && i < 10; i++)
        number[i - 2] = strtoull(argv[i], NULL, 10);
#define GET(fn, from, name) p = dlsym(from, name), memcpy(&fn, &p, sizeof(p))
    GET(init, lib, "cuInit");
    GET(retain, lib, "cuDevicePrimaryCtxRetain");
    GET(set, lib, "cuCtxSetCurrent");
    GET(create, lib, "cuStreamCreate");
    GET(sync_stream, lib, "cuStreamSynchronize");
    GET(launch, lib, "cuLaunchKernel");
    GET(function, lib, "cuModuleGetFunction");
    GET(create_context, lib, "cuCtxCreate_v2");
    GET(destroy, lib, "cuCtxDestroy_v2");
    GET(waits, fake, "fake_cuda_waits");
    GET(lose, fake, "fake_lose_device");
    OK(init(0));
    OK(retain(&ctx, 0));
    OK(set(ctx));
    if (strcmp(argv[1], "bad") == 0 && strcmp(argv[2], "destroys") == 0) {
        OK(create_context(&made, 0, 0));
        ctx = made;
    }
    OK(create(&g_stream, 1));
    OK(function(&g_burn, NULL, "burn"));
    if (strcmp(argv[1], "low") == 0)
        return low(number[0], number[1]);
    if (strcmp(argv[1], "each") == 0)
        return each(number[0], number[1]);
    if (strcmp(argv[1], "bad") == 0)
        return bad(argv[2], number[1], number[2], ctx);
    return high(number[0], number[1], number[2], number[3], number[4], number[5]);
}
