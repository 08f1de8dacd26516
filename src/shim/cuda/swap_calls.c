/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a program whose device memory may be out (XSCHED_SWAP; hal/cuda/swap/swap.h). Our functions stand between
 * the entries and the driver's, in the table of real functions, as those of a memory limit do. Without XSCHED_SWAP they
 * are not there, and cost nothing. A memory limit stands before them. */
#include "hal/cuda/swap/swap.h"
#include "shim/stream/prototypes.h"

#include <string.h>

#define PITCH_BYTES   512u        /* as the driver pads rows (measured on an H200) */
#define DEVICES       64

/* CUpointer_attribute, where a block's answer differs from an allocation's */
enum { CONTEXT_OF = 1, RANGE_START = 11, RANGE_BYTES = 12, MAPPING_BYTES = 18, MAPPING_START = 19 };

/* The driver's functions, written once, before other threads see the table that leads here. */
static void *g_real[ROW_COUNT];
static const struct xs_api_runtime *g_runtime;
static const void *g_primary[DEVICES]; /* the program's primary contexts; any thread writes the same */

/* Functions without a prototype: parameters go in registers and then on the stack, and a function does not look at words
 * beyond its own. None of these has more than eight, or one by value. */
typedef uint64_t word;
#define WORDS word a, word b, word c, word d, word e, word f, word g, word h
typedef CUresult (*words_fn)(WORDS);

static CUresult real(enum xs_row row, const word *w)
{
    words_fn fn;

    memcpy(&fn, &g_real[row], sizeof(fn));
    return fn(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]);
}

static void *pointer(word w)
{
    return (void *)(uintptr_t)w;
}

/* ---- commands: every counted row of cuda_api.def ---- */

#define WAITS_0(symbol, params, args)
#define WAITS_1(symbol, params, args)                                                             \
    static CUresult waits_##symbol params                                                         \
    {                                                                                             \
        CUresult r;                                                                               \
                                                                                                  \
        xs_swap_enter(XS_SWAP_TOUCHES_WAIT);                                                      \
        r = ((__typeof__(&symbol))g_real[ROW_##symbol]) args;                                     \
        xs_swap_leave();                                                                          \
        return r;                                                                                 \
    }
#define XS_ROW(kind, symbol, name, version, streams, params, args, stream, key) XS_BY(WAITS_, counted, kind)(symbol, params, args)
#include "shim/common/each_row.def"

/* ---- shapes, inside such a call ---- */

#define SHAPE static CUresult

SHAPE shape_TOUCH(enum xs_row row, const word *w)
{
    return real(row, w);
}

/* The driver's own, which may lack memory that we keep, or that other programs can move out.
 * @param bytes  of it; 0: not known */
static CUresult other(enum xs_row row, const word *w, enum xs_swap_other what, size_t bytes)
{
    CUresult r = real(row, w);

    if (r == XS_CU_OUT_OF_MEMORY && xsched_priv_cuda_swap_give_back())
        r = real(row, w);
    while (r == XS_CU_OUT_OF_MEMORY && bytes && xsched_priv_cuda_swap_want(bytes))
        r = real(row, w);
    if (r == XS_CU_SUCCESS)
        xsched_priv_cuda_swap_other(what);
    return r;
}

SHAPE shape_ALLOC(enum xs_row row, const word *w)
{
    CUresult r = xsched_priv_cuda_swap_alloc(pointer(w[0]), w[1]);

    return r == XS_SWAP_NOT_SERVED ? other(row, w, XS_SWAP_OTHER_SMALL, w[1]) : r;
}

SHAPE shape_PITCH(enum xs_row row, const word *w)
{
    uint64_t pitch = (w[2] + PITCH_BYTES - 1) & ~(uint64_t)(PITCH_BYTES - 1);
    unsigned element = (unsigned)w[4];
    CUresult r = XS_SWAP_NOT_SERVED;

    if (w[1] && w[2] && w[3] && pitch > 0 && pitch <= SIZE_MAX / w[3] && (element == 4 || element == 8 || element == 16))
        r = xsched_priv_cuda_swap_alloc(pointer(w[0]), pitch * w[3]);
    if (r == XS_SWAP_NOT_SERVED)
        return other(row, w, XS_SWAP_OTHER_SMALL, 0);
    if (r == XS_CU_SUCCESS)
        memcpy(pointer(w[1]), &pitch, sizeof(pitch));
    return r;
}

SHAPE shape_FREE(enum xs_row row, const word *w)
{
    CUresult r = xsched_priv_cuda_swap_free(w[0]);

    return r == XS_SWAP_NOT_SERVED ? real(row, w) : r;
}

static CUdevice device_now(void)
{
    const word none[8] = {0};
    CUdevice dev = -1;
    word w[8];

    memcpy(w, none, sizeof(w));
    w[0] = (word)(uintptr_t)&dev;
    return real(ROW_cuCtxGetDevice, w) == XS_CU_SUCCESS ? dev : -1;
}

SHAPE shape_INFO(enum xs_row row, const word *w)
{
    CUresult r = real(row, w);
    size_t bytes;

    if (r != XS_CU_SUCCESS || !w[0])
        return r;
    memcpy(&bytes, pointer(w[0]), sizeof(bytes));
    bytes += xsched_priv_cuda_swap_kept(device_now());
    memcpy(pointer(w[0]), &bytes, sizeof(bytes));
    return r;
}

SHAPE shape_RANGE(enum xs_row row, const word *w)
{
    struct xs_swap_served s;

    if (!xsched_priv_cuda_swap_find(w[2], &s))
        return real(row, w);
    if (w[0])
        memcpy(pointer(w[0]), &s.at, sizeof(s.at));
    if (w[1])
        memcpy(pointer(w[1]), &s.wanted, sizeof(s.wanted));
    return XS_CU_SUCCESS;
}

/* What the driver would say of an allocation of its own. */
static void mend(int what, void *value, const struct xs_swap_served *s)
{
    switch (what) {
    case CONTEXT_OF:
        memcpy(value, &s->owner, sizeof(s->owner));
        break;
    case RANGE_START:
    case MAPPING_START:
        memcpy(value, &s->at, sizeof(s->at));
        break;
    case RANGE_BYTES:
        memcpy(value, &s->wanted, sizeof(s->wanted));
        break;
    case MAPPING_BYTES:
        memcpy(value, &s->bytes, sizeof(s->bytes));
        break;
    default:
        break;
    }
}

SHAPE shape_ATTRIBUTE(enum xs_row row, const word *w)
{
    CUresult r = real(row, w);
    struct xs_swap_served s;

    if (r == XS_CU_SUCCESS && w[0] && xsched_priv_cuda_swap_find(w[2], &s))
        mend((int)w[1], pointer(w[0]), &s);
    return r;
}

SHAPE shape_ATTRIBUTES(enum xs_row row, const word *w)
{
    CUresult r = real(row, w);
    const int *what = pointer(w[1]);
    void *const *values = pointer(w[2]);
    struct xs_swap_served s;

    if (r == XS_CU_SUCCESS && what && values && xsched_priv_cuda_swap_find(w[3], &s))
        for (unsigned i = 0; i < (unsigned)w[0]; i++)
            if (values[i])
                mend(what[i], values[i], &s);
    return r;
}

/* Nobody gets a handle of memory that moves; the driver's own allocations have none either. */
SHAPE shape_RETAIN(enum xs_row row, const word *w)
{
    struct xs_swap_served s;

    return xsched_priv_cuda_swap_find(w[1], &s) ? XS_CU_INVALID_VALUE : real(row, w);
}

static CUresult stays(enum xs_row row, const word *w, unsigned address)
{
    CUresult r = real(row, w);

    if (r == XS_CU_SUCCESS)
        xsched_priv_cuda_swap_stays(w[address]);
    return r;
}

SHAPE shape_STAYS_1(enum xs_row row, const word *w)
{
    return stays(row, w, 1);
}

SHAPE shape_STAYS_2(enum xs_row row, const word *w)
{
    return stays(row, w, 2);
}

SHAPE shape_STAYS_3(enum xs_row row, const word *w)
{
    return stays(row, w, 3);
}

SHAPE shape_PEER(enum xs_row row, const word *w)
{
    CUresult r = real(row, w);
    CUdevice user, memory;
    word ctx[8] = {w[0]}, popped = 0, out[8] = {(word)(uintptr_t)&popped};

    if (r != XS_CU_SUCCESS)
        return r;
    user = device_now();
    if (real(ROW_cuCtxPushCurrent_v2, ctx) != XS_CU_SUCCESS)
        return r;
    memory = device_now();
    real(ROW_cuCtxPopCurrent_v2, out);
    xsched_priv_cuda_swap_peer(memory, user);
    return r;
}

#define OTHER(symbol, text)                                                                       \
    __attribute__((unused)) SHAPE shape_OTHER_##symbol(enum xs_row row, const word *w)            \
    {                                                                                             \
        bool sized = XS_SWAP_OTHER_##symbol == XS_SWAP_OTHER_POOL || XS_SWAP_OTHER_##symbol == XS_SWAP_OTHER_HANDLE; \
                                                                                                  \
        return other(row, w, XS_SWAP_OTHER_##symbol, sized ? w[1] : 0);                           \
    }
#include "hal/cuda/swap/others.def"
#undef OTHER

SHAPE shape_MADE(enum xs_row row, const word *w)
{
    CUresult r = real(row, w);
    CUcontext ctx;

    if (r == XS_CU_SUCCESS) {
        memcpy(&ctx, pointer(w[0]), sizeof(ctx));
        xsched_priv_cuda_swap_context_made(ctx, -1);
    }
    return r;
}

SHAPE shape_CONTEXT_END(enum xs_row row, const word *w)
{
    uint64_t before = xsched_priv_cuda_swap_before();
    CUresult r = real(row, w);

    if (r == XS_CU_SUCCESS)
        xsched_priv_cuda_swap_context_gone(pointer(w[0]), before);
    return r;
}

/* Only the last use ends it; then it is current no longer. */
SHAPE shape_DETACH(enum xs_row row, const word *w)
{
    uint64_t before = xsched_priv_cuda_swap_before();
    CUresult r = real(row, w);
    CUcontext now = NULL;
    word ask[8] = {(word)(uintptr_t)&now};

    if (r == XS_CU_SUCCESS && w[0] && real(ROW_cuCtxGetCurrent, ask) == XS_CU_SUCCESS && now != pointer(w[0]))
        xsched_priv_cuda_swap_context_gone(pointer(w[0]), before);
    return r;
}

SHAPE shape_PRIMARY(enum xs_row row, const word *w)
{
    CUresult r = real(row, w);
    int dev = (int)w[1];
    CUcontext ctx;

    if (r == XS_CU_SUCCESS && dev >= 0 && dev < DEVICES) {
        memcpy(&ctx, pointer(w[0]), sizeof(ctx));
        xsched_priv_cuda_swap_context_made(ctx, dev);
        __atomic_store_n(&g_primary[dev], (const void *)ctx, __ATOMIC_RELAXED); /* a value by itself */
    }
    return r;
}

static void primary_gone(int dev, uint64_t before)
{
    const void *ctx = dev >= 0 && dev < DEVICES ? __atomic_load_n(&g_primary[dev], __ATOMIC_RELAXED) : NULL;

    if (ctx)
        xsched_priv_cuda_swap_context_gone((CUcontext)(uintptr_t)ctx, before);
}

SHAPE shape_PRIMARY_END(enum xs_row row, const word *w)
{
    uint64_t before = xsched_priv_cuda_swap_before();
    CUresult r = real(row, w);

    if (r == XS_CU_SUCCESS)
        primary_gone((int)w[0], before);
    return r;
}

/* Only the last release ends it. */
SHAPE shape_PRIMARY_RELEASE(enum xs_row row, const word *w)
{
    uint64_t before = xsched_priv_cuda_swap_before();
    CUresult r = real(row, w);
    unsigned flags;
    int active = 1;
    word ask[8] = {w[0], (word)(uintptr_t)&flags, (word)(uintptr_t)&active};

    if (r == XS_CU_SUCCESS && real(ROW_cuDevicePrimaryCtxGetState, ask) == XS_CU_SUCCESS && !active)
        primary_gone((int)w[0], before);
    return r;
}

/* Frees and ends of contexts go on while memory is out: a program that ends must end. So do questions without an
 * address. */
enum {
#define WAIT_OF(shape, state) WAIT_##shape = XS_SWAP_##state
    WAIT_OF(TOUCH, TOUCHES_WAIT), WAIT_OF(ALLOC, TOUCHES_WAIT), WAIT_OF(PITCH, TOUCHES_WAIT), WAIT_OF(RANGE, TOUCHES_WAIT),
    WAIT_OF(ATTRIBUTE, TOUCHES_WAIT), WAIT_OF(ATTRIBUTES, TOUCHES_WAIT), WAIT_OF(RETAIN, TOUCHES_WAIT),
    WAIT_OF(PEER, TOUCHES_WAIT), WAIT_OF(STAYS_1, TOUCHES_WAIT), WAIT_OF(STAYS_2, TOUCHES_WAIT),
    WAIT_OF(STAYS_3, TOUCHES_WAIT),
    WAIT_OF(FREE, FREES_WAIT), WAIT_OF(INFO, FREES_WAIT), WAIT_OF(CONTEXT_END, FREES_WAIT), WAIT_OF(MADE, FREES_WAIT),
    WAIT_OF(DETACH, FREES_WAIT), WAIT_OF(PRIMARY, FREES_WAIT),
    WAIT_OF(PRIMARY_END, FREES_WAIT), WAIT_OF(PRIMARY_RELEASE, FREES_WAIT),
#define OTHER(symbol, text) WAIT_OF(OTHER_##symbol, FREES_WAIT),
#include "hal/cuda/swap/others.def"
#undef OTHER
};

#define SWAP(shape, symbol)                                                                       \
    static CUresult swap_##symbol(WORDS)                                                          \
    {                                                                                             \
        const word w[] = {a, b, c, d, e, f, g, h};                                                \
        CUresult r;                                                                               \
                                                                                                  \
        xs_swap_enter(WAIT_##shape);                                                              \
        r = shape_##shape(ROW_##symbol, w);                                                       \
        xs_swap_leave();                                                                          \
        return r;                                                                                 \
    }
#include "shim/cuda/swap_calls.def"
#undef SWAP

/* ---- the table ---- */

static void *const k_waits[ROW_COUNT] = {
#define ROW_0(symbol)
#define ROW_1(symbol) [ROW_##symbol] = (void *)waits_##symbol,
#define XS_ROW(kind, symbol, name, version, streams, params, args, stream, key) XS_BY(ROW_, counted, kind)(symbol)
#include "shim/common/each_row.def"
};

static void *const k_swap[ROW_COUNT] = {
#define SWAP(shape, symbol) [ROW_##symbol] = (void *)swap_##symbol,
#include "shim/cuda/swap_calls.def"
#undef SWAP
};

/* A command that also has a shape: the shape's wait is enough. */
static void *ours(int row)
{
    return k_swap[row] ? k_swap[row] : k_waits[row];
}

int xs_api_wrapped_row(const struct xs_api_runtime *rt, const void *of, const char *name)
{
    int found = -1;

    for (int row = 0; rt == g_runtime && row < ROW_COUNT; row++)
        if (g_real[row] == of && ours(row) && rt->real[row] != of && (found < 0 || strcmp(xs_row_info[row].name, name) == 0))
            found = row;
    return found;
}

void xs_api_wrap(struct xs_api_runtime *rt)
{
    if (!xsched_priv_cuda_swap_begin())
        return;
    memcpy(g_real, rt->real, sizeof(g_real));
    g_runtime = &xs_api_first;
    for (int row = 0; row < ROW_COUNT; row++)
        if (ours(row) && rt->real[row] != xs_api_absent((enum xs_row)row, false)) /* missing functions stay missing */
            rt->real[row] = ours(row);
}
