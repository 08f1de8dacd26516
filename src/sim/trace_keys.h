/* SPDX-License-Identifier: Apache-2.0 */
/* The keys that scenarios and traces have in common. */
#ifndef XS_SIM_TRACE_KEYS_H
#define XS_SIM_TRACE_KEYS_H

#include "sched/sched.h"
#include "sim/words.h"

#define XS_KEY(struct_, text, kind_, field, lo_, hi_) \
    { .name = text, .kind = kind_, .offset = offsetof(struct_, field), .lo = lo_, .hi = hi_ }

/** A key of a field of struct xs_hints. */
#define XS_KEY_HINT(struct_, h, field_, type)                                                                      \
    { .name = #field_, .kind = sizeof(((struct_ *)NULL)->h.field_) == 8 ? XS_KEY_I64 : XS_KEY_I32,                  \
      .offset = offsetof(struct_, h.field_), .lo = XS_TYPE_LEAST type, .hi = XS_TYPE_MOST type }

/** Keys of struct xs_sched_config inside struct_, as field c; reads k as 64 bits, into k_. */
#define XS_KEYS_CONFIG(struct_, c, k_)                                                   \
    XS_KEY(struct_, "timeslice_us", XS_KEY_US, c.params.timeslice_ns, 100, 10000000),    \
    XS_KEY(struct_, "starvation_ms", XS_KEY_MS, c.params.starvation_ns, 0, 3600000),     \
    XS_KEY(struct_, "switch_us", XS_KEY_US, c.params.switch_ns, 0, 1000000),             \
    XS_KEY(struct_, "linger_us", XS_KEY_US, c.linger_ns, 0, 1000000),                    \
    XS_KEY(struct_, "stall_ms", XS_KEY_MS, c.stall_ns, 0, 3600000),                      \
    XS_KEY(struct_, "user_share", XS_KEY_U64, c.user_share, 0, 100),                     \
    XS_KEY(struct_, "k", XS_KEY_U64, k_, 1, 1000000)

static const struct xs_hints xs_default_hints = { 0, 100, -1, -1, 0, 0 };

#endif
