/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of levelzero_api.def's rows, and the sides from which calls come. Each driver behind
 * the loader has a side (proxy.c), and so have the loader's own functions in programs that link with it
 * (loader_calls.c). */
#ifndef XS_SHIM_LEVELZERO_ZE_TABLE_H
#define XS_SHIM_LEVELZERO_ZE_TABLE_H

#include "hal/levelzero/hal.h"
#include "shim/common/depth.h"
#include "shim/common/rows.h"

#define XS_ZE_DRIVERS 8           /* rows of drivers.def */

/** The next functions, by row and by name. NULL: there is none. */
struct xs_ze_table {
    union {
        void *real[ROW_COUNT];
        struct {
#define ZE(kind, table, slot, since, name, params, args, key) xs_ze_result (*name) params;
#include "shim/levelzero/levelzero_api.def"
#undef ZE
        };
    };
};

/** A side. Complete before a program can call its functions; stays. */
struct xs_ze_side {
    struct xs_ze_table real;
    struct xs_ze_api api;         /* libhallevelzero's functions for queues that programs make here */
};

/** The hand-written ones. */
#define ZE(kind, table, slot, since, name, params, args, key)                                     \
    XS_IF_HAND(kind, xs_ze_result xs_hand_##name(const struct xs_ze_side *side, const void *caller, XS_UNPACK params);)
#include "shim/levelzero/levelzero_api.def"
#undef ZE

/** The side of the exported functions. NULL: there is no loader */
const struct xs_ze_side *xs_ze_preloaded(const void *caller);

/** Whether the loader has one of our drivers: it sees every call, and the exported functions do nothing.
 *  Writer: proxy.c */
extern _Atomic bool xs_ze_proxied;

/** Our entry for a row, of the side of a driver. */
void *xs_ze_entry(int driver, enum xs_row row);
/** The side of a driver. */
struct xs_ze_side *xs_ze_side_of(int driver);

#endif
