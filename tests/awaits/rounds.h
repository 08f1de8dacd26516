/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of the programs here: rounds of 2 ms and a little, for some seconds. */
#ifndef TESTS_AWAITS_ROUNDS_H
#define TESTS_AWAITS_ROUNDS_H

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

static unsigned long g_rounds;    /* the one that goes on, from 1 */
static double g_began;

static inline double rounds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline void rounds_pause(void)
{
    struct timespec t = {0, 2000000};

    nanosleep(&t, NULL);
}

/* Begins a round, unless the time is over. */
static inline bool rounds_go_on(double seconds)
{
    if (!g_began)
        g_began = rounds_now();
    if (rounds_now() - g_began >= seconds)
        return false;
    g_rounds++;
    return true;
}

/* @return the program's exit status */
static inline int rounds_end(int error)
{
    if (error) {
        fprintf(stderr, "round %lu: error %d\n", g_rounds, error);
        return 1;
    }
    printf("%.1f\n", (double)g_rounds / (rounds_now() - g_began));
    return 0;
}

#endif
