/* SPDX-License-Identifier: Apache-2.0 */
/* Our wishes in the program's name when it makes a device. Reads the program's own structures and never
 * writes them. */
#ifndef XS_SHIM_VULKAN_DEVICE_WISH_H
#define XS_SHIM_VULKAN_DEVICE_WISH_H

#include "hal/vulkan/hal.h"

/* The one of less worth has the lower bit: after a refusal, the next attempt is without that one first. */
#define XS_VK_WISH_PRIORITY 1u    /* a global priority of its queues */
#define XS_VK_WISH_TIMELINE 2u    /* timeline semaphores */

#define XS_VK_WISH_NAMES 2        /* extensions that the wishes may need */

/** A create structure with some of it. */
struct xs_vk_device_wish {
    struct xs_vk_device_create create;
    struct xs_vk_timeline_features timeline;
    struct xs_vk_global_priority *priorities; /* one for each entry of queues; allocated */
    struct xs_vk_queue_create *queues; /* allocated */
    const char **extensions;      /* allocated */
    void *chain;                  /* copies of the program's structures; allocated */
};

/** Our possible wishes. */
unsigned xs_vk_wishes(const struct xs_vk_physical *p, const struct xs_vk_device_create *create);
/** Fills *ret with the program's wishes and with these of ours. The caller frees it, also without any of
 *  ours.
 *  @return our wishes in it: leaves out those for which there is no memory */
unsigned xs_vk_wish(const struct xs_vk_physical *p, const struct xs_vk_device_create *create, unsigned wishes,
                    struct xs_vk_device_wish *ret);
void xs_vk_wish_free(struct xs_vk_device_wish *w);

bool xs_vk_names(const char *const *list, uint32_t count, const char *name);

#endif
