/* SPDX-License-Identifier: Apache-2.0 */
/* A driver as new as the rows, and newer: each function has its place by levelzero_api.def and used.def, and is there from its
 * version on. It does nothing but count; all is complete at once. */
#include "played_driver.h"

#include <stdlib.h>

#define API __attribute__((visibility("default")))

extern API struct played played;
struct played played;

static xs_ze_result nothing(void)
{
    return XS_ZE_SUCCESS;
}

static xs_ze_result newer(void)
{
    return 77;
}

static xs_ze_result make(xs_ze_handle *ret)
{
    *ret = malloc(64);
    return XS_ZE_SUCCESS;
}

static xs_ze_result create_queue(xs_ze_handle context, xs_ze_handle device, const void *desc, xs_ze_handle *ret)
{
    (void)context, (void)device, (void)desc;
    return make(ret);
}

static xs_ze_result create_event(xs_ze_handle pool, const void *desc, xs_ze_handle *ret)
{
    (void)pool, (void)desc;
    played.events++;
    return make(ret);
}

static xs_ze_result destroy_event(xs_ze_handle event)
{
    played.events--;
    free(event);
    return XS_ZE_SUCCESS;
}

static xs_ze_result create_pool(xs_ze_handle context, const void *desc, uint32_t n, xs_ze_handle *devices, xs_ze_handle *ret)
{
    (void)context, (void)desc, (void)n, (void)devices;
    return make(ret);
}

static xs_ze_result create_fence(xs_ze_handle queue, const void *desc, xs_ze_handle *ret)
{
    (void)queue, (void)desc;
    played.fences++;
    return make(ret);
}

static xs_ze_result destroy_fence(xs_ze_handle fence)
{
    played.fences--;
    free(fence);
    return XS_ZE_SUCCESS;
}

static xs_ze_result execute(xs_ze_handle queue, uint32_t n, xs_ze_handle *lists, xs_ze_handle fence)
{
    (void)queue, (void)n;
    played.executes++;
    played.fenced += fence != NULL;
    played.empty += *(char *)lists[0] == 'e';
    return XS_ZE_SUCCESS;
}

static xs_ze_result create_list(xs_ze_handle context, xs_ze_handle device, const void *desc, xs_ze_handle *ret)
{
    (void)context, (void)device, (void)desc;
    make(ret);
    *(char *)*ret = 'e';
    return XS_ZE_SUCCESS;
}

static xs_ze_result append_kernel(xs_ze_handle list, xs_ze_handle kernel, const struct xs_ze_groups *groups, xs_ze_handle signal,
                                  uint32_t n, xs_ze_handle *waits)
{
    (void)list, (void)kernel, (void)groups, (void)n, (void)waits;
    played.appends++;
    played.carried += signal != NULL;
    return XS_ZE_SUCCESS;
}

static xs_ze_result append_with_arguments(xs_ze_handle list, xs_ze_handle kernel, struct xs_ze_groups groups,
                                          struct xs_ze_groups sizes, void **values, const void *next, xs_ze_handle signal,
                                          uint32_t n, xs_ze_handle *waits)
{
    (void)next;
    played.groups = groups;
    played.sizes = sizes;
    played.values = values;
    return append_kernel(list, kernel, &groups, signal, n, waits);
}

static xs_ze_result append_barrier(xs_ze_handle list, xs_ze_handle signal, uint32_t n, xs_ze_handle *waits)
{
    (void)list, (void)signal, (void)n, (void)waits;
    played.barriers++;
    return XS_ZE_SUCCESS;
}

static xs_ze_result append_signal(xs_ze_handle list, xs_ze_handle event)
{
    (void)list, (void)event;
    played.signals++;
    return XS_ZE_SUCCESS;
}

static xs_ze_result is_captured(xs_ze_handle list)
{
    return list == played.captured ? XS_ZE_QUERY_TRUE : XS_ZE_QUERY_TRUE + 1;
}

static xs_ze_result synchronize_device(xs_ze_handle device)
{
    (void)device;
    played.synchronized++;
    return XS_ZE_SUCCESS;
}

static xs_ze_result driver_properties(xs_ze_handle driver, struct xs_ze_driver_properties *ret)
{
    (void)driver;
    for (struct xs_ze_base *b = ret->next; b; b = b->next) {
        if (b->type == XS_ZE_TYPE_DDI_HANDLES)
            ((struct xs_ze_ddi_handles *)(void *)b)->flags = XS_ZE_DDI_HANDLES_SUPPORTED;
    }
    return XS_ZE_SUCCESS;
}

struct entry {
    const char *table;
    int slot, since;
    const char *name;
    void *function;
};

static const struct entry k_entries[] = {
#define ZE(kind, table, slot, since, name, params, args, key) {#table, slot, since, #name, (void *)nothing},
#include "shim/levelzero/levelzero_api.def"
#undef ZE
#define ZE_USED(table, slot, since, name, params) {#table, slot, since, #name, (void *)nothing},
#include "hal/levelzero/used.def"
#undef ZE_USED
#define BETTER(table, slot, since, function) {#table, slot, since, "", (void *)function},
    BETTER(driver, 2, 0, driver_properties) BETTER(device, 22, 14, synchronize_device)
    BETTER(command_queue, 0, 0, create_queue) BETTER(command_queue, 2, 0, execute) BETTER(command_list, 0, 0, create_list)
    BETTER(command_list, 1, 0, create_queue) BETTER(command_list, 6, 0, append_barrier)
    BETTER(command_list, 18, 0, append_signal) BETTER(command_list, 22, 0, append_kernel)
    BETTER(command_list, 37, 14, append_with_arguments) BETTER(command_list, 47, 17, is_captured)
    BETTER(command_list, PLAYED_NEWER, 20, newer) BETTER(fence, 0, 0, create_fence) BETTER(fence, 1, 0, destroy_fence)
    BETTER(event, 0, 0, create_event) BETTER(event, 1, 0, destroy_event) BETTER(event_pool, 0, 0, create_pool)
};

static xs_ze_result fill(const char *table, uint32_t version, void **entries)
{
    for (size_t i = 0; i < sizeof(k_entries) / sizeof(k_entries[0]); i++) {
        const struct entry *e = &k_entries[i];
        const char *a = e->table, *b = table;

        while (*a && *a == *b)
            a++, b++;
        if (*a == *b && e->since <= (int)(version & 0xffff))
            entries[e->slot] = e->function;
    }
    return XS_ZE_SUCCESS;
}

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define ZE_TABLE(table, getter, late)                                                             \
    API xs_ze_result getter(uint32_t version, void **entries)                                     \
    {                                                                                             \
        return fill(#table, version, entries);                                                    \
    }
#include "shim/levelzero/tables.def"
#undef ZE_TABLE
