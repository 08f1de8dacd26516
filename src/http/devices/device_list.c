/* SPDX-License-Identifier: Apache-2.0 */
#include "http/devices/device_list.h"

#include "http/devices/nvml_states.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOOKED_AT 4096u /* ids that it looks up in sysfs */
#define FOLDER    "/sys/bus/pci/devices/"

static int by_device(const void *a, const void *b)
{
    XDevice da = *(const XDevice *)a, db = *(const XDevice *)b;

    return da < db ? -1 : da > db;
}

static int row_by_device(const void *a, const void *b)
{
    return by_device(&((const struct xs_device_row *)a)->device, &((const struct xs_device_row *)b)->device);
}

/* @return whether the kernel has it */
static bool folder_of(XDevice device, char *ret, size_t size)
{
    uint32_t id = (uint32_t)device;

    snprintf(ret, size, FOLDER "%04x:%02x:%02x.%x", id >> 16, id >> 8 & 0xff, id >> 3 & 0x1f, id & 7);
    return id >> 16 != 0xffff && access(ret, F_OK) == 0;
}

/* For a container, say, where the kernel driver's files are out of sight. */
static void take_model(struct xs_device_row *row, const char *model)
{
    char line[160];

    snprintf(line, sizeof(line), "Model: %s\n", model);
    if (!row->name.model[0] && model[0])
        xs_device_name_parse(line, &row->name);
}

static void describe(struct xs_device_row *row, XDevice device, const char *folder, bool all)
{
    row->device = device;
    xs_device_name_get(device, &row->name);
    xs_device_state_get(folder, &row->state);
    if (xs_device_is_nvidia(folder)) {
        struct xs_nvml_answer a;

        xs_nvml_state_get(row->name.pci, &a);
        row->state = a.state;
        take_model(row, a.model);
    }
    if (!all) /* they show when others work */
        row->state.memory_used_bytes = row->state.temperature_c = row->state.clock_mhz = XS_DEVICE_UNKNOWN;
}

struct xs_device_row *xs_devices_find(struct xs_devices *d, XDevice device)
{
    struct xs_device_row key = {.device = device};

    return bsearch(&key, d->rows, d->n, sizeof(key), row_by_device);
}

static void choose(struct xs_devices *d, const XDevice *ids, size_t n, bool all)
{
    size_t real = 0, other = 0, looked = 0;

    for (size_t i = 0; i < n; i++) {
        char folder[80];
        bool known;

        if (i && ids[i] == ids[i - 1])
            continue;
        if (looked++ == LOOKED_AT || (real == XS_DEVICES_REAL && other == XS_DEVICES_OTHER)) {
            d->more = true;
            return;
        }
        known = folder_of(ids[i], folder, sizeof(folder));
        if (known ? real == XS_DEVICES_REAL : other == XS_DEVICES_OTHER) {
            d->more = true;
            continue;
        }
        real += known;
        other += !known;
        describe(&d->rows[d->n++], ids[i], folder, all);
    }
}

struct xs_devices *xs_devices_of(const struct xs_request *r)
{
    struct xs_devices *d = calloc(1, sizeof(*d));
    XDevice *ids = calloc(r->n_queues + 1, sizeof(*ids));

    if (!d || !ids) {
        free(d);
        free(ids);
        return NULL;
    }
    for (size_t i = 0; i < r->n_queues; i++)
        ids[i] = r->queues[i].status.device;
    qsort(ids, r->n_queues, sizeof(*ids), by_device);
    choose(d, ids, r->n_queues, r->asker.all);
    free(ids);
    for (size_t i = 0; i < r->n_queues; i++) {
        const struct xs_sched_queue_status *st = &r->queues[i].status;
        struct xs_device_row *row = xs_devices_find(d, st->device);

        if (!row)
            continue;
        row->queues++;
        row->ready += st->ready;
        row->waiting += xs_sched_state_of(st) == XS_SCHED_WAITING;
    }
    return d;
}
