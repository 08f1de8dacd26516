/* SPDX-License-Identifier: Apache-2.0 */
/* The global priority of the queues of a program whose priority is XSCHED_PRIORITY: test_priority WANTED, the number that the
 * driver is to see. */
#include "played_loader.h"

static int32_t g_wanted;

static int load(void **state)
{
    (void)state;
    played_load();
    return 0;
}

/* @return what the driver saw */
static int32_t made(int32_t highest, const void *chain)
{
    static const float one = 1;
    struct xs_vk_queue_create queues = {.type = XS_VK_TYPE_QUEUE_CREATE, .next = chain, .count = 1, .priorities = &one};
    const struct xs_vk_queue_create before = queues;

    fake_vk_reset();
    fake_vk()->highest_priority = highest;
    played_device(NULL, &queues, 1);
    assert_memory_equal(&queues, &before, sizeof(queues)); /* the program's structures are its own */
    vk.destroy_device(vk.device, NULL);
    vk.destroy_instance(vk.instance, NULL);
    return fake_vk()->priority;
}

static void granted(void **state)
{
    struct xs_vk_base other = {.type = 12345};

    (void)state;
    assert_int_equal(made(1024, NULL), g_wanted);
    assert_int_equal(made(1024, &other), g_wanted);
    assert_int_equal(made(0, NULL), 0); /* the driver knows none */
}

static void refused(void **state)
{
    (void)state;
    assert_int_equal(made(XS_VK_PRIORITY_MEDIUM, NULL), g_wanted > XS_VK_PRIORITY_MEDIUM ? 0 : g_wanted);
}

static void its_own(void **state)
{
    struct xs_vk_global_priority own = {XS_VK_TYPE_GLOBAL_PRIORITY, NULL, XS_VK_PRIORITY_MEDIUM};

    (void)state;
    assert_int_equal(made(1024, &own), XS_VK_PRIORITY_MEDIUM);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(granted), cmocka_unit_test(refused), cmocka_unit_test(its_own)};

    if (argc < 2)
        return 2;
    g_wanted = atoi(argv[1]);
    return cmocka_run_group_tests(tests, load, NULL);
}
