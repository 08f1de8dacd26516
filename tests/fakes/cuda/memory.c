/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, copies, stream memory operations, host functions. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* FAKE_CUDA=no_memory_ops: a device without them, as far as the program does not use them itself; no_writes: the same,
 * and its attribute says that it has them; no_waits: it writes, and does not wait;
 * FAKE_CUDA=no_register: host memory cannot be registered; FAKE_CUDA=hangs: cuInit does not return. */
bool fake_without(const char *what)
{
    const char *set = getenv("FAKE_CUDA");

    return set && strcmp(set, what) == 0;
}

API cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
    *p = (CUdeviceptr)(uintptr_t)calloc(1, n);
    return 0;
}

API cuMemFree_v2(CUdeviceptr p)
{
    if (fake_current()) {
        pthread_mutex_lock(&fake_lock);
        fake_context_wait_locked(fake_current());
        pthread_mutex_unlock(&fake_lock);
    }
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
    *p = (CUdeviceptr)(uintptr_t)calloc(1, n);
    return fake_put(s, false, (struct fake_op){.kind = FAKE_WORK});
}

API cuMemFreeAsync(CUdeviceptr p, CUstream s)
{
    return fake_put(s, false, (struct fake_op){.kind = FAKE_HOST, .fn = free, .arg = (void *)(uintptr_t)p});
}

static CUresult copy(void *to, const void *from, size_t n, CUstream s, bool per_thread)
{
    return fake_put(s, per_thread, (struct fake_op){.kind = FAKE_COPY, .dst = to, .src = from, .bytes = n});
}

#define PTR(p) ((void *)(uintptr_t)(p))
API cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *h, size_t n, CUstream s)
{
    return copy(PTR(d), h, n, s, false);
}

API cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr d, const void *h, size_t n, CUstream s)
{
    return copy(PTR(d), h, n, s, true);
}

API cuMemcpyDtoHAsync_v2(void *h, CUdeviceptr d, size_t n, CUstream s)
{
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

API cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream s)
{
    return fake_put(s, false, (struct fake_op){.kind = FAKE_FILL, .dst = PTR(d), .value = v, .bytes = n, .width = 1});
}

API cuMemsetD32Async(CUdeviceptr d, unsigned v, size_t n, CUstream s)
{
    return fake_put(s, false, (struct fake_op){.kind = FAKE_FILL, .dst = PTR(d), .value = v, .bytes = n, .width = 4});
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
