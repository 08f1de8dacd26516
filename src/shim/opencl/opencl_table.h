/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of opencl_api.def's rows, and the two sides from which calls come: the exported functions
 * (preloaded, or under the vendor's name) and the layer inside an ICD loader. */
#ifndef XS_SHIM_OPENCL_OPENCL_TABLE_H
#define XS_SHIM_OPENCL_OPENCL_TABLE_H

#include "hal/opencl/cl_abi.h"
#include "hal/opencl/hal.h"
#include "shim/common/callers.h"
#include "shim/common/depth.h"
#include "shim/common/rows.h"

/* The rows of opencl_ext.def, whose functions programs look up by name, come after these. */
enum {
    ROW_CORE_COUNT = 0
#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking) +1
#include "shim/opencl/opencl_api.def"
#undef OCL
};

/** The next functions, by row and by name, of one loader. */
struct xs_ocl_table {
    const struct xs_ocl_api *api; /* of the same loader; NULL in xs_ocl_missing */
    unsigned layer;               /* 0: calls come from our exported functions; else 1 + the number of our layer */
    union {
        void *real[ROW_CORE_COUNT];
        struct {
#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking) ret (*name) params;
#include "shim/opencl/opencl_api.def"
#undef OCL
        };
    };
};

/** Answers of functions that the installed library lacks. */
extern const struct xs_ocl_table xs_ocl_missing;

/** As XS_SHIM_QUIET, and there may be several loaders: which one depends on the caller. */
#define XS_OCL_QUIET_SEVERAL 3

struct xs_ocl_side {
    _Atomic int mode;             /* xs_shim_mode; owner: first_call.c; set after the table is complete */
    struct xs_ocl_table real;
};

/** Loaders of one process that take us as a layer. Each has entries of its own: a loader's call does not say whose
 *  it is. */
#define XS_OCL_LAYERS 4u

extern struct xs_ocl_side xs_ocl_preload, xs_ocl_layers[XS_OCL_LAYERS]; /* the former: with the first loader's functions */

static inline int xs_ocl_mode_of(struct xs_ocl_side *side)
{
    /* acquire pairs with the release in first_call.c: the table is complete */
    return atomic_load_explicit(&side->mode, memory_order_acquire);
}

/** Finds the real library. @return false when there is none: answer with xs_ocl_missing */
bool xs_ocl_start(const void *caller);
/** The functions below a layer of ours are known. @param get  as for xsched_priv_ocl_bind
 *  @return its number; XS_OCL_LAYERS: too many */
unsigned xs_ocl_start_layer(void *(*get)(void *ctx, const char *name), void *ctx);
/** The functions of this caller's loader, where there may be several. */
const struct xs_ocl_table *xs_ocl_table_by(const void *caller);
static inline const struct xs_ocl_table *xs_ocl_table_of(const void *caller)
{
    /* acquire pairs with the release in callers.c */
    if (XS_LIKELY(!atomic_load_explicit(&xs_callers_matter, memory_order_acquire)))
        return &xs_ocl_preload.real;
    return xs_ocl_table_by(caller);
}

/** Whether any side is active. */
bool xs_ocl_is_active(void);

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

/** The entry that a program gets instead of the vendor's function of this name.
 *  @param platform  of the function; NULL: unknown
 *  @param T         in which the program looked it up
 *  @return the vendor's own when it is none of ours */
void *xs_ocl_wrap(const char *name, void *real, cl_platform_id platform, const struct xs_ocl_table *T);

/** The entry of a row in a layer. */
void *xs_ocl_layer_entry(unsigned layer, enum xs_row row);

#endif
