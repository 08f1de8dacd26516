/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of memory that no command of the fake uses: they exist, and say how much there is. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define TOTAL_BYTES ((size_t)1 << 30)
#define PITCH       512u

API cuMemAlloc_v2(CUdeviceptr *p, size_t n);

API cuDeviceTotalMem_v2(size_t *n, CUdevice d)
{
    size_t used;

    if (d < 0 || d >= DEVICES)
        return 101;
    *n = fake_memory_total(d, &used);
    if (!*n)
        *n = TOTAL_BYTES;
    return 0;
}

API cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    size_t has, used;

    if (!fake_current())
        return INVALID_CONTEXT;
    has = fake_memory_total(fake_current()->dev, &used);
    *free_bytes = has ? has - used : TOTAL_BYTES / 2; /* others use the rest */
    *total = has ? has : TOTAL_BYTES;
    return 0;
}

API cuMemAllocPitch_v2(CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned element)
{
    if (element != 4 && element != 8 && element != 16)
        return XS_CU_INVALID_VALUE;
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    return cuMemAlloc_v2(p, *pitch * height);
}

API cuMemAllocFromPoolAsync(CUdeviceptr *p, size_t n, void *pool, CUstream s)
{
    (void)pool;
    (void)s;
    return cuMemAlloc_v2(p, n);
}

/* Something with an address of its own. */
static CUresult thing(void **ret)
{
    *ret = calloc(1, 64);
    return *ret ? 0 : XS_CU_OUT_OF_MEMORY;
}

API cuArrayCreate_v2(void **a, const void *desc)
{
    (void)desc;
    return thing(a);
}

API cuArray3DCreate_v2(void **a, const void *desc)
{
    (void)desc;
    return thing(a);
}

API cuArrayDestroy(void *a)
{
    free(a);
    return 0;
}

API cuMipmappedArrayCreate(void **a, const void *desc, unsigned levels)
{
    (void)desc;
    (void)levels;
    return thing(a);
}

API cuMipmappedArrayDestroy(void *a)
{
    free(a);
    return 0;
}

/* ---- identity, where FAKE_CUDA_UUID asks for one; FAKE_CUDA=mig: the device is a part of another one ---- */

API cuDeviceGetUuid(unsigned char *ret, CUdevice d)
{
    if (!getenv("FAKE_CUDA_UUID"))
        return XS_CU_NOT_SUPPORTED;
    fake_uuid(d, ret);
    return 0;
}

API cuDeviceGetUuid_v2(unsigned char *ret, CUdevice d)
{
    CUresult r = cuDeviceGetUuid(ret, d);

    if (r == 0 && fake_without("mig"))
        ret[0] = 1;
    return r;
}
