/* SPDX-License-Identifier: Apache-2.0 */
/* Two programs on one device, and a third process that holds their groups' descriptors: how long
 * an urgent job of about 1.2 ms takes beside kernels of T ms. */
#include "gpu.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAMPLES 400
#define JOB_KERNELS 10

enum { HIGH_WAIT, HIGH_RUN };

struct board {
    _Atomic int low_run;          /* 1: launch kernels of t_us */
    _Atomic int low_idle, low_ready, high_ready;
    _Atomic int high_state, stop;
    _Atomic uint64_t low_kernels, low_wrong;
    double t_us;
    int n;
    double start[SAMPLES], job[SAMPLES];
    _Atomic uint64_t high_wrong;
};

static void low_main(struct board *b, int socket)
{
    struct gpu g;
    CUevent events[2];
    uint64_t rounds = 0, one = 0, at = 0, n;
    double t_us = 0;

    gpu_open(&g);
    for (int i = 0; i < 2; i++)
        CHECK(cuEventCreate(&events[i], CU_EVENT_DISABLE_TIMING));
    pass_groups(socket);
    atomic_store(&b->low_ready, 1);
    while (!atomic_load(&b->stop)) {
        if (!atomic_load(&b->low_run)) {
            atomic_store(&b->low_idle, 1);
            sleep_us(200);
            continue;
        }
        if (t_us != b->t_us) {
            t_us = b->t_us;
            rounds = gpu_calibrate(&g, GPU_BLOCKS, t_us);
            one = gpu_expected(&g, GPU_BLOCKS, rounds);
        }
        at = gpu_sum(&g);
        n = 0;
        atomic_store(&b->low_idle, 0);
        while (atomic_load(&b->low_run)) { /* two in flight */
            if (n >= 2)
                CHECK(cuEventSynchronize(events[n % 2]));
            gpu_burn(&g, g.stream, GPU_BLOCKS, rounds, 0, false);
            CHECK(cuEventRecord(events[n % 2], g.stream));
            n++;
            if (n > 2)
                atomic_fetch_add(&b->low_kernels, 1);
        }
        if (gpu_sum(&g) - at != n * one)
            atomic_fetch_add(&b->low_wrong, 1);
    }
    _exit(0);
}

static void high_main(struct board *b, int socket)
{
    struct gpu g;
    uint64_t rounds, one;
    uint32_t stamp = 0;

    gpu_open(&g);
    pass_groups(socket);
    rounds = gpu_calibrate(&g, GPU_BLOCKS / 2, 115);
    one = gpu_expected(&g, GPU_BLOCKS / 2, rounds) * JOB_KERNELS;
    atomic_store(&b->high_ready, 1);
    while (!atomic_load(&b->stop)) {
        if (atomic_load(&b->high_state) != HIGH_RUN) {
            sleep_us(200);
            continue;
        }
        for (int i = 0; i < b->n; i++) {
            uint64_t before = gpu_sum(&g);
            double t0, t1 = 0;

            sleep_us(6000 + (double)(rand() % 5000));
            t0 = now_us();
            stamp++;
            gpu_burn(&g, g.stream, GPU_BLOCKS / 2, rounds, stamp, false);
            for (int k = 1; k < JOB_KERNELS; k++)
                gpu_burn(&g, g.stream, GPU_BLOCKS / 2, rounds, 0, false);
            while (*g.started != stamp && now_us() - t0 < 5e6)
                xs_cpu_relax();
            t1 = now_us();
            CHECK(cuStreamSynchronize(g.stream));
            b->job[i] = now_us() - t0;
            b->start[i] = t1 - t0;
            if (gpu_sum(&g) - before != one)
                atomic_fetch_add(&b->high_wrong, 1);
        }
        atomic_store(&b->high_state, HIGH_WAIT);
    }
    _exit(0);
}

struct scene {
    struct board *b;
    struct passed low, high;
};

static void block(struct scene *s, const char *variant, bool low_runs, double t_ms, int n, int run)
{
    struct board *b = s->b;
    char extra[64];
    double t0, seconds;
    uint64_t k0;

    snprintf(extra, sizeof(extra), ",\"t_ms\":%.1f", t_ms);
    b->t_us = t_ms * 1000;
    b->n = n;
    atomic_store(&b->low_run, low_runs);
    while (atomic_load(&b->low_idle) == (low_runs ? 1 : 0))
        sleep_us(500);
    sleep_us(50000 + 3 * b->t_us);
    k0 = atomic_load(&b->low_kernels);
    t0 = now_us();
    atomic_store(&b->high_state, HIGH_RUN);
    while (atomic_load(&b->high_state) == HIGH_RUN)
        sleep_us(500);
    seconds = (now_us() - t0) / 1e6;
    if (low_runs)
        result("E", variant, "low", "share", (double)(atomic_load(&b->low_kernels) - k0) * t_ms / 1e3 / seconds, "1",
               (size_t)(atomic_load(&b->low_kernels) - k0), run, extra);
    result_samples("E", variant, "start", b->start, (size_t)n, run, extra);
    result_samples("E", variant, "job", b->job, (size_t)n, run, extra);
    for (int i = 0; i < 2; i++) {
        double *v = i ? b->job : b->start;
        const char *name[2][3] = {{"start_p50", "start_p99", "start_max"}, {"job_p50", "job_p99", "job_max"}};

        result("E", variant, "high", name[i][0], percentile(v, (size_t)n, 0.5), "us", (size_t)n, run, extra);
        result("E", variant, "high", name[i][1], percentile(v, (size_t)n, 0.99), "us", (size_t)n, run, extra);
        result("E", variant, "high", name[i][2], percentile(v, (size_t)n, 1), "us", (size_t)n, run, extra);
    }
}

int main_share(const char *results)
{
    static const double t_ms[] = {0.1, 1, 5, 20, 50};
    struct board *b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    static struct scene s;
    int low_socket[2], high_socket[2], status;
    int blocks = getenv("BLOCKS") ? atoi(getenv("BLOCKS")) : 2, n = getenv("N") ? atoi(getenv("N")) : 150;
    pid_t low, high;

    n = XS_MIN(n, SAMPLES);
    result_open(results);
    s.b = b;
    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, low_socket);
    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, high_socket);
    low = fork();
    if (!low)
        low_main(b, low_socket[1]);
    high = fork();
    if (!high)
        high_main(b, high_socket[1]);
    take_groups(low_socket[0], &s.low);
    take_groups(high_socket[0], &s.high);
    while (!atomic_load(&b->low_ready) || !atomic_load(&b->high_ready))
        sleep_us(1000);
    for (size_t t = 0; t < XS_ARRAY_LEN(t_ms); t++) {
        for (int run = 0; run < blocks; run++) {
            double t0;
            char extra[64];

            snprintf(extra, sizeof(extra), ",\"t_ms\":%.1f", t_ms[t]);
            block(&s, "alone", false, t_ms[t], n, run);
            block(&s, "native", true, t_ms[t], n, run);
            t0 = now_us();
            if (groups_slice(&s.low, 50) || groups_slice(&s.high, 50000))
                gpu_die("slice", 0);
            result("E", "slices", "low", "set_two_slices", now_us() - t0, "us", 1, run, extra);
            block(&s, "slices", true, t_ms[t], n, run);
            if (groups_slice(&s.low, 2048) || groups_slice(&s.high, 2048))
                gpu_die("slice", 0);
        }
    }
    atomic_store(&b->low_run, 0);
    sleep_us(300000);
    atomic_store(&b->stop, 1);
    close_groups(&s.low);
    close_groups(&s.high);
    waitpid(low, &status, 0);
    result("E", "all", "low", "exit_status", status, "1", 1, 0, "");
    waitpid(high, &status, 0);
    result("E", "all", "high", "exit_status", status, "1", 1, 0, "");
    result("E", "all", "low", "wrong_results", (double)atomic_load(&b->low_wrong), "1", 1, 0, "");
    result("E", "all", "high", "wrong_results", (double)atomic_load(&b->high_wrong), "1", 1, 0, "");
    return atomic_load(&b->low_wrong) || atomic_load(&b->high_wrong);
}
