/* SPDX-License-Identifier: Apache-2.0 */
/* No submit is missed: a process that looks at `armed` and rings against a scheduler that sleeps
 * unless it is rung for or a timer of its own is due, with real threads. */
#include "world.h"

#include "base/clock.h"
#include "base/futex.h"

#include <pthread.h>
#include <sched.h>

#define ROUNDS 3000

struct both {
    struct xs_sched *s;
    struct proc w[2];
    _Atomic uint32_t rung, quit;
};

static void *scheduler(void *arg)
{
    struct both *b = arg;

    while (!atomic_load(&b->quit)) {
        uint32_t seen = atomic_load(&b->rung);
        uint64_t next = world_step(b->s, b->w, 2, xs_now_ns()), now = xs_now_ns();

        if (next > now)
            xs_futex_wait(&b->rung, seen, next == UINT64_MAX ? UINT64_MAX : next - now);
    }
    return NULL;
}

static void ring(struct both *b, bool rang)
{
    if (!rang)
        return;
    atomic_fetch_add(&b->rung, 1);
    xs_futex_wake(&b->rung, 1);
}

static void wait_low_open(struct both *b)
{
    uint64_t until = xs_now_ns() + 20 * XS_NS_PER_S;

    while (!world_open(&b->w[0], 0)) {
        assert_true(xs_now_ns() < until);
        sched_yield();
    }
}

static uint64_t low_suspensions(struct both *b)
{
    return atomic_load(&b->w[0].server->cells[0].suspensions);
}

/* It is held, or was since `before`: if this thread does not run for 50 ms, the high side, which
 * completes nothing meanwhile, is taken for idle and the low side runs again. */
static void wait_low_held(struct both *b, uint64_t before)
{
    uint64_t until = xs_now_ns() + 20 * XS_NS_PER_S;

    while (world_open(&b->w[0], 0) && low_suspensions(b) == before) {
        assert_true(xs_now_ns() < until);
        sched_yield();
    }
}

static void no_submit_is_missed(void **state)
{
    struct xs_sched_config config;
    struct both b = { 0 };
    pthread_t thread;
    uint64_t before;
    uint32_t x = 1;

    (void)state;
    xs_sched_config_defaults(&config);
    config.linger_ns = 0;
    config.stall_ns = 0;
    b.s = xs_sched_new(xs_policy_by_name("HPF"), &config, NULL, NULL);
    assert_non_null(b.s);
    for (int i = 0; i < 2; i++) {
        b.w[i] = world_join(b.s, (uint64_t)i + 1, NULL, false);
        world_queue(&b.w[i], 0, 1, i ? 10 : 0, xs_now_ns());
    }
    world_submit(&b.w[0], 0, 1000000, MS);
    assert_int_equal(pthread_create(&thread, NULL, scheduler, &b), 0);
    for (int i = 0; i < ROUNDS; i++) {
        unsigned quick = (x = x * 1664525 + 1013904223) >> 28;

        /* comings and goings that race with what the scheduler arms and disarms */
        for (unsigned k = 0; k < quick; k++) {
            ring(&b, world_submit(&b.w[1], 0, 1, US));
            for (unsigned spin = (x = x * 1664525 + 1013904223) >> 25; spin > 0; spin--)
                xs_cpu_relax();
            ring(&b, world_complete(&b.w[1], 0, 1, US));
        }
        if (i % 2)
            wait_low_open(&b);
        before = low_suspensions(&b);
        ring(&b, world_submit(&b.w[1], 0, 1, US));
        wait_low_held(&b, before);
        ring(&b, world_complete(&b.w[1], 0, 1, US));
    }
    wait_low_open(&b);
    atomic_store(&b.quit, 1);
    ring(&b, true);
    pthread_join(thread, NULL);
    xs_sched_free(b.s);
    world_free(&b.w[0]);
    world_free(&b.w[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(no_submit_is_missed) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
