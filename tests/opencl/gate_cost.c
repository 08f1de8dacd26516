/* SPDX-License-Identifier: Apache-2.0 */
/* What it would cost to hold commands in the driver behind user events
 * (docs/decisions/0006-opencl-levels.md): gate_cost [ROUNDS [RUN [DATE]]]. One JSON line a figure.
 * Not a test: nothing is timed in tests. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MANY 2000
#define HELD 64

static double now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static const char *g_run = "1", *g_date = "";

static void report(const char *what, double *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), by_size);
    for (int p = 50; p <= 99; p += 49)
        printf("{\"workload\": \"opencl-gates\", \"variant\": \"%s\", \"metric\": \"p%d\", \"value\": %.3f, "
               "\"unit\": \"us\", \"n\": %d, \"run\": %s, "
               "\"device\": \"PoCL 3.1, one thread, 2-core virtual machine\", "
               "\"date\": \"%s\", \"report\": false}\n",
               what, p, v[n * p / 100], n, g_run, g_date);
}

static void need(cl_int err)
{
    if (err != CL_SUCCESS) {
        fprintf(stderr, "OpenCL error %d\n", err);
        exit(1);
    }
}

static cl_context g_context;
static cl_command_queue g_queue;
static cl_kernel g_kernel;

static void launch(const cl_event *gate, cl_event *event)
{
    const size_t global = 64;

    need(clEnqueueNDRangeKernel(g_queue, g_kernel, 1, NULL, &global, &global, gate ? 1 : 0, gate, event));
}

static cl_event new_gate(void)
{
    cl_int err;
    cl_event e = clCreateUserEvent(g_context, &err);

    need(err);
    return e;
}

/* 0: plain, 1: an event for each command, 2: behind an open gate */
static void enqueue_cost(const char *what, int how)
{
    static double v[MANY];
    cl_event gate = new_gate(), e;

    need(clSetUserEventStatus(gate, CL_COMPLETE));
    for (int i = 0; i < MANY; i++) {
        double t = now_us();

        launch(how == 2 ? &gate : NULL, how == 1 ? &e : NULL);
        v[i] = now_us() - t;
        if (how == 1)
            need(clReleaseEvent(e));
        if (i % 64 == 63)
            need(clFinish(g_queue));
    }
    need(clFinish(g_queue));
    need(clReleaseEvent(gate));
    report(what, v, MANY);
}

/* From the opening of a gate to the completion of the first command behind it. */
static void open_cost(void)
{
    static double opened[200], called[200];

    for (int i = 0; i < 200; i++) {
        cl_event gate = new_gate(), first;
        double t;

        launch(&gate, &first);
        for (int k = 1; k < HELD; k++)
            launch(&gate, NULL);
        need(clFlush(g_queue));
        t = now_us();
        need(clSetUserEventStatus(gate, CL_COMPLETE));
        called[i] = now_us() - t;
        need(clWaitForEvents(1, &first));
        opened[i] = now_us() - t;
        need(clFinish(g_queue));
        need(clReleaseEvent(gate));
        need(clReleaseEvent(first));
    }
    report("clSetUserEventStatus with 64 commands behind it", called, 200);
    report("gate opened to first command complete, 64 held", opened, 200);
    for (int i = 0; i < 200; i++) {
        cl_event first;
        double t = now_us();

        launch(NULL, &first);
        need(clWaitForEvents(1, &first));
        opened[i] = now_us() - t;
        need(clReleaseEvent(first));
    }
    report("enqueue to complete, nothing held", opened, 200);
}

/* The same work with a gate before every command, none, and one for each eight. */
static void throughput(const char *what, int every)
{
    double v[5];

    for (int r = 0; r < 5; r++) {
        double t = now_us();

        for (int i = 0; i < MANY; i++) {
            cl_event gate = every && i % every == 0 ? new_gate() : NULL;

            launch(gate ? &gate : NULL, NULL);
            if (gate) { /* open at once: the price of being able to close */
                need(clSetUserEventStatus(gate, CL_COMPLETE));
                need(clReleaseEvent(gate));
            }
            if (i % 64 == 63)
                need(clFinish(g_queue));
        }
        need(clFinish(g_queue));
        v[r] = (now_us() - t) / MANY;
    }
    report(what, v, 5);
}

int main(int argc, char **argv)
{
    const char *source = "kernel void spin(global int *o, int r) { int x = get_global_id(0);"
                         " for (int i = 0; i < r; i++) x = x * 1103515245 + 12345;"
                         " o[get_global_id(0)] = x; }";
    int rounds = argc > 1 ? atoi(argv[1]) : 50;
    cl_platform_id platform;
    cl_device_id device;
    cl_program program;
    cl_int err;
    cl_mem m;

    if (argc > 2)
        g_run = argv[2];
    if (argc > 3)
        g_date = argv[3];
    need(clGetPlatformIDs(1, &platform, NULL));
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    g_context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    need(err);
    g_queue = clCreateCommandQueueWithProperties(g_context, device, NULL, &err);
    need(err);
    program = clCreateProgramWithSource(g_context, 1, &source, NULL, &err);
    need(err);
    need(clBuildProgram(program, 1, &device, "", NULL, NULL));
    g_kernel = clCreateKernel(program, "spin", &err);
    need(err);
    m = clCreateBuffer(g_context, CL_MEM_READ_WRITE, 4096, NULL, &err);
    need(err);
    need(clSetKernelArg(g_kernel, 0, sizeof(m), &m));
    need(clSetKernelArg(g_kernel, 1, sizeof(rounds), &rounds));
    for (int i = 0; i < 200; i++)
        launch(NULL, NULL);
    need(clFinish(g_queue));

    enqueue_cost("enqueue", 0);
    enqueue_cost("enqueue with an event", 1);
    enqueue_cost("enqueue behind an open gate", 2);
    open_cost();
    throughput("a command, no gates", 0);
    throughput("a command, a gate before each", 1);
    throughput("a command, a gate before each eighth", 8);
    return 0;
}
