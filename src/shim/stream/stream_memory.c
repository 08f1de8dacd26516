/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/stream/stream_memory.h"

#include "base/lock.h"
#include "base/log.h"
#include "hal/common/next_symbol.h"
#include "shim/common/memory_limit.h"
#include "shim/stream/graph_memory.h"
#include "shim/stream/prototypes.h"
#include "shim/stream/stream_call.h"

#include <string.h>

#define DEVICES 64

enum mem_row {
#define MEM(shape, symbol) MEM_##symbol,
#include XS_API_MEMORY
#undef MEM
    MEM_COUNT
};

/* Parameters go in registers, whole or in part, so that six words are as good as the real types. A function
 * does not look at words beyond its own parameters. */
typedef uint64_t word;
typedef xs_api_result (*mem_fn)(word, word, word, word, word, word);

/* Written once, before other threads see the table that leads here. */
static mem_fn g_real[MEM_COUNT];
static void *g_handle; /* of the limited library */
/* Lock 7: the limited library's functions, until they are complete. */
static struct xs_lock g_lock;
static mem_fn g_get_device, g_get_total, g_get_owner, g_get_state, g_free;
static const struct xs_api_runtime *g_runtime; /* the limited library's */
static const void *_Atomic g_primary[DEVICES]; /* the program's contexts; writer: a thread that retains one */

/* The calling thread's device. @return -1: there is none, or it has no limit */
static int device_of(int dev)
{
    int known = xs_mem_find((uint64_t)dev + 1);
    size_t total = 0;

    if (known >= 0)
        return known;
    if (g_get_total((word)(uintptr_t)&total, (word)dev, 0, 0, 0, 0) != XS_API_OK)
        total = 0;
    return xs_mem_add((uint64_t)dev + 1, total);
}

static int device_now(void)
{
    int dev = -1, device;

    if (g_get_device((word)(uintptr_t)&dev, 0, 0, 0, 0, 0) != XS_API_OK || dev < 0)
        return -1;
    device = device_of(dev);
    xs_graph_memory_count(dev, device);
    return device;
}

static const void *owner_now(int device)
{
    void *ctx = NULL;

    if (!g_get_owner) /* memory ends with the device's reset */
        return (const void *)(uintptr_t)(device + 1);
    return g_get_owner((word)(uintptr_t)&ctx, 0, 0, 0, 0, 0) == XS_API_OK ? ctx : NULL;
}

static word out_value(word at)
{
    word value = 0;

    if (at)
        memcpy(&value, (const void *)(uintptr_t)at, sizeof(value));
    return value;
}

/* An allocation with a size that we know before. */
static xs_api_result allocate(mem_fn real, enum xs_mem_kind kind, int device, uint64_t bytes, const word *w)
{
    const void *owner = owner_now(device);
    xs_api_result r;

    if (!xs_mem_take(device, bytes))
        return XS_API_OUT_OF_MEMORY;
    r = real(w[0], w[1], w[2], w[3], w[4], w[5]);
    if (r == XS_API_OK && device >= 0)
        xs_mem_note(kind, out_value(w[0]), device, bytes, owner);
    else if (device >= 0)
        xs_mem_give(device, bytes);
    return r;
}

static xs_api_result release(mem_fn real, enum xs_mem_kind kind, const word *w)
{
    struct xs_mem_entry *e = xs_mem_out(kind, w[0]);
    xs_api_result r = real(w[0], w[1], w[2], w[3], w[4], w[5]);

    xs_mem_settle(e, r == XS_API_OK);
    return r;
}

/* Not every platform has functions of each shape. */
#define SHAPE __attribute__((unused)) static xs_api_result

SHAPE shape_ALLOC(mem_fn real, const word *w)
{
    return allocate(real, XS_MEM_POINTER, device_now(), w[1], w);
}

SHAPE shape_FREE(mem_fn real, const word *w)
{
    return release(real, XS_MEM_POINTER, w);
}

static bool captured(word stream, bool per_thread)
{
    return xs_api_captured(g_runtime->hal, (xs_api_stream)(uintptr_t)stream, per_thread);
}

static xs_api_result allocate_async(mem_fn real, const word *w, word stream, bool per_thread)
{
    if (captured(stream, per_thread))
        return real(w[0], w[1], w[2], w[3], w[4], w[5]);
    return allocate(real, XS_MEM_POINTER, device_now(), w[1], w);
}

SHAPE shape_ASYNC(mem_fn real, const word *w)
{
    return allocate_async(real, w, w[2], false);
}

SHAPE shape_ASYNC_PTDS(mem_fn real, const word *w)
{
    return allocate_async(real, w, w[2], true);
}

SHAPE shape_FROM_POOL(mem_fn real, const word *w)
{
    return allocate_async(real, w, w[3], false);
}

SHAPE shape_FROM_POOL_PTDS(mem_fn real, const word *w)
{
    return allocate_async(real, w, w[3], true);
}

static xs_api_result free_async(mem_fn real, const word *w, word stream, bool per_thread)
{
    return captured(stream, per_thread) ? real(w[0], w[1], w[2], w[3], w[4], w[5]) : release(real, XS_MEM_POINTER, w);
}

SHAPE shape_FREE_ASYNC(mem_fn real, const word *w)
{
    return free_async(real, w, w[1], false);
}

SHAPE shape_FREE_ASYNC_PTDS(mem_fn real, const word *w)
{
    return free_async(real, w, w[1], true);
}

SHAPE shape_INSTANTIATE(mem_fn real, const word *w)
{
    struct xs_graph_need need;
    const void *owner;
    xs_api_result r;

    if (!xs_graph_memory_fits((void *)(uintptr_t)w[1], device_of, &need))
        return XS_API_OUT_OF_MEMORY;
    owner = need.dev < 0 ? NULL : owner_now(device_of(need.dev));
    r = real(w[0], w[1], w[2], w[3], w[4], w[5]);
    if (r == XS_API_OK)
        xs_graph_memory_made((void *)(uintptr_t)out_value(w[0]), owner, &need, device_of);
    return r;
}

/* The name may be another graph's once the vendor's call returns. */
SHAPE shape_EXEC_END(mem_fn real, const word *w)
{
    xs_graph_memory_gone((void *)(uintptr_t)w[0]);
    return real(w[0], w[1], w[2], w[3], w[4], w[5]);
}

/* The device decides how long a row is: we know it only afterwards. */
SHAPE shape_PITCH(mem_fn real, const word *w)
{
    int device = device_now();
    uint64_t least, bytes;
    xs_api_result r;

    if (device < 0 || !w[0] || !w[1])
        return real(w[0], w[1], w[2], w[3], w[4], w[5]);
    least = w[3] && w[2] > UINT64_MAX / w[3] ? UINT64_MAX : w[2] * w[3];
    if (!xs_mem_take(device, least))
        return XS_API_OUT_OF_MEMORY;
    r = real(w[0], w[1], w[2], w[3], w[4], w[5]);
    if (r != XS_API_OK) {
        xs_mem_give(device, least);
        return r;
    }
    bytes = out_value(w[1]) * w[3];
    if (bytes > least && !xs_mem_take(device, bytes - least)) {
        g_free(out_value(w[0]), 0, 0, 0, 0, 0);
        xs_mem_give(device, least);
        return XS_API_OUT_OF_MEMORY;
    }
    xs_mem_note(XS_MEM_POINTER, out_value(w[0]), device, XS_MAX(bytes, least), owner_now(device));
    return r;
}

/* The bytes of an element with a format and so many channels; an unknown format: four bytes. */
static uint64_t element_bytes(uint32_t format, uint32_t channels)
{
    switch (format) {
    case 0x01: /* 8 bits, unsigned and signed */
    case 0x08:
        return channels;
    case 0x02: /* 16 bits, unsigned, signed, floating */
    case 0x09:
    case 0x10:
        return 2ull * channels;
    default:
        return 4ull * XS_MAX(channels, 1u);
    }
}

static uint64_t times(uint64_t a, uint64_t b)
{
    b = XS_MAX(b, 1ull);
    return a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* Descriptors: width, height (and depth) as size_t, then format and channels. */
__attribute__((unused)) static uint64_t array_bytes(const size_t *d, int dimensions, unsigned level)
{
    uint32_t format[2];
    uint64_t bytes;

    memcpy(format, d + dimensions, sizeof(format));
    bytes = element_bytes(format[0], format[1]);
    for (int i = 0; i < dimensions; i++)
        bytes = times(bytes, d[i] >> level);
    return bytes;
}

SHAPE array(mem_fn real, const word *w, int dimensions, unsigned levels)
{
    const size_t *d = (const size_t *)(uintptr_t)w[1];
    uint64_t bytes = 0;

    if (!d)
        return real(w[0], w[1], w[2], w[3], w[4], w[5]);
    for (unsigned i = 0; i < XS_MAX(levels, 1u) && i < 32; i++) {
        uint64_t more = array_bytes(d, dimensions, i);

        bytes = bytes > UINT64_MAX - more ? UINT64_MAX : bytes + more;
    }
    return allocate(real, XS_MEM_ARRAY, device_now(), bytes, w);
}

SHAPE shape_ARRAY(mem_fn real, const word *w)
{
    return array(real, w, 2, 1);
}

SHAPE shape_ARRAY3D(mem_fn real, const word *w)
{
    return array(real, w, 3, 1);
}

SHAPE shape_MIPMAP(mem_fn real, const word *w)
{
    return array(real, w, 3, (unsigned)w[2]);
}

SHAPE shape_ARRAY_FREE(mem_fn real, const word *w)
{
    return release(real, XS_MEM_ARRAY, w);
}

/* Properties: type, handle types, then where: 1 and a device's number, or on the host. */
SHAPE shape_CREATE(mem_fn real, const word *w)
{
    const int *where = (const int *)(uintptr_t)w[2];

    if (!where || where[2] != 1)
        return real(w[0], w[1], w[2], w[3], w[4], w[5]);
    return allocate(real, XS_MEM_HANDLE, device_of(where[3]), w[1], w);
}

/* The mapping stays after the release of its handle. */
SHAPE shape_RELEASE(mem_fn real, const word *w)
{
    uint64_t before = xs_mem_before();
    xs_api_result r = real(w[0], w[1], w[2], w[3], w[4], w[5]);

    if (r == XS_API_OK)
        xs_mem_unhold(XS_MEM_HANDLE, w[0], before);
    return r;
}

SHAPE shape_RETAIN(mem_fn real, const word *w)
{
    xs_api_result r = real(w[0], w[1], w[2], w[3], w[4], w[5]);

    if (r == XS_API_OK)
        xs_mem_hold(XS_MEM_HANDLE, out_value(w[0]));
    return r;
}

SHAPE shape_MAP(mem_fn real, const word *w)
{
    xs_api_result r = real(w[0], w[1], w[2], w[3], w[4], w[5]);

    if (r == XS_API_OK)
        xs_mem_map(w[0], w[1], w[3]);
    return r;
}

SHAPE shape_UNMAP(mem_fn real, const word *w)
{
    uint64_t before = xs_mem_before();
    xs_api_result r = real(w[0], w[1], w[2], w[3], w[4], w[5]);

    if (r == XS_API_OK)
        xs_mem_unmap(w[0], w[1], before);
    return r;
}

static void show(int device, word free_at, word total_at)
{
    uint64_t free_bytes = out_value(free_at), total = out_value(total_at);

    xs_mem_view(device, &free_bytes, &total);
    if (free_at)
        memcpy((void *)(uintptr_t)free_at, &free_bytes, sizeof(free_bytes));
    if (total_at)
        memcpy((void *)(uintptr_t)total_at, &total, sizeof(total));
}

SHAPE shape_INFO(mem_fn real, const word *w)
{
    xs_api_result r = real(w[0], w[1], w[2], w[3], w[4], w[5]);

    if (r == XS_API_OK)
        show(device_now(), w[0], w[1]);
    return r;
}

SHAPE shape_TOTAL(mem_fn real, const word *w)
{
    xs_api_result r = real(w[0], w[1], w[2], w[3], w[4], w[5]);

    if (r == XS_API_OK)
        show(device_of((int)w[1]), 0, w[0]);
    return r;
}

static void owner_gone(const void *owner, uint64_t before)
{
    xs_graph_memory_owner_gone(owner);
    xs_mem_owner_gone(owner, before);
}

SHAPE shape_CONTEXT_END(mem_fn real, const word *w)
{
    uint64_t before = xs_mem_before();
    xs_api_result r = real(w[0], w[1], w[2], w[3], w[4], w[5]);

    if (r == XS_API_OK)
        owner_gone((const void *)(uintptr_t)w[0], before);
    return r;
}

SHAPE shape_PRIMARY(mem_fn real, const word *w)
{
    xs_api_result r = real(w[0], w[1], w[2], w[3], w[4], w[5]);

    /* relaxed: a value by itself, the same each time */
    if (r == XS_API_OK && (int)w[1] >= 0 && (int)w[1] < DEVICES)
        atomic_store_explicit(&g_primary[(int)w[1]], (const void *)(uintptr_t)out_value(w[0]),
                              memory_order_relaxed);
    return r;
}

__attribute__((unused)) static void primary_ended(int dev, uint64_t before)
{
    if (dev >= 0 && dev < DEVICES)
        owner_gone(atomic_load_explicit(&g_primary[dev], memory_order_relaxed), before);
}

SHAPE shape_PRIMARY_END(mem_fn real, const word *w)
{
    uint64_t before = xs_mem_before();
    xs_api_result r = real(w[0], w[1], w[2], w[3], w[4], w[5]);

    if (r == XS_API_OK)
        primary_ended((int)w[0], before);
    return r;
}

/* Only the last release ends it. */
SHAPE shape_PRIMARY_RELEASE(mem_fn real, const word *w)
{
    uint64_t before = xs_mem_before();
    xs_api_result r = real(w[0], w[1], w[2], w[3], w[4], w[5]);
    unsigned flags;
    int active = 1;

    if (r == XS_API_OK && g_get_state &&
        g_get_state(w[0], (word)(uintptr_t)&flags, (word)(uintptr_t)&active, 0, 0, 0) == XS_API_OK && !active)
        primary_ended((int)w[0], before);
    return r;
}

SHAPE shape_DEVICE_RESET(mem_fn real, const word *w)
{
    int device = device_now();
    uint64_t before = xs_mem_before();
    xs_api_result r = real(w[0], w[1], w[2], w[3], w[4], w[5]);

    if (r == XS_API_OK && device >= 0)
        owner_gone((const void *)(uintptr_t)(device + 1), before);
    return r;
}

#define MEM(shape, symbol)                                                                                   \
    static xs_api_result mem_##symbol(word a, word b, word c, word d, word e, word f)                        \
    {                                                                                                        \
        const word w[] = {a, b, c, d, e, f};                                                                 \
        return shape_##shape(g_real[MEM_##symbol], w);                                                       \
    }
#include XS_API_MEMORY
#undef MEM

static mem_fn function(const struct xs_api_runtime *rt, enum xs_row row)
{
    mem_fn fn;

    memcpy(&fn, &rt->real[row], sizeof(fn));
    return fn;
}

static const struct {
    enum xs_row row;
    mem_fn ours;
} k_rows[MEM_COUNT] = {
#define MEM(shape, symbol) [MEM_##symbol] = {ROW_##symbol, mem_##symbol},
#include XS_API_MEMORY
#undef MEM
};

int xs_api_memory_row(const struct xs_api_runtime *rt, const void *real)
{
    mem_fn fn;

    memcpy(&fn, &real, sizeof(fn));
    for (int i = 0; i < MEM_COUNT; i++)
        if (g_real[i] == fn && function(rt, k_rows[i].row) == k_rows[i].ours)
            return (int)k_rows[i].row;
    return -1;
}

void xs_api_memory_wrap(struct xs_api_runtime *rt, void *handle)
{
    bool other;

    if (!xs_mem_limited())
        return;
    xs_lock_acquire(&g_lock);
    other = g_handle && g_handle != handle;
    if (!g_handle) {
        for (int i = 0; i < MEM_COUNT; i++)
            g_real[i] = function(rt, k_rows[i].row);
        g_get_device = function(rt, ROW_XS_API_GET_DEVICE);
        g_get_total = function(rt, ROW_XS_API_GET_TOTAL);
        g_free = function(rt, ROW_XS_API_FREE);
        g_runtime = rt;
        xs_graph_memory_open(rt);
#ifdef ROW_XS_API_GET_CONTEXT
        g_get_owner = function(rt, ROW_XS_API_GET_CONTEXT);
        g_get_state = function(rt, ROW_XS_API_GET_STATE);
#endif
        g_handle = handle;
    }
    xs_lock_release(&g_lock);
    if (other) {
        XS_WARN_ONCE(XS_API_NAME ": the program has a second library; XSCHED_MEM_LIMIT holds for the first one");
        return;
    }
    for (int i = 0; i < MEM_COUNT; i++)
        if (xs_dlsym(handle, xs_row_info[k_rows[i].row].symbol)) /* missing functions stay missing */
            memcpy(&rt->real[k_rows[i].row], &k_rows[i].ours, sizeof(k_rows[i].ours));
}
