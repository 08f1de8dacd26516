/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of the table does what its kind says, seen from a program whose stream is held: what is a command waits in
 * its call until the stream goes on, and nothing else waits. Run as `kinds wrong`, launches pass (filtered), which the
 * test must find. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hal/cuda/cuda_abi.h"
#include "shim/common/kinds.h"
#include "xsched/cuda/hal.h"
#include "xsched/xsched.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

typedef void *P;
typedef P (*stream_fn)(P, P, P, P, P, P, P, P, P, P, P, P);
typedef int (*call_fn)(P, P, P, P, P, P, P, P, P, P, P, P);

#define TRUE(what)                                                        \
    do {                                                                  \
        if (!(what)) {                                                    \
            printf("FAILED line %d: %s (%s)\n", __LINE__, #what, g_now);  \
            fflush(stdout);                                               \
            _Exit(1);                                                     \
        }                                                                 \
    } while (0)
static const char *g_now = "";

/* As the trace calls it, the names of enum xs_how. */
enum how { XS_HOW_PASS, XS_HOW_SUBMIT, XS_HOW_SYNC, XS_HOW_HAND };

/* The stream of a call, from its own arguments. */
#define XS_CONFIG_STREAM(config) (((const struct xs_cu_launch_config *)(config))->stream)
#define CU(kind, symbol, name, version, streams, params, args, on, key)   \
    static P stream_##symbol params;                                      \
    static P stream_##symbol params                                       \
    {                                                                     \
        return (P)(uintptr_t)(on);                                        \
    }
#include "shim/cuda/cuda_api.def"
#undef CU
#undef CU_PASS

static const struct row {
    enum how how;
    bool suspended;               /* waits while its stream is suspended */
    const char *symbol, *params;
    stream_fn stream;
} k_rows[] = {
#define CU(kind, symbol, name, version, streams, params, args, on, key)   \
    {XS_HOW(kind), XS_COLUMN(suspended, kind), #symbol, #params, (stream_fn)(void (*)(void))stream_##symbol},
#include "shim/cuda/cuda_api.def"
#undef CU
#undef CU_PASS
};

static uint64_t g_scratch[8192], g_empty[512]; /* the second is never written: a graph without commands */
static P g_ctx, g_stream;
static volatile int g_began, g_back;

static void nothing(void *arg)
{
    (void)arg;
}

/* What a prototype is given; most functions do nothing on the fake. @return whether it takes the stream */
static bool arguments(const struct row *r, P a[12])
{
    static struct xs_cu_launch_config config[12];
    const char *p = r->params + 1;
    P found;

    for (unsigned i = 0; i < 12; i++)
        config[i] = (struct xs_cu_launch_config){{1, 1, 1}, {1, 1, 1}, 0, (P)(uintptr_t)(1000 + i), NULL, 0};
    found = r->stream(&config[0], &config[1], &config[2], &config[3], &config[4], &config[5], &config[6], &config[7],
                      &config[8], &config[9], &config[10], &config[11]);
    for (unsigned n = 0; n < 12; n++) {
        size_t len = strcspn(p, ",)");
        char type[128] = "";

        memcpy(type, p, len < sizeof(type) ? len : sizeof(type) - 1);
        if (strstr(type, "*fn") || strstr(type, "*callback")) {
            void (*fn)(void *) = nothing;

            memcpy(&a[n], &fn, sizeof(fn));
        } else if (strstr(type, "CUgraph")) {
            a[n] = g_empty;
        } else {
            a[n] = strchr(type, '*') || strstr(type, "CUdeviceptr") ? (P)g_scratch : NULL;
        }
        if (found == &config[n]) {
            a[n] = g_stream;
        } else if (found == (P)(uintptr_t)(1000 + n)) {
            config[n].stream = g_stream;
            a[n] = &config[n];
        }
        p += len + (p[len] == ',');
    }
    return found != NULL && found != g_ctx;
}

struct call {
    call_fn fn;
    P a[12];
};

static void *run(void *arg)
{
    struct call *c = arg;
    void *p = dlsym(RTLD_DEFAULT, "cuCtxSetCurrent");
    int (*set)(P);

    memcpy(&set, &p, sizeof(p));
    TRUE(set(g_ctx) == 0);
    g_began = 1;
    c->fn(c->a[0], c->a[1], c->a[2], c->a[3], c->a[4], c->a[5], c->a[6], c->a[7], c->a[8], c->a[9], c->a[10], c->a[11]);
    g_back = 1;
    return NULL;
}

/* Of the driver's own; destroying these would end the test. */
static bool left_out(const struct row *r)
{
    return strstr(r->symbol, "Destroy") || strstr(r->symbol, "Reset") || strstr(r->symbol, "Release") ||
           strstr(r->symbol, "Detach") || strstr(r->symbol, "cuGetProcAddress") || strstr(r->symbol, "Capture") ||
           strstr(r->symbol, "cuMemFree") || strstr(r->symbol, "cuMemHostUnregister");
}

int main(int argc, char **argv)
{
    static const char *const k_setup[] = {"cuInit", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuStreamCreate",
                                          "cuMemsetD8Async"};
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *real = dlopen(getenv("FAKE"), RTLD_NOW);
    int n[2][XS_HOW_HAND + 1] = {{0}};
    call_fn setup[5];
    HwQueueHandle hwq;
    XQueueHandle xq;
    bool wrong = argc > 1 && strcmp(argv[1], "wrong") == 0, found = false;

    TRUE(lib && real);
    for (int i = 0; i < 5; i++) {
        void *p = dlsym(lib, k_setup[i]);

        TRUE(p != NULL);
        memcpy(&setup[i], &p, sizeof(p));
    }
#define S(i, a, b, c, d) setup[i](a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0)
    TRUE(S(0, 0, 0, 0, 0) == 0 && S(1, &g_ctx, 0, 0, 0) == 0 && S(2, g_ctx, 0, 0, 0) == 0);
    TRUE(S(3, &g_stream, (P)1, 0, 0) == 0 && S(4, g_scratch, 0, 0, g_stream) == 0);
    TRUE(CudaQueueGet(&hwq, g_stream) == kXSchedSuccess && XQueueGet(&xq, hwq) == kXSchedSuccess);
    for (size_t i = 0; i < sizeof(k_rows) / sizeof(k_rows[0]); i++) {
        const struct row *r = &k_rows[i];
        struct call c;
        pthread_t t;
        bool takes;
        void *p;

        g_now = r->symbol;
        if (r->how == XS_HOW_HAND || left_out(r))
            continue;
        takes = arguments(r, c.a);
        p = dlsym(lib, r->symbol);
        TRUE(p != NULL);
        memcpy(&c.fn, &p, sizeof(p));
        n[r->suspended][r->how]++;
        if (r->suspended && !takes) /* on the null stream, by its nature */
            continue;
        TRUE(XQueueSuspend(xq, kQueueSuspendFlagNone) == kXSchedSuccess);
        g_began = g_back = 0;
        TRUE(pthread_create(&t, NULL, run, &c) == 0);
        while (!g_began)
            usleep(100);
        if (r->suspended) {
            usleep(4000);
            if (wrong && g_back)
                found = true;
            TRUE(wrong || !g_back);
            TRUE(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess);
            TRUE(pthread_join(t, NULL) == 0);
        } else {
            TRUE(pthread_join(t, NULL) == 0); /* returns though the stream is held */
            TRUE(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess);
        }
    }
    printf("commands that wait: %d, that pass: %d, calls that synchronise: %d, others: %d%s\n", n[true][XS_HOW_SUBMIT],
           n[false][XS_HOW_SUBMIT], n[false][XS_HOW_SYNC], n[false][XS_HOW_PASS], found ? "; one did not wait" : "");
    TRUE(n[true][XS_HOW_SUBMIT] >= 60 && n[false][XS_HOW_SUBMIT] >= 30 && n[false][XS_HOW_SYNC] >= 10);
    fflush(stdout);
    _Exit(0);
}
