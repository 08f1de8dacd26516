/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/records/timeline.h"

#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

#define FORGET_NS (10 * XS_NS_PER_S)

void xs_timeline_add(struct xs_timeline *t, const struct xs_timeline_event *e)
{
    if (t->ring)
        t->ring[t->count++ % XS_TIMELINE_LENGTH] = *e;
}

int xs_timeline_want(struct xs_timeline *t, uint64_t now_ns)
{
    if (!t->ring) {
        t->ring = calloc(XS_TIMELINE_LENGTH, sizeof(*t->ring));
        /* earlier numbers have no events: a reader of the last ring must not take these for its own */
        t->count = (t->count / XS_TIMELINE_LENGTH + 2) * XS_TIMELINE_LENGTH;
        t->first = t->count;
    }
    t->asked_ns = now_ns;
    return t->ring ? 0 : -ENOMEM;
}

uint64_t xs_timeline_housekeeping(struct xs_timeline *t, uint64_t now_ns)
{
    if (!t->ring)
        return UINT64_MAX;
    if (now_ns - t->asked_ns < FORGET_NS)
        return t->asked_ns + FORGET_NS;
    free(t->ring);
    t->ring = NULL;
    return UINT64_MAX;
}

size_t xs_timeline_copy(const struct xs_timeline *t, uint64_t since, bool (*passes)(void *ctx, uint32_t uid),
                        void *ctx, struct xs_timeline_event *ret, uint64_t *ret_next, uint64_t *ret_lost)
{
    uint64_t oldest = t->first, at, end;
    size_t n = 0;

    if (t->count - oldest > XS_TIMELINE_LENGTH)
        oldest = t->count - XS_TIMELINE_LENGTH;
    at = XS_MIN(since, t->count); /* a number of the future is of another server: from now on */
    *ret_lost = at < oldest ? oldest - at : 0;
    at = XS_MAX(at, oldest);
    end = XS_MIN(t->count, at + XS_TIMELINE_ANSWER); /* it looks at so many, whichever user's: the main
                                                        loop waits meanwhile */
    for (; at < end; at++) {
        const struct xs_timeline_event *e = &t->ring[at % XS_TIMELINE_LENGTH];

        if (e->handle == 0 || passes(ctx, e->uid))
            ret[n++] = *e;
    }
    *ret_next = at;
    return n;
}

#define HALF_BITS 31
#define HALF      ((1ull << HALF_BITS) - 1)
#define ROUNDS    4
#define SALT_BITS 20
#define SALT      ((1ull << SALT_BITS) - 1)

/* A permutation of 62 bits. */
static uint64_t permute(uint64_t secret, uint64_t number, bool back)
{
    uint64_t left = number >> HALF_BITS & HALF, right = number & HALF;

    for (unsigned i = 0; i < ROUNDS; i++) { /* a Feistel network: the rounds in reverse order undo it */
        unsigned round = back ? ROUNDS - 1 - i : i;
        uint64_t mixed = xs_hash_u64(xs_hash_u64((back ? left : right) + secret) ^ (secret + round)) & HALF;
        uint64_t next = (back ? right : left) ^ mixed;

        if (back) {
            right = left;
            left = next;
        } else {
            left = right;
            right = next;
        }
    }
    return left << HALF_BITS | right;
}

uint64_t xs_timeline_veil(uint64_t secret, uint64_t number, uint64_t salt)
{
    return permute(secret, number << SALT_BITS | (salt & SALT), false);
}

uint64_t xs_timeline_unveil(uint64_t secret, uint64_t veiled)
{
    return permute(secret, veiled, true) >> SALT_BITS;
}
