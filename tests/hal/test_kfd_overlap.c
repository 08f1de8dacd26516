/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of the program and of ours that overlap, against the fake driver. */
#include "kfd_stage.h"

#include "base/clock.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static _Atomic bool g_stop;

static void *program(void *arg)
{
    uint64_t ring = (uint64_t)(uintptr_t)arg << 20;
    unsigned seed = (unsigned)(uintptr_t)arg;
    uint32_t all[10];

    memset(all, 0xff, sizeof(all));
    while (!atomic_load(&g_stop)) {
        uint32_t id = kfd_make(ring);

        for (int i = rand_r(&seed) % 8; i > 0; i--)
            assert_int_equal(kfd_change(id, ring, 10 + (uint32_t)rand_r(&seed) % 90, 7), 0);
        assert_int_equal(kfd_change(id, ring, 42, 7), 0);
        if (rand_r(&seed) % 2 == 0)
            assert_int_equal(kfd_mask(id, 320, all), 0);
        if (rand_r(&seed) % 4 == 0)
            usleep(200);
        assert_int_equal(kfd_finish(id), 0);
    }
    return NULL;
}

static void slowly(unsigned long request, void *arg)
{
    (void)arg;
    if (request != XS_KFD_IOC_CREATE)
        usleep(50);               /* others get the processor; yielding it would cost a turn of each, however many */
}

static void all_at_once(void **state)
{
    uint32_t steady = kfd_make(0x77000);
    pthread_t t[3];

    (void)state;
    fake_kfd_set_hook(slowly);
    atomic_store(&g_stop, false);
    for (uintptr_t i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, program, (void *)(i + 1));
    for (int i = 0; i < 600; i++) {
        kfd_confine(i % 3 ? 128 : 0, i % 2 == 0, KFD_LATER);
        xs_kfd_due(xs_now_ns());
        if (i % 100 == 0)
            assert_int_equal(kfd_change(steady, 0x77000, 60, 7), 0);
    }
    atomic_store(&g_stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    fake_kfd_set_hook(NULL);
    while (!xs_kfd_restore())
        ;
    kfd_is(steady, 60, 7, 0x77000);
    assert_int_equal(fake_kfd_units(steady), 304);
    assert_int_equal(xs_kfd_level(), 3);
    assert_string_equal(xs_kfd_why_no_masks(), "");
    assert_int_equal(fake_kfd_complaints(), 0); /* no request for a queue that is not there, or with another's ring */
}

static _Atomic int g_stage;       /* 1: the first request is on its way; 2: the other thread is done */
static void (*g_meanwhile)(void);
static uint32_t g_id;

static void *meanwhile(void *arg)
{
    (void)arg;
    while (atomic_load(&g_stage) != 1)
        usleep(100);
    g_meanwhile();
    atomic_store(&g_stage, 2);
    return NULL;
}

/* The first change of a queue gets to the driver only after the other thread has done its part, or has waited a while. */
static void late(unsigned long request, void *arg)
{
    int none = 0;

    (void)arg;
    if (request != XS_KFD_IOC_UPDATE || !atomic_compare_exchange_strong(&g_stage, &none, 1))
        return;
    for (int i = 0; i < 1000 && atomic_load(&g_stage) == 1; i++)
        usleep(100);
}

static pthread_t overlap(void (*fn)(void))
{
    pthread_t t;

    g_meanwhile = fn;
    atomic_store(&g_stage, 0);
    pthread_create(&t, NULL, meanwhile, NULL);
    fake_kfd_set_hook(late);
    return t;
}

static void ends_and_another_begins(void)
{
    assert_int_equal(kfd_finish(g_id), 0);
    assert_int_equal(kfd_make(0x9000), g_id);
}

static void an_end_waits_for_our_request(void **state)
{
    pthread_t t;

    (void)state;
    g_id = kfd_make(0x1000);
    kfd_want(KFD_ADDR, true, KFD_LATER);
    t = overlap(ends_and_another_begins);
    xs_kfd_due(xs_now_ns());
    pthread_join(t, NULL);
    fake_kfd_set_hook(NULL);
    while (!xs_kfd_restore())
        ;
    kfd_is(g_id, 100, 7, 0x9000);     /* and the driver did not complain: see end() */
}

static void off_at_the_end(unsigned long request, void *arg)
{
    (void)arg;
    if (request != XS_KFD_IOC_DESTROY)
        return;
    kfd_want(KFD_ADDR, true, KFD_LATER);
    xs_kfd_due(xs_now_ns());
    assert_int_equal(fake_kfd_queue(g_id)->updates, 0);
}

static void no_request_of_ours_at_its_end(void **state)
{
    (void)state;
    g_id = kfd_make(0x1000);
    fake_kfd_set_hook(off_at_the_end);
    assert_int_equal(kfd_finish(g_id), 0);
    fake_kfd_set_hook(NULL);
    assert_true(xs_kfd_restore());
}

static void asks_for_55(void)
{
    assert_int_equal(kfd_change(g_id, 0x1000, 55, 7), 0);
}

static void ours_comes_late(void **state)
{
    pthread_t t;

    (void)state;
    g_id = kfd_make(0x1000);
    kfd_want(KFD_ADDR, true, KFD_LATER);
    xs_kfd_due(xs_now_ns());
    kfd_want(KFD_ADDR, false, 0);
    t = overlap(asks_for_55);
    while (xs_kfd_due(xs_now_ns()) != UINT64_MAX)
        ;
    pthread_join(t, NULL);
    kfd_is(g_id, 55, 7, 0x1000);
}

static void goes_on(void)
{
    kfd_want(KFD_ADDR, false, 0);
    while (xs_kfd_due(xs_now_ns()) != UINT64_MAX)
        ;
}

static void the_programs_comes_late(void **state)
{
    pthread_t t;

    (void)state;
    g_id = kfd_make(0x1000);
    kfd_want(KFD_ADDR, true, KFD_LATER);
    xs_kfd_due(xs_now_ns());
    t = overlap(goes_on);         /* that thread is the control thread here */
    asks_for_55();
    pthread_join(t, NULL);
    kfd_is(g_id, 55, 7, 0x1000);
}

static void asks_for_55_and_ends(void **state)
{
    pthread_t t;
    int tries = 0;

    (void)state;
    g_id = kfd_make(0x1000);
    kfd_want(KFD_ADDR, true, KFD_LATER);
    t = overlap(asks_for_55);     /* while ours is under way, which leaves it in doubt */
    xs_kfd_due(xs_now_ns());
    pthread_join(t, NULL);
    assert_int_equal(kfd_finish(g_id), 0);
    while (!xs_kfd_restore())
        assert_true(++tries < 10); /* nothing is left to be brought back */
    assert_int_equal(xs_kfd_due(xs_now_ns()), UINT64_MAX);
}

/* Requests that take so long that another has begun before each of them is done (if somebody wants another). */
static _Atomic int g_requests;

static void one_after_the_other(unsigned long request, void *arg)
{
    int n;

    (void)arg;
    if (request != XS_KFD_IOC_UPDATE)
        return;
    n = atomic_fetch_add(&g_requests, 1) + 1;
    atomic_store(&g_stage, 1);
    for (int i = 0; i < 1000 && n < 50 && atomic_load(&g_requests) == n; i++)
        usleep(100);
}

static void neither_repeats_for_the_other(void **state)
{
    pthread_t t;

    (void)state;
    g_id = kfd_make(0x1000);
    kfd_want(KFD_ADDR, true, KFD_LATER);
    xs_kfd_due(xs_now_ns());
    atomic_store(&g_requests, 0);
    t = overlap(goes_on);
    fake_kfd_set_hook(one_after_the_other);
    asks_for_55();
    pthread_join(t, NULL);
    fake_kfd_set_hook(NULL);
    kfd_is(g_id, 55, 7, 0x1000);
    assert_in_range(atomic_load(&g_requests), 1, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_at_once, kfd_start, kfd_end),
        cmocka_unit_test_setup_teardown(an_end_waits_for_our_request, kfd_start, kfd_end),
        cmocka_unit_test_setup_teardown(no_request_of_ours_at_its_end, kfd_start, kfd_end),
        cmocka_unit_test_setup_teardown(ours_comes_late, kfd_start, kfd_end),
        cmocka_unit_test_setup_teardown(the_programs_comes_late, kfd_start, kfd_end),
        cmocka_unit_test_setup_teardown(asks_for_55_and_ends, kfd_start, kfd_end),
        cmocka_unit_test_setup_teardown(neither_repeats_for_the_other, kfd_start, kfd_end),
    };

    return kfd_run("kfd_overlap", tests, sizeof(tests) / sizeof(tests[0]));
}
