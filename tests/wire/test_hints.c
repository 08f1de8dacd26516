/* SPDX-License-Identifier: Apache-2.0 */
/* The hints in messages: their bytes, and which of two changes counts. With MORE_HINTS, for a table with two further hints. */
#include "wire/hints.h"

#include "xsched/types.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HANDLE 0x0102030405060708u

/* As programs and servers of protocol minor 7 send them. A change of a byte breaks those that run now. */
static const char k_hints[] =
    "06005000" "09000000" "0807060504030201" "f9ffffff" "21000000" "5544332211000000" "aa99887766000000" "fdffffff" "13000000"
    "0010000000000000" "0120000000000000" "0000000000000000" "0340000000000000";
static const char k_add[] =
    "04005800" "09000000" "0807060504030201" "1817161514131211" "05000000" "02000000" "f9ffffff" "21000000" "5544332211000000"
    "aa99887766000000" "fdffffff" "13000000" "1000000000000000" "0800000000000000" "06000000" "02000000";

static const struct xs_dated_hints k_some = {
    .hints = {-7, 33, 0x1122334455, 0x66778899aa, -3, 19}, .changed_ns = {0x1001, 0x2002, 0, 0x4004}};

enum {
    LATER_HINTS = 0
#define LATER_HINT(...) +1
#include "base/settings/hints.def"
};

/* A message has these bytes and behind them only later hints, so many bytes each; its head counts those. */
static void check_bytes(union xs_msg *m, enum xs_msg_id id, const char *wanted, size_t of_later)
{
    size_t bytes = xs_wire_seal(m, id, 9), n = strlen(wanted) / 2;
    char text[XS_WIRE_MAX_BYTES * 2 + 1];

    assert_int_equal(bytes, n + LATER_HINTS * of_later);
    m->head.bytes = (uint16_t)n;
    for (size_t i = 0; i < n; i++)
        snprintf(text + 2 * i, 3, "%02x", ((unsigned char *)m)[i]);
    assert_string_equal(text, wanted);
}

static void bytes(void **state)
{
    union xs_msg m = {.queue_hints = {.handle = HANDLE}};
    union xs_msg a = {.queue_add = {.handle = HANDLE, .device = 0x1112131415161718, .cell = 5, .level = 2, .threshold = 16,
                                    .batch_size = 8, .levels = 6, .platform = 2}};

    (void)state;
    xs_hints_pack(&m.queue_hints, &k_some, 1);
    check_bytes(&m, XS_MSG_queue_hints, k_hints, 16);
    xs_hints_pack_add(&a.queue_add, &k_some);
    check_bytes(&a, XS_MSG_queue_add, k_add, 8);
}

static void add(void **state)
{
    struct xs_dated_hints h;
    union xs_msg m = {0};

    (void)state;
    xs_hints_pack_add(&m.queue_add, &k_some);
    memset(&h, 0xff, sizeof(h));
    xs_hints_of_add(&h, &m.queue_add, 7);
    assert_memory_equal(&h.hints, &k_some.hints, sizeof(h.hints));
    for (unsigned i = 0; i < XS_PARTS; i++)
        assert_int_equal(h.changed_ns[i], 0);
    m.queue_add.deadline_us = 0; /* as an older program says none */
    xs_hints_of_add(&h, &m.queue_add, 0);
    assert_int_equal(h.hints.deadline_us, -1);
}

static void later_change_counts(void **state)
{
    static const struct xs_hints k_theirs = {5, 50, 500, 5000, 1, 2};

    (void)state;
    for (unsigned newer = 0; newer < 16; newer++) { /* the parts that changed later there */
        struct xs_dated_hints ours = k_some, theirs = {.hints = k_theirs};
        union xs_msg m = {0};

        for (unsigned i = 0; i < 4; i++) {
            ours.changed_ns[i] = 1000;
            theirs.changed_ns[i] = newer & 1u << i ? 1500 : 500;
        }
        xs_hints_pack(&m.queue_hints, &theirs, 0);
        xs_hints_merge(&ours, &m.queue_hints, 7, 0, 2000);
        assert_int_equal(ours.hints.priority, newer & 1 ? 5 : -7);
        assert_int_equal(ours.hints.utilization, newer & 2 ? 50 : 33);
        assert_int_equal(ours.hints.deadline_us, newer & 4 ? 500 : k_some.hints.deadline_us);
        assert_int_equal(ours.hints.laxity_us, newer & 8 ? 5000 : k_some.hints.laxity_us);
        assert_int_equal(ours.hints.lax_priority, newer & 8 ? 1 : -3);
        assert_int_equal(ours.hints.critical_priority, newer & 8 ? 2 : 19);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(ours.changed_ns[i], newer & 1u << i ? 1500 : 1000);
        xs_hints_merge(&ours, &m.queue_hints, 4, 0, 2000); /* without times: all of them */
        assert_memory_equal(&ours.hints, &k_theirs, sizeof(k_theirs));
    }
}

static void clocks(void **state)
{
    struct xs_dated_hints ours = k_some, theirs = {.hints = {.priority = 5}, .changed_ns = {1000}};
    union xs_msg m = {0};

    (void)state;
    xs_hints_pack(&m.queue_hints, &theirs, 300);
    assert_int_equal(m.queue_hints.changed_ns[XS_PART_PRIORITY], 700);
    ours.changed_ns[XS_PART_PRIORITY] = 0;
    xs_hints_merge(&ours, &m.queue_hints, 7, 50, 600); /* no change is later than now */
    assert_int_equal(ours.changed_ns[XS_PART_PRIORITY], 600);
    assert_int_equal(ours.hints.priority, 5);
}

#ifdef MORE_HINTS
/* A peer that does not know a hint neither sets nor clears it, and one that knows it sends it. */
static void later_hints(void **state)
{
    struct xs_dated_hints mine = k_some, h;
    union xs_msg m = {0}, got;
    size_t n;

    (void)state;
    mine.later = xs_hints_later_none;
    mine.later.first = 77;
    mine.later.second_us = 5000;
    mine.changed_ns[XS_PART_FIRST] = 0x5005;
    mine.changed_ns[XS_PART_SECOND] = 0x6006;

    xs_hints_pack_add(&m.queue_add, &mine);
    m.queue_add.handle = 1;
    m.queue_add.level = 1;
    m.queue_add.threshold = m.queue_add.batch_size = 1;
    n = xs_wire_seal(&m, XS_MSG_queue_add, 1);
    assert_int_equal(xs_wire_open(&m, n, &got, NULL), 0);
    xs_hints_of_add(&h, &got.queue_add, 109);
    assert_int_equal(h.later.first, 77);
    assert_int_equal(h.later.second_us, 5000);
    xs_hints_of_add(&h, &got.queue_add, 108);
    assert_int_equal(h.later.first, 77);
    assert_int_equal(h.later.second_us, -1);

    /* a program of minor 7: the packet ends before them */
    n = strlen(k_add) / 2;
    m.head.bytes = (uint16_t)n;
    assert_int_equal(xs_wire_open(&m, n, &got, NULL), 0);
    xs_hints_of_add(&h, &got.queue_add, 7);
    assert_int_equal(h.later.first, 1);
    assert_int_equal(h.later.second_us, -1);
    assert_int_equal(h.hints.priority, -7);

    memset(&m, 0, sizeof(m));
    m.queue_hints.handle = 1;
    xs_hints_pack(&m.queue_hints, &mine, 0);
    n = xs_wire_seal(&m, XS_MSG_queue_hints, 1);
    assert_int_equal(xs_wire_open(&m, n, &got, NULL), 0);
    h = k_some;
    h.later = xs_hints_later_none;
    xs_hints_merge(&h, &got.queue_hints, 109, 0, UINT64_MAX);
    assert_memory_equal(&h, &mine, sizeof(h));
    h.later.first = 3;
    h.changed_ns[XS_PART_FIRST] = 0x7007; /* ours is later */
    xs_hints_merge(&h, &got.queue_hints, 109, 0, UINT64_MAX);
    assert_int_equal(h.later.first, 3);
    h.changed_ns[XS_PART_FIRST] = 0;
    xs_hints_merge(&h, &got.queue_hints, 7, 0, UINT64_MAX); /* it does not know them */
    assert_int_equal(h.later.first, 3);
    assert_int_equal(h.later.second_us, 5000);

    /* the decoder knows their ranges */
    m.queue_hints.first = 1001;
    assert_int_not_equal(xs_wire_open(&m, n, &got, NULL), 0);
    m.queue_hints.first = 0; /* none */
    assert_int_equal(xs_wire_open(&m, n, &got, NULL), 0);
    h = mine;
    xs_hints_merge(&h, &got.queue_hints, 109, 0, UINT64_MAX);
    assert_int_equal(h.later.first, 1);
    m.queue_hints.first = -1;
    assert_int_not_equal(xs_wire_open(&m, n, &got, NULL), 0);
    m.queue_hints.first = 1;
    assert_int_equal(xs_wire_open(&m, n, &got, NULL), 0);
    m.queue_hints.second_us = -2;
    assert_int_not_equal(xs_wire_open(&m, n, &got, NULL), 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes),
        cmocka_unit_test(add),
        cmocka_unit_test(later_change_counts),
        cmocka_unit_test(clocks),
#ifdef MORE_HINTS
        cmocka_unit_test(later_hints),
#endif
    };

    return cmocka_run_group_tests_name("wire.hints", tests, NULL, NULL);
}
