/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu.h"

#include "kernels.inc"            /* made by build.sh: k_cubin */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

void gpu_die(const char *what, int code)
{
    const char *name = "?";

    cuGetErrorName((CUresult)code, &name);
    fprintf(stderr, "pid %d: %s: %d %s\n", (int)getpid(), what, code, name ? name : "?");
    _exit(1);
}

double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

void sleep_us(double us)
{
    struct timespec t = {(time_t)(us / 1e6), (long)((uint64_t)us % 1000000 * 1000)};

    nanosleep(&t, NULL);
}

void gpu_open(struct gpu *g)
{
    CUdevice device;
    CUmodule module;
    void *p;

    memset(g, 0, sizeof(*g));
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&g->context, device));
    CHECK(cuCtxSetCurrent(g->context));
    CHECK(cuModuleLoadData(&module, k_cubin));
    CHECK(cuModuleGetFunction(&g->burn, module, "burn"));
    CHECK(cuStreamCreate(&g->stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&g->sum, 8));
    CHECK(cuMemsetD32(g->sum, 0, 2));
    CHECK(cuMemHostAlloc(&p, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    memset(p, 0, 4096);
    g->started = p;
    g->progress = (volatile uint64_t *)((char *)p + 64);
    CHECK(cuMemHostGetDevicePointer(&g->started_dev, p, 0));
    g->progress_dev = g->started_dev + 64;
    gpu_burn(g, g->stream, GPU_BLOCKS, 10, 0, false);
    CHECK(cuStreamSynchronize(g->stream));
}

void gpu_burn(struct gpu *g, CUstream stream, unsigned blocks, uint64_t rounds, uint32_t stamp, bool progress)
{
    CUdeviceptr started = stamp ? g->started_dev : 0, where = progress ? g->progress_dev : 0;
    void *args[] = {&rounds, &started, &stamp, &where, &g->sum};

    CHECK(cuLaunchKernel(g->burn, blocks, 1, 1, GPU_THREADS, 1, 1, 0, stream, args, NULL));
}

uint64_t gpu_calibrate(struct gpu *g, unsigned blocks, double us)
{
    double best = 1e18, per_round;

    for (int i = 0; i < 5; i++) {
        double t0 = now_us();

        gpu_burn(g, g->stream, blocks, 2000, 0, false);
        CHECK(cuStreamSynchronize(g->stream));
        best = XS_MIN(best, now_us() - t0);
    }
    per_round = best / 2000;
    return (uint64_t)(us / per_round) + 1;
}

uint64_t gpu_sum(struct gpu *g)
{
    uint64_t sum;

    CHECK(cuMemcpyDtoHAsync(&sum, g->sum, 8, g->stream));
    CHECK(cuStreamSynchronize(g->stream));
    return sum;
}

uint64_t gpu_expected(struct gpu *g, unsigned blocks, uint64_t rounds)
{
    uint64_t before = gpu_sum(g);

    gpu_burn(g, g->stream, blocks, rounds, 0, false);
    return gpu_sum(g) - before;
}

/* ---- passing ---- */

void pass_groups(int socket)
{
    struct passed p = {0};
    int fds[2 * PASS_GROUPS] = {0};
    char control[CMSG_SPACE(sizeof(fds))] = {0};
    struct iovec io = {&p, sizeof(p)};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control};
    struct cmsghdr *c;

    while (p.n < PASS_GROUPS && xs_rm_group_get(p.n, &p.groups[p.n]) == 0) {
        fds[2 * p.n] = p.groups[p.n].handles.group_fd;
        fds[2 * p.n + 1] = p.groups[p.n].handles.subdevice_fd;
        p.n++;
    }
    if (p.n == 0)
        gpu_die(xs_rm_why(), 0);
    m.msg_controllen = CMSG_SPACE(2 * p.n * sizeof(int));
    c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(2 * p.n * sizeof(int));
    memcpy(CMSG_DATA(c), fds, 2 * p.n * sizeof(int));
    if (sendmsg(socket, &m, 0) < 0)
        gpu_die("sendmsg", 0);
}

void take_groups(int socket, struct passed *ret)
{
    int fds[2 * PASS_GROUPS];
    char control[CMSG_SPACE(sizeof(fds))] = {0};
    struct iovec io = {ret, sizeof(*ret)};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};

    if (recvmsg(socket, &m, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*ret) || !CMSG_FIRSTHDR(&m))
        gpu_die("recvmsg", 0);
    memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), 2 * ret->n * sizeof(int));
    for (uint32_t i = 0; i < ret->n; i++) {
        ret->groups[i].handles.group_fd = fds[2 * i];
        ret->groups[i].handles.subdevice_fd = fds[2 * i + 1];
    }
}

void close_groups(struct passed *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        close(p->groups[i].handles.group_fd);
        close(p->groups[i].handles.subdevice_fd);
    }
    p->n = 0;
}

int groups_slice(struct passed *p, uint64_t us)
{
    int result = 0;

    for (uint32_t i = 0; i < p->n; i++) {
        int r = xs_nvrm_set_slice(&p->groups[i].handles, us, NULL);

        result = result ? result : r;
    }
    return result;
}

/* ---- results ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

double percentile(double *v, size_t n, double p)
{
    size_t i = (size_t)(p * (double)n);

    qsort(v, n, sizeof(*v), compare);
    return n ? v[XS_MIN(i, n - 1)] : 0;
}

static FILE *s_out, *s_samples;

void result_open(const char *path)
{
    char samples[512];

    snprintf(samples, sizeof(samples), "%.*s-samples.jsonl", (int)(strlen(path) - 6), path);
    s_out = fopen(path, "a");
    s_samples = fopen(samples, "a");
    if (!s_out || !s_samples)
        gpu_die(path, 0);
    setvbuf(s_out, NULL, _IOLBF, 0);
    setvbuf(s_samples, NULL, _IOLBF, 1 << 20);
}

static const char *tail(void)
{
    static char text[256];
    char version[32] = "?", date[32];
    time_t t = time(NULL);

    xs_nvrm_version(version, sizeof(version));
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime(&t));
    snprintf(text, sizeof(text),
             "\"device\":\"NVIDIA H200\",\"driver\":\"%s\",\"framework\":\"C\",\"commit\":\"%s\",\"date\":\"%s\"",
             version, getenv("COMMIT") ? getenv("COMMIT") : "", date);
    return text;
}

/* What docs/benchmarks.md may show; the rest is detail. */
static bool reported(const char *workload, const char *metric, const char *extra)
{
    if (!strcmp(workload, "E"))
        return strstr(extra, "\"t_ms\":50.0") && !strstr(metric, "_max") && strstr(metric, "_p");
    return !strcmp(workload, "stop") || !strcmp(metric, "failures");
}

void result(const char *workload, const char *variant, const char *side, const char *metric, double value,
            const char *unit, size_t n, int run, const char *extra)
{
    fprintf(s_out,
            "{\"workload\":\"level3 %s\",\"variant\":\"%s\",\"level\":3,\"side\":\"%s\",\"metric\":\"%s\","
            "\"value\":%.3f,\"unit\":\"%s\",\"n\":%zu,\"run\":%d%s%s,%s}\n",
            workload, variant, side, metric, value, unit, n, run, extra,
            reported(workload, metric, extra) ? "" : ",\"report\":false", tail());
    printf("%-8s %-10s %-5s %-22s %12.3f %-4s n %-5zu run %d %s\n", workload, variant, side, metric, value, unit, n,
           run, extra);
    fflush(stdout);
}

void result_samples(const char *workload, const char *variant, const char *what, const double *v, size_t n, int run,
                    const char *extra)
{
    fprintf(s_samples,
            "{\"workload\":\"level3 %s\",\"variant\":\"%s\",\"metric\":\"%s\",\"unit\":\"us\",\"run\":%d%s,"
            "\"report\":false,\"samples\":[",
            workload, variant, what, run, extra);
    for (size_t i = 0; i < n; i++)
        fprintf(s_samples, "%s%.1f", i ? "," : "", v[i]);
    fprintf(s_samples, "],%s}\n", tail());
    fflush(s_samples);
}
