/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

struct slot {
    _Atomic uint64_t key;         /* 0: never used; a removed key keeps its slot with value NULL */
    _Atomic(void *) value;
};

struct xs_map_table {
    struct xs_map_table *older;
    size_t mask, used;            /* used: slots with a key, live or removed; under the lock */
    struct slot slots[];
};

static struct xs_map_table *table_new(size_t count, struct xs_map_table *older)
{
    struct xs_map_table *t = calloc(1, sizeof(*t) + count * sizeof(struct slot));

    if (!t)
        return NULL;
    t->mask = count - 1;
    t->older = older;
    return t;
}

/* The slot with the key, else one that may take it (a removed one first). */
static struct slot *find(struct xs_map_table *t, uint64_t key)
{
    struct slot *removed = NULL;

    for (size_t i = (size_t)xs_hash_u64(key), n = 0; n <= t->mask; i++, n++) {
        struct slot *s = &t->slots[i & t->mask];
        uint64_t k = atomic_load_explicit(&s->key, memory_order_acquire);

        if (k == key)
            return s;
        if (k == 0)
            return removed ? removed : s;
        if (!removed && !atomic_load_explicit(&s->value, memory_order_relaxed))
            removed = s;
    }
    return removed; /* NULL never happens: a table is at most half live */
}

void *xs_map_get(struct xs_map *m, uint64_t key)
{
    for (;;) {
        uint32_t generation = atomic_load_explicit(&m->generation, memory_order_acquire);
        struct xs_map_table *t = atomic_load_explicit(&m->table, memory_order_acquire);
        void *value = NULL;

        if (!t || key == 0)
            return NULL;
        for (size_t i = (size_t)xs_hash_u64(key), n = 0; n <= t->mask; i++, n++) {
            struct slot *s = &t->slots[i & t->mask];
            uint64_t k = atomic_load_explicit(&s->key, memory_order_acquire);

            if (k == 0)
                break;
            if (k == key) {
                value = atomic_load_explicit(&s->value, memory_order_acquire);
                break;
            }
        }
        /* the acquire loads from the slot keep this load behind them */
        if (atomic_load_explicit(&m->generation, memory_order_relaxed) == generation)
            return value;
    }
}

/* Release: a reader that sees the new generation sees the stores before it. A reader that sees the
 * stores after it sees the new generation. */
static void next_generation(struct xs_map *m)
{
    uint32_t generation = atomic_load_explicit(&m->generation, memory_order_relaxed);

    atomic_store_explicit(&m->generation, generation + 1, memory_order_release);
}

/* When a removed slot gets another key, this stores first the key, then the map's next generation,
 * then the value. A reader that found the former key and then reads this value sees the next
 * generation, and looks again. A second look at the key would not be enough: the former key may be
 * back in the slot. */
static void put_new(struct xs_map *m, struct xs_map_table *t, uint64_t key, void *value)
{
    struct slot *s = find(t, key);
    uint64_t k = atomic_load_explicit(&s->key, memory_order_relaxed);

    if (k != key) {
        atomic_store_explicit(&s->key, key, memory_order_release);
        if (k == 0)
            t->used++;
        else
            next_generation(m);
    }
    atomic_store_explicit(&s->value, value, memory_order_release);
}

static int grow(struct xs_map *m, struct xs_map_table *t)
{
    size_t live = 0, count = 16;
    struct xs_map_table *next;

    for (size_t i = 0; t && i <= t->mask; i++)
        live += atomic_load_explicit(&t->slots[i].value, memory_order_relaxed) != NULL;
    while (count < live * 4)
        count *= 2;
    if (t && count <= t->mask)
        count = t->mask + 1; /* full of removed keys: same size, cleaned */
    if (t && t->older && t->older->mask + 1 == count) {
        next = t->older;     /* readers that are still in it see the new generation */
        t->older = next->older;
        next->older = t;
        next->used = 0;
        for (size_t i = 0; i <= next->mask; i++) {
            /* release: a reader that sees these sees the present generation too */
            atomic_store_explicit(&next->slots[i].value, NULL, memory_order_release);
            atomic_store_explicit(&next->slots[i].key, 0, memory_order_release);
        }
    } else {
        next = table_new(count, t);
        if (!next)
            return -ENOMEM;
    }
    for (size_t i = 0; t && i <= t->mask; i++) {
        void *value = atomic_load_explicit(&t->slots[i].value, memory_order_relaxed);

        if (value)
            put_new(m, next, atomic_load_explicit(&t->slots[i].key, memory_order_relaxed), value);
    }
    atomic_store_explicit(&m->table, next, memory_order_release);
    next_generation(m);
    return 0;
}

int xs_map_put(struct xs_map *m, uint64_t key, void *value)
{
    struct xs_map_table *t;
    int r = 0;

    if (key == 0 || !value)
        return -EINVAL;
    xs_lock_acquire(&m->lock);
    t = atomic_load_explicit(&m->table, memory_order_relaxed);
    if (!t || (t->used + 1) * 2 > t->mask + 1)
        r = grow(m, t);
    if (r == 0)
        put_new(m, atomic_load_explicit(&m->table, memory_order_relaxed), key, value);
    xs_lock_release(&m->lock);
    return r;
}

void *xs_map_remove(struct xs_map *m, uint64_t key)
{
    struct xs_map_table *t;
    void *old = NULL;

    if (key == 0)
        return NULL;
    xs_lock_acquire(&m->lock);
    t = atomic_load_explicit(&m->table, memory_order_relaxed);
    if (t) {
        struct slot *s = find(t, key);

        if (s && atomic_load_explicit(&s->key, memory_order_relaxed) == key)
            old = atomic_exchange_explicit(&s->value, NULL, memory_order_acq_rel);
    }
    xs_lock_release(&m->lock);
    return old;
}

void xs_map_fini(struct xs_map *m)
{
    struct xs_map_table *t = atomic_exchange_explicit(&m->table, NULL, memory_order_relaxed);

    while (t) {
        struct xs_map_table *older = t->older;

        free(t);
        t = older;
    }
}
