/* SPDX-License-Identifier: Apache-2.0 */
/* The exported functions of the rows with a prototype. pass.c has the plain jumps; rows OWN have theirs by hand. */
#include "shim/stream/body.h"
#include "shim/stream/prototypes.h"

#include "hal/common/note.h"

XS_SHIM_NOTE;

#pragma GCC diagnostic ignored "-Wunused-variable"

#define XS_ROW(kind, symbol, name, version, streams, params, args, on, key)                       \
    XS_EXPORT xs_api_result symbol params                                                         \
    {                                                                                             \
        const enum xs_row row = ROW_##symbol;                                                 \
        const struct xs_api_runtime *rt;                                                          \
        int xs_mode_ = xs_api_mode_now();                                                         \
        xs_api_result r;                                                                          \
        if (XS_UNLIKELY(xs_mode_ == XS_SHIM_UNBOUND) && !xs_api_start(__builtin_return_address(0))) \
            return XS_API_NOT_INITIALIZED;                                                        \
        if (XS_COLUMN(opens, kind))                                                               \
            xs_callers_new(__builtin_return_address(0));                                       \
        rt = xs_api_runtime_with(xs_api_runtime_of(__builtin_return_address(0)), ON(on),          \
                                 XS_OBJECT(symbol));                                              \
        if (xs_mode_ == XS_SHIM_QUIET) {                                                           \
            XS_BY(QUIET_, quiet, kind)(kind, symbol, args)                                        \
        }                                                                                         \
        BODY_##kind(kind, symbol, streams, args, on, key)                                         \
        return r;                                                                                 \
    }                                                                                             \
    XS_ENTRY(symbol)
#include "shim/common/each_row.def"
