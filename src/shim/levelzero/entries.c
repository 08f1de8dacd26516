/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the rows: one for each driver, which stands in its tables, and the exported one. A program
 * that links with the loader calls the exported one when it preloads this object. */
#include "shim/levelzero/ze_submit.h"

#include "hal/common/note.h"

XS_SHIM_NOTE;

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* A command of an immediate list. xsched_priv_ze_find does not find other lists, whose commands the program
 * submits later. */
#define BODY_COMMAND(name, args, key, flags, signals, free, waits_count, waits)                    \
    {                                                                                             \
        struct xs_ze_submit s_;                                                                   \
        const enum xs_row row = ROW_##name;                                                       \
        xs_ze_result r_;                                                                          \
        xs_ze_submit_open(&s_, row, list, caller);                                                \
        if (s_.queue) {                                                                           \
            xs_ze_submit_awaits(&s_, side, waits_count, waits);                                   \
            xs_ze_submit_begin(&s_, XS_##key, flags, free);                                       \
        }                                                                                         \
        if (s_.own)                                                                               \
            signals;                                                                              \
        r_ = side->real.name args;                                                                \
        xs_ze_submit_close(&s_, r_);                                                              \
        return r_;                                                                                \
    }
#define BODY_SUBMIT(name, args, key)                                                               \
    BODY_COMMAND(name, args, key, 0, signal = s_.own->event, !signal, waits_count, waits)
#define BODY_COUNT(name, args, key)                                                                \
    BODY_COMMAND(name, args, key, XS_SUBMIT_PASS, signal = s_.own->event, !signal, waits_count, waits)
#define BODY_COUNT0(name, args, key) BODY_COMMAND(name, args, key, XS_SUBMIT_PASS, (void)0, false, 0, NULL)
#define BODY_HAND(name, args, key)   { return xs_hand_##name(side, caller, XS_UNPACK args); }

#define DRIVER(n, kind, name, params, args, key)                                                  \
    static xs_ze_result d##n##_##name params                                                      \
    {                                                                                             \
        const struct xs_ze_side *side = &g_drivers[n];                                            \
        const void *caller = NULL; /* the loader is our caller: it hides the object whose call it is */    \
        BODY_##kind(name, args, key)                                                              \
    }

static struct xs_ze_side g_drivers[XS_ZE_DRIVERS];

#define ZE(kind, table, slot, since, name, params, args, key)                                     \
    DRIVER(0, kind, name, params, args, key)                                                      \
    DRIVER(1, kind, name, params, args, key)                                                      \
    DRIVER(2, kind, name, params, args, key)                                                      \
    DRIVER(3, kind, name, params, args, key)                                                      \
    DRIVER(4, kind, name, params, args, key)                                                      \
    DRIVER(5, kind, name, params, args, key)                                                      \
    DRIVER(6, kind, name, params, args, key)                                                      \
    DRIVER(7, kind, name, params, args, key)
#include "shim/levelzero/levelzero_api.def"
#undef ZE

void *xs_ze_entry(int driver, enum xs_row row)
{
    static void *const entries[ROW_COUNT][XS_ZE_DRIVERS] = {
#define ZE(kind, table, slot, since, name, params, args, key)                                     \
    [ROW_##name] = {(void *)d0_##name, (void *)d1_##name, (void *)d2_##name, (void *)d3_##name,     \
                    (void *)d4_##name, (void *)d5_##name, (void *)d6_##name, (void *)d7_##name},
#include "shim/levelzero/levelzero_api.def"
#undef ZE
    };

    return entries[row][driver];
}

struct xs_ze_side *xs_ze_side_of(int driver)
{
    return &g_drivers[driver];
}

#define ZE(kind, table, slot, since, name, params, args, key)                                     \
    XS_EXPORT xs_ze_result name params                                                            \
    {                                                                                             \
        const void *caller = __builtin_return_address(0);                                         \
        const struct xs_ze_side *side = xs_ze_preloaded(caller);                                  \
        if (!side)                                                                                \
            return XS_ZE_ERROR_UNINITIALIZED;                                                     \
        if (!side->real.name)                                                                     \
            return XS_ZE_ERROR_UNSUPPORTED_FEATURE;                                               \
        if (xs_shim_disabled || atomic_load_explicit(&xs_ze_proxied, memory_order_relaxed))       \
            return side->real.name args;                                                          \
        BODY_##kind(name, args, key)                                                              \
    }
#include "shim/levelzero/levelzero_api.def"
#undef ZE

void *const xs_row_entries[ROW_COUNT] = {
#define ZE(kind, table, slot, since, name, params, args, key) [ROW_##name] = (void *)name,
#include "shim/levelzero/levelzero_api.def"
#undef ZE
};
