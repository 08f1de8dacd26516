/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: device memory is host memory. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

API hipMalloc(void **p, size_t n)
{
    hipError_t r = fake_ready();

    *p = r ? NULL : calloc(1, n);
    return fake_result(r);
}

API hipFree(void *p)
{
    hipError_t r = fake_ready();

    if (r)
        return fake_result(r);
    fake_context_synchronize();
    free(p);
    return 0;
}

API hipMallocManaged(void **p, size_t n, unsigned flags)
{
    (void)flags;
    return hipMalloc(p, n);
}

API hipDeviceTotalMem(size_t *n, int device)
{
    (void)device;
    *n = (size_t)1 << 30;
    return fake_result(fake_ready());
}

API hipMemGetInfo(size_t *free_bytes, size_t *total)
{
    *free_bytes = (size_t)1 << 29; /* others use the rest */
    return hipDeviceTotalMem(total, 0);
}

API hipHostMalloc(void **p, size_t n, unsigned flags)
{
    (void)flags;
    return hipMalloc(p, n);
}

API hipHostFree(void *p)
{
    return hipFree(p);
}

API hipHostRegister(void *p, size_t n, unsigned flags)
{
    hipError_t r = fake_ready();

    if (!r && fake_hip_fault("no_register"))
        r = XS_HIP_NOT_SUPPORTED;
    return fake_result(r ? r : cuMemHostRegister_v2(p, n, flags));
}

API hipHostUnregister(void *p)
{
    return fake_result(cuMemHostUnregister(p));
}

API hipHostGetDevicePointer(void **d, void *p, unsigned flags)
{
    CUdeviceptr at = 0;
    hipError_t r = cuMemHostGetDevicePointer_v2(&at, p, flags);

    *d = (void *)(uintptr_t)at;
    return fake_result(r);
}

static hipError_t command(hipStream_t s, bool per_thread, struct fake_op op)
{
    hipError_t r = fake_accepts(s);

    return fake_result(r ? r : fake_put(CU_STREAM(s), per_thread, op));
}

static struct fake_op copy_op(void *dst, const void *src, size_t n)
{
    return (struct fake_op){.kind = FAKE_COPY, .dst = dst, .src = src, .bytes = n};
}

API hipMemcpyAsync(void *dst, const void *src, size_t n, int kind, hipStream_t s)
{
    (void)kind;
    return command(s, false, copy_op(dst, src, n));
}

API hipMemcpyAsync_spt(void *dst, const void *src, size_t n, int kind, hipStream_t s)
{
    (void)kind;
    return command(s, true, copy_op(dst, src, n));
}

API hipMemcpyWithStream(void *dst, const void *src, size_t n, int kind, hipStream_t s)
{
    hipError_t r = hipMemcpyAsync(dst, src, n, kind, s);

    return fake_result(r ? r : fake_synchronize(CU_STREAM(s), false));
}

API hipMemcpy(void *dst, const void *src, size_t n, int kind)
{
    return hipMemcpyWithStream(dst, src, n, kind, NULL);
}

API hipMemcpyDtoH(void *dst, void *src, size_t n)
{
    return hipMemcpy(dst, src, n, XS_HIP_MEMCPY_TO_HOST);
}

API hipMemsetAsync(void *dst, int value, size_t n, hipStream_t s)
{
    return command(s, false, (struct fake_op){.kind = FAKE_FILL, .dst = dst, .value = (uint64_t)value, .bytes = n, .width = 1});
}

API hipMemsetD32Async(void *dst, int value, size_t n, hipStream_t s)
{
    return command(s, false, (struct fake_op){.kind = FAKE_FILL, .dst = dst, .value = (uint32_t)value, .bytes = n, .width = 4});
}

/* As some versions do, the call waits for the device. */
static hipError_t now(bool per_thread, struct fake_op op)
{
    hipError_t r = command(NULL, per_thread, op);

    return fake_result(r ? r : fake_synchronize(NULL, per_thread));
}

static struct fake_op fill_op(void *dst, int value, size_t n)
{
    return (struct fake_op){.kind = FAKE_FILL, .dst = dst, .value = (uint64_t)value, .bytes = n, .width = 1};
}

API hipMemset(void *dst, int value, size_t n)
{
    return now(false, fill_op(dst, value, n));
}

API hipMemset_spt(void *dst, int value, size_t n)
{
    return now(true, fill_op(dst, value, n));
}

API hipMemsetD8(void *dst, unsigned char value, size_t n)
{
    return now(false, fill_op(dst, value, n));
}

API hipMemcpyDtoD(void *dst, void *src, size_t n)
{
    return now(false, copy_op(dst, src, n));
}

API hipMemcpyPeer(void *dst, int to, const void *src, int from, size_t n)
{
    (void)to, (void)from;
    return now(false, copy_op(dst, src, n));
}

/* Symbols and arrays are device memory like any other here, and an array has no gaps. */
static hipError_t rows_now(bool per_thread, char *dst, size_t dpitch, const char *src, size_t spitch, size_t width, size_t height)
{
    hipError_t r = 0;

    for (size_t y = 0; y < height && !r; y++)
        r = command(NULL, per_thread, copy_op(dst + y * dpitch, src + y * spitch, width));
    return fake_result(r ? r : fake_synchronize(NULL, per_thread));
}

API hipMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, int kind)
{
    (void)kind;
    return rows_now(false, dst, dpitch, src, spitch, width, height);
}

API hipMemcpy2D_spt(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, int kind)
{
    (void)kind;
    return rows_now(true, dst, dpitch, src, spitch, width, height);
}

API hipMemcpy2DFromArray(void *dst, size_t dpitch, const void *src, size_t x, size_t y, size_t width, size_t height, int kind)
{
    (void)kind;
    return rows_now(false, dst, dpitch, (const char *)src + y * width + x, width, width, height);
}

API hipMemcpy2DToArray(void *dst, size_t x, size_t y, const void *src, size_t spitch, size_t width, size_t height, int kind)
{
    (void)kind;
    return rows_now(false, (char *)dst + y * width + x, width, src, spitch, width, height);
}

API hipMemcpy2DArrayToArray(void *dst, size_t to_x, size_t to_y, const void *src, size_t x, size_t y, size_t width,
                            size_t height, int kind)
{
    (void)to_y, (void)y;
    return hipMemcpy2D((char *)dst + to_x, width, (const char *)src + x, width, width, height, kind);
}

API hipMemcpy3D(const struct xs_hip_copy_3d *p)
{
    return rows_now(false, p->dst.ptr, p->dst.pitch, p->src.ptr, p->src.pitch, p->extent.width,
                    p->extent.height * p->extent.depth);
}

API hipMemcpyFromArray(void *dst, const void *src, size_t x, size_t y, size_t n, int kind)
{
    (void)kind, (void)y;
    return now(false, copy_op(dst, (const char *)src + x, n));
}

API hipMemcpyToArray(void *dst, size_t x, size_t y, const void *src, size_t n, int kind)
{
    (void)kind, (void)y;
    return now(false, copy_op((char *)dst + x, src, n));
}

API hipMemcpyFromSymbol(void *dst, const void *symbol, size_t n, size_t at, int kind)
{
    (void)kind;
    return now(false, copy_op(dst, (const char *)symbol + at, n));
}

API hipMemcpyToSymbol(const void *symbol, const void *src, size_t n, size_t at, int kind)
{
    (void)kind;
    return now(false, copy_op((char *)(uintptr_t)symbol + at, src, n));
}

API hipMemcpyToSymbol_spt(const void *symbol, const void *src, size_t n, size_t at, int kind)
{
    (void)kind;
    return now(true, copy_op((char *)(uintptr_t)symbol + at, src, n));
}

/* As hip_Memcpy2D is: each side has its place, its kind of memory, three pointers and a pitch. */
API hipMemcpyParam2D(const void *copy)
{
    const size_t *w = copy;

    return rows_now(false, (char *)(uintptr_t)w[11], w[13], (const char *)(uintptr_t)w[4], w[6], w[14], w[15]);
}

API hipDrvMemcpy2DUnaligned(const void *copy)
{
    return hipMemcpyParam2D(copy);
}

API hipMallocAsync(void **p, size_t n, hipStream_t s)
{
    hipError_t r = hipMalloc(p, n);

    return r ? r : command(s, false, (struct fake_op){.kind = FAKE_WORK});
}

API hipFreeAsync(void *p, hipStream_t s)
{
    return command(s, false, (struct fake_op){.kind = FAKE_HOST, .fn = free, .arg = p});
}

/* Memory of another process: opened, and never looked at. */
API hipIpcOpenMemHandle(void **p, struct xs_hip_ipc_handle handle, unsigned flags)
{
    (void)handle;
    (void)flags;
    *p = p;
    return XS_HIP_SUCCESS;
}
