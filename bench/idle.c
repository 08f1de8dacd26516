/* SPDX-License-Identifier: Apache-2.0 */
/* What an idle process with many queues costs under xserver: CPU time, growth of its memory
 * (PSS, stacks included), threads, descriptors; and what the idle server costs. */
#include "bench.h"
#include "null_device.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double pss_kib(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kib = 0;

    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "Pss: %ld", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return (double)kib;
}

static int entries(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;

    while (d && readdir(d))
        n++;
    closedir(d);
    return n;
}

int main(int argc, char **argv)
{
    long queues = bench_option(argc, argv, "queues", 100), seconds = bench_option(argc, argv, "seconds", 5);
    struct null_stream *s = calloc((size_t)queues, sizeof(*s));
    pid_t server = bench_server_start(XSERVER_PATH, NULL);
    double pss;
    int threads, fds;
    uint64_t cpu, server_cpu;

    setenv("XSCHED_AUTO_XQUEUE", "ON", 1);
    setenv("XSCHED_SCHEDULER", "GLB", 1);
    pss_kib();
    pss = pss_kib();
    threads = entries("/proc/self/task");
    fds = entries("/proc/self/fd");
    for (long i = 0; i < queues; i++) {
        HwQueueHandle hwq;

        if (null_queue(&s[i], 0, &hwq) != kXSchedSuccess || xsched_priv_auto_queue(hwq, 0) != kXSchedSuccess)
            bench_fail("no queue %ld", i);
        null_api_launch(&s[i], 1, 1);
    }
    usleep(500000);
    cpu = bench_cpu_ns(getpid());
    server_cpu = bench_cpu_ns(server);
    sleep((unsigned)seconds);
    bench_figure("idle", "xsched", "client", "cpu", (double)(bench_cpu_ns(getpid()) - cpu) / 1e6 / (double)seconds,
                 "ms/s", (size_t)queues);
    bench_figure("idle", "xsched", "server", "cpu", (double)(bench_cpu_ns(server) - server_cpu) / 1e6 / (double)seconds,
                 "ms/s", (size_t)queues);
    bench_figure("idle", "xsched", "client", "pss-growth", pss_kib() - pss, "KiB", (size_t)queues);
    bench_figure("idle", "xsched", "client", "threads-more", entries("/proc/self/task") - threads, "1", (size_t)queues);
    bench_figure("idle", "xsched", "client", "descriptors-more", entries("/proc/self/fd") - fds, "1", (size_t)queues);
    if (xsched_priv_scheduled_count() != (uint64_t)queues)
        bench_fail("not every submit took the scheduled path");
    bench_server_stop(server);
    return 0;
}
