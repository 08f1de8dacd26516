/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the user by which Vulkan's loader looks for layers elsewhere than our variables say. */
#ifndef XS_LAUNCHER_VULKAN_LAYERS_H
#define XS_LAUNCHER_VULKAN_LAYERS_H

#include "launcher/preload.h"

/** Makes the loader find our layer where an override layer names the folders of layers; says so where a file of settings
 *  lists the layers and ours is not among them. @return 0 or -ENOMEM */
int xs_vulkan_layers(const struct xs_shims *s);

#endif
