/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of both tables, as far as the fake does not do better: weak, and an error. */
#include "internal.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define MISS_ERR(code) return code;
#define MISS_NULL(out)                                                                            \
    {                                                                                             \
        cl_int *out_ = (out);                                                                     \
        if (out_)                                                                                 \
            *out_ = CL_INVALID_OPERATION;                                                         \
        return NULL;                                                                              \
    }
#define MISS_NONE return;

#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking)                       \
    __attribute__((weak)) API ret name params;                                                    \
    __attribute__((weak)) API ret name params                                                     \
    {                                                                                             \
        miss                                                                                      \
    }
#define OCL_EXT(kind, name, ret, params, args, miss, key, blocking)                               \
    OCL(kind, name, 0, 0, ret, params, args, miss, key, blocking)
#include "shim/opencl/opencl_api.def"
#include "shim/opencl/opencl_ext.def"
