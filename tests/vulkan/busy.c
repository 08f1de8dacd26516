/* SPDX-License-Identifier: Apache-2.0 */
/* A Vulkan program on the fake driver, under a scheduler: busy BUS, its device's PCI bus.
 * Prints "ready". At a line of its input it has work that does not complete ("busy"), which completes at the next ("done").
 * In a fake world (FAKE_WORLD) its driver makes channel groups; at "?" it prints the slice of that for kernels, in us, and
 * at "!" how many gates the driver saw, and how many things that Vulkan forbids. */
#include "hal/program.h"
#include "played_loader.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int g_bus;
static struct context g_groups;

static void print_slice(void)
{
    struct xs_nvrm_timeslice p = {0};
    struct xs_nvrm_control c = {.client = g_groups.client, .object = g_groups.group, .command = XS_NVRM_CMD_GET_TIMESLICE,
                                .params = (uint64_t)(uintptr_t)&p, .params_bytes = sizeof(p)};

    assert_int_equal(ioctl(g_groups.fd, XS_NVRM_IOC_CONTROL, &c), 0);
    assert_int_equal(c.status, XS_NVRM_OK);
    printf("%llu\n", (unsigned long long)p.us);
}

/* It may stand behind a gate, which the host opens when it likes: then this lasts. */
static void complete(const struct fake_vk *d)
{
    do {
        fake_vk_advance(1000);
        usleep(1000);
    } while (d->completed[0] < d->submits[0]);
}

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
    if (getenv("FAKE_WORLD"))
        make_context(&g_groups, open("/dev/nvidiactl", O_RDWR | O_CLOEXEC), 4);
    played_device(NULL, NULL, 0);
    vk.get_queue(vk.device, 0, 0, &queue);
    played_find(vk.device_function, vk.device, "vkAllocateCommandBuffers", &allocate);
    played_find(vk.device_function, vk.device, "vkCmdDispatch", &dispatch);
    assert_int_equal(allocate(vk.device, &one, &commands), XS_VK_SUCCESS);
    dispatch(commands, 1000, 1, 1);
    s.commands = &commands;
    printf("ready\n");
    for (bool work = true; fgets(line, sizeof(line), stdin);) {
        if (line[0] == '?') {
            print_slice();
            continue;
        }
        if (line[0] == '!') {
            printf("%u %u\n", d->gates, d->illegal + d->hung);
            continue;
        }
        if (work)
            assert_int_equal(vk.submit(queue, 1, &s, 0), XS_VK_SUCCESS);
        else
            complete(d);
        printf("%s\n", work ? "busy" : "done");
        work = !work;
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
