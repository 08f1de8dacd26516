/* SPDX-License-Identifier: Apache-2.0 */
/* A test plays Vulkan's loader between the layer (the file that LAYER names) and the fake driver. */
#ifndef TESTS_VULKAN_PLAYED_LOADER_H
#define TESTS_VULKAN_PLAYED_LOADER_H

#include "fake_vulkan.h"
#include "hal/vulkan/vk_abi.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct {
    xs_vk_get_function instance_function, device_function; /* the layer's */
    xs_vk_handle instance, device;
    void (*destroy_device)(xs_vk_handle, const void *);
    void (*destroy_instance)(xs_vk_handle, const void *);
    void (*get_queue)(xs_vk_handle, uint32_t, uint32_t, xs_vk_handle *);
    xs_vk_result (*submit)(xs_vk_handle, uint32_t, const struct xs_vk_submit *, xs_vk_object);
    xs_vk_result (*submit_2)(xs_vk_handle, uint32_t, const struct xs_vk_submit_2 *, xs_vk_object);
    xs_vk_result (*bind_sparse)(xs_vk_handle, uint32_t, const void *, xs_vk_object);
    xs_vk_result (*present)(xs_vk_handle, const void *);
    xs_vk_result (*device_wait)(xs_vk_handle);
    xs_vk_result (*create_semaphore)(xs_vk_handle, const struct xs_vk_simple_create *, const void *, xs_vk_object *);
    void (*destroy_semaphore)(xs_vk_handle, xs_vk_object, const void *);
} vk;

static inline void played_find(xs_vk_get_function get, xs_vk_handle object, const char *name, void *ret)
{
    xs_vk_function f = get(object, name);

    assert_non_null(f);
    memcpy(ret, &f, sizeof(f));
}

static inline void played_load(void)
{
    struct xs_vk_negotiate n = {.type = XS_VK_LAYER_NEGOTIATE, .version = XS_VK_LAYER_VERSION};
    xs_vk_result (*negotiate)(struct xs_vk_negotiate *);
    void *layer = dlopen(getenv("LAYER"), RTLD_NOW | RTLD_LOCAL), *f;

    if (!layer)
        fprintf(stderr, "%s\n", dlerror());
    assert_non_null(layer);
    f = dlsym(layer, "vkNegotiateLoaderLayerInterfaceVersion");
    assert_non_null(f);
    memcpy(&negotiate, &f, sizeof(f));
    assert_int_equal(negotiate(&n), XS_VK_SUCCESS);
    vk.instance_function = n.instance_function;
    vk.device_function = n.device_function;
}

/* @param features  of the program: the chain of its create structure; NULL: none */
static inline void played_device(const void *features, const struct xs_vk_queue_create *queues, uint32_t queues_count)
{
    xs_vk_result (*create)(const struct xs_vk_instance_create *, const void *, xs_vk_handle *);
    xs_vk_result (*create_it)(xs_vk_handle, const struct xs_vk_device_create *, const void *, xs_vk_handle *);
    struct xs_vk_instance_link instance_link = {.instance_function = fake_vk_function};
    struct xs_vk_device_link device_link = {.instance_function = fake_vk_function, .device_function = fake_vk_function};
    struct xs_vk_layer_create instance_layer = {.type = XS_VK_TYPE_LAYER_INSTANCE, .link.instance = &instance_link};
    struct xs_vk_layer_create device_layer = {.type = XS_VK_TYPE_LAYER_DEVICE, .next = features, .link.device = &device_link};
    struct xs_vk_application app = {.api = XS_VK_API(1, 3)};
    struct xs_vk_instance_create instance = {.type = XS_VK_TYPE_INSTANCE_CREATE, .next = &instance_layer, .application = &app};
    struct xs_vk_device_create device = {.type = XS_VK_TYPE_DEVICE_CREATE, .next = &device_layer, .queues = queues,
                                         .queues_count = queues_count};

    played_find(vk.instance_function, NULL, "vkCreateInstance", &create);
    assert_int_equal(create(&instance, NULL, &vk.instance), XS_VK_SUCCESS);
    played_find(vk.instance_function, vk.instance, "vkCreateDevice", &create_it);
    played_find(vk.instance_function, vk.instance, "vkDestroyInstance", &vk.destroy_instance);
    assert_int_equal(create_it(fake_vk_physical(), &device, NULL, &vk.device), XS_VK_SUCCESS);
    played_find(vk.device_function, vk.device, "vkDestroyDevice", &vk.destroy_device);
    played_find(vk.device_function, vk.device, "vkGetDeviceQueue", &vk.get_queue);
    played_find(vk.device_function, vk.device, "vkQueueSubmit", &vk.submit);
    played_find(vk.device_function, vk.device, "vkQueueSubmit2", &vk.submit_2);
    played_find(vk.device_function, vk.device, "vkQueueBindSparse", &vk.bind_sparse);
    played_find(vk.device_function, vk.device, "vkQueuePresentKHR", &vk.present);
    played_find(vk.device_function, vk.device, "vkDeviceWaitIdle", &vk.device_wait);
    played_find(vk.device_function, vk.device, "vkCreateSemaphore", &vk.create_semaphore);
    played_find(vk.device_function, vk.device, "vkDestroySemaphore", &vk.destroy_semaphore);
}

#endif
