/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose memory swap.py moves: swap_client MIB. It fills so much device memory, in blocks as frameworks have
 * them, and answers each line on its standard input with a line of JSON:
 *   check      every word is as it was written
 *   step       writes other words, on the device, and counts; then again some, for which it does not wait
 *   info       free and total bytes
 *   pinned     how fast plain copies of pinned host memory are, both ways
 *   calls      how long allocations, fills and copies take */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIB   ((size_t)1 << 20)
#define PIECE (64 * MIB)
#define MOST  4096

typedef uint64_t D;
typedef void *P;

#define API                                                                                       \
    X(cuInit, (unsigned))                                                                         \
    X(cuDevicePrimaryCtxRetain, (P *, int))                                                       \
    X(cuCtxSetCurrent, (P))                                                                       \
    X(cuCtxSynchronize, (void))                                                                   \
    X(cuMemAlloc_v2, (D *, size_t))                                                               \
    X(cuMemFree_v2, (D))                                                                          \
    X(cuMemAllocHost_v2, (P *, size_t))                                                           \
    X(cuMemGetInfo_v2, (size_t *, size_t *))                                                      \
    X(cuMemsetD32Async, (D, unsigned, size_t, P))                                                 \
    X(cuMemcpyDtoHAsync_v2, (P, D, size_t, P))                                                    \
    X(cuMemcpyHtoDAsync_v2, (D, const void *, size_t, P))                                         \
    X(cuStreamCreate, (P *, unsigned))                                                            \
    X(cuStreamSynchronize, (P))

#define X(symbol, types) static int (*symbol) types;
API
#undef X

#define OK(call)                                                                                  \
    do {                                                                                          \
        int r_ = (call);                                                                          \
        if (r_) {                                                                                 \
            printf("{\"error\":\"%s\",\"code\":%d}\n", #call, r_);                                \
            fflush(stdout);                                                                       \
            _Exit(1);                                                                             \
        }                                                                                         \
    } while (0)

static struct {
    D at;
    size_t bytes;
} g_blocks[MOST];
static unsigned g_count, g_steps;
static size_t g_bytes;
static P g_stream;
static uint32_t *g_host;

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint32_t word_of(unsigned block, size_t mib)
{
    return (uint32_t)(block * 2654435761u + mib * 40503u + g_steps * 97u);
}

static void fill(void)
{
    for (unsigned b = 0; b < g_count; b++)
        for (size_t m = 0; m < g_blocks[b].bytes / MIB; m++)
            OK(cuMemsetD32Async(g_blocks[b].at + m * MIB, word_of(b, m), MIB / 4, g_stream));
    OK(cuStreamSynchronize(g_stream));
}

/* As a framework that prepares its next step. */
static void leave_some(void)
{
    for (size_t m = 0; m < g_blocks[0].bytes / MIB; m++)
        OK(cuMemsetD32Async(g_blocks[0].at + m * MIB, word_of(0, m), MIB / 4, g_stream));
}

static void check(void)
{
    size_t wrong = 0;

    for (unsigned b = 0; b < g_count; b++)
        for (size_t from = 0; from < g_blocks[b].bytes; from += PIECE) {
            size_t n = g_blocks[b].bytes - from < PIECE ? g_blocks[b].bytes - from : PIECE;

            OK(cuMemcpyDtoHAsync_v2(g_host, g_blocks[b].at + from, n, g_stream));
            OK(cuStreamSynchronize(g_stream));
            for (size_t i = 0; i < n / 4; i++)
                wrong += g_host[i] != word_of(b, (from + i * 4) / MIB);
        }
    printf("{\"wrong_words\":%zu,\"bytes\":%zu,\"blocks\":%u,\"steps\":%u}\n", wrong, g_bytes, g_count, g_steps);
}

/* Both ways, through one pinned piece: the copies of a stream follow one another, as a swap's do. */
static void pinned(void)
{
    double out_s = 0, in_s = 0;

    for (int way = 0; way < 4; way++) { /* each twice; the first warms up */
        double begin = now_s();

        for (unsigned b = 0; b < g_count; b++)
            for (size_t from = 0; from < g_blocks[b].bytes; from += PIECE) {
                size_t n = g_blocks[b].bytes - from < PIECE ? g_blocks[b].bytes - from : PIECE;

                if (way % 2 == 0)
                    OK(cuMemcpyDtoHAsync_v2(g_host, g_blocks[b].at + from, n, g_stream));
                else
                    OK(cuMemcpyHtoDAsync_v2(g_blocks[b].at + from, g_host, n, g_stream));
            }
        OK(cuStreamSynchronize(g_stream));
        *(way % 2 == 0 ? &out_s : &in_s) = now_s() - begin;
    }
    fill();
    printf("{\"out_GBps\":%.2f,\"in_GBps\":%.2f}\n", (double)g_bytes / out_s / 1e9, (double)g_bytes / in_s / 1e9);
}

static void calls(void)
{
    static const size_t sizes[] = {2, 20, 3, 64, 8, 130, 2, 32};
    D held[8];
    double begin = now_s(), alloc_s, fill_s;
    int n = 0;

    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 8; i++, n++)
            OK(cuMemAlloc_v2(&held[i], sizes[(i + round) % 8] * MIB));
        for (int i = 0; i < 8; i++)
            OK(cuMemFree_v2(held[i]));
    }
    alloc_s = now_s() - begin;
    begin = now_s();
    for (int i = 0; i < 20000; i++) {
        OK(cuMemsetD32Async(g_blocks[0].at, word_of(0, 0), 4, g_stream));
        if (i % 500 == 499)
            OK(cuStreamSynchronize(g_stream));
    }
    fill_s = now_s() - begin;
    printf("{\"alloc_and_free_us\":%.2f,\"command_us\":%.3f}\n", alloc_s / n * 1e6, fill_s / 20000 * 1e6);
}

static void info(void)
{
    size_t left, total;

    OK(cuMemGetInfo_v2(&left, &total));
    printf("{\"free\":%zu,\"total\":%zu}\n", left, total);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {2, 6, 20, 64, 130, 256, 32, 512, 20, 2};
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    size_t want = argc > 1 ? strtoull(argv[1], NULL, 0) * MIB : 0;
    char line[64];
    P ctx;

    if (!lib || !want) {
        fprintf(stderr, "swap_client MIB: %s\n", lib ? "no size" : dlerror());
        return 2;
    }
#define X(symbol, types)                                                                          \
    *(void **)(void *)&symbol = dlsym(lib, #symbol);                                              \
    if (!symbol)                                                                                  \
        return 2;
    API
#undef X
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuCtxSetCurrent(ctx));
    OK(cuStreamCreate(&g_stream, 1));
    OK(cuMemAllocHost_v2((P *)&g_host, PIECE));
    while (g_bytes < want && g_count < MOST) {
        size_t n = sizes[g_count % (sizeof(sizes) / sizeof(sizes[0]))] * MIB;

        n = n < want - g_bytes ? n : want - g_bytes;
        OK(cuMemAlloc_v2(&g_blocks[g_count].at, n));
        g_blocks[g_count++].bytes = n;
        g_bytes += n;
    }
    fill();
    printf("{\"ready\":true,\"bytes\":%zu,\"blocks\":%u}\n", g_bytes, g_count);
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        if (strcmp(line, "check\n") == 0) {
            check();
        } else if (strcmp(line, "step\n") == 0) {
            g_steps++;
            fill();
            printf("{\"steps\":%u}\n", g_steps);
            leave_some();
        } else if (strcmp(line, "info\n") == 0) {
            info();
        } else if (strcmp(line, "pinned\n") == 0) {
            pinned();
        } else if (strcmp(line, "calls\n") == 0) {
            calls();
        }
        fflush(stdout);
    }
    return 0;
}
