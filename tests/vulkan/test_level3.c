/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 that CUDA's shim lends to Vulkan's queues: they may have it on a device where the process has channel
 * groups of NVIDIA's driver, and nowhere else. The drivers of both kinds are fakes.
 * Which level the user asks for (XSCHED_AUTO_XQUEUE_LEVEL), and what the probe saw of CUDA (XSCHED_CUDA_LEVEL), count. */
#include "base/env.h"
#include "fixture.h"
#include "played_loader.h"
#include "xqueue/interface.h"
#include "xsched/vulkan/hal.h"
#include "xsched/xsched.h"

#define BUS  (ADDRESS >> 8)
#define SLOT ((ADDRESS & 0xff) >> 3)

static int g_asked;               /* the level of a queue that may have the highest that was asked for */
static int g_lent;                /* ... by CUDA's shim */

static int set_up(void **state)
{
    fake_vk_reset();
    fake_vk()->bus = BUS;
    fake_vk()->slot = SLOT;
    return setup(state);
}

static int load(void **state)
{
    (void)state;
    played_load();
    return 0;
}

/* The highest level of the first queue of a new device. */
static int level_here(void)
{
    xs_vk_handle queue;
    HwQueueHandle h;
    XQueueHandle x;
    int level = 3;

    played_device(NULL, NULL, 0);
    vk.get_queue(vk.device, 0, 0, &queue);
    assert_int_equal(VulkanQueueCreate(&h, (VkQueue)queue), kXSchedSuccess);
    assert_int_equal(XQueueCreate(&x, h, kPreemptLevelInterrupt, 0), kXSchedSuccess);
    while (level > 1 && XQueueSetPreemptLevel(x, level) != kXSchedSuccess)
        level--;
    vk.destroy_device(vk.device, NULL);
    vk.destroy_instance(vk.instance, NULL);
    return level;
}

/* What the vendor's library asks the kernel's driver for while the program makes its device. */
static void make_groups(void)
{
    struct context c;

    make_context(&c, CTL, 4);
    xs_rm_lend(); /* as the shim does then */
}

static void test_nobody_lends(void **state)
{
    (void)state;
    assert_int_equal(level_here(), 2);
}

static void test_groups_give_level_3(void **state)
{
    (void)state;
    make_groups();
    assert_int_equal(xs_rm_level(), 3);
    assert_int_equal(level_here(), g_lent);
}

static void test_no_group_yet(void **state)
{
    (void)state;
    xs_rm_lend();
    assert_int_equal(level_here(), 2);
}

static void test_groups_of_another_device(void **state)
{
    (void)state;
    make_groups();
    fake_vk()->bus = BUS + 1;
    assert_int_equal(level_here(), 2);
    fake_vk()->bus = BUS;
    assert_int_equal(level_here(), g_lent);
}

static void test_the_driver_is_unknown(void **state)
{
    (void)state;
    fake_rm_set_version("530.41.03\n");
    make_groups();
    assert_int_equal(level_here(), 2);
}

static void test_the_driver_denies_a_question(void **state)
{
    (void)state;
    make_groups();
    fake_rm_deny(XS_NVRM_CMD_GPU_ID, XS_NVRM_ERR_PERMISSIONS, 0, 1);
    assert_int_equal(level_here(), 2);
}

static void test_level_3_has_ended(void **state)
{
    (void)state;
    make_groups();
    xs_rm_end("a test");
    assert_int_equal(level_here(), 2);
}

static void test_a_closed_descriptor(void **state)
{
    (void)state;
    make_groups();
    fake_rm_close(CTL);
    assert_int_equal(level_here(), 2);
}

/* What the scheduler outside gets: the groups, from the first such queue on. */
static unsigned g_used;

static bool has_all(XDevice device)
{
    return device == ((XDevice)kDeviceTypeGPU << 32 | ADDRESS);
}

static void count_use(void)
{
    g_used++;
}

static void test_the_first_queue_offers_the_groups(void **state)
{
    static const struct xs_interrupt_lender lender = {.abi = XS_HAL_ABI,
                                                      .size = sizeof(lender),
                                                      .has = has_all,
                                                      .use = count_use};
    static const struct xs_interrupt_lender stranger = {.abi = XS_HAL_ABI + 1, .size = sizeof(stranger)};

    (void)state;
    xsched_priv_interrupt_lend(&lender);
    xsched_priv_interrupt_lend(&stranger); /* of another version: as if it were not there */
    fake_vk()->slot = SLOT + 1;
    assert_int_equal(level_here(), 2);
    assert_int_equal(g_used, 0);
    fake_vk()->slot = SLOT;
    assert_int_equal(level_here(), g_asked);
    assert_int_equal(g_used, g_asked == 3 ? 1 : 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nobody_lends, set_up), /* first: who lends once is known for good */
        cmocka_unit_test_setup_teardown(test_groups_give_level_3, set_up, teardown),
        cmocka_unit_test_setup_teardown(test_no_group_yet, set_up, teardown),
        cmocka_unit_test_setup_teardown(test_groups_of_another_device, set_up, teardown),
        cmocka_unit_test_setup_teardown(test_the_driver_is_unknown, set_up, teardown),
        cmocka_unit_test_setup_teardown(test_the_driver_denies_a_question, set_up, teardown),
        cmocka_unit_test_setup_teardown(test_level_3_has_ended, set_up, teardown),
        cmocka_unit_test_setup_teardown(test_a_closed_descriptor, set_up, teardown),
        cmocka_unit_test_setup(test_the_first_queue_offers_the_groups, set_up),
    };

    g_asked = xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_LEVEL, 3) < 2 ? 2 : 3; /* the word's place: 1, 2, 3, auto */
    g_lent = xs_env_i64(XS_ENV_XSCHED_CUDA_LEVEL, 3) == 3 ? g_asked : 2;
    return cmocka_run_group_tests(tests, load, NULL);
}
