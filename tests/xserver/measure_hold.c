/* SPDX-License-Identifier: Apache-2.0 */
/* How long it takes from a submit of an urgent queue until a queue of another process is held.
 * No test: prints figures.  measure_hold [CLIENTS [QUEUES [ROUNDS [GAP_US [SPIN_CPU]]]]]
 *
 * CLIENTS programs with QUEUES queues each are joined, all but two idle. Each round the urgent one
 * submits, the other one is watched, the urgent one completes, and GAP_US pass: a short gap finds
 * the server still awake, a long one asleep. */
#include "raw.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static long g_clients = 2, g_queues = 1, g_rounds = 5000, g_gap_us = 20, g_spin_cpu = 25;

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void pass_us(long us)
{
    uint64_t until = xs_now_ns() + (uint64_t)us * 1000;

    if (us >= 1000)
        usleep((useconds_t)us);
    while (xs_now_ns() < until)
        xs_cpu_relax();
}

static void show(const char *what, uint64_t *ns, long n)
{
    if (n == 0)
        return;
    qsort(ns, (size_t)n, sizeof(*ns), by_size);
    printf("%-28s p50 %8.1f  p90 %8.1f  p99 %8.1f  max %8.1f us (%ld)\n", what, (double)ns[n / 2] / 1e3,
           (double)ns[n * 9 / 10] / 1e3, (double)ns[n * 99 / 100] / 1e3, (double)ns[n - 1] / 1e3, n);
}

static void measure(void **state)
{
    struct raw_server s;
    char cap[16];
    const char *args[] = {"--spin-cpu", cap, NULL};
    struct raw_client *c = calloc((size_t)g_clients, sizeof(*c)), *low = &c[0], *high = &c[g_clients - 1];
    uint64_t *hold = calloc((size_t)g_rounds, sizeof(*hold)),
             *asleep = calloc((size_t)g_rounds, sizeof(*hold)),
             *permit = calloc((size_t)g_rounds, sizeof(*permit));
    long n_awake = 0, n_asleep = 0;
    union xs_msg m;

    (void)state;
    snprintf(cap, sizeof(cap), "%ld", g_spin_cpu);
    raw_server_start(&s, args);
    for (long i = 0; i < g_clients; i++) {
        raw_join(&c[i], s.socket);
        for (long q = 0; q < g_queues; q++) {
            raw_add_fill(&c[i], &m, (uint32_t)q, 1, i == g_clients - 1 ? 10 : 0);
            raw_send(&c[i], &m, XS_MSG_queue_add);
        }
        raw_settle(&c[i]);
    }
    raw_submit(low, 0);
    for (long i = 0; i < g_rounds; i++) {
        uint64_t began, took;
        bool sleeps;

        while (!raw_permitted(low, 0))
            xs_cpu_relax();
        pass_us(g_gap_us);
        sleeps = atomic_load(&high->server->h.asleep);
        began = xs_now_ns();
        raw_submit(high, 0);
        while (raw_permitted(low, 0))
            xs_cpu_relax();
        took = xs_now_ns() - began;
        if (sleeps)
            asleep[n_asleep++] = took;
        else
            hold[n_awake++] = took;
        pass_us(5);
        began = xs_now_ns();
        raw_complete(high, 0);
        while (!raw_permitted(low, 0))
            xs_cpu_relax();
        permit[i] = xs_now_ns() - began;
    }
    printf("%ld clients, %ld queues each, %ld us between rounds\n", g_clients, g_queues, g_gap_us);
    show("until other held, awake", hold, n_awake);
    show("until other held, asleep", asleep, n_asleep);
    show("complete until other permitted", permit, g_rounds);
    printf("server: %ld spins, %ld sleeps, %.1f ms spun\n", (long)raw_status(&s, "spins"),
           (long)raw_status(&s, "sleeps"), (double)raw_status(&s, "spin_us") / 1e3);
    raw_server_stop(&s);
    for (long i = 0; i < g_clients; i++)
        raw_leave(&c[i]);
    free(c);
    free(hold);
    free(asleep);
    free(permit);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(measure)};
    long *to[] = {&g_clients, &g_queues, &g_rounds, &g_gap_us, &g_spin_cpu};

    for (int i = 1; i < argc && i <= 5; i++)
        *to[i - 1] = atol(argv[i]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
