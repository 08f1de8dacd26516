/* SPDX-License-Identifier: Apache-2.0 */
/* A Vulkan program on the fake driver, under a scheduler: busy BUS, its device's PCI bus.
 * Prints "ready". At a line of its input it has work that does not complete ("busy"), which completes at the next ("done"). */
#include "played_loader.h"

#include <unistd.h>

static int g_bus;

static void busy(void **state)
{
    struct fake_vk *d = fake_vk();
    xs_vk_result (*allocate)(xs_vk_handle, const void *, xs_vk_handle *);
    void (*dispatch)(xs_vk_handle, uint32_t, uint32_t, uint32_t);
    static const struct {
        int32_t type;
        const void *next;
        xs_vk_object pool;
        int32_t level;
        uint32_t count;
    } one = {.count = 1};
    struct xs_vk_submit s = {.type = XS_VK_TYPE_SUBMIT, .commands_count = 1};
    xs_vk_handle queue, commands;
    char line[16];

    (void)state;
    fake_vk_reset();
    d->bus = (uint32_t)g_bus;
    played_load();
    played_device(NULL, NULL, 0);
    vk.get_queue(vk.device, 0, 0, &queue);
    played_find(vk.device_function, vk.device, "vkAllocateCommandBuffers", &allocate);
    played_find(vk.device_function, vk.device, "vkCmdDispatch", &dispatch);
    assert_int_equal(allocate(vk.device, &one, &commands), XS_VK_SUCCESS);
    dispatch(commands, 1000, 1, 1);
    s.commands = &commands;
    printf("ready\n");
    for (bool work = true; fgets(line, sizeof(line), stdin); work = !work) {
        if (work)
            assert_int_equal(vk.submit(queue, 1, &s, 0), XS_VK_SUCCESS);
        else
            fake_vk_advance(1000);
        printf("%s\n", work ? "busy" : "done");
    }
    vk.destroy_device(vk.device, NULL);
    vk.destroy_instance(vk.instance, NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(busy)};

    if (argc < 2)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    g_bus = atoi(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
