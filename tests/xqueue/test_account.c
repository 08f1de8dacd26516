/* SPDX-License-Identifier: Apache-2.0 */
/* A completion that finds the account taken leaves a note, and whoever has it looks again: here who learns of bursts. */
#include "xqueue/state.h"

#include "xqueue_test.h"

static void noted_while_a_burst_is_learnt(void **state)
{
    struct fake_device *d = fake_device_create(FAKE_SHARED);
    struct lane l = lane_open(d);
    struct xs_queue *q = queue_of(l.stream);
    uint64_t began;

    (void)state;
    assert_non_null(q);
    fake_auto(true);
    fake_api_launch(l.stream, 50 * US, 1);
    began = atomic_load(&q->cc->returned);
    /* the end of a burst, which this thread's wait finds; its completion was told of while it had the account */
    assert_true(xs_lock_try(&q->mark_lock));
    ok(HwQueueSynchronize(l.hwq));
    atomic_fetch_add(&q->refs, 1);
    xsched_priv_completed(q, began);
    assert_true(atomic_load(&q->account_pending) != 0);
    xs_lock_release(&q->mark_lock);
    atomic_store(&q->late.first, 1);
    atomic_store(&q->late.first_ns, 1);
    atomic_store(&q->late.waits_ns, 2);
    atomic_store(&q->late.opened_ns, 2);
    atomic_store(&xsched_priv_late, 1);
    xsched_priv_wait_begin(q);
    xsched_priv_wait_end(q, began, true);
    atomic_store(&xsched_priv_late, 0);
    assert_int_equal(atomic_load(&q->late.first_ns), 0);
    assert_int_equal(atomic_load(&q->account_pending), 0);
    fake_auto(false);
    lane_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(noted_while_a_burst_is_learnt)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
