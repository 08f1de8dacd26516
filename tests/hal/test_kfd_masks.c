/* SPDX-License-Identifier: Apache-2.0 */
/* Masks of compute units of each architecture, against rows that were worked out by hand from the rules of the kernel
 * driver, as Linux has them (read on 2026-11-30; nothing of it is here):
 *
 *   drivers/gpu/drm/amd/amdkfd/kfd_mqd_manager.c, mqd_symmetrically_map_cu_mask: bit b goes to die b % dies; there
 *     round the shader engines, then the arrays of an engine, then the units of an array; units from the count of
 *     active ones on are ignored; from gfx10 on two units at a time
 *   kfd_process_queue_manager.c, pqm_update_mqd: from gfx10 on half a pair is EINVAL
 *   kfd_chardev.c, kfd_ioctl_set_cu_mask: a count that is no multiple of 32, or 0, is EINVAL; 1024 bits at most
 *   kfd_topology.c, node_show: simd_count and array_count are those of all dies, simd_arrays_per_engine of one engine
 *   kfd_crat.c: array_count of a die is its engines times their arrays
 *
 * How a row is worked out, MI300X: 304 units on 8 dies of 4 engines, one array each, are 32 engines. The wide part
 * leaves one unit in eleven, 304 - 27 = 277. The same number in each engine is 277 / 32 = 8, so 256 units: 8 words. */
#include "hal/hip/kfd/kfd_masks.h"
#include "wire/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define F 0xffffffffu

/* @param s  target, dies, arrays, arrays an engine, units */
struct row {
    const char *what;
    struct xs_kfd_shape s;
    uint32_t wide, narrow, least;
    uint32_t wide_words[10], narrow_words[10];
};

static const struct row k_rows[] = {
    {"gfx90a, MI210", {90010, 1, 8, 1, 104}, 88, 48, 8, {F, F, 0x00ffffff, 0}, {F, 0x0000ffff, 0, 0}},
    {"gfx90a, a die of MI250X", {90010, 1, 8, 1, 110}, 96, 48, 8, {F, F, F, 0}, {F, 0x0000ffff, 0, 0}},
    {"gfx942, MI300X", {90402, 8, 32, 1, 304}, 256, 128, 32, {F, F, F, F, F, F, F, F, 0, 0}, {F, F, F, F}},
    {"gfx942, MI300X, one die off", {90402, 7, 28, 1, 266}, 224, 112, 28, {F, F, F, F, F, F, F, 0, 0},
     {F, F, F, 0x0000ffff}},
    {"gfx942, MI300X, a part of CPX", {90402, 1, 4, 1, 38}, 32, 16, 4, {F, 0}, {0x0000ffff, 0}},
    {"gfx942, MI300A", {90402, 6, 24, 1, 228}, 192, 96, 24, {F, F, F, F, F, F, 0, 0}, {F, F, F}},
    {"gfx950, MI355X", {90500, 8, 32, 1, 256}, 224, 128, 32, {F, F, F, F, F, F, F, 0}, {F, F, F, F}},
    {"gfx1030, Navi 21", {100300, 1, 8, 2, 80}, 72, 40, 16, {F, F, 0x000000ff}, {F, 0x000000ff, 0}},
    {"gfx1100, Navi 31", {110000, 1, 12, 2, 96}, 84, 48, 24, {F, F, 0x000fffff}, {F, 0x0000ffff, 0}},
    {"gfx1151, Strix Halo", {110501, 1, 4, 2, 40}, 36, 20, 8, {F, 0x0000000f}, {0x000fffff, 0}},
    {"gfx1201, Navi 48", {120001, 1, 8, 2, 64}, 56, 32, 16, {F, 0x00ffffff}, {F, 0}},
};

static void is(const struct row *r, uint32_t part, const uint32_t *words)
{
    struct xs_kfd_mask none = {.bits = 0}, m;

    xs_kfd_mask_of(&r->s, part, &none, &m);
    assert_int_equal(m.bits, (r->s.units + 31) / 32 * 32);
    for (uint32_t i = 0; i < m.bits / 32; i++)
        assert_int_equal(m.words[i], words[i]);
}

static void each_architecture(void **state)
{
    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        const struct row *r = &k_rows[i];

        print_message("%s\n", r->what);
        assert_null(xs_kfd_shape_refused(&r->s));
        assert_int_equal(xs_kfd_part(&r->s, XS_LANES_PART(r->s.units, XS_LANES_WIDE_LEAVES)), r->wide);
        assert_int_equal(xs_kfd_part(&r->s, XS_LANES_PART(r->s.units, XS_LANES_NARROW_LEAVES)), r->narrow);
        assert_int_equal(xs_kfd_part(&r->s, 1), r->least);
        assert_int_equal(xs_kfd_part(&r->s, 0), r->least);
        is(r, r->wide, r->wide_words);
        is(r, r->narrow, r->narrow_words);
    }
}

/* What the driver would make of a mask, by its rules: how many units each array of each die gets. Units are fused off at
 * the end of the first arrays. */
struct device {
    uint32_t there[32][16];           /* of each array of each die */
    uint32_t on[32][16];
};

static void apply(const struct xs_kfd_shape *s, const struct xs_kfd_mask *m, struct device *d)
{
    uint32_t each = s->arrays / s->dies, engines = each / s->arrays_per_engine, pair = s->target >= 100000 ? 2 : 1;
    uint32_t off = 0, slots = (s->units + s->arrays * pair - 1) / (s->arrays * pair) * pair;

    memset(d, 0, sizeof(*d));
    for (uint32_t die = 0; die < s->dies; die++) {
        uint32_t bit = die;

        off = slots * each - s->units / s->dies;
        for (uint32_t a = 0; a < each; a++) {
            uint32_t lost = XS_MIN(off, pair);

            d->there[die][a] = slots - lost;
            off -= lost;
        }
        assert_int_equal(off, 0);
        for (uint32_t unit = 0; unit < 16; unit += pair)
            for (uint32_t sh = 0; sh < s->arrays_per_engine; sh++)
                for (uint32_t se = 0; se < engines && bit < XS_MIN(m->bits, s->units); se++) {
                    uint32_t a = sh * engines + se;

                    if (unit >= d->there[die][a])
                        continue;
                    if (m->words[bit / 32] >> bit % 32 & 1)
                        d->on[die][a] += pair;
                    bit += pair * s->dies;
                }
    }
}

static void engines_get_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        const struct xs_kfd_shape *s = &k_rows[i].s;
        struct xs_kfd_mask none = {.bits = 0}, m;
        struct device d;

        for (uint32_t wanted = 0; wanted < s->units; wanted++) {
            uint32_t part = xs_kfd_part(s, wanted), sum = 0, each = s->arrays / s->dies;

            if (!part)
                continue;
            xs_kfd_mask_of(s, part, &none, &m);
            apply(s, &m, &d);
            for (uint32_t die = 0; die < s->dies; die++)
                for (uint32_t a = 0; a < each; a++) {
                    assert_true(d.on[die][a] > 0);
                    sum += d.on[die][a];
                }
            assert_int_equal(sum, part);
        }
        xs_kfd_mask_of(s, 0, &none, &m);
        apply(s, &m, &d);
        assert_memory_equal(d.on, d.there, sizeof(d.on)); /* the whole device is the whole device */
    }
}

static void within_the_programs_own(void **state)
{
    const struct xs_kfd_shape mi300x = {90402, 8, 32, 1, 304}, navi = {110000, 1, 12, 2, 96};
    struct xs_kfd_mask own = {.bits = 96, .words = {0x0f0f0f0f, F, 0x55}}, m, all = {.bits = 320};

    (void)state;
    xs_kfd_mask_of(&mi300x, 0, &own, &m);            /* the whole device: the very mask that the program gave */
    assert_true(xs_kfd_mask_equals(&m, &own));
    xs_kfd_mask_of(&mi300x, 64, &own, &m);
    assert_int_equal(m.bits, 320);
    assert_int_equal(m.words[0], 0x0f0f0f0f);
    assert_int_equal(m.words[1], F);
    assert_int_equal(m.words[2], 0);                 /* each of its arrays has a unit in the words before */
    own = (struct xs_kfd_mask){.bits = 320, .words = {0, 0, 0, 0, 0, 0, 0, 0, F, 0x0000ffff}};
    xs_kfd_mask_of(&mi300x, 128, &own, &m);          /* nothing in common: the first of each array stays */
    assert_int_equal(m.words[0] | m.words[1] | m.words[2] | m.words[3], 0);
    assert_int_equal(m.words[8], F);
    assert_int_equal(m.words[9], 0);
    own = (struct xs_kfd_mask){.bits = 32, .words = {0x0000000f}}; /* four dies, as HSA_CU_MASK=0:0-3 sets them */
    xs_kfd_mask_of(&mi300x, 128, &own, &m);
    assert_int_equal(m.words[0], 0xf);
    own = (struct xs_kfd_mask){.bits = 96, .words = {0, 0, 0xc0000000}}; /* a pair that is outside */
    xs_kfd_mask_of(&navi, 48, &own, &m);
    assert_int_equal(m.words[0] | m.words[1], 0);
    assert_int_equal(m.words[2], 0xc0000000);
    memset(all.words, 0xff, sizeof(all.words));      /* as ROCr gives each queue in some releases */
    xs_kfd_mask_of(&mi300x, 128, &all, &m);
    assert_int_equal(m.words[3], F);
    assert_int_equal(m.words[4], 0);
    assert_false(xs_kfd_mask_equals(&m, &all));
}

static void refused(void **state)
{
    static const struct {
        struct xs_kfd_shape s;
        const char *why;
    } k_bad[] = {
        {{0, 0, 0, 0, 0}, "does not tell"},
        {{90402, 8, 32, 1, 0}, "does not tell"},
        {{90402, 8, 32, 0, 304}, "does not tell"},
        {{80003, 1, 4, 1, 64}, "this architecture"},
        {{90600, 8, 32, 1, 304}, "this architecture"},
        {{120500, 8, 32, 1, 256}, "this architecture"},
        {{130000, 1, 8, 2, 64}, "this architecture"},
        {{110000, 2, 24, 2, 192}, "several dies"},
        {{90402, 7, 32, 1, 304}, "do not fit"},      /* a die off, and the arrays of all */
        {{90402, 8, 32, 1, 16}, "do not fit"},
        {{90402, 8, 32, 1, 4096}, "do not fit"},
        {{110000, 1, 12, 2, 95}, "do not fit"},
    };
    const struct xs_kfd_shape small = {90010, 1, 8, 1, 8};

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_bad); i++) {
        assert_non_null(xs_kfd_shape_refused(&k_bad[i].s));
        assert_non_null(strstr(xs_kfd_shape_refused(&k_bad[i].s), k_bad[i].why));
        assert_int_equal(xs_kfd_part(&k_bad[i].s, 64), 0);
    }
    assert_null(xs_kfd_shape_refused(&small));       /* but it has no part that leaves anything */
    assert_int_equal(xs_kfd_part(&small, 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_architecture),
        cmocka_unit_test(engines_get_the_same),
        cmocka_unit_test(within_the_programs_own),
        cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests_name("kfd_masks", tests, NULL, NULL);
}
