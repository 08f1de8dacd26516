/* SPDX-License-Identifier: Apache-2.0 */
/* xcli list --devices: the devices on which queues work, with as much of their state as the drivers show. */
#include "xcli/text_table.h"
#include "xcli/xcli.h"

#include <inttypes.h>

enum { DEVICE, GPU, MODEL, QUEUES, READY, WAITING, MEMORY, TEMPERATURE, CLOCK, N_COLUMNS };

static const struct xs_column k_columns[N_COLUMNS] = {
    [DEVICE] = {"DEVICE", false, 1}, [GPU] = {"GPU", true, 8},        [MODEL] = {"MODEL", false, 2},
    [QUEUES] = {"QUEUES", true, 5},  [READY] = {"READY", true, 7},    [WAITING] = {"WAITING", true, 6},
    [MEMORY] = {"MEMORY", true, 3},  [TEMPERATURE] = {"TEMP", true, 4}, [CLOCK] = {"CLOCK", true, 4},
};

/* A value that the server has, in a unit; where it has none, "-". */
static void set_known(struct xs_table *t, size_t column, const json_t *o, const char *name, const char *unit)
{
    if (json_object_get(o, name))
        xs_table_set(t, column, "%" PRId64 "%s", xcli_int(o, name), unit);
    else
        xs_table_set(t, column, "-");
}

static void set_memory(struct xs_table *t, const json_t *o)
{
    const double gib = 1 << 30;

    if (!json_object_get(o, "memory_bytes"))
        xs_table_set(t, MEMORY, "-");
    else if (!json_object_get(o, "memory_used_bytes"))
        xs_table_set(t, MEMORY, "%.1fG", (double)xcli_int(o, "memory_bytes") / gib);
    else
        xs_table_set(t, MEMORY, "%.1f/%.1fG", (double)xcli_int(o, "memory_used_bytes") / gib,
                     (double)xcli_int(o, "memory_bytes") / gib);
}

static void device_row(struct xs_table *t, const json_t *o)
{
    char device[64];

    xcli_device_text((uint64_t)xcli_int(o, "device"), device, sizeof(device));
    xs_table_row(t);
    xs_table_set(t, DEVICE, "%s", device);
    xs_table_set(t, GPU, "%s", xcli_text(o, "gpu"));
    xs_table_set(t, MODEL, "%s", xcli_text(o, "model")[0] ? xcli_text(o, "model") : "-");
    xs_table_set(t, QUEUES, "%" PRId64, xcli_int(o, "queues"));
    xs_table_set(t, READY, "%" PRId64, xcli_int(o, "ready"));
    xs_table_set(t, WAITING, "%" PRId64, xcli_int(o, "waiting"));
    set_memory(t, o);
    set_known(t, TEMPERATURE, o, "temperature_c", "C");
    set_known(t, CLOCK, o, "clock_mhz", "MHz");
}

int xcli_list_devices(const struct xcli_filter *f, size_t width)
{
    json_t *answer, *o, *kept;
    struct xs_table t;
    size_t i;
    int r = xcli_ask("GET", "/devices", NULL, &answer);

    if (r)
        return r;
    if (g_xcli.json) {
        kept = json_array();
        json_array_foreach(json_object_get(answer, "devices"), i,
                           o) if (xcli_filter_device(f, (uint64_t)xcli_int(o, "device")))
            json_array_append(kept, o);
        json_object_set_new(answer, "devices", kept);
        xcli_print_json(answer);
    } else {
        xs_table_init(&t, k_columns, N_COLUMNS);
        json_array_foreach(json_object_get(answer, "devices"), i, o)
            if (xcli_filter_device(f, (uint64_t)xcli_int(o, "device")))
                device_row(&t, o);
        xs_table_print(&t, width);
        xs_table_free(&t);
    }
    json_decref(answer);
    return XCLI_OK;
}
