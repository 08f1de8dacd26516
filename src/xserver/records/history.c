/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/records/history.h"

#include <string.h>

/* Counts the records of a user, and notes the number at each of them. */
static unsigned tell_count(struct xs_history *h, uint64_t key)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < h->n; i++)
        n += h->keys[i] == key;
    for (uint32_t i = 0; i < h->n; i++)
        if (h->keys[i] == key)
            h->of_user[i] = (uint16_t)n;
    return n;
}

static bool has_wishes(const struct xs_client_record *r)
{
    return r->held || r->priority_set || r->utilization_set;
}

/* A record of the user with most, if the new one counts as well; of several such users, the new one's.
 * @return its place in order */
static uint32_t choose(const struct xs_history *h, uint64_t coming)
{
    uint32_t first = XS_HISTORY_LENGTH;
    unsigned most = 0, own = 1;
    uint64_t key = coming;

    for (uint32_t i = 0; i < h->n; i++) {
        if (h->keys[i] == coming)
            own = h->of_user[i] + 1u;
        if (h->of_user[i] > most) {
            most = h->of_user[i];
            key = h->keys[i];
        }
    }
    if (own >= most && own > 1)
        key = coming;
    for (uint32_t i = 0; i < h->n; i++) {
        if (h->keys[h->order[i]] != key)
            continue;
        if (!has_wishes(&h->records[h->order[i]]))
            return i;
        first = XS_MIN(first, i);
    }
    return first < XS_HISTORY_LENGTH ? first : 0;
}

void xs_history_add(struct xs_history *h, const struct xs_client_record *r)
{
    uint32_t at = h->n;
    uint64_t gone = r->share_key;

    if (h->n == XS_HISTORY_LENGTH) {
        uint32_t i = choose(h, r->share_key);

        at = h->order[i];
        gone = h->keys[at];
        memmove(h->order + i, h->order + i + 1, (XS_HISTORY_LENGTH - 1 - i) * sizeof(*h->order));
        h->n--;
    }
    h->records[at] = *r;
    h->keys[at] = r->share_key;
    h->order[h->n++] = (uint16_t)at;
    tell_count(h, r->share_key);
    if (gone != r->share_key)
        tell_count(h, gone);
}

const struct xs_client_record *xs_history_at(const struct xs_history *h, uint32_t i)
{
    return &h->records[h->order[i]];
}

const struct xs_client_record *xs_history_of(const struct xs_history *h, uint64_t handle_prefix, int32_t pid, uint32_t uid)
{
    for (uint32_t i = h->n; i-- > 0;) {
        const struct xs_client_record *r = xs_history_at(h, i);

        if (r->handle_prefix == handle_prefix && r->pid == pid && r->uid == uid)
            return r;
    }
    return NULL;
}
