/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of opencl_api.def become, and the two sides from which calls come: the exported
 * functions (preloaded, or under the vendor's name) and the layer inside an ICD loader. */
#ifndef XS_SHIM_OPENCL_OPENCL_TABLE_H
#define XS_SHIM_OPENCL_OPENCL_TABLE_H

#include "base/xs_base.h"
#include "hal/opencl/cl_abi.h"
#include "hal/opencl/hal.h"
#include "shim/common/depth.h"
#include "shim/common/kinds.h"
#include "shim/common/trace.h"

enum xs_ocl_row {
#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking) ROW_##name,
#include "shim/opencl/opencl_api.def"
#undef OCL
    ROW_CORE_COUNT,
    ROW_BEFORE_EXT = ROW_CORE_COUNT - 1,
#define OCL_EXT(kind, name, ret, params, args, miss, key, blocking) ROW_##name,
#include "shim/opencl/opencl_ext.def"
#undef OCL_EXT
    ROW_COUNT
};

extern const char *const xs_ocl_names[ROW_COUNT];

/** The functions behind us. */
struct xs_ocl_table {
#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking) ret (*name) params;
#include "shim/opencl/opencl_api.def"
#undef OCL
};

/** Answers of functions that the installed library lacks. */
extern const struct xs_ocl_table xs_ocl_missing;

enum xs_ocl_mode {
    XS_OCL_UNBOUND,               /* the real functions are not known yet */
    XS_OCL_QUIET,                 /* everything passes through */
    XS_OCL_ACTIVE,                /* there are XQueues, or a trace is wanted */
};

struct xs_ocl_side {
    _Atomic int mode;             /* xs_ocl_mode; owner: first_call.c; set after the table is complete */
    struct xs_ocl_table real;
};

extern struct xs_ocl_side xs_ocl_preload, xs_ocl_layer;

static inline int xs_ocl_mode_of(struct xs_ocl_side *side)
{
    /* acquire pairs with the release in first_call.c: the table was filled before */
    return atomic_load_explicit(&side->mode, memory_order_acquire);
}

/** Finds the real library. @return false when there is none: answer with xs_ocl_missing */
bool xs_ocl_start(const void *caller);
/** The layer's functions are known. @param get  as for xsched_priv_ocl_bind */
void xs_ocl_start_layer(void *(*get)(void *ctx, const char *name), void *ctx);

/** Whether XSCHED_DISABLE is set. Valid once a side is bound. */
bool xs_ocl_is_disabled(void);
/** Whether any side is active. */
bool xs_ocl_is_active(void);
/** Whether XSCHED_TRACE is set. Valid once a side is active. */
extern bool xs_ocl_tracing;
/** Whether the user wants this call left alone. */
bool xs_ocl_filtered(enum xs_ocl_row row, const void *caller);

/* The hand-written ones; T holds the functions behind us. */
#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking)                    \
    XS_IF_HAND(kind, ret xs_hand_##name(const struct xs_ocl_table *T, const void *caller, XS_UNPACK params);)
#include "shim/opencl/opencl_api.def"
#undef OCL

/* Those of extensions; `real` is the vendor's function. */
#define OCL_EXT(kind, name, ret, params, args, miss, key, blocking)                               \
    XS_IF_HAND(kind, ret xs_hand_##name(ret(*real) params, const void *caller, XS_UNPACK params);)
#include "shim/opencl/opencl_ext.def"
#undef OCL_EXT

/** The entry that a program should get instead of the vendor's function of this name.
 *  @param platform  whose function it is; NULL: unknown
 *  @param of_layer  asked through the layer
 *  @return the vendor's own when it is none of ours */
void *xs_ocl_wrap(const char *name, void *real, cl_platform_id platform, bool of_layer);

/** The layer's entry of a row. */
void *xs_ocl_layer_entry(enum xs_ocl_row row);
/** The exported entry of a row. */
void *xs_ocl_preload_entry(enum xs_ocl_row row);

#endif
