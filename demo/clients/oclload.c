/* SPDX-License-Identifier: Apache-2.0 */
/* The demo's OpenCL program: an ordinary client that knows nothing of a scheduler.
 *
 *   oclload calibrate --kernel-us 1000                   how many iterations a kernel of 1 ms has
 *   oclload stream    --iterations N --in-flight 64      background: keeps 64 kernels in flight
 *                                                        until SIGTERM or --seconds
 *   oclload requests  --iterations N --kernels 4 --period-us 50000 --count 1000
 *                                                        urgent: four kernels every 50 ms; the
 *                                                        latency counts from the intended arrival
 *
 * stream and requests check what the kernels computed, in which order they ran and how often, and
 * end with status 1 when anything is wrong. --out writes one line a kernel or request. All times
 * are CLOCK_MONOTONIC. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS 64u

static const char source[] =
    "__kernel void work(__global uint *state, uint slot, uint number, uint iterations)\n"
    "{\n"
    "    uint x = slot + 1u;\n"
    "    for (uint i = 0; i < iterations; i++)\n"
    "        x = x * 1664525u + (x >> 13) + i;\n"
    "    state[slot] = x;\n"                      /* the result */
    "    state[64] = state[64] * 31u + number;\n" /* depends on order and number of runs */
    "    state[65] += 1u;\n"
    "}\n";

struct options {
    uint32_t iterations;
    uint32_t in_flight;
    uint32_t kernels;
    uint32_t count;
    uint32_t warmup;
    double kernel_us;
    double period_us;
    double seconds;
    const char *out;
};

struct device {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem state;
    uint32_t launched; /* kernels handed in; also the number of the last one */
    uint32_t expected_order;
    uint32_t expected[SLOTS];
};

static volatile sig_atomic_t stop;

static void on_term(int signo)
{
    (void)signo;
    stop = 1;
}

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void sleep_until_ns(uint64_t when)
{
    struct timespec ts = {(time_t)(when / 1000000000ull), (long)(when % 1000000000ull)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
        ;
}

static void check(cl_int err, const char *what)
{
    if (err != CL_SUCCESS) {
        fprintf(stderr, "oclload: %s: OpenCL error %d\n", what, err);
        exit(1);
    }
}

static void *allocate(size_t count, size_t size)
{
    void *p = calloc(count, size);

    if (!p) {
        fprintf(stderr, "oclload: out of memory\n");
        exit(1);
    }
    return p;
}

/* What the kernel computes, on the CPU. */
static uint32_t reference(uint32_t slot, uint32_t iterations)
{
    uint32_t x = slot + 1;

    for (uint32_t i = 0; i < iterations; i++)
        x = x * 1664525u + (x >> 13) + i;
    return x;
}

static void device_open(struct device *d)
{
    cl_platform_id platform;
    cl_device_id id;
    cl_int err;
    const char *text = source;
    uint32_t zero[SLOTS + 2] = {0};

    memset(d, 0, sizeof(*d));
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL), "clGetDeviceIDs");
    d->context = clCreateContext(NULL, 1, &id, NULL, NULL, &err);
    check(err, "clCreateContext");
    d->queue = clCreateCommandQueue(d->context, id, 0, &err);
    check(err, "clCreateCommandQueue");
    d->program = clCreateProgramWithSource(d->context, 1, &text, NULL, &err);
    check(err, "clCreateProgramWithSource");
    check(clBuildProgram(d->program, 1, &id, "", NULL, NULL), "clBuildProgram");
    d->kernel = clCreateKernel(d->program, "work", &err);
    check(err, "clCreateKernel");
    d->state = clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(zero), zero, &err);
    check(err, "clCreateBuffer");
    check(clSetKernelArg(d->kernel, 0, sizeof(d->state), &d->state), "clSetKernelArg");
}

static void device_close(struct device *d)
{
    clReleaseMemObject(d->state);
    clReleaseKernel(d->kernel);
    clReleaseProgram(d->program);
    clReleaseCommandQueue(d->queue);
    clReleaseContext(d->context);
}

static void launch(struct device *d, uint32_t slot, uint32_t iterations, cl_event *ret_event)
{
    size_t one = 1;

    d->launched++;
    d->expected_order = d->expected_order * 31u + d->launched;
    check(clSetKernelArg(d->kernel, 1, sizeof(slot), &slot), "clSetKernelArg");
    check(clSetKernelArg(d->kernel, 2, sizeof(d->launched), &d->launched), "clSetKernelArg");
    check(clSetKernelArg(d->kernel, 3, sizeof(iterations), &iterations), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(d->queue, d->kernel, 1, NULL, &one, &one, 0, NULL, ret_event),
          "clEnqueueNDRangeKernel");
}

/* After everything is done: results, order and number of runs. */
static void verify(struct device *d, uint32_t slots, const char *when)
{
    uint32_t state[SLOTS + 2];

    check(clEnqueueReadBuffer(d->queue, d->state, CL_TRUE, 0, sizeof(state), state, 0, NULL, NULL),
          "clEnqueueReadBuffer");
    for (uint32_t i = 0; i < slots; i++) {
        if (state[i] != d->expected[i]) {
            fprintf(stderr, "oclload: wrong result (%s): slot %u is %u, not %u\n", when, i, state[i],
                    d->expected[i]);
            exit(1);
        }
    }
    if (state[SLOTS + 1] != d->launched || state[SLOTS] != d->expected_order) {
        fprintf(stderr, "oclload: kernels were lost, doubled or reordered (%s): %u ran of %u\n", when,
                state[SLOTS + 1], d->launched);
        exit(1);
    }
}

static FILE *out_open(const char *path, const char *header)
{
    FILE *f;

    if (!path)
        return NULL;
    f = fopen(path, "w");
    if (!f) {
        fprintf(stderr, "oclload: %s: %s\n", path, strerror(errno));
        exit(1);
    }
    fprintf(f, "%s\n", header);
    return f;
}

static void out_close(FILE *f, const char *path)
{
    if (f && fclose(f) != 0) {
        fprintf(stderr, "oclload: %s: %s\n", path, strerror(errno));
        exit(1);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Times of single launches, each waited for. */
static void time_singles(struct device *d, uint32_t iterations, uint32_t launches, double *ret_min_us,
                         double *ret_median_us)
{
    double *us = allocate(launches, sizeof(*us));

    for (uint32_t i = 0; i < launches; i++) {
        uint64_t begin = now_ns();

        launch(d, 0, iterations, NULL);
        check(clFinish(d->queue), "clFinish");
        us[i] = (double)(now_ns() - begin) / 1e3;
    }
    qsort(us, launches, sizeof(*us), by_value);
    *ret_min_us = us[0];
    *ret_median_us = us[launches / 2];
    free(us);
}

/* The least time of many launches is the kernel's own: whatever else the machine does only adds. */
static int calibrate(const struct options *o)
{
    struct device d;
    double iterations = 20000, min_us = 0, median_us = 0;

    device_open(&d);
    time_singles(&d, (uint32_t)iterations, 20, &min_us, &median_us);
    for (int round = 0; round < 4; round++) {
        time_singles(&d, (uint32_t)iterations, round < 2 ? 60 : 200, &min_us, &median_us);
        if (round < 3)
            iterations *= o->kernel_us / min_us;
        if (iterations < 1 || iterations > 4e9) {
            fprintf(stderr, "oclload: a kernel of %g us cannot be made here\n", o->kernel_us);
            return 1;
        }
    }
    d.expected[0] = reference(0, (uint32_t)iterations);
    verify(&d, 1, "calibrate");
    printf("iterations=%u min_us=%.1f median_us=%.1f\n", (uint32_t)iterations, min_us, median_us);
    device_close(&d);
    return 0;
}

static int stream(const struct options *o)
{
    struct device d;
    cl_event events[SLOTS];
    uint32_t capacity = 1u << 16, done = 0;
    uint64_t *done_ns = allocate(capacity, sizeof(*done_ns));
    struct sigaction action = {.sa_handler = on_term};
    uint64_t until;
    FILE *f;

    if (o->in_flight < 1 || o->in_flight > SLOTS) {
        fprintf(stderr, "oclload: --in-flight takes 1..%u\n", SLOTS);
        return 2;
    }
    sigaction(SIGTERM, &action, NULL);
    device_open(&d);
    for (uint32_t i = 0; i < o->in_flight; i++)
        d.expected[i] = reference(i, o->iterations);
    f = out_open(o->out, "kernel,done_ns");
    until = o->seconds > 0 ? now_ns() + (uint64_t)(o->seconds * 1e9) : UINT64_MAX;

    while (!stop && now_ns() < until) {
        uint32_t slot = d.launched % o->in_flight;

        if (d.launched >= o->in_flight) {
            check(clWaitForEvents(1, &events[slot]), "clWaitForEvents");
            if (done == capacity) {
                uint64_t *grown = realloc(done_ns, 2 * capacity * sizeof(*done_ns));

                if (!grown) {
                    fprintf(stderr, "oclload: out of memory\n");
                    return 1;
                }
                done_ns = grown;
                capacity *= 2;
            }
            done_ns[done++] = now_ns();
            clReleaseEvent(events[slot]);
        }
        launch(&d, slot, o->iterations, &events[slot]);
        check(clFlush(d.queue), "clFlush");
        if (d.launched == 2 * o->in_flight) {
            puts("running");
            fflush(stdout);
        }
    }
    check(clFinish(d.queue), "clFinish");
    for (uint32_t i = 0; i < o->in_flight && i < d.launched; i++)
        clReleaseEvent(events[i]);
    verify(&d, o->in_flight < d.launched ? o->in_flight : d.launched, "stream");
    for (uint32_t i = 0; f && i < done; i++)
        fprintf(f, "%u,%llu\n", i, (unsigned long long)done_ns[i]);
    out_close(f, o->out);
    printf("kernels=%u correct\n", d.launched);
    free(done_ns);
    device_close(&d);
    return 0;
}

/* Open loop: arrivals are fixed in advance, and a late one starts as soon as it can. */
static int requests(const struct options *o)
{
    struct device d;
    uint32_t total = o->warmup + o->count;
    uint64_t *intended = allocate(total, sizeof(*intended)), *end = allocate(total, sizeof(*end));
    uint64_t *begin = allocate(total, sizeof(*begin));
    uint64_t first;
    FILE *f;

    if (o->kernels < 1 || o->kernels > SLOTS || o->count < 1) {
        fprintf(stderr, "oclload: --kernels takes 1..%u, --count at least 1\n", SLOTS);
        return 2;
    }
    device_open(&d);
    for (uint32_t k = 0; k < o->kernels; k++)
        d.expected[k] = reference(k, o->iterations);
    f = out_open(o->out, "request,intended_ns,begin_ns,end_ns");

    first = now_ns() + (uint64_t)(o->period_us * 1e3);
    for (uint32_t i = 0; i < total; i++) {
        uint32_t got[SLOTS];

        intended[i] = first + (uint64_t)(i * o->period_us * 1e3);
        sleep_until_ns(intended[i]);
        begin[i] = now_ns();
        for (uint32_t k = 0; k < o->kernels; k++)
            launch(&d, k, o->iterations, NULL);
        check(clEnqueueReadBuffer(d.queue, d.state, CL_TRUE, 0, o->kernels * sizeof(got[0]), got, 0, NULL,
                                  NULL),
              "clEnqueueReadBuffer");
        end[i] = now_ns();
        for (uint32_t k = 0; k < o->kernels; k++) {
            if (got[k] != d.expected[k]) {
                fprintf(stderr, "oclload: request %u: wrong result %u, not %u\n", i, got[k], d.expected[k]);
                return 1;
            }
        }
    }
    verify(&d, o->kernels, "requests");
    for (uint32_t i = o->warmup; f && i < total; i++)
        fprintf(f, "%u,%llu,%llu,%llu\n", i - o->warmup, (unsigned long long)intended[i],
                (unsigned long long)begin[i], (unsigned long long)end[i]);
    out_close(f, o->out);
    printf("requests=%u correct\n", o->count);
    free(intended);
    free(begin);
    free(end);
    device_close(&d);
    return 0;
}

static double number(const char *text, double lo, double hi, const char *option)
{
    char *end;
    double v = strtod(text, &end);

    if (end == text || *end || !(v >= lo && v <= hi)) {
        fprintf(stderr, "oclload: --%s takes %g..%g, not \"%s\"\n", option, lo, hi, text);
        exit(2);
    }
    return v;
}

int main(int argc, char **argv)
{
    static const struct option table[] = {
        {"iterations", required_argument, NULL, 'i'}, {"in-flight", required_argument, NULL, 'f'},
        {"kernels", required_argument, NULL, 'k'},    {"count", required_argument, NULL, 'c'},
        {"warmup", required_argument, NULL, 'w'},     {"kernel-us", required_argument, NULL, 'u'},
        {"period-us", required_argument, NULL, 'p'},  {"seconds", required_argument, NULL, 's'},
        {"out", required_argument, NULL, 'o'},        {NULL, 0, NULL, 0},
    };
    struct options o = {
        .in_flight = 64, .kernels = 4, .count = 1000, .warmup = 10, .kernel_us = 1000, .period_us = 50000};
    const char *mode = argc > 1 ? argv[1] : "";
    int c, which;

    while ((c = getopt_long(argc, argv, "", table, &which)) != -1) {
        switch (c) {
        case 'i':
            o.iterations = (uint32_t)number(optarg, 1, 4e9, "iterations");
            break;
        case 'f':
            o.in_flight = (uint32_t)number(optarg, 1, SLOTS, "in-flight");
            break;
        case 'k':
            o.kernels = (uint32_t)number(optarg, 1, SLOTS, "kernels");
            break;
        case 'c':
            o.count = (uint32_t)number(optarg, 1, 1e8, "count");
            break;
        case 'w':
            o.warmup = (uint32_t)number(optarg, 0, 1e6, "warmup");
            break;
        case 'u':
            o.kernel_us = number(optarg, 1, 1e7, "kernel-us");
            break;
        case 'p':
            o.period_us = number(optarg, 1, 1e9, "period-us");
            break;
        case 's':
            o.seconds = number(optarg, 0, 1e6, "seconds");
            break;
        case 'o':
            o.out = optarg;
            break;
        default:
            return 2;
        }
    }
    if (strcmp(mode, "calibrate") == 0)
        return calibrate(&o);
    if (strcmp(mode, "stream") != 0 && strcmp(mode, "requests") != 0) {
        fprintf(stderr, "usage: oclload calibrate|stream|requests [options]\n");
        return 2;
    }
    if (!o.iterations) {
        fprintf(stderr, "oclload: --iterations is needed (see oclload calibrate)\n");
        return 2;
    }
    return mode[0] == 's' ? stream(&o) : requests(&o);
}
