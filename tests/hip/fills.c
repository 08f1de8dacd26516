/* SPDX-License-Identifier: Apache-2.0 */
/* Synchronous fills and copies of device memory, on the fake runtime: each counts as a command of the null stream, or of the
 * thread's own, and has its turn there, whether its call waits for the device or not. A copy from the host has none. */
#include <stdbool.h>
#include <stdint.h>

#include "../stream/has_turn.h"
#include "hal/hip/hip_abi.h"
#include "xqueue/interface.h"
#include "xsched/hip/hal.h"

typedef void *P;

#define FUNCTIONS(X)                                              \
    X(hipInit, (unsigned))                                        \
    X(hipMalloc, (P *, size_t))                                   \
    X(hipStreamSynchronize, (P))                                  \
    X(hipMemset, (P, int, size_t))                                \
    X(hipMemset_spt, (P, int, size_t))                            \
    X(hipMemsetD8, (P, unsigned char, size_t))                    \
    X(hipMemcpyDtoD, (P, P, size_t))                              \
    X(hipMemcpyPeer, (P, int, const void *, int, size_t))         \
    X(hipMemcpy, (P, const void *, size_t, int))                  \
    X(hipMemcpyWithStream, (P, const void *, size_t, int, P))     \
    X(hipMemcpy2D, (P, size_t, const void *, size_t, size_t, size_t, int))                    \
    X(hipMemcpy2D_spt, (P, size_t, const void *, size_t, size_t, size_t, int))                \
    X(hipMemcpy2DFromArray, (P, size_t, const void *, size_t, size_t, size_t, size_t, int))   \
    X(hipMemcpy2DToArray, (P, size_t, size_t, const void *, size_t, size_t, size_t, int))     \
    X(hipMemcpy2DArrayToArray, (P, size_t, size_t, const void *, size_t, size_t, size_t, size_t, int)) \
    X(hipMemcpy3D, (const struct xs_hip_copy_3d *))               \
    X(hipMemcpyFromArray, (P, const void *, size_t, size_t, size_t, int))                     \
    X(hipMemcpyToArray, (P, size_t, size_t, const void *, size_t, int))                       \
    X(hipMemcpyFromSymbol, (P, const void *, size_t, size_t, int))                            \
    X(hipMemcpyToSymbol, (const void *, const void *, size_t, size_t, int))                   \
    X(hipMemcpyToSymbol_spt, (const void *, const void *, size_t, size_t, int))               \
    X(hipMemcpyParam2D, (const void *))                           \
    X(hipDrvMemcpy2DUnaligned, (const void *))
#define X(name, types) static int (*name) types;
FUNCTIONS(X)
#undef X

static P g_to, g_from;
static char g_host[64];

/* 8 rows of 8 bytes. */
static int copy_3d(P to, P from, int kind)
{
    struct xs_hip_copy_3d p = {.src = {from, 8, 8, 8}, .dst = {to, 8, 8, 8}, .extent = {8, 8, 1}, .kind = kind};

    return hipMemcpy3D(&p);
}

/* The same in the words of hip_Memcpy2D. */
static int copy_described(int (*copy)(const void *))
{
    const size_t words[16] = {[4] = (size_t)g_from, [6] = 8, [11] = (size_t)g_to, [13] = 8, [14] = 8, [15] = 8};

    return copy(words);
}

/* CASE(name, whether it is a command, whether of the thread's own stream, call) */
#define CASES                                                           \
    CASE(memset, true, false, hipMemset(g_to, 1, 64))                   \
    CASE(memset_of_thread, true, true, hipMemset_spt(g_to, 1, 64))      \
    CASE(memset_d8, true, false, hipMemsetD8(g_to, 1, 64))              \
    CASE(copy, true, false, hipMemcpyDtoD(g_to, g_from, 64))            \
    CASE(copy_peer, true, false, hipMemcpyPeer(g_to, 0, g_from, 0, 64)) \
    CASE(copy_kind, true, false, hipMemcpy(g_to, g_from, 64, 3))        \
    CASE(copy_with_stream, true, false, hipMemcpyWithStream(g_to, g_from, 64, 3, NULL)) \
    CASE(copy_2d, true, false, hipMemcpy2D(g_to, 8, g_from, 8, 8, 8, 3)) \
    CASE(copy_2d_of_thread, true, true, hipMemcpy2D_spt(g_to, 8, g_from, 8, 8, 8, 3)) \
    CASE(copy_2d_from_host, false, false, hipMemcpy2D(g_to, 8, g_host, 8, 8, 8, 1)) \
    CASE(copy_2d_from_array, true, false, hipMemcpy2DFromArray(g_to, 8, g_from, 0, 0, 8, 8, 3)) \
    CASE(copy_2d_to_array, true, false, hipMemcpy2DToArray(g_to, 0, 0, g_from, 8, 8, 8, 3)) \
    CASE(copy_2d_arrays, true, false, hipMemcpy2DArrayToArray(g_to, 0, 0, g_from, 0, 0, 8, 8, 3)) \
    CASE(copy_3d, true, false, copy_3d(g_to, g_from, 3))                \
    CASE(copy_3d_from_host, false, false, copy_3d(g_to, g_host, 1))     \
    CASE(copy_from_array, true, false, hipMemcpyFromArray(g_to, g_from, 0, 0, 64, 3)) \
    CASE(copy_to_array, true, false, hipMemcpyToArray(g_to, 0, 0, g_from, 64, 3)) \
    CASE(copy_from_symbol, true, false, hipMemcpyFromSymbol(g_to, g_from, 64, 0, 3)) \
    CASE(copy_to_symbol, true, false, hipMemcpyToSymbol(g_to, g_from, 64, 0, 3)) \
    CASE(copy_to_symbol_of_thread, true, true, hipMemcpyToSymbol_spt(g_to, g_from, 64, 0, 3)) \
    CASE(copy_to_symbol_from_host, false, false, hipMemcpyToSymbol(g_to, g_host, 64, 0, 1)) \
    CASE(copy_described, true, false, copy_described(hipMemcpyParam2D)) \
    CASE(copy_described_unaligned, true, false, copy_described(hipDrvMemcpy2DUnaligned)) \
    CASE(copy_from_host, false, false, hipMemcpy(g_to, g_host, 64, 1))

static const struct one {
    const char *name;
    bool command, of_thread;
    int (*call)(void);
} g_cases[];

#define CASE(name, command, of_thread, expression) \
    static int call_##name(void)                   \
    {                                              \
        return expression;                         \
    }
CASES
#undef CASE
static const struct one g_cases[] = {
#define CASE(name, command, of_thread, expression) {#name, command, of_thread, call_##name},
    CASES
#undef CASE
};

static void *call_suspended(void *unused)
{
    const struct one *c = g_turn.what;
    uint64_t before;
    HwQueueHandle hwq;
    XQueueHandle xq;

    (void)unused;
    TRUE((c->of_thread ? hipMemset_spt : hipMemset)(g_to, 0, 64) == 0); /* the stream has an XQueue from here on */
    before = xsched_priv_scheduled_count();
    TRUE(c->call() == 0);
    TRUE(xsched_priv_scheduled_count() == before + c->command);
    TRUE(HipQueueGet(&hwq, (P)(uintptr_t)(c->of_thread ? 2 : 0)) == kXSchedSuccess);
    TRUE(XQueueGet(&xq, hwq) == kXSchedSuccess);
    turn_ready(xq);
    TRUE(c->call() == 0);
    turn_back();
    return NULL;
}

static void one(const struct one *c)
{
    printf("%s\n", c->name);
    has_turn(call_suspended, c, c->command);
}

int main(void)
{
    void *lib = dlopen("libamdhip64.so.6", RTLD_NOW);

    TRUE(lib != NULL);
#define X(name, types) get(lib, &name, #name);
    FUNCTIONS(X)
#undef X
    TRUE(hipInit(0) == 0 && hipMalloc(&g_to, 4096) == 0 && hipMalloc(&g_from, 4096) == 0);
    for (size_t i = 0; i < sizeof(g_cases) / sizeof(g_cases[0]); i++)
        one(&g_cases[i]);
    TRUE(hipStreamSynchronize(NULL) == 0);
    printf("done\n");
    fflush(stdout);
    _Exit(0);
}
