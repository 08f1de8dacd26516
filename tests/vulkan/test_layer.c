/* SPDX-License-Identifier: Apache-2.0 */
/* The layer between a loader and a driver that are both played here, for what lavapipe cannot show: queues of several
 * families, drivers without timeline semaphores or that refuse them, a lost device. Nothing completes before a test says so. */
#include "hal/vulkan/vk_abi.h"

#include "xsched/vulkan/hal.h"
#include "xsched/xsched.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define LOST   (-4)               /* VK_ERROR_DEVICE_LOST */
#define QUEUES 4                  /* of two families */
#define SEEN   64

/* What the loader keeps in the first word of an object tells to what it belongs. */
struct object {
    const void *key;
    unsigned index;
};

static int g_instance_key, g_device_key;
static struct object g_instance = {&g_instance_key, 0}, g_physical = {&g_instance_key, 0}, g_device = {&g_device_key, 0};
static struct object g_queues[QUEUES] = {{&g_device_key, 0}, {&g_device_key, 1}, {&g_device_key, 2}, {&g_device_key, 3}};

/* ---- the driver ---- */

static struct {
    bool has_timeline;            /* the physical device has the feature */
    bool refuses_wish;            /* and does not like to be asked for it */
    uint32_t api;
    xs_vk_result answer;          /* of submissions */
    /* what it saw */
    unsigned unknown;             /* structures that nobody knows */
    unsigned creates, wishes, semaphores, fences, waits;
    unsigned submits, batches[SEEN];
    uint64_t signalled[QUEUES];   /* value of the last signal in that queue */
    xs_vk_object semaphore[QUEUES];
    pthread_t thread[SEEN];
    uint64_t fence[SEEN];
    _Atomic uint64_t counter[8];  /* of semaphores, which are numbered from 1 */
    _Atomic int status;           /* of every fence */
    uint64_t waited_for;
} d;

static void properties(xs_vk_handle physical, struct xs_vk_properties *ret)
{
    (void)physical;
    memset(ret, 0, sizeof(*ret));
    ret->api = d.api;
    ret->kind = XS_VK_DISCRETE_GPU;
    strcpy(ret->name, "played");
}

static void properties_2(xs_vk_handle physical, struct xs_vk_properties_2 *ret)
{
    struct xs_vk_pci_bus *bus = ret->next;

    properties(physical, &ret->properties);
    if (bus && bus->type == XS_VK_TYPE_PCI_BUS)
        bus->bus = 0xc3;
}

static void features_2(xs_vk_handle physical, struct xs_vk_features_2 *ret)
{
    struct xs_vk_timeline_features *t = ret->next;

    (void)physical;
    if (t && t->type == XS_VK_TYPE_TIMELINE_FEATURES)
        t->timeline = d.has_timeline;
}

static xs_vk_result extensions(xs_vk_handle physical, const char *layer, uint32_t *count, struct xs_vk_extension *ret)
{
    (void)physical, (void)layer;
    if (ret)
        strcpy(ret[0].name, "VK_EXT_pci_bus_info");
    *count = 1;
    return XS_VK_SUCCESS;
}

static xs_vk_result create_device(xs_vk_handle physical, const struct xs_vk_device_create *create, const void *allocator,
                                  xs_vk_handle *ret)
{
    bool wished = false;

    (void)physical, (void)allocator;
    for (const struct xs_vk_base *b = create->next; b; b = b->next) {
        if (b->type == XS_VK_TYPE_TIMELINE_FEATURES)
            wished |= ((const struct xs_vk_timeline_features *)(const void *)b)->timeline != 0;
        d.unknown += b->type == 12345;
    }
    d.creates++;
    d.wishes += wished;
    if (wished && d.refuses_wish)
        return XS_VK_ERROR_INITIALIZATION_FAILED;
    *ret = &g_device;
    return XS_VK_SUCCESS;
}

static void get_queue(xs_vk_handle device, uint32_t family, uint32_t index, xs_vk_handle *ret)
{
    (void)device;
    *ret = &g_queues[family * 2 + index];
}

static void get_queue_2(xs_vk_handle device, const struct xs_vk_queue_wanted *wanted, xs_vk_handle *ret)
{
    get_queue(device, wanted->family, wanted->index, ret);
}

static void note_submit(uint32_t count, xs_vk_object fence)
{
    unsigned n = d.submits++ % SEEN;

    d.batches[n] = count;
    d.fence[n] = fence;
    d.thread[n] = pthread_self();
}

static xs_vk_result submit(xs_vk_handle queue, uint32_t count, const struct xs_vk_submit *batches, xs_vk_object fence)
{
    unsigned index = ((struct object *)queue)->index;

    note_submit(count, fence);
    if (d.answer != XS_VK_SUCCESS)
        return d.answer;
    if (count && batches[count - 1].signals_count == 1 && batches[count - 1].next) {
        const struct xs_vk_timeline_submit *t = batches[count - 1].next;

        assert_int_equal(t->type, XS_VK_TYPE_TIMELINE_SUBMIT);
        assert_int_equal(batches[count - 1].commands_count, 0);
        assert_true(t->signals[0] > d.signalled[index]); /* a semaphore never goes back */
        d.signalled[index] = t->signals[0];
        d.semaphore[index] = batches[count - 1].signals[0];
    }
    return XS_VK_SUCCESS;
}

static xs_vk_result submit_2(xs_vk_handle queue, uint32_t count, const struct xs_vk_submit_2 *batches, xs_vk_object fence)
{
    unsigned index = ((struct object *)queue)->index;

    note_submit(count, fence);
    if (d.answer != XS_VK_SUCCESS)
        return d.answer;
    if (count && batches[count - 1].signals_count == 1 && !batches[count - 1].commands_count) {
        assert_true(batches[count - 1].signals[0].value > d.signalled[index]);
        d.signalled[index] = batches[count - 1].signals[0].value;
        d.semaphore[index] = batches[count - 1].signals[0].semaphore;
    }
    return XS_VK_SUCCESS;
}

static xs_vk_result wait_idle(xs_vk_handle object)
{
    (void)object;
    d.waits++;
    return d.answer;
}

static xs_vk_result create_semaphore(xs_vk_handle device, const struct xs_vk_simple_create *create, const void *allocator,
                                     xs_vk_object *ret)
{
    (void)device, (void)create, (void)allocator;
    *ret = ++d.semaphores;
    return XS_VK_SUCCESS;
}

static xs_vk_result counter(xs_vk_handle device, xs_vk_object semaphore, uint64_t *ret)
{
    (void)device;
    *ret = d.counter[semaphore];
    return XS_VK_SUCCESS;
}

static xs_vk_result wait_semaphores(xs_vk_handle device, const struct xs_vk_semaphore_wait *wait, uint64_t timeout_ns)
{
    (void)device, (void)timeout_ns;
    d.waited_for = wait->values[0];
    return XS_VK_SUCCESS;
}

static xs_vk_result create_fence(xs_vk_handle device, const struct xs_vk_simple_create *create, const void *allocator,
                                 xs_vk_object *ret)
{
    (void)device, (void)create, (void)allocator;
    *ret = 1000 + ++d.fences;
    return XS_VK_SUCCESS;
}

static xs_vk_result fence_status(xs_vk_handle device, xs_vk_object fence)
{
    (void)device, (void)fence;
    return d.status;
}

static xs_vk_result reset_fences(xs_vk_handle device, uint32_t count, const xs_vk_object *fences)
{
    (void)device, (void)count, (void)fences;
    return XS_VK_SUCCESS;
}

static void destroy_object(xs_vk_handle device, xs_vk_object object, const void *allocator)
{
    (void)device, (void)allocator;
    *(object > 1000 ? &d.fences : &d.semaphores) -= 1;
}

static void destroy(xs_vk_handle object, const void *allocator)
{
    (void)object, (void)allocator;
}

static xs_vk_result create_instance(const struct xs_vk_instance_create *create, const void *allocator, xs_vk_handle *ret)
{
    (void)create, (void)allocator;
    *ret = &g_instance;
    return XS_VK_SUCCESS;
}

static xs_vk_function driver_function(xs_vk_handle object, const char *name)
{
    static const struct {
        const char *name;
        xs_vk_function f;
    } k[] = {
#define F(name, f) {#name, (xs_vk_function)f}
        F(vkCreateInstance, create_instance), F(vkDestroyInstance, destroy), F(vkCreateDevice, create_device),
        F(vkDestroyDevice, destroy), F(vkGetPhysicalDeviceProperties, properties),
        F(vkGetPhysicalDeviceProperties2, properties_2), F(vkGetPhysicalDeviceFeatures2, features_2),
        F(vkEnumerateDeviceExtensionProperties, extensions), F(vkGetDeviceQueue, get_queue),
        F(vkGetDeviceQueue2, get_queue_2), F(vkQueueSubmit, submit), F(vkQueueSubmit2, submit_2),
        F(vkQueueWaitIdle, wait_idle), F(vkDeviceWaitIdle, wait_idle), F(vkCreateSemaphore, create_semaphore),
        F(vkDestroySemaphore, destroy_object), F(vkGetSemaphoreCounterValue, counter), F(vkWaitSemaphores, wait_semaphores),
        F(vkCreateFence, create_fence), F(vkDestroyFence, destroy_object), F(vkGetFenceStatus, fence_status),
        F(vkResetFences, reset_fences),
#undef F
    };

    (void)object;
    for (size_t i = 0; i < sizeof(k) / sizeof(k[0]); i++) {
        if (strcmp(k[i].name, name) == 0)
            return k[i].f;
    }
    return NULL;
}

/* ---- the loader and the program ---- */

static xs_vk_get_function g_instance_function, g_device_function;

static struct {
    void (*destroy_device)(xs_vk_handle, const void *);
    void (*destroy_instance)(xs_vk_handle, const void *);
    void (*get_queue)(xs_vk_handle, uint32_t, uint32_t, xs_vk_handle *);
    xs_vk_result (*submit)(xs_vk_handle, uint32_t, const struct xs_vk_submit *, xs_vk_object);
    xs_vk_result (*submit_2)(xs_vk_handle, uint32_t, const struct xs_vk_submit_2 *, xs_vk_object);
    xs_vk_result (*queue_wait)(xs_vk_handle);
    xs_vk_result (*device_wait)(xs_vk_handle);
} p;

static void of(xs_vk_get_function get, xs_vk_handle object, const char *name, void *ret)
{
    xs_vk_function f = get(object, name);

    assert_non_null(f);
    memcpy(ret, &f, sizeof(f));
}

static int set_up_layer(void **state)
{
    struct xs_vk_negotiate n = {.type = XS_VK_LAYER_NEGOTIATE, .version = 1};
    xs_vk_result (*negotiate)(struct xs_vk_negotiate *);
    void *layer = dlopen(getenv("LAYER"), RTLD_NOW | RTLD_LOCAL), *f;

    (void)state;
    if (!layer)
        fprintf(stderr, "%s\n", dlerror());
    assert_non_null(layer);
    f = dlsym(layer, "vkNegotiateLoaderLayerInterfaceVersion");
    assert_non_null(f);
    memcpy(&negotiate, &f, sizeof(f));
    assert_int_equal(negotiate(&n), XS_VK_ERROR_INITIALIZATION_FAILED); /* a loader that is too old */
    n.version = 7;
    assert_int_equal(negotiate(&n), XS_VK_SUCCESS);
    assert_int_equal(n.version, XS_VK_LAYER_VERSION);
    g_instance_function = n.instance_function;
    g_device_function = n.device_function;
    return 0;
}

/* @param features  in front of the loader's part of the chain; NULL: none */
static unsigned g_made; /* devices */

static void make_device(struct xs_vk_base *features)
{
    g_made++;
    xs_vk_result (*create)(const struct xs_vk_instance_create *, const void *, xs_vk_handle *);
    xs_vk_result (*create_it)(xs_vk_handle, const struct xs_vk_device_create *, const void *, xs_vk_handle *);
    struct xs_vk_instance_link instance_link = {.instance_function = driver_function};
    struct xs_vk_device_link device_link = {.instance_function = driver_function, .device_function = driver_function};
    struct xs_vk_layer_create instance_layer = {.type = XS_VK_TYPE_LAYER_INSTANCE, .link.instance = &instance_link};
    struct xs_vk_layer_create device_layer = {.type = XS_VK_TYPE_LAYER_DEVICE, .link.device = &device_link};
    struct xs_vk_application app = {.api = XS_VK_API(1, 2)};
    struct xs_vk_instance_create instance = {.type = XS_VK_TYPE_INSTANCE_CREATE, .next = &instance_layer,
                                             .application = &app};
    struct xs_vk_device_create device = {.type = XS_VK_TYPE_DEVICE_CREATE, .next = features ? (void *)features : &device_layer};
    xs_vk_handle made = NULL;

    if (features && !features->next)
        features->next = &device_layer;
    else if (features)            /* it lies in memory that cannot be written: the chain was closed before */
        device.next = &device_layer, device_layer.next = features;
    of(g_instance_function, NULL, "vkCreateInstance", &create);
    assert_int_equal(create(&instance, NULL, &made), XS_VK_SUCCESS);
    of(g_instance_function, made, "vkCreateDevice", &create_it);
    of(g_instance_function, made, "vkDestroyInstance", &p.destroy_instance);
    assert_int_equal(create_it(&g_physical, &device, NULL, &made), XS_VK_SUCCESS);
    assert_ptr_equal(made, &g_device);
    of(g_device_function, made, "vkDestroyDevice", &p.destroy_device);
    of(g_device_function, made, "vkGetDeviceQueue", &p.get_queue);
    of(g_device_function, made, "vkQueueSubmit", &p.submit);
    of(g_device_function, made, "vkQueueSubmit2", &p.submit_2);
    of(g_device_function, made, "vkQueueWaitIdle", &p.queue_wait);
    of(g_device_function, made, "vkDeviceWaitIdle", &p.device_wait);
    assert_null(g_device_function(made, "vkQueueBindSparse")); /* the driver has none */
}

static void end_device(void)
{
    p.destroy_device(&g_device, NULL);
    p.destroy_instance(&g_instance, NULL);
    assert_int_equal(d.semaphores, 0);
    assert_int_equal(d.fences, 0);
}

static int set_up(void **state)
{
    (void)state;
    memset(&d, 0, sizeof(d));
    d.has_timeline = true;
    d.api = XS_VK_API(1, 3);
    d.status = XS_VK_NOT_READY;
    return 0;
}

static xs_vk_handle queue(uint32_t family, uint32_t index)
{
    xs_vk_handle q = NULL;

    p.get_queue(&g_device, family, index, &q);
    assert_non_null(q);
    return q;
}

/* Estimates are kept by command buffer, so each device has one of its own: what was timed before depends on who looked when. */
static xs_vk_result work(xs_vk_handle q, xs_vk_object fence)
{
    static struct object commands[SEEN];
    xs_vk_handle c = &commands[g_made % SEEN];
    struct xs_vk_submit s = {.type = XS_VK_TYPE_SUBMIT, .commands_count = 1, .commands = &c};

    commands[g_made % SEEN].key = &g_device_key;
    return p.submit(q, 1, &s, fence);
}

/* How many commands of the queue are not known to be complete. */
static int in_flight(xs_vk_handle q)
{
    HwQueueHandle h;
    XQueueState state;
    XQueueHandle xq;

    assert_int_equal(VulkanQueueCreate(&h, (VkQueue)q), kXSchedSuccess);
    assert_int_equal(XQueueGet(&xq, h), kXSchedSuccess);
    assert_int_equal(XQueueQuery(xq, &state), kXSchedSuccess);
    return state == kQueueStateReady;
}

static void until_idle(xs_vk_handle q)
{
    for (int i = 0; in_flight(q); i++) {
        assert_true(i < 20000);
        usleep(1000);
    }
}

/* Each queue has a semaphore and values of its own, and is complete when these are reached, whatever the others do. */
static void families(void **state)
{
    xs_vk_handle a, b;
    HwQueueHandle h;

    (void)state;
    make_device(NULL);
    assert_int_equal(d.wishes, 1);
    a = queue(0, 0);
    b = queue(1, 1);
    assert_int_equal(VulkanQueueCreate(&h, (VkQueue)queue(0, 1)), kXSchedSuccess);
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(work(a, i), XS_VK_SUCCESS);
        assert_int_equal(d.batches[d.submits - 1], 2); /* the program's, and ours */
        assert_int_equal(d.fence[d.submits - 1], i);
        assert_int_equal(d.signalled[0], i);
    }
    assert_int_equal(work(b, 0), XS_VK_SUCCESS);
    assert_int_equal(d.signalled[3], 1);
    assert_int_equal(d.submits, 4);
    assert_int_not_equal(d.semaphore[0], d.semaphore[3]);
    assert_true(in_flight(a) && in_flight(b));
    d.counter[d.semaphore[3]] = 1;
    until_idle(b);
    assert_true(in_flight(a));
    d.counter[d.semaphore[0]] = 3;
    until_idle(a);
    assert_int_equal(VulkanQueueCreate(&h, (VkQueue)a), kXSchedSuccess);
    assert_int_equal(HwQueueSynchronize(h), kXSchedSuccess);
    assert_int_equal(d.waited_for, 3);
    end_device();
    assert_int_equal(VulkanQueueCreate(&h, (VkQueue)a), kXSchedErrorNotFound);
}

static void submits_2(void **state)
{
    static struct object commands = {&g_device_key, 0};
    struct xs_vk_command_submit c = {.command = &commands};
    struct xs_vk_submit_2 all[40];
    xs_vk_handle q;

    (void)state;
    make_device(NULL);
    q = queue(0, 0);
    for (unsigned i = 0; i < 40; i++)
        all[i] = (struct xs_vk_submit_2){.type = XS_VK_TYPE_SUBMIT_2, .commands_count = 1, .commands = &c};
    assert_int_equal(p.submit_2(q, 2, all, 5), XS_VK_SUCCESS);
    assert_int_equal(d.batches[0], 3);
    assert_int_equal(p.submit_2(q, 40, all, 5), XS_VK_SUCCESS);
    assert_int_equal(d.batches[1], 40); /* more than the layer copies: a call of its own follows */
    assert_int_equal(d.batches[2], 1);
    assert_int_equal(d.fence[1], 5);
    assert_int_equal(d.fence[2], 0);
    assert_int_equal(d.signalled[0], 2);
    assert_int_equal(p.submit(q, 0, NULL, 6), XS_VK_SUCCESS); /* a fence alone is left alone */
    assert_int_equal(d.batches[3], 0);
    d.counter[d.semaphore[0]] = 2;
    until_idle(q);
    end_device();
}

static void *waits_for_all(void *q)
{
    HwQueueHandle h;
    XQueueHandle xq;

    assert_int_equal(VulkanQueueCreate(&h, q), kXSchedSuccess);
    assert_int_equal(XQueueGet(&xq, h), kXSchedSuccess);
    assert_int_equal(XQueueWaitAll(xq), kXSchedSuccess);
    return NULL;
}

/* Fences, put by the thread that submits and by no other. */
static void no_timeline(void **state)
{
    pthread_t other;
    xs_vk_handle q;

    (void)state;
    d.has_timeline = false;
    make_device(NULL);
    assert_int_equal(d.wishes, 0);
    q = queue(0, 0);
    assert_int_equal(work(q, 7), XS_VK_SUCCESS);
    assert_int_equal(d.batches[0], 1); /* as the program gave it */
    assert_int_equal(d.fence[0], 7);
    assert_int_equal(d.submits, 2);
    assert_int_equal(d.batches[1], 0); /* a kind of command that was never timed is marked */
    assert_true(d.fence[1] > 1000);
    assert_true(in_flight(q));
    d.status = XS_VK_SUCCESS;
    until_idle(q);
    for (int i = 0; i < 20; i++)
        assert_int_equal(work(q, 0), XS_VK_SUCCESS);
    assert_int_equal(p.device_wait(&g_device), XS_VK_SUCCESS);
    until_idle(q);
    d.status = XS_VK_NOT_READY;
    assert_int_equal(work(q, 0), XS_VK_SUCCESS);
    assert_int_equal(pthread_create(&other, NULL, waits_for_all, q), 0);
    pthread_join(other, NULL);
    for (unsigned i = 0; i < d.submits; i++)
        assert_true(pthread_equal(d.thread[i], pthread_self()));
    d.status = XS_VK_SUCCESS;
    until_idle(q);
    end_device();
}

static void refused(void **state)
{
    (void)state;
    d.refuses_wish = true;
    make_device(NULL);
    assert_int_equal(d.creates, 2); /* the second time as the program asked */
    assert_int_equal(d.wishes, 1);
    assert_int_equal(work(queue(0, 0), 0), XS_VK_SUCCESS);
    assert_int_equal(d.batches[0], 1);
    d.status = XS_VK_SUCCESS;
    end_device();
}

/* The program names the feature and does not enable it: the driver is given a copy that does, where all that stands before it is
 * known. The program's memory is not written to, which here it cannot be. */
static void named_feature(void **state)
{
    struct xs_vk_timeline_features *f = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static struct xs_vk_base last = {.type = 12345}, first = {.type = 12345};

    (void)state;
    assert_ptr_not_equal(f, MAP_FAILED);
    f->type = XS_VK_TYPE_TIMELINE_FEATURES;
    make_device((struct xs_vk_base *)(void *)f);
    assert_int_equal(d.wishes, 1);
    assert_int_equal(f->timeline, 0);
    end_device();
    d.creates = d.wishes = 0;
    f->next = &last;
    assert_int_equal(mprotect(f, 4096, PROT_READ), 0);
    make_device((struct xs_vk_base *)(void *)f);
    assert_int_equal(d.creates, 1);
    assert_int_equal(d.wishes, 1);
    assert_int_equal(d.unknown, 1); /* it is still there, behind the copy */
    end_device();
    d.creates = d.wishes = 0;
    first.next = f;
    make_device(&first);
    assert_int_equal(d.creates, 1);
    assert_int_equal(d.wishes, 0);
    end_device();
    munmap(f, 4096);
}

static void lost(void **state)
{
    xs_vk_handle q;

    (void)state;
    make_device(NULL);
    q = queue(0, 0);
    assert_int_equal(work(q, 0), XS_VK_SUCCESS);
    d.answer = LOST;
    assert_int_equal(work(q, 0), LOST);
    assert_int_equal(work(q, 0), LOST);
    assert_int_equal(p.queue_wait(q), LOST);
    assert_int_equal(p.device_wait(&g_device), LOST);
    d.answer = XS_VK_SUCCESS;
    assert_int_equal(work(q, 0), XS_VK_SUCCESS); /* no value was left out or used twice */
    assert_int_equal(d.signalled[0], 2);
    end_device();                 /* with a mark in flight that will never be reached */
}

/* For instructions.py: so many submissions on a device that is done at once. */
static void submissions(void **state)
{
    unsigned n = (unsigned)atoi(getenv("SUBMISSIONS"));
    xs_vk_handle q;

    (void)state;
    make_device(NULL);
    q = queue(0, 0);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(work(q, 0), XS_VK_SUCCESS);
        d.counter[1] = i + 1;
    }
    end_device();
}

int main(void)
{
    const struct CMUnitTest cost[] = {cmocka_unit_test_setup(submissions, set_up)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(families, set_up),    cmocka_unit_test_setup(submits_2, set_up),
        cmocka_unit_test_setup(no_timeline, set_up), cmocka_unit_test_setup(refused, set_up),
        cmocka_unit_test_setup(named_feature, set_up), cmocka_unit_test_setup(lost, set_up),
    };

    if (getenv("SUBMISSIONS"))
        return cmocka_run_group_tests(cost, set_up_layer, NULL);
    return cmocka_run_group_tests(tests, set_up_layer, NULL);
}
