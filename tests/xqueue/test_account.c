/* SPDX-License-Identifier: Apache-2.0 */
/* A completion that finds the account locked leaves a note. The next thread that locks it, here to forget a mark, looks. */
#include "xqueue/queue.h"

#include "xqueue_test.h"

static void a_note_is_read_by_the_next_thread(void **state)
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
    assert_true(xs_lock_try(&q->completion.mark_lock));
    ok(HwQueueSynchronize(l.hwq));
    atomic_fetch_add(&q->refs, 1);
    xsched_priv_completed(q, began);
    assert_true(atomic_load(&q->completion.account_pending) != 0);
    xs_lock_release(&q->completion.mark_lock);
    atomic_fetch_add(&q->refs, 1);
    xsched_priv_mark_lost(q, began);
    assert_int_equal(atomic_load(&q->completion.account_pending), 0);
    fake_auto(false);
    lane_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(a_note_is_read_by_the_next_thread)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
