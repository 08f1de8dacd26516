/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include "base/clock.h"

#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

void bench_add(struct bench_samples *s, double value)
{
    if (s->n == s->room) {
        s->room = s->room ? s->room * 2 : 4096;
        s->v = realloc(s->v, s->room * sizeof(*s->v));
    }
    s->v[s->n++] = value;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

double bench_quantile(struct bench_samples *s, double q)
{
    size_t i;

    if (!s->n)
        return NAN;
    qsort(s->v, s->n, sizeof(*s->v), compare);
    i = (size_t)(q * (double)s->n);
    return s->v[i < s->n ? i : s->n - 1];
}

void bench_clear(struct bench_samples *s)
{
    free(s->v);
    memset(s, 0, sizeof(*s));
}

void bench_figure(const char *workload, const char *variant, const char *side, const char *metric, double value,
                  const char *unit, size_t n)
{
    printf("{\"workload\":\"%s\",\"variant\":\"%s\",\"side\":\"%s\",\"metric\":\"%s\",\"value\":%.6g,\"unit\":\"%s\","
           "\"n\":%zu}\n", workload, variant, side ? side : "", metric, value, unit, n);
    fflush(stdout);
}

void bench_figures(const char *workload, const char *variant, const char *side, const char *prefix,
                   struct bench_samples *s, const char *unit)
{
    static const struct { const char *name; double q; } rows[] = {{"p50", 0.5}, {"p99", 0.99}, {"max", 1}};
    char metric[64];

    for (int i = 0; s->n && i < 3; i++) {
        snprintf(metric, sizeof(metric), "%s%s", prefix, rows[i].name);
        bench_figure(workload, variant, side, metric, bench_quantile(s, rows[i].q), unit, s->n);
    }
}

void bench_fail(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fprintf(stderr, "benchmark failed: ");
    vfprintf(stderr, format, ap);
    fprintf(stderr, "\n");
    va_end(ap);
    exit(1);
}

long bench_option(int argc, char **argv, const char *name, long def)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0)
            return atol(argv[i + 1]);
    return def;
}

static char g_dir[64], g_socket[96];

pid_t bench_server_start(const char *xserver_path, const char *more)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    pid_t pid;

    strcpy(g_dir, "/tmp/xsched-bench-XXXXXX");
    if (!mkdtemp(g_dir))
        bench_fail("no folder for the server");
    snprintf(g_socket, sizeof(g_socket), "%s/xserver.sock", g_dir);
    setenv("XSCHED_SOCKET", g_socket, 1);
    pid = fork();
    if (pid == 0) {
        char option[128];

        snprintf(option, sizeof(option), "--socket=%s", g_socket);
        if (getenv("BENCH_XSERVER"))      /* not where it was built */
            xserver_path = getenv("BENCH_XSERVER");
        execl(xserver_path, "xserver", option, "--http=OFF", "--log-level=WARN", more, (char *)NULL);
        _exit(127);
    }
    memcpy(a.sun_path, g_socket, strlen(g_socket));
    for (int i = 0; i < 500; i++) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        int r = connect(fd, (struct sockaddr *)&a, sizeof(a));

        close(fd);
        if (r == 0)
            return pid;
        usleep(10000);
    }
    bench_fail("xserver does not listen");
}

void bench_server_stop(pid_t pid)
{
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
    unlink(g_socket);
    rmdir(g_dir);
}

uint64_t bench_cpu_ns(pid_t pid)
{
    char path[64];
    unsigned long long user = 0, system = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    f = fopen(path, "r");
    if (!f || fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2)
        user = system = 0;
    if (f)
        fclose(f);
    return (user + system) * 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);
}

void bench_pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu % (int)sysconf(_SC_NPROCESSORS_ONLN), &set);
    sched_setaffinity(0, sizeof(set), &set);
}
