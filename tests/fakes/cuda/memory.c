/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, copies, stream memory operations, host functions. */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

/* FAKE_CUDA=no_memory_ops: a device without them, as far as the program does not use them itself; no_writes: the same,
 * and its attribute says that it has them; no_waits: it writes, and does not wait;
 * FAKE_CUDA=no_register: host memory cannot be registered; FAKE_CUDA=hangs: cuInit does not return. no_green: a driver without
 * green contexts; no_split: it refuses to divide a device; no_multiprocessors: the device has few. */
bool fake_without(const char *what)
{
    const char *set = getenv("FAKE_CUDA");

    return set && strcmp(set, what) == 0;
}

static struct fake_block *g_blocks; /* what was allocated; whatever else is pageable. Under fake_lock */
static struct fake_block *g_ended; /* went with their contexts; programs of tests may look at the bytes still */
static size_t g_used[DEVICES];
bool (*fake_absent)(const void *p, size_t bytes);
pthread_mutex_t fake_mappings = PTHREAD_MUTEX_INITIALIZER;

/* FAKE_CUDA_SHARED, a file: what each process has of the devices. Those that have ended have nothing. */
#define SHARERS 64
struct sharer {
    _Atomic int pid;
    _Atomic size_t used[DEVICES];
};
static struct sharer *g_sharers, *g_own; /* under fake_lock, but for their numbers */

static void share_locked(void)
{
    const char *file = getenv("FAKE_CUDA_SHARED");
    int fd = file && !g_sharers ? open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (fd < 0 || ftruncate(fd, sizeof(struct sharer[SHARERS])) != 0)
        return;
    g_sharers = mmap(NULL, sizeof(struct sharer[SHARERS]), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    for (int i = 0; i < SHARERS && !g_own; i++) {
        int pid = g_sharers[i].pid;

        if ((pid == 0 || kill(pid, 0) != 0) && atomic_compare_exchange_strong(&g_sharers[i].pid, &pid, getpid())) {
            g_own = &g_sharers[i];
            for (int dev = 0; dev < DEVICES; dev++)
                g_own->used[dev] = 0;
        }
    }
}

static size_t used_locked(int dev)
{
    size_t used = g_used[dev];

    share_locked();
    for (int i = 0; g_sharers && i < SHARERS; i++)
        if (&g_sharers[i] != g_own && g_sharers[i].pid && kill(g_sharers[i].pid, 0) == 0)
            used += g_sharers[i].used[dev];
    return used;
}

static void add_locked(int dev, size_t bytes) /* a negative amount, too */
{
    g_used[dev] += bytes;
    if (g_own)
        g_own->used[dev] = g_used[dev];
}

size_t fake_memory_total(int dev, size_t *ret_used)
{
    const char *mib = getenv("FAKE_CUDA_MEMORY");

    pthread_mutex_lock(&fake_lock);
    *ret_used = used_locked(dev);
    pthread_mutex_unlock(&fake_lock);
    return mib ? (size_t)strtoull(mib, NULL, 10) << 20 : 0;
}

bool fake_memory_take(int dev, size_t bytes)
{
    const char *mib = getenv("FAKE_CUDA_MEMORY");
    size_t total = mib ? (size_t)strtoull(mib, NULL, 10) << 20 : SIZE_MAX;
    bool there;

    pthread_mutex_lock(&fake_lock);
    there = bytes <= total && used_locked(dev) <= total - bytes;
    if (there)
        add_locked(dev, bytes);
    pthread_mutex_unlock(&fake_lock);
    return there;
}

void fake_memory_give(int dev, size_t bytes)
{
    pthread_mutex_lock(&fake_lock);
    add_locked(dev, -bytes);
    pthread_mutex_unlock(&fake_lock);
}

void fake_block_add(struct fake_block b)
{
    static uint64_t blocks;
    struct fake_block *p = malloc(sizeof(*p));

    pthread_mutex_lock(&fake_lock);
    b.id = ++blocks;
    b.next = g_blocks;
    *p = b;
    g_blocks = p;
    pthread_mutex_unlock(&fake_lock);
}

static struct fake_block out(CUdeviceptr p)
{
    struct fake_block found = {.type = FAKE_PAGEABLE};

    pthread_mutex_lock(&fake_lock);
    for (struct fake_block **at = &g_blocks; *at; at = &(*at)->next)
        if ((*at)->from == p) {
            struct fake_block *b = *at;

            found = *b;
            *at = b->next;
            free(b);
            break;
        }
    pthread_mutex_unlock(&fake_lock);
    return found;
}

void fake_block_forget(CUdeviceptr from)
{
    out(from);
}

void fake_memory_of_context_ends_locked(const struct CUctx_st *c)
{
    for (struct fake_block **at = &g_blocks; *at;) {
        struct fake_block *b = *at;

        if (b->ctx != c || b->type != FAKE_DEVICE || b->managed) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        add_locked(b->dev, -b->bytes);
        b->next = g_ended;
        g_ended = b;
    }
}

static struct fake_block block_of(CUdeviceptr p)
{
    struct fake_block found = {.type = FAKE_PAGEABLE};

    pthread_mutex_lock(&fake_lock);
    for (const struct fake_block *b = g_blocks; b; b = b->next)
        if (p >= b->from && p - b->from < b->bytes)
            found = *b;
    pthread_mutex_unlock(&fake_lock);
    return found;
}

static CUresult allocate(CUdeviceptr *ret, size_t n, enum fake_memory type, bool managed)
{
    int dev = fake_current() ? fake_current()->dev : 0;
    bool counts = type == FAKE_DEVICE && !managed;
    void *p;

    if (counts && !fake_memory_take(dev, n))
        return XS_CU_OUT_OF_MEMORY;
    p = calloc(1, n);
    *ret = (CUdeviceptr)(uintptr_t)p;
    fake_block_add((struct fake_block){.from = *ret, .bytes = n, .type = type, .managed = managed, .rdma = true, .dev = dev,
                                       .ctx = fake_current(), .room = *ret, .room_bytes = n});
    return 0;
}

/* One attribute, as an H200's driver 580 answers of its own allocation and of a mapped one. */
static CUresult attribute(void *ret, int what, CUdeviceptr p, const struct fake_block *b)
{
    bool device = b->type == FAKE_DEVICE;
    uint64_t v = 0;
    size_t bytes = sizeof(v);

    if (b->type == FAKE_PAGEABLE)
        return XS_CU_INVALID_VALUE;
    switch (what) {
    case 1: v = (uintptr_t)b->ctx; break;
    case 2: v = b->type, bytes = 4; break;
    case 3: v = p; break;
    case 4: v = p; break;
    case 6: v = 0, bytes = 4; break;
    case 7: v = b->id; break;
    case 8: v = b->managed, bytes = 1; break;
    case 9: v = (uint64_t)b->dev, bytes = 4; break;
    case 10: v = device && !b->mapped, bytes = 1; break;
    case 11: v = b->room; break;
    case 12: v = b->room_bytes; break;
    case 13: v = 1, bytes = 1; break;
    case 14: v = 0; break;
    case 15: v = device && b->rdma, bytes = 1; break;
    case 16: v = 3, bytes = 4; break;
    case 17: v = 0; break;
    case 18: v = b->bytes; break;
    case 19: v = b->from; break;
    case 20: v = b->id; break;
    case 21: v = device && !b->mapped, bytes = 1; break;
    default: return XS_CU_INVALID_VALUE;
    }
    if (what == 4 && device)
        return XS_CU_INVALID_VALUE;
    memcpy(ret, &v, bytes);
    return 0;
}

API cuPointerGetAttribute(void *ret, int what, CUdeviceptr p)
{
    struct fake_block b = block_of(p);

    return attribute(ret, what, p, &b);
}

/* As measured on an H200: mapped memory refuses the only attribute that can be set. */
API cuPointerSetAttribute(const void *value, int what, CUdeviceptr p)
{
    struct fake_block b = block_of(p);

    (void)value;
    return b.type == FAKE_PAGEABLE || what != 6 ? XS_CU_INVALID_VALUE : b.mapped ? XS_CU_NOT_SUPPORTED : 0;
}

API cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr p)
{
    struct fake_block b = block_of(p);

    if (b.type == FAKE_PAGEABLE)
        return XS_CU_NOT_FOUND;
    if (base)
        *base = b.from;
    if (bytes)
        *bytes = b.bytes;
    return 0;
}

API cuIpcGetMemHandle(struct xs_cu_ipc_handle *ret, CUdeviceptr p)
{
    struct fake_block b = block_of(p);

    if (b.type != FAKE_DEVICE || b.mapped)
        return XS_CU_INVALID_VALUE;
    memset(ret, 0, sizeof(*ret));
    memcpy(ret, &b.from, sizeof(b.from));
    return 0;
}

static _Atomic int g_pointers_asked;

int fake_cuda_pointers_asked(void) __attribute__((visibility("default")));
int fake_cuda_pointers_asked(void)
{
    return g_pointers_asked;
}

API cuPointerGetAttributes(unsigned n, const int *what, void **ret, CUdeviceptr p)
{
    struct fake_block b = block_of(p);

    g_pointers_asked++;
    for (unsigned i = 0; i < n; i++)
        if (what[i] == XS_CU_POINTER_TYPE)
            *(unsigned *)ret[i] = b.type;
        else if (what[i] == XS_CU_POINTER_IS_MANAGED)
            *(bool *)ret[i] = b.managed;
        else
            attribute(ret[i], what[i], p, &b);
    return 0;
}

API cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
    FAKE_MAY_FAIL();
    return allocate(p, n, FAKE_DEVICE, false);
}

API cuMemAllocManaged(CUdeviceptr *p, size_t n, unsigned flags)
{
    (void)flags;
    return allocate(p, n, FAKE_DEVICE, true);
}

API cuMemAllocHost_v2(void **p, size_t n)
{
    CUdeviceptr at;
    CUresult r = allocate(&at, n, FAKE_PINNED, false);

    *p = (void *)(uintptr_t)at;
    return r;
}

/* As measured on an H200: the call itself refuses memory that is not there. */
static bool gone(const void *p, size_t bytes)
{
    bool is;

    if (!fake_absent || !bytes)
        return false;
    pthread_mutex_lock(&fake_mappings);
    is = fake_absent(p, bytes);
    pthread_mutex_unlock(&fake_mappings);
    return is;
}

API cuMemFree_v2(CUdeviceptr p)
{
    struct fake_block b = block_of(p);

    FAKE_MAY_FAIL();
    if (b.mapped || (b.type != FAKE_PAGEABLE && b.from != p) || gone((void *)(uintptr_t)p, 1))
        return XS_CU_INVALID_VALUE;
    if (fake_current()) {
        pthread_mutex_lock(&fake_lock);
        fake_context_wait_locked(fake_current());
        pthread_mutex_unlock(&fake_lock);
    }
    b = out(p);
    if (b.type == FAKE_DEVICE && !b.managed)
        fake_memory_give(b.dev, b.bytes);
    free((void *)(uintptr_t)p);
    return 0;
}

/* Of another process; what waits for memory that goes waits for this, too. */
API cuIpcCloseMemHandle(CUdeviceptr p)
{
    (void)p;
    if (!fake_current())
        return INVALID_CONTEXT;
    pthread_mutex_lock(&fake_lock);
    fake_context_wait_locked(fake_current());
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

API cuMemAllocAsync(CUdeviceptr *p, size_t n, CUstream s)
{
    if (fake_captures_alloc(s, p, n))
        return 0;
    *p = (CUdeviceptr)(uintptr_t)calloc(1, n);
    return fake_put(s, false, (struct fake_op){.kind = FAKE_WORK});
}

API cuMemFreeAsync(CUdeviceptr p, CUstream s)
{
    if (fake_captures_free(s, p))
        return 0;
    return fake_put(s, false, (struct fake_op){.kind = FAKE_HOST, .fn = free, .arg = (void *)(uintptr_t)p});
}

static CUresult copy(void *to, const void *from, size_t n, CUstream s, bool per_thread)
{
    if (gone(to, n) || gone(from, n))
        return XS_CU_INVALID_VALUE;
    return fake_put(s, per_thread, (struct fake_op){.kind = FAKE_COPY, .dst = to, .src = from, .bytes = n});
}

#define PTR(p) ((void *)(uintptr_t)(p))
API cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *h, size_t n, CUstream s)
{
    FAKE_MAY_FAIL();
    return copy(PTR(d), h, n, s, false);
}

API cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr d, const void *h, size_t n, CUstream s)
{
    return copy(PTR(d), h, n, s, true);
}

API cuMemcpyDtoHAsync_v2(void *h, CUdeviceptr d, size_t n, CUstream s)
{
    FAKE_MAY_FAIL();
    return copy(h, PTR(d), n, s, false);
}

API cuMemcpyDtoDAsync_v2(CUdeviceptr d, CUdeviceptr from, size_t n, CUstream s)
{
    return copy(PTR(d), PTR(from), n, s, false);
}

API cuMemcpyAsync(CUdeviceptr d, CUdeviceptr from, size_t n, CUstream s)
{
    return copy(PTR(d), PTR(from), n, s, false);
}

API cuMemcpyDtoH_v2(void *h, CUdeviceptr d, size_t n)
{
    CUresult r = copy(h, PTR(d), n, NULL, false);

    return r ? r : fake_synchronize(NULL, false);
}

API cuMemcpyHtoD_v2(CUdeviceptr d, const void *h, size_t n)
{
    CUresult r = copy(PTR(d), h, n, NULL, false);

    return r ? r : fake_synchronize(NULL, false);
}

static CUresult fill_async(CUdeviceptr d, uint64_t v, size_t n, unsigned width, CUstream s)
{
    if (gone(PTR(d), n * width))
        return XS_CU_INVALID_VALUE;
    return fake_put(s, false, (struct fake_op){.kind = FAKE_FILL, .dst = PTR(d), .value = v, .bytes = n, .width = width});
}

API cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream s)
{
    return fill_async(d, v, n, 1, s);
}

API cuMemsetD32Async(CUdeviceptr d, unsigned v, size_t n, CUstream s)
{
    return fill_async(d, v, n, 4, s);
}

/* A call that names no stream. As measured on an H100: with device memory alone it returns at once. */
static CUresult in_default_stream(bool per_thread, bool device, struct fake_op op)
{
    CUresult r;

    if (gone(op.dst, op.bytes * (op.width ? op.width : 1)) || (op.src && gone(op.src, op.bytes)))
        return XS_CU_INVALID_VALUE;
    r = fake_put(NULL, per_thread, op);
    return r || device ? r : fake_synchronize(NULL, per_thread);
}

static bool is_device(CUdeviceptr p)
{
    struct fake_block b = block_of(p);

    return b.type == FAKE_DEVICE && !b.managed;
}

/* FAKE_CUDA_FILL_US: how long a synchronous fill of device memory takes there. */
static CUresult fill(CUdeviceptr d, uint64_t v, size_t n, unsigned width, bool per_thread)
{
    const char *us = getenv("FAKE_CUDA_FILL_US");
    struct fake_op op = {.kind = FAKE_FILL, .dst = PTR(d), .value = v, .bytes = n, .width = width};

    op.ns = us ? strtoull(us, NULL, 10) * 1000 : 0;
    return in_default_stream(per_thread, is_device(d), op);
}

API cuMemsetD8_v2(CUdeviceptr d, unsigned char v, size_t n)
{
    return fill(d, v, n, 1, false);
}

API cuMemsetD8_v2_ptds(CUdeviceptr d, unsigned char v, size_t n)
{
    return fill(d, v, n, 1, true);
}

API cuMemsetD16_v2(CUdeviceptr d, unsigned short v, size_t n)
{
    return fill(d, v, n, 2, false);
}

API cuMemsetD32_v2(CUdeviceptr d, unsigned v, size_t n)
{
    return fill(d, v, n, 4, false);
}

static CUresult copy_now(CUdeviceptr d, CUdeviceptr from, size_t n, bool per_thread)
{
    return in_default_stream(per_thread, is_device(d) && is_device(from),
                             (struct fake_op){.kind = FAKE_COPY, .dst = PTR(d), .src = PTR(from), .bytes = n});
}

API cuMemcpyDtoD_v2(CUdeviceptr d, CUdeviceptr from, size_t n)
{
    return copy_now(d, from, n, false);
}

API cuMemcpyDtoD_v2_ptds(CUdeviceptr d, CUdeviceptr from, size_t n)
{
    return copy_now(d, from, n, true);
}

API cuMemcpy(CUdeviceptr d, CUdeviceptr from, size_t n)
{
    return copy_now(d, from, n, false);
}

API cuMemcpy_ptds(CUdeviceptr d, CUdeviceptr from, size_t n)
{
    return copy_now(d, from, n, true);
}

API cuMemcpyPeer(CUdeviceptr d, CUcontext to, CUdeviceptr from, CUcontext at, size_t n)
{
    (void)to, (void)at;
    return copy_now(d, from, n, false);
}

/* One row, from addresses that are named as the device's or as unified. */
API cuMemcpy2D_v2(const struct xs_cu_copy_2d *c)
{
    CUdeviceptr from = c->src_type == XS_CU_MEMORY_HOST ? (CUdeviceptr)(uintptr_t)c->src_host : c->src_device;

    return copy_now(c->dst_type == XS_CU_MEMORY_HOST ? (CUdeviceptr)(uintptr_t)c->dst_host : c->dst_device, from,
                    c->width_bytes, false);
}

API cuMemcpy3D_v2(const struct xs_cu_copy_3d *c)
{
    CUdeviceptr from = c->src_type == XS_CU_MEMORY_HOST ? (CUdeviceptr)(uintptr_t)c->src_host : c->src_device;

    return copy_now(c->dst_type == XS_CU_MEMORY_HOST ? (CUdeviceptr)(uintptr_t)c->dst_host : c->dst_device, from,
                    c->width_bytes, false);
}

/* For tests: how many waits for memory were put into streams. */
static uint64_t g_waits;

uint64_t fake_cuda_waits(void) __attribute__((visibility("default")));
uint64_t fake_cuda_waits(void)
{
    return __atomic_load_n(&g_waits, __ATOMIC_SEQ_CST);
}

static CUresult memory_op(enum fake_op_kind kind, CUstream s, CUdeviceptr p, uint64_t v, unsigned flags, unsigned width)
{
    bool none = fake_without("no_memory_ops") || fake_without("no_writes");

    if (kind == FAKE_WAIT && width == 8 && fake_without("no_waits"))
        return XS_CU_NOT_SUPPORTED;
    if (none && v != 0x1122334455667788ull && (kind == FAKE_WRITE || width == 8))
        return XS_CU_NOT_SUPPORTED;
    if (kind == FAKE_WAIT)
        __atomic_fetch_add(&g_waits, 1, __ATOMIC_SEQ_CST);
    return fake_put(s, false, (struct fake_op){.kind = kind, .dst = PTR(p), .value = v, .flags = flags, .width = width});
}

API cuStreamWriteValue32_v2(CUstream s, CUdeviceptr p, uint32_t v, unsigned flags)
{
    return memory_op(FAKE_WRITE, s, p, v, flags, 4);
}

API cuStreamWriteValue64_v2(CUstream s, CUdeviceptr p, uint64_t v, unsigned flags)
{
    return memory_op(FAKE_WRITE, s, p, v, flags, 8);
}

API cuStreamWaitValue32_v2(CUstream s, CUdeviceptr p, uint32_t v, unsigned flags)
{
    return memory_op(FAKE_WAIT, s, p, v, flags, 4);
}

API cuStreamWaitValue64_v2(CUstream s, CUdeviceptr p, uint64_t v, unsigned flags)
{
    return memory_op(FAKE_WAIT, s, p, v, flags, 8);
}

/* CUstreamBatchMemOpParams: 48 bytes each. */
struct batch_op {
    uint32_t operation;
    CUdeviceptr address;
    uint64_t value;
    uint32_t flags;
    uint64_t rest[2];
};
_Static_assert(sizeof(struct batch_op) == 48, "as in the driver's header");

API cuStreamBatchMemOp_v2(CUstream s, unsigned count, const struct batch_op *ops, unsigned flags)
{
    CUresult r = flags || !ops || !count || count > 255 ? XS_CU_INVALID_VALUE : XS_CU_SUCCESS;

    for (unsigned i = 0; i < count && r == XS_CU_SUCCESS; i++) {
        const struct batch_op *op = &ops[i];

        switch (op->operation) {
        case 1: r = memory_op(FAKE_WAIT, s, op->address, (uint32_t)op->value, op->flags, 4); break;
        case 2: r = memory_op(FAKE_WRITE, s, op->address, (uint32_t)op->value, op->flags, 4); break;
        case 4: r = memory_op(FAKE_WAIT, s, op->address, op->value, op->flags, 8); break;
        case 5: r = memory_op(FAKE_WRITE, s, op->address, op->value, op->flags, 8); break;
        default: r = XS_CU_NOT_SUPPORTED;
        }
    }
    return r;
}

static _Atomic unsigned g_sync_mode;

/* For tests: of the last host function. */
API fake_cuda_sync_mode(void)
{
    return (CUresult)g_sync_mode;
}

API cuLaunchHostFunc_v2(CUstream s, void *fn, void *arg, unsigned mode)
{
    struct fake_op op = {.kind = FAKE_HOST, .arg = arg};

    g_sync_mode = mode;
    memcpy(&op.fn, &fn, sizeof(fn));
    return fake_put(s, false, op);
}

API cuLaunchHostFunc(CUstream s, void *fn, void *arg)
{
    return cuLaunchHostFunc_v2(s, fn, arg, 0);
}

/* Memory of other processes: opened, and never looked at. */
static CUresult opened(void *ret)
{
    static const uint64_t place = 0x7000000;

    memcpy(ret, &place, sizeof(place));
    return XS_CU_SUCCESS;
}

API cuIpcOpenMemHandle(CUdeviceptr *p, struct xs_cu_ipc_handle handle, unsigned flags)
{
    (void)handle;
    (void)flags;
    return opened(p);
}

API cuIpcOpenMemHandle_v2(CUdeviceptr *p, struct xs_cu_ipc_handle handle, unsigned flags)
{
    return cuIpcOpenMemHandle(p, handle, flags);
}

API cuMemImportFromShareableHandle(void *ret, void *from, int type)
{
    (void)from;
    (void)type;
    return opened(ret);
}

API cuMemPoolImportFromShareableHandle(void *ret, void *from, int type, uint64_t flags)
{
    (void)flags;
    return cuMemImportFromShareableHandle(ret, from, type);
}
