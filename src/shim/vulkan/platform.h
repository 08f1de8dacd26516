/* SPDX-License-Identifier: Apache-2.0 */
/* Vulkan's part for src/shim/common. */
#ifndef XS_SHIM_VULKAN_PLATFORM_H
#define XS_SHIM_VULKAN_PLATFORM_H

#include "base/platforms.h"

#define XS_API_ROWS     "shim/vulkan/rows.def"
#define XS_API_PLATFORM XS_PLATFORM_NUMBER_VULKAN

#endif
