/* SPDX-License-Identifier: Apache-2.0 */
/* The answers to Vulkan's loader: which functions are ours. All others go to the next layer. */
#include "shim/vulkan/vk_layer.h"

#include "hal/common/note.h"

#include <string.h>

XS_SHIM_NOTE;

xs_vk_result vkNegotiateLoaderLayerInterfaceVersion(struct xs_vk_negotiate *n);

#define VK_INSTANCE(kind, name) [ROW_##name] = (xs_vk_function)xs_vk_##name,
#define VK_DEVICE(kind, name)   [ROW_##name] = (xs_vk_function)xs_vk_##name,
static const xs_vk_function k_functions[ROW_COUNT] = {
#include "shim/vulkan/vulkan_api.def"
};

static const bool k_of_device[ROW_COUNT] = {
#define VK_DEVICE(kind, name) [ROW_##name] = true,
#include "shim/vulkan/vulkan_api.def"
};

/* A layer exports none, and calls the loader's functions by no name. */
void *const xs_row_entries[ROW_COUNT] = {NULL};

void *xs_row_lacking(enum xs_row row)
{
    (void)row;
    return NULL;
}

/* @return the row of a function of ours, or -1 */
static int row_of(const char *name)
{
    if (name[0] != 'v' || name[1] != 'k')
        return -1;
    for (int row = 0; row < ROW_COUNT; row++) {
        if (strcmp(name, xs_row_info[row].symbol) == 0)
            return row;
    }
    return -1;
}

xs_vk_function xs_vk_vkGetDeviceProcAddr(xs_vk_handle device, const char *name)
{
    struct xs_vk_device *d = device ? xsched_priv_vk_device_of(device) : NULL;
    int row = row_of(name);
    xs_vk_function behind;

    if (!d)                       /* not made through us: there is no known function to call */
        return row >= 0 && k_of_device[row] ? k_functions[row] : NULL;
    behind = d->api.get(device, name);
    return row >= 0 && k_of_device[row] && behind ? k_functions[row] : behind;
}

xs_vk_function xs_vk_vkGetInstanceProcAddr(xs_vk_handle instance, const char *name)
{
    struct xs_vk_instance *i = instance ? xs_vk_instance_of(instance) : NULL;
    int row = row_of(name);
    xs_vk_function behind;

    if (!i)
        return row >= 0 ? k_functions[row] : NULL;
    behind = i->get(instance, name);
    return row >= 0 && behind ? k_functions[row] : behind;
}

XS_EXPORT xs_vk_result vkNegotiateLoaderLayerInterfaceVersion(struct xs_vk_negotiate *n)
{
    if (!n || n->type != XS_VK_LAYER_NEGOTIATE || n->version < XS_VK_LAYER_VERSION)
        return XS_VK_ERROR_INITIALIZATION_FAILED;
    xs_shim_wishes_once();
    n->version = XS_VK_LAYER_VERSION;
    n->instance_function = xs_vk_vkGetInstanceProcAddr;
    n->device_function = xs_vk_vkGetDeviceProcAddr;
    n->physical_function = NULL;
    return XS_VK_SUCCESS;
}
