/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/stream/stream_call.h"

bool xs_api_is_device(const struct xs_api_runtime *rt, CUdeviceptr at)
{
    CUresult (*ask)(unsigned n, const int *what, void **ret, CUdeviceptr at) =
        (__typeof__(ask))rt->real[ROW_cuPointerGetAttributes];
    const int what[] = {XS_CU_POINTER_TYPE, XS_CU_POINTER_IS_MANAGED};
    unsigned type = 0, managed = 0;
    void *ret[] = {&type, &managed};

    return at && ask(2, what, ret, at) == XS_CU_SUCCESS && type == XS_CU_MEMORY_DEVICE && !managed;
}

/* One end. If its kind allows either, as with unified addresses, also asks the driver. */
static bool end_is_device(const struct xs_api_runtime *rt, unsigned type, CUdeviceptr at)
{
    return type == XS_CU_MEMORY_ARRAY || (type != XS_CU_MEMORY_HOST && xs_api_is_device(rt, at));
}

bool xs_cuda_2d_on_device(const struct xs_api_runtime *rt, const struct xs_cu_copy_2d *c)
{
    return c && end_is_device(rt, c->dst_type, c->dst_device) && end_is_device(rt, c->src_type, c->src_device);
}

bool xs_cuda_3d_on_device(const struct xs_api_runtime *rt, const struct xs_cu_copy_3d *c)
{
    return c && end_is_device(rt, c->dst_type, c->dst_device) && end_is_device(rt, c->src_type, c->src_device);
}

uint64_t xs_cuda_copy_3d_bytes(const struct xs_cu_copy_3d *c)
{
    return c ? (uint64_t)c->width_bytes * c->height * c->depth : 0;
}
