/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy between a loader, which the test plays, and a driver that is as new as our rows, and newer (played_driver.c): what an
 * older loader's tables have room for, what passes by, and what only newer interfaces have. PROXY is our object. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "played_driver.h"
#include "xsched/levelzero/hal.h"
#include "xsched/xsched.h"

#define ENTRIES 128
#define CANARY  ((void *)0x5eed)

typedef xs_ze_result (*getter_fn)(uint32_t version, void **entries);

static void *g_proxy, *g_driver;
static struct played *g_played;
static char g_device[512];        /* a driver's objects begin with something */
static char g_kernels[2][64];

static void *symbol(void *handle, const char *name)
{
    void *p = dlsym(handle, name);

    assert_non_null(p);
    return p;
}

static xs_ze_result ask(void *handle, const char *getter, uint32_t minor, void **entries)
{
    getter_fn get;
    void *p = symbol(handle, getter);

    memcpy(&get, &p, sizeof(get));
    return get(1u << 16 | minor, entries);
}

#define CALL(entries, slot, types, ...) ((xs_ze_result(*) types)(entries)[slot])(__VA_ARGS__)

static void *lists[ENTRIES], *queues[ENTRIES], *own[ENTRIES];

static int set_up(void **state)
{
    (void)state;
    g_proxy = dlopen(getenv("PROXY"), RTLD_LAZY | RTLD_LOCAL);
    g_driver = dlopen("libze_intel_gpu.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!g_proxy || !g_driver)
        return -1;
    g_played = dlsym(g_driver, "played");
    ask(g_proxy, "zeGetCommandListProcAddrTable", 17, lists);
    ask(g_proxy, "zeGetCommandQueueProcAddrTable", 17, queues);
    ask(g_driver, "zeGetCommandListProcAddrTable", 20, own);
    return 0;
}

/* Of a table of version 1.5 the place of zeCommandListHostSynchronize (1.6) is somebody else's memory. */
static void an_older_loader(void **state)
{
    void *entries[ENTRIES];

    (void)state;
    for (int i = 0; i < ENTRIES; i++)
        entries[i] = CANARY;
    assert_int_equal(ask(g_proxy, "zeGetCommandListProcAddrTable", 5, entries), XS_ZE_SUCCESS);
    assert_ptr_not_equal(entries[22], own[22]);
    assert_ptr_not_equal(entries[22], CANARY);
    for (int i = 28; i < ENTRIES; i++)
        assert_ptr_equal(entries[i], CANARY);
}

static void a_newer_driver(void **state)
{
    void *entries[ENTRIES] = {NULL};
    int ours = 0, rows = 0;

    (void)state;
#define ZE(kind, table, slot, since, name, params, args, key) rows += strcmp(#table, "command_list") == 0;
#include "shim/levelzero/levelzero_api.def"
#undef ZE
    assert_int_equal(ask(g_proxy, "zeGetCommandListProcAddrTable", 20, entries), XS_ZE_SUCCESS);
    for (int i = 0; i < ENTRIES; i++)
        ours += entries[i] != own[i];
    assert_int_equal(ours, rows);
    assert_ptr_equal(entries[PLAYED_NEWER], own[PLAYED_NEWER]);
    assert_ptr_equal(entries[3], own[3]); /* zeCommandListClose has no row */
    assert_ptr_equal(symbol(g_proxy, "played"), g_played); /* what is not ours is the driver's */
}

/* Nothing is known of it. */
static void another_interface(void **state)
{
    void *entries[ENTRIES] = {NULL};
    getter_fn get;
    void *p = symbol(g_proxy, "zeGetCommandListProcAddrTable");

    (void)state;
    memcpy(&get, &p, sizeof(get));
    assert_int_equal(get(2u << 16 | 20, entries), XS_ZE_SUCCESS);
    for (int i = 0; i < ENTRIES; i++)
        assert_ptr_equal(entries[i], own[i]);
}

static void objects_with_tables(void **state)
{
    struct xs_ze_ddi_handles handles = {.type = XS_ZE_TYPE_DDI_HANDLES, .flags = 7};
    struct xs_ze_driver_properties p = {.next = &handles};
    void *entries[ENTRIES] = {NULL};

    (void)state;
    assert_int_equal(ask(g_proxy, "zeGetDriverProcAddrTable", 11, entries), XS_ZE_SUCCESS);
    assert_int_equal(CALL(entries, 2, (xs_ze_handle, void *), NULL, &p), XS_ZE_SUCCESS);
    assert_int_equal(handles.flags, 0);
}

static xs_ze_handle immediate(uint32_t flags)
{
    struct xs_ze_queue_desc desc = {.type = XS_ZE_TYPE_QUEUE_DESC, .flags = flags, .mode = 2};
    xs_ze_handle list = NULL;

    assert_int_equal(CALL(lists, 1, (xs_ze_handle, xs_ze_handle, const void *, xs_ze_handle *), (xs_ze_handle)(void *)g_device,
                          (xs_ze_handle)(void *)g_device, &desc, &list), XS_ZE_SUCCESS);
    return list;
}

static void append_kernel(xs_ze_handle list, int n, void *kernel)
{
    struct xs_ze_groups groups = {1, 1, 1};

    while (n--)
        assert_int_equal(CALL(lists, 22, (xs_ze_handle, void *, const void *, xs_ze_handle, uint32_t, void *), list, kernel,
                              &groups, NULL, 0, NULL), XS_ZE_SUCCESS);
}

static void append(xs_ze_handle list, int n)
{
    append_kernel(list, n, g_device);
}

static int64_t counted(xs_ze_handle list)
{
    XQueueHandle xq;
    HwQueueHandle hwq;
    int64_t n = -1;

    assert_int_equal(LevelZeroQueueCreate(&hwq, (ze_command_queue_handle_t)(void *)list), kXSchedSuccess);
    assert_int_equal(XQueueGet(&xq, hwq), kXSchedSuccess);
    assert_int_equal(XQueueProfileHwCommandCount(xq, &n), kXSchedSuccess);
    return n;
}

/* In order, a call carries our event; out of order a barrier comes behind it. All of them are given back in the end. Each list
 * has its own kernel: without an estimate, the first launch gets a mark at any speed of this machine. */
static void marks_of_lists(void **state)
{
    unsigned events = g_played->events;
    xs_ze_handle list = immediate(XS_ZE_QUEUE_IN_ORDER);
    struct played before = *g_played;

    (void)state;
    append_kernel(list, 200, g_kernels[0]);
    assert_int_equal(g_played->appends - before.appends, 200);
    assert_true(g_played->carried > before.carried);
    assert_int_equal(g_played->barriers, before.barriers);
    assert_int_equal(counted(list), 200);
    CALL(lists, 2, (xs_ze_handle), list);
    assert_int_equal(g_played->events, events);
    list = immediate(0);
    before = *g_played;
    append_kernel(list, 200, g_kernels[1]);
    assert_int_equal(g_played->carried, before.carried);
    assert_true(g_played->barriers > before.barriers);
    CALL(lists, 2, (xs_ze_handle), list);
    assert_int_equal(g_played->events, events);
}

/* A call without a fence gets a queue's mark as its fence; behind a call with a fence the mark is a
 * submission of its own. Another thread, which looks now and then, puts such a submission, too, when
 * commands have no mark at that moment. */
static void marks_of_queues(void **state)
{
    struct xs_ze_queue_desc desc = {.type = XS_ZE_TYPE_QUEUE_DESC, .mode = 2};
    char program_lists[2][64] = {"p", "p"}, fence[64]; /* one that has no estimate for either way */
    xs_ze_handle queue = NULL, one;
    struct played before;

    (void)state;
    CALL(queues, 0, (xs_ze_handle, xs_ze_handle, const void *, xs_ze_handle *), (xs_ze_handle)(void *)g_device,
         (xs_ze_handle)(void *)g_device, &desc, &queue);
    for (int with = 0; with < 2; with++) {
        one = (xs_ze_handle)(void *)program_lists[with];
        before = *g_played;
        for (int i = 0; i < 200; i++)
            CALL(queues, 2, (xs_ze_handle, uint32_t, xs_ze_handle *, void *), queue, 1, &one, with ? fence : NULL);
        if (with)
            assert_true(g_played->empty > before.empty);
        else
            assert_true(g_played->fenced - before.fenced > g_played->empty - before.empty);
        assert_true(g_played->fenced > before.fenced);
        assert_int_equal(g_played->executes - before.executes, 200 + g_played->empty - before.empty);
    }
    CALL(queues, 1, (xs_ze_handle), queue);
    assert_int_equal(g_played->fences, 0);
}

/* What is recorded is no command, in the list that begins it and in one that joins. */
static void captures(void **state)
{
    xs_ze_handle list = immediate(XS_ZE_QUEUE_IN_ORDER), other = immediate(XS_ZE_QUEUE_IN_ORDER);
    struct played before;

    (void)state;
    append(list, 10);
    append(other, 10);
    before = *g_played;
    g_played->captured = other;
    CALL(lists, 45, (xs_ze_handle, const void *), list, NULL);
    append(list, 100);
    append(other, 100);
    CALL(lists, 48, (xs_ze_handle, const void *, void *), list, NULL, NULL);
    g_played->captured = NULL;
    assert_int_equal(g_played->carried, before.carried);
    assert_int_equal(counted(list), 10);
    assert_int_equal(counted(other), 10);
    append(list, 5);
    append(other, 5);
    assert_int_equal(counted(list), 15);
    assert_int_equal(counted(other), 15);
    CALL(lists, 2, (xs_ze_handle), list);
    CALL(lists, 2, (xs_ze_handle), other);
}

static void newer_functions(void **state)
{
    xs_ze_handle list = immediate(XS_ZE_QUEUE_IN_ORDER);
    void *devices[ENTRIES] = {NULL}, *values[1] = {NULL};
    struct xs_ze_groups groups = {1, 2, 3}, sizes = {4, 5, 6};

    (void)state;
    assert_int_equal(CALL(lists, 37, (xs_ze_handle, void *, struct xs_ze_groups, struct xs_ze_groups, void **,
                                      const void *, void *, uint32_t, void *),
                          list, g_device, groups, sizes, values, NULL, NULL, 0, NULL), XS_ZE_SUCCESS);
    assert_int_equal(g_played->groups.z, 3);
    assert_int_equal(g_played->sizes.x, 4);
    assert_ptr_equal(g_played->values, values);
    assert_int_equal(counted(list), 1);
    assert_int_equal(ask(g_proxy, "zeGetDeviceProcAddrTable", 17, devices), XS_ZE_SUCCESS);
    assert_int_equal(CALL(devices, 22, (void *), g_device), XS_ZE_SUCCESS);
    assert_int_equal(g_played->synchronized, 1);
    CALL(lists, 2, (xs_ze_handle), list);
}

static void bad_input(void **state)
{
    HwQueueHandle hwq;

    (void)state;
    assert_int_equal(LevelZeroQueueCreate(NULL, (ze_command_queue_handle_t)(void *)g_device), kXSchedErrorInvalidValue);
    assert_int_equal(LevelZeroQueueCreate(&hwq, NULL), kXSchedErrorInvalidValue);
    assert_int_equal(LevelZeroQueueCreate(&hwq, (ze_command_queue_handle_t)(void *)g_device), kXSchedErrorNotFound);
    assert_int_equal(ZeQueueCreate(&hwq, NULL, (ze_command_queue_handle_t)(void *)g_device), kXSchedErrorInvalidValue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_older_loader),  cmocka_unit_test(a_newer_driver),  cmocka_unit_test(another_interface),
        cmocka_unit_test(objects_with_tables), cmocka_unit_test(marks_of_lists), cmocka_unit_test(marks_of_queues),
        cmocka_unit_test(captures),         cmocka_unit_test(newer_functions), cmocka_unit_test(bad_input),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
