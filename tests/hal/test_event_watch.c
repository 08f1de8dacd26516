/* SPDX-License-Identifier: Apache-2.0 */
/* Marks by events: how often the vendor is asked for one. Each question takes time of a CPU, and of the very one that
 * computes where the device is a CPU. The device is a clock: a mark is reached so long after it was set. */
#include "base/clock.h"
#include "base/futex.h"
#include "hal/common/event_watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static _Atomic uint64_t g_due_ns;
static _Atomic uint32_t g_asked, g_done;

static int ask(const struct xs_watch_place *place, void *event)
{
    (void)place, (void)event;
    atomic_fetch_add(&g_asked, 1);
    return xs_now_ns() >= atomic_load(&g_due_ns) ? 0 : 1;
}

static void done(struct xs_queue *q, uint64_t number, bool reached)
{
    (void)q, (void)number;
    assert_true(reached);
    atomic_fetch_add(&g_done, 1);
    xs_futex_wake(&g_done, 1);
}

static const struct xs_watch_ops k_ops = {"test", NULL, ask, done};

/* Marks one after another, each reached so long after the last one was found. @return questions, of n marks */
static uint32_t questions(uint64_t each_ns, uint32_t n)
{
    static struct xs_watch_place place;
    uint32_t asked = atomic_load(&g_asked);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t before = atomic_load(&g_done);
        void *event;
        int row = xs_watch_take(&k_ops, &place, &event);

        assert_true(row >= 0);
        atomic_store(&g_due_ns, xs_now_ns() + each_ns);
        xs_watch_set(row, &place, (struct xs_queue *)(void *)&place, i + 1);
        while (atomic_load(&g_done) == before)
            xs_futex_wait(&g_done, before, UINT64_MAX);
    }
    return atomic_load(&g_asked) - asked;
}

/* A busy machine asks less often, never more. */
static void few_for_long_marks(void **state)
{
    (void)state;
    questions(XS_NS_PER_MS, 3);
    for (uint64_t us = 500; us <= 2000; us *= 2) {
        uint32_t asked = questions(us * XS_NS_PER_US, 100);

        printf("marks of %u us: %.2f questions each\n", (unsigned)us, asked / 100.0);
        assert_in_range(asked, 100, us < 2000 ? 600 : 800);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_for_long_marks)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
