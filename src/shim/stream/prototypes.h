/* SPDX-License-Identifier: Apache-2.0 */
/* The entries that are not plain jumps. */
#ifndef XS_SHIM_STREAM_PROTOTYPES_H
#define XS_SHIM_STREAM_PROTOTYPES_H

#include "shim/stream/entry.h"

#define XS_ROW(kind, symbol, name, version, streams, params, args, stream, key) \
    XS_EXPORT xs_api_result symbol params XS_COMPILED_AS(symbol);
#include "shim/common/each_row.def"

#endif
