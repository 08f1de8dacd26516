/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/hints.h"

#include <string.h>

#define TIMES_SINCE 5u             /* the protocol minor that brought changed_ns */

/* The array changed_ns of queue_hints has a place for each part that there was when it came. A later part brings a field
 * of its own. */
enum {
#define QUEUE_HINT(symbol, ...) EARLY_##symbol,
#define LATER_HINT(...)
#include "base/settings/hints.def"
    EARLY_PARTS
};
_Static_assert(sizeof(((struct xs_msg_queue_hints *)NULL)->changed_ns) == EARLY_PARTS * sizeof(uint64_t),
               "a QUEUE_HINT has no place in the messages: a new hint is a LATER_HINT");
#define QUEUE_HINT(symbol, ...) \
    _Static_assert((int)XS_PART_##symbol == (int)EARLY_##symbol, "a LATER_HINT stands behind all of QUEUE_HINT");
#define LATER_HINT(since, ...) \
    _Static_assert((since) > 7 && (since) <= XS_MAX(XS_WIRE_MINOR_NEWEST, XS_WIRE_MINOR), \
                   "a new hint comes with a new protocol minor: wire.h");
#include "base/settings/hints.def"

/* When a part changed, as queue_hints has it. */
static const struct {
    uint32_t since;
    size_t changed;
} k_parts[XS_PARTS] = {
#define QUEUE_HINT(symbol, ...) \
    [XS_PART_##symbol] = {0, offsetof(struct xs_msg_queue_hints, changed_ns) + EARLY_##symbol * sizeof(uint64_t)},
#define LATER_HINT(since, fold, symbol, number, field, ...) \
    [XS_PART_##symbol] = {since, offsetof(struct xs_msg_queue_hints, field##_changed_ns)},
#include "base/settings/hints.def"
};

/* Where each field is: in the hints, and in both messages. */
static const struct field {
    enum xs_hint_part part;
    size_t bytes, hints, change, add;
} k_fields[] = {
#define FIELD(symbol, place, field) \
    {XS_PART_##symbol, sizeof(((struct xs_dated_hints *)NULL)->place), offsetof(struct xs_dated_hints, place), \
     offsetof(struct xs_msg_queue_hints, field), offsetof(struct xs_msg_queue_add, field)},
#define QUEUE_HINT(symbol, number, field, ...) FIELD(symbol, hints.field, field)
#define MORE(symbol, field, ...) FIELD(symbol, hints.field, field)
#define LATER_HINT(since, fold, symbol, number, field, ...) FIELD(symbol, later.field, field)
#include "base/settings/hints.def"
};

static void copy(void *to, size_t to_at, const void *from, size_t from_at, size_t bytes)
{
    memcpy((char *)to + to_at, (const char *)from + from_at, bytes);
}

/* Whether messages between the peer and this build have the part. */
static bool knows(uint32_t peer_minor, enum xs_hint_part part)
{
    const uint32_t own_minor = XS_WIRE_MINOR;

    return k_parts[part].since <= peer_minor && k_parts[part].since <= own_minor;
}

/* 0 means none, where it is no value of the hint. */
static void mend(struct xs_dated_hints *h)
{
    if (h->hints.deadline_us == 0)
        h->hints.deadline_us = -1;
#define LATER_HINT(since, fold, symbol, number, field, type, without, ...) \
    { \
        static const struct xs_value_type k_type = XS_TYPE type; \
\
        if (!xs_value_has(&k_type, h->later.field)) \
            h->later.field = without; \
    }
#include "base/settings/hints.def"
}

void xs_hints_pack_add(struct xs_msg_queue_add *m, const struct xs_dated_hints *h)
{
    for (size_t i = 0; i < XS_ARRAY_LEN(k_fields); i++)
        copy(m, k_fields[i].add, h, k_fields[i].hints, k_fields[i].bytes);
}

void xs_hints_of_add(struct xs_dated_hints *ret, const struct xs_msg_queue_add *m, uint32_t peer_minor)
{
    memset(ret, 0, sizeof(*ret));
    ret->later = xs_hints_later_none;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_fields); i++)
        if (knows(peer_minor, k_fields[i].part))
            copy(ret, k_fields[i].hints, m, k_fields[i].add, k_fields[i].bytes);
    mend(ret);
}

void xs_hints_pack(struct xs_msg_queue_hints *m, const struct xs_dated_hints *h, int64_t ahead_ns)
{
    for (size_t i = 0; i < XS_ARRAY_LEN(k_fields); i++)
        copy(m, k_fields[i].change, h, k_fields[i].hints, k_fields[i].bytes);
    for (unsigned i = 0; i < XS_PARTS; i++) {
        uint64_t at = h->changed_ns[i] ? h->changed_ns[i] - (uint64_t)ahead_ns : 0;

        copy(m, k_parts[i].changed, &at, 0, sizeof(at));
    }
}

static void take(struct xs_dated_hints *h, const struct xs_msg_queue_hints *m, enum xs_hint_part part)
{
    for (size_t i = 0; i < XS_ARRAY_LEN(k_fields); i++)
        if (k_fields[i].part == part)
            copy(h, k_fields[i].hints, m, k_fields[i].change, k_fields[i].bytes);
    mend(h);
}

void xs_hints_merge(struct xs_dated_hints *h, const struct xs_msg_queue_hints *m, uint32_t peer_minor, int64_t ahead_ns,
                    uint64_t now_ns)
{
    for (unsigned i = 0; i < XS_PARTS; i++) {
        uint64_t at;

        if (!knows(peer_minor, i))
            continue;
        copy(&at, 0, m, k_parts[i].changed, sizeof(at));
        at = at ? at + (uint64_t)ahead_ns : 0;
        if (peer_minor < TIMES_SINCE) {
            take(h, m, i);
        } else if (XS_MIN(at, now_ns) >= h->changed_ns[i]) {
            take(h, m, i);
            h->changed_ns[i] = XS_MIN(at, now_ns);
        }
    }
}
