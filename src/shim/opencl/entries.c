/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the rows. Each row has an exported one, one for each loader that takes us as a layer, and the answer where
 * the library lacks it. */
#include "shim/opencl/body.h"

#include "hal/common/note.h"

XS_SHIM_NOTE;

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking)                    \
    static ret missing_##name params                                                              \
    {                                                                                             \
        miss                                                                                      \
    }
#include "shim/opencl/opencl_api.def"
#undef OCL

const struct xs_ocl_table xs_ocl_missing = {
#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking) .name = missing_##name,
#include "shim/opencl/opencl_api.def"
#undef OCL
};

/* A call that passes through costs a load, a branch and a jump. */
#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking)                    \
    XS_EXPORT ret name params                                                                     \
    {                                                                                             \
        const struct xs_ocl_table *T = &xs_ocl_preload.real;                                      \
        const void *caller = __builtin_return_address(0);                                         \
        int mode = xs_ocl_mode_of(&xs_ocl_preload);                                               \
        if (XS_LIKELY(XS_QUIET(kind) == XS_QUIET_REAL && mode == XS_SHIM_QUIET))                   \
            return T->name args;                                                                  \
        if (mode == XS_SHIM_UNBOUND && !xs_ocl_start(caller))                                      \
            return xs_ocl_missing.name args;                                                      \
        if (XS_COLUMN(opens, kind))                                                               \
            xs_callers_new(caller);                                                               \
        T = xs_ocl_table_of(caller);                                                              \
        if (XS_QUIET(kind) == XS_QUIET_REAL && mode == XS_OCL_QUIET_SEVERAL)                      \
            return T->name args;                                                                  \
        BODY_##kind(kind, T, T->name, ret, name, args, key, blocking)                             \
    }
#include "shim/opencl/opencl_api.def"
#undef OCL

/* The loader is our caller: it hides the object whose call it is. */
#define LAYER_ENTRY(number, kind, name, ret, params, args, key, blocking)                         \
    static ret layer_##number##_##name params                                                     \
    {                                                                                             \
        struct xs_ocl_side *side = &xs_ocl_layers[number];                                        \
        const struct xs_ocl_table *T = &side->real;                                               \
        const void *caller = NULL;                                                                \
        if (XS_LIKELY(XS_QUIET(kind) == XS_QUIET_REAL && xs_ocl_mode_of(side) == XS_SHIM_QUIET))   \
            return T->name args;                                                                  \
        BODY_##kind(kind, T, T->name, ret, name, args, key, blocking)                             \
    }
#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking)                    \
    LAYER_ENTRY(0, kind, name, ret, params, args, key, blocking)                                  \
    LAYER_ENTRY(1, kind, name, ret, params, args, key, blocking)                                  \
    LAYER_ENTRY(2, kind, name, ret, params, args, key, blocking)                                  \
    LAYER_ENTRY(3, kind, name, ret, params, args, key, blocking)
#include "shim/opencl/opencl_api.def"
#undef OCL

void *xs_ocl_layer_entry(unsigned layer, enum xs_row row)
{
    static void *const entries[ROW_CORE_COUNT][XS_OCL_LAYERS] = {
#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking)                    \
    [ROW_##name] = {(void *)layer_0_##name, (void *)layer_1_##name, (void *)layer_2_##name, (void *)layer_3_##name},
#include "shim/opencl/opencl_api.def"
#undef OCL
    };

    return entries[row][layer];
}

void *const xs_row_entries[ROW_COUNT] = {
#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking) [ROW_##name] = (void *)name,
#include "shim/opencl/opencl_api.def"
#undef OCL
};
