/* SPDX-License-Identifier: Apache-2.0 */
/* base/map.c by itself: tests/model/model_map.c has what look-ups see beside changes. */
#include "base/map.h"

#include <pthread.h>
#include <stdlib.h>

static bool g_no_memory;
static size_t g_tables, g_tables_freed;

static void *counted_calloc(size_t n, size_t bytes)
{
    if (g_no_memory)
        return NULL;
    g_tables++;
    return calloc(n, bytes);
}

static void counted_free(void *p)
{
    g_tables_freed++;
    free(p);
}

#define calloc(n, bytes) counted_calloc(n, bytes)
#define free(p)          counted_free(p)
#include "base/map.c"
#undef calloc
#undef free

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define FIRST_SLOTS 16         /* of a map's first table */

static char g_values[4096];    /* only the addresses count */

static size_t slots(struct xs_map *m)
{
    return atomic_load(&m->table)->mask + 1;
}

/* The next key after `key` of which look-ups in a table of `of` slots begin at `slot`. */
static uint64_t key_at(uint64_t key, size_t slot, size_t of)
{
    do
        key++;
    while ((xs_hash_u64(key) & (of - 1)) != slot);
    return key;
}

static int setup(void **state)
{
    struct xs_map *m = calloc(1, sizeof(*m));

    g_no_memory = false;
    g_tables = g_tables_freed = 0;
    *state = m;
    return m ? 0 : -1;
}

static int teardown(void **state)
{
    xs_map_fini(*state);
    free(*state);
    return g_tables == g_tables_freed ? 0 : -1;
}

static void an_empty_map(void **state)
{
    struct xs_map *m = *state;

    assert_null(xs_map_get(m, 1));
    assert_null(xs_map_get(m, 0));
    assert_null(xs_map_remove(m, 1));
    assert_null(xs_map_remove(m, 0));
    assert_null(xs_map_get(m, UINT64_MAX));
    assert_int_equal(g_tables, 0); /* a map without keys costs nothing */
}

static void what_cannot_be_a_key_or_a_value(void **state)
{
    struct xs_map *m = *state;

    assert_int_equal(xs_map_put(m, 0, g_values), -EINVAL);
    assert_int_equal(xs_map_put(m, 7, NULL), -EINVAL);
    assert_int_equal(g_tables, 0);
    assert_int_equal(xs_map_put(m, 7, g_values), 0);
    assert_int_equal(xs_map_put(m, 7, NULL), -EINVAL);
    assert_int_equal(xs_map_put(m, 0, g_values), -EINVAL);
    assert_ptr_equal(xs_map_get(m, 7), g_values);
    assert_null(xs_map_get(m, 0));
    assert_null(xs_map_remove(m, 0));
}

static void put_get_replace_remove(void **state)
{
    static const uint64_t k_keys[] = {1, 2, UINT32_MAX, UINT32_MAX + 2ull, 1ull << 63, UINT64_MAX};
    struct xs_map *m = *state;

    for (size_t i = 0; i < XS_ARRAY_LEN(k_keys); i++) {
        assert_null(xs_map_get(m, k_keys[i]));
        assert_int_equal(xs_map_put(m, k_keys[i], &g_values[i]), 0);
    }
    for (size_t i = 0; i < XS_ARRAY_LEN(k_keys); i++) {
        assert_ptr_equal(xs_map_get(m, k_keys[i]), &g_values[i]);
        assert_int_equal(xs_map_put(m, k_keys[i], &g_values[i + 100]), 0);
        assert_ptr_equal(xs_map_get(m, k_keys[i]), &g_values[i + 100]);
    }
    for (size_t i = 0; i < XS_ARRAY_LEN(k_keys); i++) {
        assert_ptr_equal(xs_map_remove(m, k_keys[i]), &g_values[i + 100]);
        assert_null(xs_map_get(m, k_keys[i]));
        assert_null(xs_map_remove(m, k_keys[i]));
        if (i + 1 < XS_ARRAY_LEN(k_keys))
            assert_ptr_equal(xs_map_get(m, k_keys[i + 1]), &g_values[i + 101]);
    }
    assert_int_equal(xs_map_put(m, 1, g_values), 0); /* one that was there before */
    assert_ptr_equal(xs_map_get(m, 1), g_values);
    assert_int_equal(g_tables, 1);
    assert_int_equal(slots(m), FIRST_SLOTS);
}

/* Three keys that begin at the last slot, so that two of them lie at the table's beginning. */
static void keys_that_begin_at_one_slot(void **state)
{
    struct xs_map *m = *state;
    uint64_t a = key_at(0, FIRST_SLOTS - 1, FIRST_SLOTS), b = key_at(a, FIRST_SLOTS - 1, FIRST_SLOTS),
             c = key_at(b, FIRST_SLOTS - 1, FIRST_SLOTS), d = key_at(c, FIRST_SLOTS - 1, FIRST_SLOTS);

    assert_int_equal(xs_map_put(m, a, &g_values[1]), 0);
    assert_int_equal(xs_map_put(m, b, &g_values[2]), 0);
    assert_int_equal(xs_map_put(m, c, &g_values[3]), 0);
    assert_null(xs_map_get(m, d));
    assert_null(xs_map_remove(m, d));
    assert_ptr_equal(xs_map_get(m, b), &g_values[2]);
    assert_ptr_equal(xs_map_get(m, c), &g_values[3]);
    assert_ptr_equal(xs_map_remove(m, a), &g_values[1]);
    assert_ptr_equal(xs_map_get(m, c), &g_values[3]); /* found behind a removed one */
    assert_int_equal(xs_map_put(m, c, &g_values[4]), 0); /* and replaced there, not added before it */
    assert_ptr_equal(xs_map_remove(m, c), &g_values[4]);
    assert_null(xs_map_get(m, c));
    assert_int_equal(atomic_load(&m->table)->used, 3);
    assert_int_equal(xs_map_put(m, d, &g_values[5]), 0); /* takes the slot of a */
    assert_int_equal(atomic_load(&m->table)->used, 3);
    assert_ptr_equal(xs_map_get(m, d), &g_values[5]);
    assert_ptr_equal(xs_map_get(m, b), &g_values[2]);
    assert_null(xs_map_get(m, a));
    assert_null(xs_map_get(m, c));
}

/* One and the same slot, in which only the generation tells one use from the next. */
static void a_slot_for_another_key_is_a_generation(void **state)
{
    struct xs_map *m = *state;
    uint64_t a = key_at(0, 3, FIRST_SLOTS), b = key_at(a, 3, FIRST_SLOTS);
    uint32_t generation;

    assert_int_equal(xs_map_put(m, a, g_values), 0);
    generation = atomic_load(&m->generation);
    assert_int_equal(xs_map_put(m, a, &g_values[1]), 0);
    xs_map_remove(m, a);
    assert_int_equal(xs_map_put(m, a, g_values), 0);
    xs_map_remove(m, a);
    assert_int_equal(atomic_load(&m->generation), generation); /* the key had its own slot again */
    assert_int_equal(xs_map_put(m, b, g_values), 0);
    assert_int_equal(atomic_load(&m->generation), generation + 1);
    atomic_store(&m->generation, UINT32_MAX);
    xs_map_remove(m, b);
    assert_int_equal(xs_map_put(m, a, &g_values[2]), 0);
    assert_int_equal(atomic_load(&m->generation), 0);
    assert_ptr_equal(xs_map_get(m, a), &g_values[2]);
    assert_null(xs_map_get(m, b));
}

static void a_table_is_at_most_half_full(void **state)
{
    struct xs_map *m = *state;

    for (uint64_t key = 1; key <= XS_ARRAY_LEN(g_values); key++) {
        assert_int_equal(xs_map_put(m, key, &g_values[key - 1]), 0);
        assert_true(key * 2 <= slots(m));
        assert_true(key <= FIRST_SLOTS / 2 || key * 4 > slots(m)); /* and not much larger than that */
        assert_int_equal(atomic_load(&m->table)->used, key);
    }
    for (uint64_t key = 1; key <= XS_ARRAY_LEN(g_values); key++)
        assert_ptr_equal(xs_map_get(m, key), &g_values[key - 1]);
    assert_null(xs_map_get(m, XS_ARRAY_LEN(g_values) + 1));
    for (uint64_t key = 1; key <= XS_ARRAY_LEN(g_values); key += 2)
        assert_ptr_equal(xs_map_remove(m, key), &g_values[key - 1]);
    for (uint64_t key = 1; key <= XS_ARRAY_LEN(g_values); key++)
        assert_ptr_equal(xs_map_get(m, key), key & 1 ? NULL : &g_values[key - 1]);
}

/* Streams come and go for days: two tables take turns, and what stays is found in each. */
static void keys_that_come_and_go_cost_no_more_memory(void **state)
{
    struct xs_map *m = *state;
    struct xs_map_table *before;
    uint64_t stays[3], changes = 0;

    for (size_t i = 0; i < XS_ARRAY_LEN(stays); i++) {
        stays[i] = UINT64_MAX - i;
        assert_int_equal(xs_map_put(m, stays[i], &g_values[i]), 0);
    }
    before = atomic_load(&m->table);
    for (uint64_t key = 1; key <= 20000; key++) {
        assert_int_equal(xs_map_put(m, key, &g_values[100]), 0);
        changes += atomic_load(&m->table) != before;
        before = atomic_load(&m->table);
        assert_ptr_equal(xs_map_get(m, key), &g_values[100]);
        assert_ptr_equal(xs_map_remove(m, key), &g_values[100]);
        assert_null(xs_map_get(m, key));
        assert_null(xs_map_get(m, key > 8 ? key - 8 : 1));
        for (size_t i = 0; i < XS_ARRAY_LEN(stays); i++)
            assert_ptr_equal(xs_map_get(m, stays[i]), &g_values[i]);
    }
    assert_int_equal(slots(m), FIRST_SLOTS);
    assert_int_equal(g_tables, 2);
    assert_in_range(changes, 100, 20000 / (FIRST_SLOTS / 2 - XS_ARRAY_LEN(stays)));
    /* a table that was used again grows when a new one would */
    for (uint64_t key = 30001; key <= 30100; key++) {
        assert_int_equal(xs_map_put(m, key, &g_values[key - 30000]), 0);
        assert_true((key - 30000 + XS_ARRAY_LEN(stays)) * 2 <= slots(m));
    }
    for (uint64_t key = 30001; key <= 30100; key++)
        assert_ptr_equal(xs_map_get(m, key), &g_values[key - 30000]);
}

/* At most two tables of each size, whatever happens in between. */
static void tables_that_are_outgrown_are_few(void **state)
{
    struct xs_map *m = *state;
    uint64_t key = 1;
    size_t all = 0;

    for (uint64_t live = 4; live <= 512; live *= 2) {
        for (uint64_t round = 0; round < 8; round++) {
            for (uint64_t i = 0; i < live; i++)
                assert_int_equal(xs_map_put(m, key + i, g_values), 0);
            for (uint64_t i = 0; i < live; i++)
                assert_ptr_equal(xs_map_remove(m, key + i), g_values);
            key += live;
        }
    }
    for (struct xs_map_table *t = atomic_load(&m->table); t; t = t->older)
        all += t->mask + 1;
    assert_true(all < slots(m) * 4);
    assert_true(slots(m) <= 2048);
}

static void without_memory_a_map_is_as_it_was(void **state)
{
    struct xs_map *m = *state;
    uint64_t most = FIRST_SLOTS / 2;

    g_no_memory = true;
    assert_int_equal(xs_map_put(m, 1, g_values), -ENOMEM);
    assert_null(xs_map_get(m, 1));
    g_no_memory = false;
    for (uint64_t key = 1; key <= most; key++)
        assert_int_equal(xs_map_put(m, key, &g_values[key]), 0);
    g_no_memory = true;
    assert_int_equal(xs_map_put(m, most + 1, &g_values[most + 1]), -ENOMEM);
    assert_null(xs_map_get(m, most + 1));
    for (uint64_t key = 1; key <= most; key++)
        assert_ptr_equal(xs_map_get(m, key), &g_values[key]);
    assert_ptr_equal(xs_map_remove(m, 3), &g_values[3]);
    g_no_memory = false;
    assert_int_equal(xs_map_put(m, most + 1, &g_values[most + 1]), 0); /* the lock was released */
    assert_ptr_equal(xs_map_get(m, most + 1), &g_values[most + 1]);
    assert_null(xs_map_get(m, 3));
    for (uint64_t key = 4; key <= most; key++)
        assert_ptr_equal(xs_map_get(m, key), &g_values[key]);
}

static void a_map_that_was_freed_is_empty(void **state)
{
    struct xs_map *m = *state;

    for (uint64_t key = 1; key <= 100; key++)
        assert_int_equal(xs_map_put(m, key, g_values), 0);
    xs_map_fini(m);
    assert_true(g_tables > 2 && g_tables == g_tables_freed);
    xs_map_fini(m);
    assert_null(xs_map_get(m, 1));
    assert_int_equal(xs_map_put(m, 1, &g_values[1]), 0);
    assert_ptr_equal(xs_map_get(m, 1), &g_values[1]);
}

/* The finaliser of MurmurHash3 maps each word to another one, and near ones far apart. */
static void hashes(void **state)
{
    size_t hits[FIRST_SLOTS] = {0};

    (void)state;
    assert_true(xs_hash_u64(0) == 0);
    assert_true(xs_hash_u64(1) == 0xb456bcfc34c2cb2cull);
    assert_true(xs_hash_u64(UINT64_MAX) == 0x64b5720b4b825f21ull);
    for (uint64_t key = 0; key < 1600; key++)
        hits[xs_hash_u64(0x7f0000000000ull + key * 4096) & (FIRST_SLOTS - 1)]++; /* addresses of pages */
    for (size_t i = 0; i < FIRST_SLOTS; i++)
        assert_in_range(hits[i], 50, 150);
}

/* ---- threads, for the thread sanitizer above all ---- */

static struct xs_map g_shared;
static atomic_bool g_end;

static void *reader(void *arg)
{
    uint64_t wrong = 0;

    (void)arg;
    while (!atomic_load(&g_end)) {
        for (uint64_t key = 1; key < 64; key++) {
            char *value = xs_map_get(&g_shared, key);

            wrong += value ? (size_t)(value - g_values) % 64 != key : key <= 32;
        }
    }
    return (void *)(uintptr_t)wrong;
}

/* Keys up to 32 change their values and never go; a value says whose it is. */
static void *writer(void *arg)
{
    size_t round = (size_t)(uintptr_t)arg;

    for (size_t i = 0; i < 20000; i++) {
        uint64_t key = 33 + round * 8 + i % 7;

        if (xs_map_put(&g_shared, key, &g_values[key]) < 0 ||
            xs_map_put(&g_shared, 1 + i % 32, &g_values[1 + i % 32 + i % 64 * 64]) < 0 ||
            xs_map_put(&g_shared, 1000 + i * 2 + round, g_values) < 0)
            return &g_end;
        xs_map_remove(&g_shared, 1000 + i * 2 + round);
        if (xs_map_remove(&g_shared, key) != &g_values[key])
            return &g_end;
    }
    return NULL;
}

static void look_ups_beside_changes(void **state)
{
    pthread_t readers[2], writers[2];
    void *result;

    (void)state;
    for (uint64_t key = 1; key <= 32; key++)
        assert_int_equal(xs_map_put(&g_shared, key, &g_values[key]), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&readers[i], NULL, reader, NULL), 0);
        assert_int_equal(pthread_create(&writers[i], NULL, writer, (void *)(uintptr_t)i), 0);
    }
    for (size_t i = 0; i < 2; i++) {
        pthread_join(writers[i], &result);
        assert_null(result);
    }
    atomic_store(&g_end, true);
    for (size_t i = 0; i < 2; i++) {
        pthread_join(readers[i], &result);
        assert_null(result);
    }
    xs_map_fini(&g_shared);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_empty_map),
        TEST(what_cannot_be_a_key_or_a_value),
        TEST(put_get_replace_remove),
        TEST(keys_that_begin_at_one_slot),
        TEST(a_slot_for_another_key_is_a_generation),
        TEST(a_table_is_at_most_half_full),
        TEST(keys_that_come_and_go_cost_no_more_memory),
        TEST(tables_that_are_outgrown_are_few),
        TEST(without_memory_a_map_is_as_it_was),
        TEST(a_map_that_was_freed_is_empty),
        TEST(hashes),
        TEST(look_ups_beside_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
