/* SPDX-License-Identifier: Apache-2.0 */
/* The same object as a layer of an ICD loader (OPENCL_LAYERS). The loader gives us the table of the next
 * functions and takes ours in exchange. This sees the programs that a preload misses, because they open the
 * loader and look the functions up by its handle. */
#include "base/log.h"
#include "shim/opencl/opencl_table.h"

#include <string.h>

static const char k_name[] = "XSched";

/* More slots than any loader has; we pass on those that we do not know. */
#define SLOT_MAX 256

static void *g_dispatch[XS_OCL_LAYERS][SLOT_MAX]; /* written by clInitLayer, which each loader calls once */

cl_int clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *ret_size);
cl_int clInitLayer(cl_uint count, void *const *target, cl_uint *ret_count, void *const **ret_dispatch);
cl_int clInitLayerWithProperties(cl_uint count, void *const *target, cl_uint *ret_count,
                                 void *const **ret_dispatch, const cl_properties *properties);

XS_EXPORT cl_int clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *ret_size)
{
    const cl_uint version = CL_LAYER_API_VERSION_100;
    const void *from;
    size_t n;

    switch (name) {
    case CL_LAYER_API_VERSION:
        from = &version;
        n = sizeof(version);
        break;
    case CL_LAYER_NAME:
        from = k_name;
        n = sizeof(k_name);
        break;
    default:
        return CL_INVALID_VALUE;
    }
    if (value) {
        if (size < n)
            return CL_INVALID_VALUE;
        memcpy(value, from, n);
    } else if (!ret_size) {
        return CL_INVALID_VALUE;
    }
    if (ret_size)
        *ret_size = n;
    return CL_SUCCESS;
}

static const uint16_t k_slots[ROW_CORE_COUNT] = {
#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking) [ROW_##name] = slot,
#include "shim/opencl/opencl_api.def"
#undef OCL
};

struct target {
    void *const *dispatch;
    cl_uint count;
};

static void *get_slot(void *ctx, const char *name)
{
    const struct target *t = ctx;

    for (int row = 0; row < ROW_CORE_COUNT; row++)
        if (strcmp(xs_row_info[row].symbol, name) == 0)
            return k_slots[row] < t->count ? t->dispatch[k_slots[row]] : NULL;
    return NULL;
}

XS_EXPORT cl_int clInitLayer(cl_uint count, void *const *target, cl_uint *ret_count,
                             void *const **ret_dispatch)
{
    struct target t = {target, count < SLOT_MAX ? count : SLOT_MAX};
    unsigned layer;

    if (!target || !ret_count || !ret_dispatch || count == 0)
        return CL_INVALID_VALUE;
    *ret_count = t.count;
    layer = xs_ocl_start_layer(get_slot, &t);
    if (layer == XS_OCL_LAYERS) { /* its calls go past us */
        XS_WARN_ONCE("OpenCL: more than %u loaders in one process; XSched does not see the calls of the others", layer);
        *ret_dispatch = target;
        return CL_SUCCESS;
    }
    /* Functions that we do not know stay with the next layer, and those that it lacks stay absent. */
    memcpy(g_dispatch[layer], target, t.count * sizeof(void *));
    for (int row = 0; row < ROW_CORE_COUNT; row++)
        if (k_slots[row] < t.count && target[k_slots[row]])
            g_dispatch[layer][k_slots[row]] = xs_ocl_layer_entry(layer, (enum xs_row)row);
    *ret_dispatch = g_dispatch[layer];
    return CL_SUCCESS;
}

/* Newer loaders of Khronos look for this one. No property has a meaning yet. */
XS_EXPORT cl_int clInitLayerWithProperties(cl_uint count, void *const *target, cl_uint *ret_count,
                                           void *const **ret_dispatch, const cl_properties *properties)
{
    (void)properties;
    return clInitLayer(count, target, ret_count, ret_dispatch);
}
