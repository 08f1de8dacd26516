/* SPDX-License-Identifier: Apache-2.0 */
/* A map from 64-bit keys (not 0) to pointers. Look-ups take no lock and may run beside changes. The
 * map's own lock serialises changes. The map keeps outgrown tables until its end, since a reader may
 * still be in one. There are at most two of each size: the kept ones take less than three times as
 * much as the present one. */
#ifndef XS_MAP_H
#define XS_MAP_H

#include "base/lock.h"
#include "base/xs_base.h"

struct xs_map_table;

/** Zero-filled: empty. */
struct xs_map {
    _Atomic(struct xs_map_table *) table;
    _Atomic uint32_t generation;  /* grows when a slot gets another key, or the map another table:
                                     readers look again. Writer: the thread that has the lock */
    /* Lock 6: changes of one map; look-ups take none. */
    struct xs_lock lock;
};

/** NULL when absent. Any thread. */
void *xs_map_get(struct xs_map *m, uint64_t key);
/** Adds or replaces. Any thread. @return 0, -EINVAL (key 0 or value NULL) or -ENOMEM: the map is as it was */
int xs_map_put(struct xs_map *m, uint64_t key, void *value);
/** Any thread. @return the value that was there, or NULL */
void *xs_map_remove(struct xs_map *m, uint64_t key);
/** Frees the tables, not the values. No thread may use the map any more. */
void xs_map_fini(struct xs_map *m);

static inline uint64_t xs_hash_u64(uint64_t x)
{
    x ^= x >> 33; /* the finaliser of MurmurHash3 */
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    x ^= x >> 33;
    return x;
}

#endif
