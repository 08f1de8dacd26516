/* SPDX-License-Identifier: Apache-2.0 */
/* The bookkeeping of served memory, and the host's room, without a driver. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "hal/cuda/swap/blocks.h"
#include "hal/cuda/swap/store.h"

#define MIB ((size_t)1 << 20)

static struct xs_swap_range *put(struct xs_swap_table *t, uint64_t at, size_t reserved, enum xs_swap_state state, int dev)
{
    struct xs_swap_range *r = xs_swap_range_new(at, reserved, dev);

    assert_non_null(r);
    assert_int_equal(r->state, XS_SWAP_BUSY);
    r->bytes = state == XS_SWAP_EMPTY ? 0 : reserved;
    r->state = state;
    assert_true(xs_swap_table_add(t, r));
    return r;
}

static void drop(struct xs_swap_table *t)
{
    while (t->count) {
        struct xs_swap_range *r = t->all[t->count / 2];

        xs_swap_table_remove(t, r);
        xs_swap_range_free(r);
    }
    free(t->all);
}

static void sizes(void **state)
{
    struct xs_swap_range r = {.bytes = 130 * MIB};

    (void)state;
    assert_int_equal(xs_swap_round(1), 2 * MIB);
    assert_int_equal(xs_swap_round(2 * MIB), 2 * MIB);
    assert_int_equal(xs_swap_round(2 * MIB + 1), 4 * MIB);
    assert_int_equal(xs_swap_round(SIZE_MAX), 0);
    assert_int_equal(xs_swap_blocks(2 * MIB), 1);
    assert_int_equal(xs_swap_blocks(64 * MIB), 1);
    assert_int_equal(xs_swap_blocks(66 * MIB), 2);
    assert_int_equal(xs_swap_block_bytes(&r, 0), 64 * MIB);
    assert_int_equal(xs_swap_block_bytes(&r, 2), 2 * MIB);
}

static void an_address_finds_its_range(void **state)
{
    struct xs_swap_table t = {0};
    struct xs_swap_range *gone;
    uint32_t order[200];

    (void)state;
    for (uint32_t i = 0; i < XS_ARRAY_LEN(order); i++)
        order[i] = i * 77 % XS_ARRAY_LEN(order); /* not sorted; 77 and 200 have no common divisor */
    for (uint32_t i = 0; i < XS_ARRAY_LEN(order); i++)
        put(&t, 100 * MIB * (order[i] + 1), 4 * MIB, XS_SWAP_USED, 0);
    for (uint32_t i = 0; i < XS_ARRAY_LEN(order); i++) {
        uint64_t at = 100 * MIB * (i + 1);

        assert_int_equal(xs_swap_table_find(&t, at)->at, at);
        assert_int_equal(xs_swap_table_find(&t, at + 4 * MIB - 1)->at, at);
        assert_null(xs_swap_table_find(&t, at - 1));
        assert_null(xs_swap_table_find(&t, at + 4 * MIB));
    }
    gone = xs_swap_table_find(&t, 500 * MIB);
    xs_swap_table_remove(&t, gone);
    xs_swap_range_free(gone);
    assert_null(xs_swap_table_find(&t, 500 * MIB));
    assert_int_equal(xs_swap_table_find(&t, 600 * MIB)->at, 600 * MIB);
    drop(&t);
}

static void what_is_free_is_used_again(void **state)
{
    struct xs_swap_table t = {0};
    struct xs_swap_range *kept = put(&t, 1000 * MIB, 16 * MIB, XS_SWAP_KEPT, 0), *empty, *large;
    bool memory = false;

    (void)state;
    large = put(&t, 2000 * MIB, 20 * MIB, XS_SWAP_EMPTY, 0);
    empty = put(&t, 3000 * MIB, 18 * MIB, XS_SWAP_EMPTY, 0);
    put(&t, 4000 * MIB, 16 * MIB, XS_SWAP_USED, 0);
    put(&t, 5000 * MIB, 16 * MIB, XS_SWAP_KEPT, 1);
    assert_ptr_equal(xs_swap_table_take(&t, 16 * MIB, 0, &memory), kept);
    assert_true(memory);
    assert_int_equal(kept->state, XS_SWAP_BUSY);
    assert_ptr_equal(xs_swap_table_take(&t, 16 * MIB, 0, &memory), empty); /* 18 fits better than 20 */
    assert_false(memory);
    assert_null(xs_swap_table_take(&t, 16 * MIB, 0, &memory)); /* 20 is too large */
    assert_null(xs_swap_table_take(&t, 22 * MIB, 0, &memory));
    assert_ptr_equal(xs_swap_table_take(&t, 20 * MIB, 0, &memory), large);
    kept->state = XS_SWAP_KEPT;
    kept->stays = true;
    assert_null(xs_swap_table_take(&t, 16 * MIB, 0, &memory)); /* others know it */
    assert_int_equal(xs_swap_table_bytes(&t, 1u << XS_SWAP_KEPT, -1), 32 * MIB);
    assert_int_equal(xs_swap_table_bytes(&t, 1u << XS_SWAP_KEPT, 1), 16 * MIB);
    drop(&t);
}

static void room_of_the_host_and_the_group(void **state)
{
    const char *meminfo = "MemTotal:       1000 kB\nMemFree:  7 kB\nMemAvailable:    500 kB\nBuffers: 3 kB\n";

    (void)state;
    assert_int_equal(xs_swap_store_room_of(meminfo, NULL, NULL), 500 * 1024);
    assert_int_equal(xs_swap_store_room_of(meminfo, "max\n", "4096\n"), 500 * 1024);
    assert_int_equal(xs_swap_store_room_of(meminfo, "8192\n", "4096\n"), 4096);
    assert_int_equal(xs_swap_store_room_of(meminfo, "4096\n", "8192\n"), 0);
    assert_true(xs_swap_store_room_of(NULL, NULL, NULL) == SIZE_MAX);
    assert_true(xs_swap_store_room_of("MemAvailable: kB", "max", "") == SIZE_MAX);
    assert_true(xs_swap_store_room() > MIB); /* of this machine */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(an_address_finds_its_range),
        cmocka_unit_test(what_is_free_is_used_again),
        cmocka_unit_test(room_of_the_host_and_the_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
