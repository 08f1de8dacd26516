/* SPDX-License-Identifier: Apache-2.0 */
/* operations pair: one of two programs that share a device, with real kernels where the runtime has them.
 *
 *   pair calibrate MS                   prints how many turns a kernel makes in so many milliseconds, alone
 *   pair low SECONDS TURNS              kernels until SIGTERM, four submitted ahead; prints when each was seen to end
 *   pair high SECONDS TURNS KERNELS MS  requests of so many kernels, MS of sleep between two, at least eight of them;
 *                                       prints "BEGIN END" of each
 *
 * Times are milliseconds of CLOCK_MONOTONIC. The fake runtime's kernel takes TURNS nanoseconds. */
#include "operations.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#define AHEAD 4
#define LEAST 8

static volatile sig_atomic_t s_ended;

static void end_it(int signal)
{
    (void)signal;
    s_ended = 1;
}

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int spin(uint64_t turns)
{
    uint32_t tag = 1;
    P params[] = {&turns, &s_c, &tag}, kernel = s_spin ? s_spin : s_work;

    return HIP(hipModuleLaunchKernel, P, GRID, unsigned, P, P *, P *)(kernel, 1, 1, 1, 1, 1, 1, 0, s_stream, params, NULL);
}

static int request(uint64_t turns, int kernels)
{
    for (int i = 0; i < kernels; i++)
        TRY(spin(turns));
    if (!s_spin)                  /* the fake one's kernel counts there */
        TRY(HIP(hipMemsetAsync, P, int, size_t, P)(s_c, 0, 256, s_stream));
    return HIP(hipStreamSynchronize, P)(s_stream);
}

static int calibrate(double ms)
{
    uint64_t turns = s_spin ? 100 : 100000;

    for (int round = 0; round < 12; round++) {
        double best = 1e9;

        for (int i = 0; i < 4; i++) {
            double begin = now_ms();

            TRY(request(turns, 4));
            begin = (now_ms() - begin) / 4;
            best = begin < best ? begin : best;
        }
        if (best > ms * 0.8 && best < ms * 1.25)
            break;
        /* not far at a time: what a launch takes is in it */
        turns = (uint64_t)((double)turns * (best < ms / 8 ? 8 : ms / best)) + 1;
    }
    printf("%lu\n", (unsigned long)turns);
    return 0;
}

static int low(double seconds, uint64_t turns)
{
    double end = now_ms() + seconds * 1e3;
    P events[AHEAD];

    for (int i = 0; i < AHEAD; i++)
        TRY(HIP(hipEventCreateWithFlags, P *, unsigned)(&events[i], 2));
    signal(SIGTERM, end_it);
    for (int n = 0; now_ms() < end && !s_ended; n++) {
        P event = events[n % AHEAD];

        if (n >= AHEAD) {
            TRY(HIP(hipEventSynchronize, P)(event));
            printf("%.3f\n", now_ms());
            fflush(stdout);
        }
        TRY(spin(turns));
        if (!s_spin)
            TRY(HIP(hipMemsetAsync, P, int, size_t, P)(s_c, 0, 256, s_stream));
        TRY(HIP(hipEventRecord, P, P)(event, s_stream));
    }
    return HIP(hipStreamSynchronize, P)(s_stream);
}

static int high(double seconds, uint64_t turns, int kernels, double pause)
{
    double end = now_ms() + seconds * 1e3;

    for (int n = 0; now_ms() < end || n < LEAST; n++) {
        double begin = now_ms();

        TRY(request(turns, kernels));
        printf("%.3f %.3f\n", begin, now_ms());
        fflush(stdout);
        usleep((useconds_t)(pause * 1e3));
    }
    return 0;
}

int pair_main(int argc, char **argv)
{
    int r = op_start();

    if (!r)
        r = op_priority();
    if (!r)
        (void)op_compile();       /* where there is no compiler, the fake runtime loads whatever it gets */
    if (!r)
        r = op_load();
    if (!r && argc > 2 && strcmp(argv[1], "calibrate") == 0)
        r = calibrate(atof(argv[2]));
    else if (!r && argc > 3 && strcmp(argv[1], "low") == 0)
        r = low(atof(argv[2]), (uint64_t)atoll(argv[3]));
    else if (!r && argc > 5 && strcmp(argv[1], "high") == 0)
        r = high(atof(argv[2]), (uint64_t)atoll(argv[3]), atoi(argv[4]), atof(argv[5]));
    else if (!r)
        r = -2;
    if (r)
        fprintf(stderr, "pair: error %d\n", r);
    return r ? 1 : 0;
}
