/* SPDX-License-Identifier: Apache-2.0 */
/* Level 2 on the fake driver: work behind a gate, and all that must not deadlock because of one. The policy HPF in the process
 * decides between queues of two priorities: while `high` has work, `low` is suspended. */
#include "base/platforms.h"
#include "fakes/vulkan/calls.h"
#include "played_loader.h"
#include "xqueue/interface.h"
#include "xsched/vulkan/hal.h"
#include "xsched/xsched.h"

#include <pthread.h>
#include <unistd.h>

#define LONG_US 100000            /* of the urgent work, in virtual time */
#define LOW     0                 /* queues: of one family, and of another */
#define HIGH    3

static xs_vk_handle g_low, g_high;
static XQueueHandle g_xlow, g_xhigh;

static int load(void **state)
{
    (void)state;
    played_load();
    return 0;
}

static XQueueHandle schedule(xs_vk_handle queue, int priority, int level)
{
    HwQueueHandle h;
    XQueueHandle x;

    assert_int_equal(VulkanQueueCreate(&h, (VkQueue)queue), kXSchedSuccess);
    assert_int_equal(XQueueCreate(&x, h, level, 0), kXSchedSuccess);
    assert_int_equal(XHintPriority(x, priority), kXSchedSuccess);
    return x;
}

static void begin(int level)
{
    played_device(NULL, NULL, 0);
    vk.get_queue(vk.device, 0, 0, &g_low);
    vk.get_queue(vk.device, 1, 1, &g_high);
    g_xlow = schedule(g_low, 1, level);
    g_xhigh = schedule(g_high, 10, level);
}

static int set_up(void **state)
{
    (void)state;
    fake_vk_reset();
    return 0;
}

static bool is_idle(XQueueHandle x)
{
    XQueueState s;

    assert_int_equal(XQueueQuery(x, &s), kXSchedSuccess);
    return s == kQueueStateIdle;
}

/* Until everything is complete, as far as it can be in ten seconds. */
static bool settle(void)
{
    for (int i = 0; i < 10000; i++) {
        if (is_idle(g_xlow) && is_idle(g_xhigh))
            return true;
        fake_vk_advance(LONG_US / 10);
        usleep(1000);
    }
    return false;
}

static void end(void)
{
    vk.destroy_device(vk.device, NULL);
    vk.destroy_instance(vk.instance, NULL);
    assert_int_equal(atomic_load(&fake_vk()->semaphores), 0);
    assert_int_equal(atomic_load(&fake_vk()->fences), 0);
}

/* Command buffers of a length; each has an estimate of its own. */
static xs_vk_handle commands(uint32_t us)
{
    static const struct {
        int32_t type;
        const void *next;
        xs_vk_object pool;
        int32_t level;
        uint32_t count;
    } one = {.count = 1};
    xs_vk_result (*allocate)(xs_vk_handle, const void *, xs_vk_handle *);
    void (*dispatch)(xs_vk_handle, uint32_t, uint32_t, uint32_t);
    xs_vk_handle c;

    played_find(vk.device_function, vk.device, "vkAllocateCommandBuffers", &allocate);
    played_find(vk.device_function, vk.device, "vkCmdDispatch", &dispatch);
    assert_int_equal(allocate(vk.device, &one, &c), XS_VK_SUCCESS);
    dispatch(c, us, 1, 1);
    return c;
}

static xs_vk_object semaphore(bool timeline)
{
    struct xs_vk_semaphore_kind kind = {.type = XS_VK_TYPE_SEMAPHORE_KIND, .kind = timeline};
    struct xs_vk_simple_create create = {.type = XS_VK_TYPE_SEMAPHORE_CREATE, .next = &kind};
    xs_vk_object s;

    assert_int_equal(vk.create_semaphore(vk.device, &create, NULL, &s), XS_VK_SUCCESS);
    return s;
}

/* One submission. Semaphores: 0 is none; the value of a binary one is 0 */
struct work {
    xs_vk_handle queue;
    uint32_t us;
    xs_vk_object wait, signal;
    uint64_t wait_value, signal_value;
    xs_vk_result result;
};

static void *submit(void *arg)
{
    struct work *w = arg;
    xs_vk_handle c = commands(w->us);
    struct xs_vk_semaphore_submit wait = {.type = XS_VK_TYPE_SEMAPHORE_SUBMIT, .semaphore = w->wait, .value = w->wait_value};
    struct xs_vk_semaphore_submit signal = {.type = XS_VK_TYPE_SEMAPHORE_SUBMIT, .semaphore = w->signal,
                                            .value = w->signal_value};
    struct xs_vk_command_submit command = {.command = c};
    struct xs_vk_submit_2 s = {.type = XS_VK_TYPE_SUBMIT_2, .waits_count = w->wait != 0, .waits = &wait, .commands_count = 1,
                               .commands = &command, .signals_count = w->signal != 0, .signals = &signal};

    w->result = vk.submit_2(w->queue, 1, &s, 0);
    return NULL;
}

static void go(xs_vk_handle queue, uint32_t us, xs_vk_object wait, uint64_t wait_value, xs_vk_object signal,
               uint64_t signal_value)
{
    struct work w = {queue, us, wait, signal, wait_value, signal_value, 0};

    submit(&w);
    assert_int_equal(w.result, XS_VK_SUCCESS);
}

static void until(const _Atomic uint32_t *count, uint32_t least)
{
    for (int i = 0; atomic_load(count) < least; i++) {
        assert_true(i < 10000);
        usleep(1000);
    }
}

static bool low_may_run(void)
{
    struct xs_queue *q = xsched_priv_queue_find(XS_PLATFORM_NUMBER_VULKAN, (uintptr_t)g_low);

    assert_non_null(q);
    return xsched_priv_may_run(q, 1);
}

/* Has urgent work done until the low queue is suspended: what is submitted to it from now on waits, in one way or the other. */
static void suspend_low(void)
{
    go(g_high, LONG_US, 0, 0, 0, 0);
    for (int i = 0; low_may_run(); i++) {
        assert_true(i < 10000);
        usleep(1000);
    }
}

/* At level 2 the submission of a suspended queue returns, and its work stands behind a gate until the urgent work is complete;
 * at level 1, the wrong variant, it does not return before. */
static void behind_a_gate(void **state)
{
    for (int level = 2; level >= 1; level--) {
        struct work w;
        pthread_t t;

        set_up(state);
        begin(level);
        w = (struct work){.queue = g_low, .us = 10};
        suspend_low();
        assert_int_equal(pthread_create(&t, NULL, submit, &w), 0);
        if (level == 2)
            until(&fake_vk()->submits[LOW], 1);
        else
            usleep(50000);
        assert_int_equal(atomic_load(&fake_vk()->submits[LOW]), level == 2);
        fake_vk_advance(LONG_US / 2);
        usleep(20000);
        fake_vk_advance(0);
        assert_int_equal(atomic_load(&fake_vk()->completed[LOW]), 0);
        fake_vk_advance(LONG_US);
        pthread_join(t, NULL);
        assert_int_equal(w.result, XS_VK_SUCCESS);
        assert_true(settle());
        assert_int_equal(atomic_load(&fake_vk()->completed[LOW]), 1);
        assert_int_equal(atomic_load(&fake_vk()->gates) > 0, level == 2);
        end();
    }
}

/* The host's signals are lost, the wrong variant of all that follow: nothing gets past a gate, and it is seen. */
static void lost_signals(void **state)
{
    (void)state;
    begin(2);
    suspend_low();
    fake_vk()->lose_signals = true;
    go(g_low, 10, 0, 0, 0, 0);
    fake_vk_advance(2 * LONG_US);
    for (int i = 0; i < 100; i++) {
        fake_vk_advance(100);
        usleep(1000);
    }
    assert_false(is_idle(g_xlow));
    assert_int_equal(atomic_load(&fake_vk()->completed[LOW]), 0);
    fake_vk_lose();               /* nothing else ends it */
    end();
}

/* A program that waits for a value that comes later, from another queue or from the host, which itself waits for the first. */
static void wait_before_signal(void **state)
{
    xs_vk_object a, b;

    (void)state;
    begin(2);
    a = semaphore(true);
    b = semaphore(true);
    suspend_low();
    go(g_low, 10, a, 1, b, 1);    /* behind a gate, and waits for what comes */
    go(g_low, 10, b, 2, b, 3);
    go(g_high, 10, 0, 0, a, 1);
    go(g_high, 10, b, 1, b, 2);   /* waits for what stands behind the gate */
    assert_true(settle());
    assert_int_equal(atomic_load(&fake_vk()->completed[LOW]), 2);
    assert_int_equal(atomic_load(&fake_vk()->completed[HIGH]), 3);
    assert_int_equal(atomic_load(&fake_vk()->illegal), 0);
    vk.destroy_semaphore(vk.device, a, NULL);
    vk.destroy_semaphore(vk.device, b, NULL);
    end();
}

/* What waits for a binary semaphore whose signal stands behind a gate: its gate is opened first, or the wait is illegal, which
 * the driver sees where the layer does not know that the semaphore is binary. */
static void binary(void **state, int how)
{
    for (int wrong = 0; wrong <= 1; wrong++) {
        struct fake_vk_bind_sparse bind = {.type = 7, .waits_count = 1};
        struct fake_vk_present present = {.type = 1000001001, .waits_count = 1};
        xs_vk_object s;

        set_up(state);
        begin(2);
        fake_vk()->hide_binary = wrong;
        s = semaphore(wrong);
        fake_vk()->hide_binary = false;
        bind.waits = present.waits = &s;
        suspend_low();
        go(g_low, 10, 0, 0, s, 0);
        assert_int_equal(atomic_load(&fake_vk()->submits[LOW]), 1);
        if (how == 0) {
            go(g_high, 10, s, 0, 0, 0);
        } else if (how == 1) {
            if (wrong) {          /* past the layer */
                xs_vk_result (*direct)(xs_vk_handle, const void *);
                played_find(fake_vk_function, vk.device, "vkQueuePresentKHR", &direct);
                direct(g_high, &present);
            } else {
                assert_int_equal(vk.present(g_high, &present), XS_VK_SUCCESS);
            }
        } else {
            if (wrong) {
                xs_vk_result (*direct)(xs_vk_handle, uint32_t, const void *, xs_vk_object);
                played_find(fake_vk_function, vk.device, "vkQueueBindSparse", &direct);
                direct(g_high, 1, &bind, 0);
            } else {
                assert_int_equal(vk.bind_sparse(g_high, 1, &bind, 0), XS_VK_SUCCESS);
            }
        }
        assert_int_equal(atomic_load(&fake_vk()->illegal), wrong);
        fake_vk_advance(2 * LONG_US);
        assert_true(settle());
        assert_int_equal(atomic_load(&fake_vk()->completed[LOW]), 1);
        vk.destroy_semaphore(vk.device, s, NULL);
        end();
    }
}

static void binary_semaphore(void **state)
{
    binary(state, 0);
}

static void present_behind_a_gate(void **state)
{
    binary(state, 1);
}

static void sparse_behind_a_gate(void **state)
{
    binary(state, 2);
}

/* The queues are one to the device, so that urgent work stands behind the gate of what is suspended for it. From then on there
 * are no gates. The wrong variant: queues of their own, where gates must stay. */
static void aliased(void **state)
{
    for (int wrong = 0; wrong <= 1; wrong++) {
        uint32_t gates;

        set_up(state);
        fake_vk()->aliased = !wrong;
        begin(2);
        suspend_low();
        go(g_low, 10, 0, 0, 0, 0);
        go(g_high, LONG_US, 0, 0, 0, 0);
        assert_true(settle());    /* nothing happens before the gate is opened */
        assert_int_equal(atomic_load(&fake_vk()->completed[LOW]), 1);
        assert_int_equal(atomic_load(&fake_vk()->completed[HIGH]), 2);
        for (int i = 0, more = true; wrong ? i < 3 : more; i++) {
            gates = atomic_load(&fake_vk()->gates);
            suspend_low();
            fake_vk_advance(2 * LONG_US);
            go(g_low, 10, 0, 0, 0, 0);
            assert_true(settle());
            more = atomic_load(&fake_vk()->gates) > gates;
            assert_true(wrong ? more : i < 20); /* that it helped is seen a little later */
        }
        end();
    }
}

/* A program that shows something is suspended for a bounded time only; behind_a_gate has the variant that shows nothing. */
static void presents(void **state)
{
    struct fake_vk_present present = {.type = 1000001001};

    (void)state;
    begin(1);
    assert_int_equal(vk.present(g_low, &present), XS_VK_SUCCESS);
    suspend_low();
    go(g_low, 10, 0, 0, 0, 0);    /* returns although time stands, and with it the urgent work */
    assert_int_equal(atomic_load(&fake_vk()->completed[HIGH]), 0);
    fake_vk_advance(20);
    assert_int_equal(atomic_load(&fake_vk()->completed[LOW]), 2); /* the presentation, and the work */
    fake_vk_advance(LONG_US);
    assert_true(settle());
    end();
}

/* A submission to a protected queue brings a structure that ours must not touch; the gate stands in a batch of its own. */
static void protected(void **state)
{
    struct {
        int32_t type;
        const void *next;
        uint32_t is_protected;
    } p = {.type = 1000145000, .is_protected = 1};
    xs_vk_handle c;
    struct xs_vk_submit s = {.type = XS_VK_TYPE_SUBMIT, .next = &p, .commands_count = 1, .commands = &c};

    (void)state;
    begin(2);
    c = commands(10);
    suspend_low();
    assert_int_equal(vk.submit(g_low, 1, &s, 0), XS_VK_SUCCESS);
    assert_int_equal(p.is_protected, 1);
    assert_null(p.next);
    fake_vk_advance(2 * LONG_US);
    assert_true(settle());
    assert_int_equal(atomic_load(&fake_vk()->completed[LOW]), 1);
    end();
}

/* With a closed gate in a queue. */
static void device_lost(void **state)
{
    struct work w;

    (void)state;
    begin(2);
    suspend_low();
    go(g_low, 10, 0, 0, 0, 0);
    fake_vk_lose();
    w = (struct work){.queue = g_high, .us = 10};
    submit(&w);
    assert_int_equal(w.result, -4);
    assert_int_equal(vk.device_wait(vk.device), -4);
    end();
}

/* What cannot be made is done without: no semaphore for gates (the third one), for a queue's marks (the second one), or none at
 * all; a submission that the driver has no memory for is answered so. */
static void no_memory(void **state)
{
    for (uint32_t left = 1; left <= 3; left++) {
        struct work w;

        set_up(state);
        atomic_store(&fake_vk()->semaphores_left, left);
        begin(2);
        fake_vk()->automatic = true;
        for (int i = 0; i < 5; i++)
            go(g_low, 10, 0, 0, 0, 0);
        atomic_store(&fake_vk()->answer, XS_VK_ERROR_OUT_OF_HOST_MEMORY);
        w = (struct work){.queue = g_low, .us = 10};
        submit(&w);
        assert_int_equal(w.result, XS_VK_ERROR_OUT_OF_HOST_MEMORY);
        atomic_store(&fake_vk()->answer, XS_VK_SUCCESS);
        go(g_low, 10, 0, 0, 0, 0);
        assert_int_equal(vk.device_wait(vk.device), XS_VK_SUCCESS);
        assert_int_equal(atomic_load(&fake_vk()->completed[LOW]), 6);
        assert_int_equal(atomic_load(&fake_vk()->gates), 0);
        end();
    }
}

static void no_timeline(void **state)
{
    (void)state;
    fake_vk()->no_timeline = true;
    begin(2);
    go(g_low, 10, 0, 0, 0, 0);
    suspend_low();
    fake_vk_advance(2 * LONG_US);
    go(g_low, 10, 0, 0, 0, 0);
    fake_vk()->automatic = true;
    assert_int_equal(vk.device_wait(vk.device), XS_VK_SUCCESS);
    assert_int_equal(atomic_load(&fake_vk()->gates), 0);
    assert_int_equal(atomic_load(&fake_vk()->hung), 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(behind_a_gate, set_up),      cmocka_unit_test_setup(lost_signals, set_up),
        cmocka_unit_test_setup(wait_before_signal, set_up), cmocka_unit_test_setup(binary_semaphore, set_up),
        cmocka_unit_test_setup(present_behind_a_gate, set_up), cmocka_unit_test_setup(sparse_behind_a_gate, set_up),
        cmocka_unit_test_setup(aliased, set_up),            cmocka_unit_test_setup(presents, set_up),
        cmocka_unit_test_setup(protected, set_up),          cmocka_unit_test_setup(device_lost, set_up),
        cmocka_unit_test_setup(no_memory, set_up),          cmocka_unit_test_setup(no_timeline, set_up),
    };

    return cmocka_run_group_tests(tests, load, NULL);
}
