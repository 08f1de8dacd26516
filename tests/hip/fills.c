/* SPDX-License-Identifier: Apache-2.0 */
/* Synchronous fills and copies of device memory, on the fake runtime: each counts as a command of the null stream, or of the
 * thread's own, and has its turn there, whether its call waits for the device or not. A copy from the host has none. */
#include <stdbool.h>
#include <stdint.h>

#include "../stream/has_turn.h"
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
    X(hipMemcpyWithStream, (P, const void *, size_t, int, P))
#define X(name, types) static int (*name) types;
FUNCTIONS(X)
#undef X

static P g_to, g_from;
static char g_host[64];

/* CASE(name, whether it is a command, whether of the thread's own stream, call) */
#define CASES                                                           \
    CASE(memset, true, false, hipMemset(g_to, 1, 64))                   \
    CASE(memset_of_thread, true, true, hipMemset_spt(g_to, 1, 64))      \
    CASE(memset_d8, true, false, hipMemsetD8(g_to, 1, 64))              \
    CASE(copy, true, false, hipMemcpyDtoD(g_to, g_from, 64))            \
    CASE(copy_peer, true, false, hipMemcpyPeer(g_to, 0, g_from, 0, 64)) \
    CASE(copy_kind, true, false, hipMemcpy(g_to, g_from, 64, 3))        \
    CASE(copy_with_stream, true, false, hipMemcpyWithStream(g_to, g_from, 64, 3, NULL)) \
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
