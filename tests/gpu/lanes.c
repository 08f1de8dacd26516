/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads of one program on a GPU: lanes SECONDS. The urgent one launches a burst of 20 kernels of 10 us on 16 blocks, 40 us
 * apart, waits for it, and pauses; or (dense) launches without gaps on 528 blocks. The other one launches kernels of blocks of
 * 20, 200 and 1000 us without end. Turns with and without the other one follow each other, so that each figure is of one
 * process. JSON lines: of each case the bursts' P50 and P99 alone and beside, and the share of its rate alone that the other
 * one keeps; and on how many multiprocessors the other one's kernels ran.
 *
 * Streams get their priorities from cuStreamCreateWithPriority, so that under XSCHED_AUTO_XQUEUE the first is the urgent one. */
#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CK(x)                                                                                     \
    do {                                                                                          \
        CUresult r_ = (x);                                                                        \
        if (r_) {                                                                                 \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #x, r_);                       \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

/* busy(u64 ns, u64 seen): each block takes ns by the device's clock; its multiprocessor counts at seen */
static const char k_ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry busy(.param .u64 ns, .param .u64 seen)\n"
    "{\n"
    "  .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<8>;\n"
    "  ld.param.u64 %d1, [ns]; ld.param.u64 %d5, [seen];\n"
    "  setp.eq.u64 %p, %d5, 0; @%p bra L0;\n"
    "  mov.u32 %r1, %smid; mul.wide.u32 %d6, %r1, 4; add.u64 %d6, %d6, %d5; atom.global.add.u32 %r2, [%d6], 1;\n"
    "L0: mov.u64 %d2, %globaltimer; add.u64 %d3, %d2, %d1;\n"
    "L1: mov.u64 %d4, %globaltimer; setp.lt.u64 %p, %d4, %d3; @%p bra L1;\n"
    "  ret;\n"
    "}\n";

#define MULTIPROCESSORS 1024

static CUcontext g_ctx;
static CUfunction g_busy;
static int g_sms;
static _Atomic uint64_t g_block_ns;     /* 0: the other one pauses */
static _Atomic uint64_t g_done_ns, g_idle;
static _Atomic int g_stop;
static CUdeviceptr g_seen;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void launch(CUstream s, unsigned blocks, uint64_t ns, CUdeviceptr seen)
{
    void *args[] = {&ns, &seen};

    CK(cuLaunchKernel(g_busy, blocks, 1, 1, 256, 1, 1, 0, s, args, NULL));
}

static void *other(void *arg)
{
    CUstream s = arg;

    CK(cuCtxSetCurrent(g_ctx));
    while (!g_stop) {
        uint64_t ns = g_block_ns;

        if (!ns) {
            CK(cuStreamSynchronize(s));
            g_idle = 1;
            usleep(100);
            continue;
        }
        g_idle = 0;
        for (int i = 0; i < 4; i++)  /* a ms each: as many blocks of 256 threads as fit, 1 ms / ns times */
            launch(s, (unsigned)((unsigned)g_sms * 8 * (1000000 / ns)), ns, g_seen);
        CK(cuStreamSynchronize(s));
        g_done_ns += 4000000;
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    return *(const double *)a < *(const double *)b ? -1 : 1;
}

static double burst(CUstream s, int dense)
{
    uint64_t t0 = now_ns();

    for (int k = 0; k < 20; k++) {
        uint64_t t = now_ns();

        launch(s, dense ? (unsigned)g_sms * 4 : 16, 10000, 0);
        while (!dense && now_ns() - t < 40000)
            ;
    }
    CK(cuStreamSynchronize(s));
    return (double)(now_ns() - t0) / 1e3;
}

#define MOST 20000
struct side {
    double us[MOST];
    int n;
    uint64_t ns, other_ns;
};

/* One turn of the urgent one. */
static void turn(CUstream s, int dense, uint64_t block_ns, uint64_t length_ns, struct side *to)
{
    uint64_t end, done, t0;

    g_block_ns = block_ns;
    while (!block_ns && !g_idle)
        usleep(100);
    usleep(block_ns ? 60000 : 1000); /* what follows the change is not measured */
    t0 = now_ns(), end = t0 + length_ns, done = g_done_ns;
    while (now_ns() < end && to->n < MOST) {
        to->us[to->n++] = burst(s, dense);
        if (!dense)
            usleep(300);
    }
    to->ns += now_ns() - t0;
    to->other_ns += g_done_ns - done;
}

static double rate_alone(uint64_t block_ns)
{
    uint64_t t0, done;

    g_block_ns = block_ns;
    usleep(50000);
    t0 = now_ns(), done = g_done_ns;
    usleep(300000);
    return (double)(g_done_ns - done) / (double)(now_ns() - t0);
}

static int seen_on(void)
{
    static unsigned counts[MULTIPROCESSORS];
    int n = 0;

    CK(cuMemcpyDtoH(counts, g_seen, sizeof(counts)));
    CK(cuMemsetD8(g_seen, 0, sizeof(counts)));
    for (int i = 0; i < MULTIPROCESSORS; i++)
        n += counts[i] != 0;
    return n;
}

int main(int argc, char **argv)
{
    static const uint64_t blocks[] = {20000, 200000, 1000000};
    double seconds = argc > 1 ? atof(argv[1]) : 2;
    int least, most;
    CUstream urgent, background;
    CUmodule mod;
    CUdevice dev;
    pthread_t t;

    CK(cuInit(0));
    CK(cuDeviceGet(&dev, 0));
    CK(cuDeviceGetAttribute(&g_sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev));
    CK(cuDevicePrimaryCtxRetain(&g_ctx, dev));
    CK(cuCtxSetCurrent(g_ctx));
    CK(cuModuleLoadData(&mod, k_ptx));
    CK(cuModuleGetFunction(&g_busy, mod, "busy"));
    CK(cuMemAlloc(&g_seen, MULTIPROCESSORS * 4));
    CK(cuMemsetD8(g_seen, 0, MULTIPROCESSORS * 4));
    CK(cuCtxGetStreamPriorityRange(&least, &most));
    CK(cuStreamCreateWithPriority(&urgent, CU_STREAM_NON_BLOCKING, most));
    CK(cuStreamCreateWithPriority(&background, CU_STREAM_NON_BLOCKING, least));
    launch(urgent, 1, 1000, 0);
    CK(cuStreamSynchronize(urgent));
    pthread_create(&t, NULL, other, background);
    for (int dense = 0; dense < 2; dense++)
        for (size_t b = 0; b < sizeof(blocks) / sizeof(blocks[0]); b++) {
            struct side *alone = calloc(1, sizeof(*alone)), *beside = calloc(1, sizeof(*beside));
            double rate = rate_alone(blocks[b]);
            int all = (seen_on(), 0), on;

            turn(urgent, dense, blocks[b], 200000000, beside); /* it settles */
            g_block_ns = 0;
            while (!g_idle)
                usleep(100);
            memset(beside, 0, sizeof(*beside));
            (void)all;
            for (int i = 0; i < 8; i++) {
                turn(urgent, dense, 0, (uint64_t)(seconds * 1e9 / 16), alone);
                turn(urgent, dense, blocks[b], (uint64_t)(seconds * 1e9 / 16), beside);
            }
            g_block_ns = 0;
            while (!g_idle)
                usleep(100);
            on = seen_on();
            qsort(alone->us, (size_t)alone->n, sizeof(double), compare);
            qsort(beside->us, (size_t)beside->n, sizeof(double), compare);
            printf("{\"test\": \"lanes\", \"case\": \"%s\", \"block_us\": %d, \"bursts\": %d, \"alone_p50_us\": %.0f, "
                   "\"alone_p99_us\": %.0f, \"p50\": %.3f, \"p99\": %.3f, \"other_keeps\": %.3f, \"other_rate\": %.3f, "
                   "\"other_on\": %d, \"of\": %d}\n", dense ? "dense" : "gaps", (int)(blocks[b] / 1000), beside->n,
                   alone->us[alone->n / 2], alone->us[alone->n * 99 / 100], beside->us[beside->n / 2] / alone->us[alone->n / 2],
                   beside->us[beside->n * 99 / 100] / alone->us[alone->n * 99 / 100],
                   (double)beside->other_ns / (double)beside->ns / rate, rate, on, g_sms);
            fflush(stdout);
            free(alone), free(beside);
        }
    g_stop = 1;
    pthread_join(t, NULL);
    return 0;
}
