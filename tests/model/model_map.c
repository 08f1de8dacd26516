/* SPDX-License-Identifier: Apache-2.0 */
/* base/map.c: look-ups without a lock beside changes. A look-up gives a value that its key had at some moment
 * of the look-up, never another key's. It finds a key that is there throughout. */
#include "mc.h"

#include <stdlib.h>

#define TABLES      4
#define TABLE_BYTES (32u + 32u * 16u) /* of at most 32 slots */

static struct {
    _Alignas(16) char table[TABLES][TABLE_BYTES];
    size_t used;
} g_heap;

static void *heap_calloc(size_t n, size_t bytes)
{
    if (g_heap.used == TABLES || n * bytes > TABLE_BYTES)
        return NULL;
    return memset(g_heap.table[g_heap.used++], 0, n * bytes);
}

/* What a thread reads under the lock is part of what it knows. */
static void learn_all(void)
{
    mc_learn(&g_heap, sizeof(g_heap));
}

#include "base/lock.h"
#define xs_lock_acquire(lock) (xs_lock_acquire(lock), learn_all())
#define calloc(n, bytes)      heap_calloc(n, bytes)
#define free(p)               ((void)(p))

#include "base/map.c"

#define KEYS   4
#define VALUES 8               /* how many values a key has in a run, one after another */

enum { A, B, C, D };           /* look-ups of A, B and C begin at one slot */

static struct xs_map g_map;
static uint64_t g_keys[KEYS];  /* set once */

/* Each key has one writer, and its changes have numbers: after change n its value is value[key][n]. */
static struct {
    void *value[KEYS][VALUES];
    uint8_t begun[KEYS], done[KEYS];
} g_ghost;

static char g_objects[KEYS][VALUES]; /* only the addresses count */

/* ---- changes ---- */

static void *begin(int key, bool present)
{
    uint8_t n = ++g_ghost.begun[key];

    mc_check(n < VALUES, "more changes than the model has room for");
    return g_ghost.value[key][n] = present ? &g_objects[key][n] : NULL;
}

static void done(int key)
{
    g_ghost.done[key] = g_ghost.begun[key];
}

static void put(int key)
{
    mc_check(xs_map_put(&g_map, g_keys[key], begin(key, true)) == 0, "no memory in the model");
    done(key);
}

static void take(int key)
{
    void *before = g_ghost.value[key][g_ghost.done[key]];

    begin(key, false);
    mc_check(xs_map_remove(&g_map, g_keys[key]) == before, "a removal does not give what was put last");
    done(key);
}

/* What a put does when the table is full, and most of its keys are removed. */
static void clean(void)
{
    xs_lock_acquire(&g_map.lock);
    mc_check(grow(&g_map, atomic_load(&g_map.table)) == 0, "no memory in the model");
    xs_lock_release(&g_map.lock);
}

/* ---- look-ups, each judged ---- */

/* *from is the last change that an earlier look-up of this thread saw. */
static void look_by(void *get(struct xs_map *m, uint64_t key), int key, unsigned *from)
{
    unsigned n;
    char *value;

    mc_step();
    n = XS_MAX(*from, g_ghost.done[key]);
    mc_learn(&n, sizeof(n));
    value = get(&g_map, g_keys[key]);
    mc_check(!value || (value >= g_objects[key] && value < g_objects[key + 1]),
             "a look-up gives another key's value");
    while (n < g_ghost.begun[key] && g_ghost.value[key][n] != value)
        n++;
    mc_check(g_ghost.value[key][n] == value,
             value ? "a look-up gives what the key no longer has" : "a look-up misses a key that is there");
    *from = n;
    mc_learn(from, sizeof(*from));
}

static void look(void *get(struct xs_map *m, uint64_t key), int key, int times)
{
    unsigned from = 0;

    while (times--)
        look_by(get, key, &from);
}

static void look_a(void)
{
    look(xs_map_get, A, 1);
}

static void look_a_twice(void)
{
    look(xs_map_get, A, 2);
}

static void look_b_twice(void)
{
    look(xs_map_get, B, 2);
}

static void look_c(void)
{
    look(xs_map_get, C, 1);
}

static void look_c_twice(void)
{
    look(xs_map_get, C, 2);
}

/* ---- what goes on beside them ---- */

/* B has A's slot in between. */
static void there_and_back(void)
{
    take(A);
    put(B);
    take(B);
    put(A);
}

static void replace(void)
{
    put(A);
    put(A);
    take(A);
}

/* Takes slots that were never used, the first of them beside A's. */
static void arrive(void)
{
    put(B);
    take(B);
    put(B);
}

static void clean_twice(void)
{
    clean();
    take(A);
    clean();
}

/* B comes into a slot of the table that C had when the table was in use before. */
static void clean_and_arrive(void)
{
    take(A);
    clean();
    put(B);
}

static void put_and_take_a(void)
{
    put(A);
    take(A);
}

static void put_b(void)
{
    put(B);
}

static void put_and_take_b(void)
{
    put(B);
    take(B);
}

/* ---- wrong, or right in the model's own words ---- */

static void *get_of(struct xs_map *m, uint64_t key, bool looks_at_the_key_again)
{
    struct slot *s = find(atomic_load(&m->table), key);
    void *value;

    if (atomic_load(&s->key) != key)
        return NULL;
    value = atomic_load(&s->value);
    return looks_at_the_key_again && atomic_load(&s->key) != key ? NULL : value;
}

static void *get_at_once(struct xs_map *m, uint64_t key)
{
    return get_of(m, key, false);
}

static void *get_by_the_key(struct xs_map *m, uint64_t key)
{
    return get_of(m, key, true);
}

static void look_a_at_once(void)
{
    look(get_at_once, A, 1);
}

static void look_c_at_once(void)
{
    look(get_at_once, C, 1);
}

static void look_a_by_the_key(void)
{
    look(get_by_the_key, A, 1);
}

/* A put of B into A's slot that takes its steps in this order: k the key, g the generation, v the value. */
static void take_the_slot(const char *steps)
{
    void *value;
    struct slot *s;

    take(A);
    value = begin(B, true);
    xs_lock_acquire(&g_map.lock);
    s = find(*MC_PLAIN(&g_map.table), g_keys[B]);
    for (; *steps; steps++) {
        if (*steps == 'k')
            atomic_store_explicit(&s->key, g_keys[B], memory_order_release);
        else if (*steps == 'g')
            next_generation(&g_map);
        else
            atomic_store_explicit(&s->value, value, memory_order_release);
    }
    xs_lock_release(&g_map.lock);
    done(B);
}

static void take_slot_kgv(void)
{
    take_the_slot("kgv");
}

static void take_slot_vkg(void)
{
    take_the_slot("vkg");
}

static void take_slot_gkv(void)
{
    take_the_slot("gkv");
}

static void take_slot_kvg(void)
{
    take_the_slot("kvg");
}

/* The other table becomes the present one, in steps: e empties it, f fills it, p publishes it, g is the
 * generation. */
static void change_table(const char *steps)
{
    struct xs_map_table *t, *next;

    xs_lock_acquire(&g_map.lock);
    t = *MC_PLAIN(&g_map.table);
    next = (void *)g_heap.table[(char *)t == g_heap.table[0]];
    for (; *steps; steps++) {
        for (size_t i = 0; i <= t->mask; i++) {
            if (*steps == 'e') {
                atomic_store_explicit(&next->slots[i].value, NULL, memory_order_release);
                atomic_store_explicit(&next->slots[i].key, 0, memory_order_release);
            } else if (*steps == 'f' && *MC_PLAIN(&t->slots[i].value)) {
                put_new(&g_map, next, *MC_PLAIN(&t->slots[i].key), *MC_PLAIN(&t->slots[i].value));
            }
        }
        if (*steps == 'p')
            atomic_store_explicit(&g_map.table, next, memory_order_release);
        else if (*steps == 'g')
            next_generation(&g_map);
    }
    xs_lock_release(&g_map.lock);
}

static void change_table_efpg(void)
{
    change_table("efpg");
    change_table("efpg");
}

static void change_table_epfg(void)
{
    change_table("epfg");
}

static void change_table_efgp(void)
{
    change_table("efgp");
    change_table("efgp");
}

static void change_table_efp(void)
{
    change_table("efp");
    change_table("efp");
}

/* A removal that gives the slot back as never used. */
static void take_with_the_slot(void)
{
    struct slot *s;

    begin(A, false);
    xs_lock_acquire(&g_map.lock);
    s = find(*MC_PLAIN(&g_map.table), g_keys[A]);
    atomic_store_explicit(&s->key, 0, memory_order_release);
    atomic_store_explicit(&s->value, NULL, memory_order_release);
    xs_lock_release(&g_map.lock);
    done(A);
}

/* ---- the starts, made by the real code before the first exploration ---- */

struct world {
    struct xs_map map;
    __typeof__(g_heap) heap;
    __typeof__(g_ghost) ghost;
};

static struct world g_few, g_cleaned, g_full;

static void copy(void *to, void *from, size_t bytes, bool back)
{
    memcpy(back ? from : to, back ? to : from, bytes);
}

static void save_or_load(struct world *w, bool back)
{
    copy(&w->map, &g_map, sizeof(g_map), back);
    copy(&w->heap, &g_heap, sizeof(g_heap), back);
    copy(&w->ghost, &g_ghost, sizeof(g_ghost), back);
}

/* A, C and D are there; C lies behind A. */
static void few(void)
{
    save_or_load(&g_few, true);
}

/* The same, after a change of table: two tables of 16 slots. */
static void cleaned(void)
{
    save_or_load(&g_cleaned, true);
}

/* The same with as many other keys as let the next put double the table. */
static void full(void)
{
    save_or_load(&g_full, true);
}

static bool make_starts(void)
{
    static char other;
    uint64_t key = 1;
    bool ok;

    for (int i = 0; i < KEYS; key++)
        if ((xs_hash_u64(key) & 31) == (i == D ? 12 : 3))
            g_keys[i++] = key;
    put(A);
    put(C);
    put(D);
    save_or_load(&g_few, false);
    clean();
    ok = (*MC_PLAIN(&g_map.table))->mask == 15 && (*MC_PLAIN(&g_map.table))->older->mask == 15;
    save_or_load(&g_cleaned, false);
    few();
    for (; (*MC_PLAIN(&g_map.table))->used < 8; key++)
        xs_map_put(&g_map, key, &other);
    save_or_load(&g_full, false);
    return ok && g_full.heap.used == 1;
}

#define RIGHT(...) {__VA_ARGS__, .expect_violation = false}
#define WRONG(...) {__VA_ARGS__, .expect_violation = true}

int main(void)
{
    static const struct mc_model models[] = {
        RIGHT("map: a slot goes to another key and comes back", few, {there_and_back, look_a_twice}),
        RIGHT("map: a slot goes to another key and comes back, a key stays behind it", few,
              {there_and_back, look_c_twice}),
        RIGHT("map: a key comes into a slot that another one had", few, {there_and_back, look_b_twice}),
        RIGHT("map: a key comes, goes and comes", few, {arrive, look_b_twice}),
        RIGHT("map: a value is replaced, and two look", few, {replace, look_a_twice, look_a}),
        RIGHT("map: two writers for one slot", few, {put_and_take_a, put_and_take_b, look_a}),
        RIGHT("map: a table is used again", cleaned, {clean_twice, look_c_twice}),
        RIGHT("map: a table is used again, and its key goes", cleaned, {clean_twice, look_a_twice}),
        RIGHT("map: a table is used again, and a key comes", cleaned, {clean_and_arrive, look_b_twice}),
        RIGHT("map: a larger table", full, {arrive, look_c_twice}),
        RIGHT("map: a larger table, and two writers", full, {put_and_take_a, put_b}),
        RIGHT("map: a slot's key, generation, value", few, {take_slot_kgv, look_a_twice}),
        RIGHT("map: a table is emptied, filled, published, then the generation", cleaned,
              {change_table_efpg, look_c_twice}),

        WRONG("map: a slot's value before its key", few, {take_slot_vkg, look_a}),
        WRONG("map: the generation before the key", few, {take_slot_gkv, look_a}),
        WRONG("map: the generation after the value", few, {take_slot_kvg, look_a}),
        WRONG("map: a removal that frees the slot", few, {take_with_the_slot, look_c}),
        WRONG("map: a table published before it is filled", cleaned, {change_table_epfg, look_c}),
        WRONG("map: the generation before the table", cleaned, {change_table_efgp, look_c}),
        WRONG("map: a change of table without a generation", cleaned, {change_table_efp, look_c}),
        WRONG("map: a look-up that looks once", few, {there_and_back, look_a_at_once}),
        WRONG("map: a look-up that looks once in a table used again", cleaned, {clean_twice, look_c_at_once}),
        WRONG("map: a look-up that looks at the key again only", few, {there_and_back, look_a_by_the_key}),
    };
    int failed = !make_starts();

    mc_region(&g_map, sizeof(g_map));
    mc_region(&g_heap, sizeof(g_heap));
    mc_region(&g_ghost, sizeof(g_ghost));
    for (size_t i = 0; i < XS_ARRAY_LEN(models); i++)
        failed |= mc_run(&models[i]);
    return failed;
}
