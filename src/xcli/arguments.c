/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments that several commands share: --json, a process, a handle, filters. */
#include "xcli/xcli.h"

#include "base/str.h"
#include "query/device_text.h"
#include "query/duration.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t xcli_handle_arg(struct argp_state *state, const char *arg)
{
    bool decimal = arg[strspn(arg, "0123456789")] == 0; /* decimal, as /xqueues has it; with a letter or
                                                           0x it is hexadecimal */
    uint64_t handle = 0;

    if (xs_str_parse_u64(arg, decimal ? 10 : 16, &handle) < 0 || handle == 0)
        argp_error(state, "'%s' is no handle: a number as `xcli list` or /xqueues shows it", arg);
    return handle;
}

int64_t xcli_value_arg(struct argp_state *state, const char *what, const struct xs_value_type *type, const char *arg)
{
    char error[XS_VALUE_ERROR_BYTES];
    struct xs_value v = {0};

    if (xs_value_parse(type, arg, &v) < 0)
        argp_error(state, "%s: %s", what, xs_value_error(type, arg, error, sizeof(error)));
    return v.number;
}

int64_t xcli_number_arg(struct argp_state *state, const char *what, const char *arg, int64_t min,
                          int64_t max)
{
    const struct xs_value_type type = XS_TYPE(NUMBER, min, max);

    return xcli_value_arg(state, what, &type, arg);
}

int64_t xcli_pid_arg(struct argp_state *state, const char *arg)
{
    int64_t pid;

    if (xs_str_parse_i64(arg, &pid) < 0)
        argp_error(state, "pid: '%s' is no process number; `xcli list` shows them", arg);
    return xcli_number_arg(state, "pid", arg, 1, INT32_MAX);
}

uint64_t xcli_duration_arg(struct argp_state *state, const char *arg)
{
    double ms = xs_duration_ms(arg);

    if (ms >= 1 && ms <= 30.0 * 24 * 3600e3)
        return (uint64_t)ms;
    argp_error(state, "'%s' is no time from 1ms to 720h, such as 500ms, 30s or 5m", arg);
    return 0;
}

static error_t parse_json(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    (void)state;
    if (key != 'j')
        return ARGP_ERR_UNKNOWN;
    g_xcli.json = true;
    return 0;
}

static const struct argp_option k_json_options[] = {
    {"json", 'j', NULL, 0, "print the answer as JSON", -1},
    {0},
};
static const struct argp k_json = {.options = k_json_options, .parser = parse_json};
const struct argp_child xcli_json_child[] = {{.argp = &k_json}, {0}};

/* ---- filters ---- */

bool xcli_filter_user(struct xcli_filter *f, const char *arg)
{
    struct passwd *p = getpwnam(arg);
    uint64_t number;

    if (!p && (xs_str_parse_u64(arg, 10, &number) < 0 || number > UINT32_MAX))
        return false;
    f->by_user = true;
    f->uid = p ? (int64_t)p->pw_uid : (int64_t)number;
    return true;
}

/* The server's row of a device, if it has one. */
static const json_t *named(const struct xcli_filter *f, uint64_t device)
{
    size_t i;
    json_t *o;

    json_array_foreach(json_object_get(f->devices, "devices"), i, o)
        if ((uint64_t)xcli_int(o, "device") == device)
            return o;
    return NULL;
}

bool xcli_filter_device(const struct xcli_filter *f, uint64_t device)
{
    const json_t *o = named(f, device);
    char text[64];

    if (!f->device)
        return true;
    xcli_device_text(device, text, sizeof(text));
    if (strcmp(f->device, xcli_text(o, "gpu")) == 0 || strcmp(f->device, xcli_text(o, "uuid")) == 0)
        return true;
    /* a part of the address or of the model; a number alone is the driver's */
    return f->device[strspn(f->device, "0123456789")] &&
           (strcasestr(text, f->device) || strcasestr(xcli_text(o, "model"), f->device));
}

bool xcli_filter_passes(const struct xcli_filter *f, int64_t uid, uint64_t device)
{
    return (!f->by_user || f->uid == uid) && xcli_filter_device(f, device);
}

/* Whether a text may mean a device on which no queue works now: the driver's number, a UUID, a part of an address. */
static bool may_be_idle(const char *device)
{
    size_t n = strlen(device);

    return n && (strspn(device, "0123456789") == n || strncmp(device, "GPU-", 4) == 0 ||
                 strncmp(device, "MIG-", 4) == 0 ||
                 (strchr(device, ':') && strspn(device, "0123456789abcdefABCDEF:.") == n));
}

int xcli_filter_begin(struct xcli_filter *f, bool watches)
{
    const json_t *list;
    char why[256], text[128], names[512] = "";
    size_t i, used = 0;
    json_t *o;

    if (!f->device)
        return XCLI_OK;
    if (xcli_try("GET", "/devices", NULL, why, sizeof(why), &f->devices) != XCLI_OK) {
        f->devices =
            NULL; /* an older server: by address, then; or none, which the question itself finds out */
        return XCLI_OK;
    }
    list = json_object_get(f->devices, "devices");
    json_array_foreach((json_t *)(uintptr_t)list, i, o)
    {
        if (xcli_filter_device(f, (uint64_t)xcli_int(o, "device")))
            return XCLI_OK;
        xs_device_text((uint64_t)xcli_int(o, "device"), f->devices, text, sizeof(text));
        if (used < sizeof(names))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "", text);
    }
    if (may_be_idle(f->device) || (watches && !json_array_size(list)))
        return XCLI_OK;
    fprintf(stderr, "xcli: no device is called '%.40s': %s%s\n", f->device,
            names[0] ? "queues work on " : "no queue works on any", names);
    return XCLI_USAGE;
}

void xcli_filter_end(struct xcli_filter *f)
{
    json_decref(f->devices);
}

/* The members of such a list that pass. */
static json_t *filtered(const json_t *list, const struct xcli_filter *f, const json_t *processes)
{
    json_t *kept = json_array(), *o;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)list, i, o)
    {
        const json_t *process = xcli_find(processes, "pid", xcli_int(o, "pid"));

        if (xcli_filter_passes(f, xcli_int(process ? process : o, "uid"), (uint64_t)xcli_int(o, "device")))
            json_array_append(kept, o);
    }
    return kept;
}

/* Programs of the user; with a device filter, those with a queue on that device. */
static json_t *filtered_programs(const json_t *list, const struct xcli_filter *f, const json_t *queues)
{
    json_t *kept = json_array(), *o;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)list, i, o)
        if ((!f->by_user || f->uid == xcli_int(o, "uid")) &&
            (!f->device || xcli_find(queues, "pid", xcli_int(o, "pid"))))
            json_array_append(kept, o);
    return kept;
}

void xcli_filter_apply(const struct xcli_filter *f, json_t *answer)
{
    json_t *processes = json_object_get(answer, "processes"), *queues;

    if (!f->by_user && !f->device)
        return;
    queues = filtered(json_object_get(answer, "xqueues"), f, processes);
    json_object_set_new(answer, "processes", filtered_programs(processes, f, queues));
    json_object_set_new(answer, "xqueues", queues);
}

struct of_device {
    uint64_t device;
    size_t place;
};

static int in_order_of_device(const void *a, const void *b)
{
    const struct of_device *oa = a, *ob = b;

    return oa->device < ob->device ? -1 : oa->device > ob->device;
}

bool xcli_scale_shares(const uint64_t *devices, double *shares, size_t n)
{
    struct of_device *order = calloc(n + 1, sizeof(*order));
    bool scaled = false;

    if (!order)
        return false;
    for (size_t i = 0; i < n; i++)
        order[i] = (struct of_device){devices[i], i};
    qsort(order, n, sizeof(*order), in_order_of_device);
    for (size_t from = 0, to; from < n; from = to) {
        double sum = 0;

        for (to = from; to < n && order[to].device == order[from].device; to++)
            sum += shares[order[to].place];
        if (sum <= 1)
            continue;
        for (size_t i = from; i < to; i++)
            shares[order[i].place] /= sum;
        scaled = scaled || sum > 1.02; /* two clocks never agree */
    }
    free(order);
    return scaled;
}

const json_t *xcli_find(const json_t *list, const char *key, int64_t value)
{
    size_t i;
    json_t *o;

    json_array_foreach((json_t *)(uintptr_t)list, i, o) if (xcli_int(o, key) == value) return o;
    return NULL;
}

const char *xcli_user_name(int64_t uid)
{
    static int64_t last_uid = -1;
    static char last[33];
    struct passwd *p;

    if (uid == last_uid)
        return last;
    last_uid = uid;
    p = getpwuid((uid_t)uid);
    snprintf(last, sizeof(last), "%" PRId64, uid);
    if (p)
        snprintf(last, sizeof(last), "%s", p->pw_name);
    return last;
}
