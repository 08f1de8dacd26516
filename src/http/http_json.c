/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_json.h"

#include "answers/json_members.h"
#include "http/devices/device_list.h"

#include <stdlib.h>

static void set_known(json_t *o, const char *name, int64_t value)
{
    if (value >= 0)
        xs_set_signed(o, name, value);
}

static json_t *device(const struct xs_device_row *row)
{
    json_t *o = json_object();

    xs_set_int(o, "device", row->device);
    xs_set_text(o, "gpu", row->name.gpu);
    xs_set_text(o, "model", row->name.model);
    xs_set_text(o, "uuid", row->name.uuid);
    xs_set_text(o, "pci", row->name.pci);
    xs_set_int(o, "queues", row->queues);
    xs_set_int(o, "ready", row->ready);
    xs_set_int(o, "waiting", row->waiting);
    set_known(o, "memory_bytes", row->state.memory_bytes);
    set_known(o, "memory_used_bytes", row->state.memory_used_bytes);
    set_known(o, "temperature_c", row->state.temperature_c);
    set_known(o, "clock_mhz", row->state.clock_mhz);
    return o;
}

json_t *xs_json_devices(const struct xs_request *r)
{
    struct xs_devices *d = xs_devices_of(r);
    json_t *list = json_array();

    for (size_t i = 0; d && i < d->n; i++)
        json_array_append_new(list, device(&d->rows[i]));
    list = json_pack("{s:o, s:b}", "devices", list, "more", d && d->more);
    free(d);
    return list;
}
