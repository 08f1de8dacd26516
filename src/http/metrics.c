/* SPDX-License-Identifier: Apache-2.0 */
#include "http/metrics.h"

#include "host/procinfo.h"
#include "host/user_names.h"
#include "http/devices/device_list.h"
#include "http/devices/unscheduled.h"
#include "wire/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND_BYTES 48u

/* The labels of one queue or program, as the text between the braces. */
struct labels {
    size_t at, bytes; /* in one text that all share */
};

struct page {
    const struct xs_request *r;
    struct xs_text *out;
    struct xs_text labels;
    struct labels *queues, *processes;
    struct xs_devices *devices;
};

/* Adds a label's value, with a backslash before backslash and quote, and \n for a line end. */
static void add_escaped(struct xs_text *t, const char *value)
{
    for (; *value; value++) {
        if (*value == '\\' || *value == '"')
            xs_text_add_bytes(t, "\\", 1);
        if (*value == '\n')
            xs_text_add_bytes(t, "\\n", 2);
        else
            xs_text_add_bytes(t, value, 1);
    }
}

static void label(struct xs_text *t, size_t from, const char *name, const char *value)
{
    if (!value[0]) /* an empty one is the same as none */
        return;
    xs_text_add(t, "%s%s=\"", t->bytes > from ? "," : "", name);
    add_escaped(t, value);
    xs_text_add_bytes(t, "\"", 1);
}

static void number_label(struct xs_text *t, size_t from, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    label(t, from, name, text);
}

/* The short name of a program: "serve.py" of "/usr/bin/python3 serve.py --model x". It stands in every
 * line; only xsched_process_info has the whole command line. */
static void command_label(struct xs_text *t, size_t from, const char *cmdline)
{
    size_t end = strcspn(cmdline, " "), begin = 0;
    const char *script = cmdline[end] ? cmdline + end + 1 : "";
    char name[COMMAND_BYTES];

    for (size_t i = 0; i < end; i++)
        if (cmdline[i] == '/')
            begin = i + 1;
    if (script[0] && script[0] != '-' && script[0] != '/' && /* an interpreter's script */
        (!strncmp(cmdline + begin, "python", 6) || !strncmp(cmdline + begin, "node", 4) || !strncmp(cmdline + begin, "sh", 2) ||
         !strncmp(cmdline + begin, "bash", 4))) {
        begin = end + 1;
        end = begin + strcspn(script, " ");
    }
    snprintf(name, sizeof(name), "%.*s", (int)XS_MIN(end - begin, sizeof(name) - 1), cmdline + begin);
    xs_text_clean(name); /* snprintf may have cut a character */
    label(t, from, "command", name);
}

static void where_labels(struct xs_text *t, size_t from, const struct xs_client_record *c)
{
    char user[XS_USER_NAME_BYTES];

    if (!c)
        return;
    command_label(t, from, c->cmdline);
    xs_user_name(c->uid, user);
    label(t, from, "user", user);
    label(t, from, "container", c->container.id);
    label(t, from, "pod", c->container.pod);
}

/* One look at the driver a device, not one a queue. */
static const struct xs_device_name *name_of(XDevice device)
{
    static _Thread_local struct {
        XDevice device;
        struct xs_device_name name;
    } last[8];
    static _Thread_local unsigned next;

    for (unsigned i = 0; i < XS_ARRAY_LEN(last); i++)
        if (last[i].name.gpu[0] && last[i].device == device)
            return &last[i].name;
    next = (next + 1) % XS_ARRAY_LEN(last);
    last[next].device = device;
    xs_device_name_get(device, &last[next].name);
    return &last[next].name;
}

static void make_labels(struct page *p)
{
    const struct xs_request *r = p->r;
    struct xs_text *t = &p->labels;
    char handle[24];

    for (size_t i = 0; i < r->n_queues; i++) {
        const struct xs_queue_record *q = &r->queues[i];
        const struct xs_device_name *name = name_of(q->status.device);
        size_t from = t->bytes;

        snprintf(handle, sizeof(handle), "0x%" PRIx64, q->status.handle);
        label(t, from, "gpu", name->gpu);
        label(t, from, "UUID", name->uuid);
        label(t, from, "pci_bus_id", name->pci);
        number_label(t, from, "pid", q->pid);
        label(t, from, "queue", handle);
        where_labels(t, from, xs_request_client(r, q->session));
        p->queues[i] = (struct labels){from, t->bytes - from};
    }
    for (size_t i = 0; i < r->n_clients; i++) {
        const struct xs_client_record *c = &r->clients[i];
        size_t from = t->bytes;

        number_label(t, from, "pid", c->pid);
        number_label(t, from, "session", (int64_t)c->session);
        where_labels(t, from, c);
        p->processes[i] = (struct labels){from, t->bytes - from};
    }
}

static void head(struct xs_text *t, const char *name, const char *type, const char *help)
{
    xs_text_add(t, "# HELP xsched_%s %s\n# TYPE xsched_%s %s\n", name, help, name, type);
}

#define ONE 0
#define NS  1

static void value(struct xs_text *t, int unit, int64_t v)
{
    if (unit == NS)
        xs_text_add(t, " %" PRIu64 ".%09" PRIu64 "\n", (uint64_t)(v / 1000000000),
                    (uint64_t)(v % 1000000000));
    else
        xs_text_add(t, " %" PRId64 "\n", v);
}

static void line(struct page *p, const char *name, const struct labels *l, int unit, int64_t v)
{
    struct xs_text *t = p->out;

    xs_text_add_bytes(t, "xsched_", 7);
    xs_text_add_bytes(t, name, strlen(name));
    xs_text_add_bytes(t, "{", 1);
    xs_text_add_bytes(t, p->labels.data + l->at, l->bytes);
    xs_text_add_bytes(t, "}", 1);
    value(t, unit, v);
}

/* ---- the rows written by hand ---- */

static void histogram(struct xs_text *t, const char *name, const struct xs_latency *l)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i + 1 < XS_LATENCY_BUCKETS; i++) {
        uint64_t bound = xs_latency_bound_ns(i);

        sum += l->buckets[i];
        xs_text_add(t, "xsched_%s_bucket{le=\"%" PRIu64 ".%09" PRIu64 "\"} %" PRIu64 "\n", name,
                    bound / 1000000000, bound % 1000000000, sum);
    }
    xs_text_add(t, "xsched_%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, l->count);
    xs_text_add(t, "xsched_%s_sum", name);
    value(t, NS, (int64_t)l->sum_ns);
    xs_text_add(t, "xsched_%s_count %" PRIu64 "\n", name, l->count);
}

static void hand_build_info(struct page *p)
{
    xs_text_add(p->out, "xsched_build_info{version=\"%s\",protocol=\"%u.%u\"} 1\n", XSCHED_VERSION,
                XS_WIRE_MAJOR, XS_WIRE_MINOR);
}

static void hand_policy_info(struct page *p)
{
    xs_text_add(p->out, "xsched_policy_info{policy=\"");
    add_escaped(p->out, p->r->state.policy_name);
    xs_text_add(p->out, "\"} 1\n");
}

static void hand_queues(struct page *p)
{
    static const char *const k_names[XS_SCHED_STATES] = {[XS_SCHED_IDLE] = "idle", [XS_SCHED_RUNNING] = "running",
                                                         [XS_SCHED_BESIDE] = "beside", [XS_SCHED_WAITING] = "waiting"};
    size_t counts[XS_SCHED_STATES] = {0};

    for (size_t i = 0; i < p->r->n_queues; i++)
        counts[xs_sched_state_of(&p->r->queues[i].status)]++;
    for (size_t i = 0; i < XS_SCHED_STATES; i++)
        xs_text_add(p->out, "xsched_queues{state=\"%s\"} %zu\n", k_names[i], counts[i]);
}

static void hand_waiting_seconds_total(struct page *p)
{
    for (unsigned i = 0; i < XS_WHYS; i++)
        if (*xs_why_code(i))
            xs_text_add(p->out, "xsched_waiting_seconds_total{reason=\"%s\"} %.9f\n", xs_why_code(i),
                        (double)p->r->state.sched.waiting_ns[i] / 1e9);
}

static void hand_errors_total(struct page *p)
{
    const struct xs_status_record *st = &p->r->state;
    const struct {
        const char *kind;
        uint64_t count;
    } rows[] = {
        {"refused", st->refused},
        {"malformed", st->malformed},
        {"level3_denied", st->lv3.denied},
        {"level3_failed", st->lv3.failed},
    };

    for (size_t i = 0; i < XS_ARRAY_LEN(rows); i++)
        xs_text_add(p->out, "xsched_errors_total{kind=\"%s\"} %" PRIu64 "\n", rows[i].kind, rows[i].count);
}

static void hand_decision_latency_seconds(struct page *p)
{
    histogram(p->out, "decision_latency_seconds", &p->r->state.decision);
}

static void hand_preemption_latency_seconds(struct page *p)
{
    histogram(p->out, "preemption_latency_seconds", &p->r->state.preemption);
}

static void hand_process_info(struct page *p)
{
    for (size_t i = 0; i < p->r->n_clients; i++) {
        const struct xs_client_record *c = &p->r->clients[i];

        xs_text_add(p->out, "xsched_process_info{");
        xs_text_add_bytes(p->out, p->labels.data + p->processes[i].at, p->processes[i].bytes);
        xs_text_add(p->out, ",uid=\"%u\"", c->uid);
        label(p->out, 0, "group", c->group);
        label(p->out, 0, "share", c->space ? "space" : "time");
        label(p->out, 0, "cmdline", c->cmdline);
        xs_text_add(p->out, "} 1\n");
    }
}

static void of_memory(struct page *p, const char *name, bool limit)
{
    for (size_t i = 0; i < p->r->n_clients; i++) {
        const struct xs_client_record *c = &p->r->clients[i];

        if (c->memory_limit)
            line(p, name, &p->processes[i], ONE, (int64_t)XS_MIN(limit ? c->memory_limit : c->memory_used, (uint64_t)INT64_MAX));
    }
}

static void hand_process_memory_bytes(struct page *p)
{
    of_memory(p, "process_memory_bytes", false);
}

static void hand_process_memory_limit_bytes(struct page *p)
{
    of_memory(p, "process_memory_limit_bytes", true);
}

/* One value a device; < 0: unknown. */
static void of_devices(struct page *p, const char *name, bool model, int64_t (*get)(const struct xs_device_row *))
{
    for (size_t i = 0; i < p->devices->n; i++) {
        const struct xs_device_row *d = &p->devices->rows[i];
        struct xs_text *t = p->out;
        int64_t v = get(d);
        size_t from;

        if (v < 0)
            continue;
        xs_text_add(t, "xsched_%s{", name);
        from = t->bytes;
        label(t, from, "gpu", d->name.gpu);
        label(t, from, "UUID", d->name.uuid);
        label(t, from, "pci_bus_id", d->name.pci);
        if (model)
            label(t, from, "modelName", d->name.model);
        xs_text_add_bytes(t, "}", 1);
        value(t, ONE, v);
    }
}

static int64_t one(const struct xs_device_row *d)
{
    (void)d;
    return 1;
}

static int64_t memory(const struct xs_device_row *d)
{
    return d->state.memory_bytes;
}

static int64_t memory_used(const struct xs_device_row *d)
{
    return d->state.memory_used_bytes;
}

static int64_t temperature(const struct xs_device_row *d)
{
    return d->state.temperature_c;
}

static int64_t clock_hz(const struct xs_device_row *d)
{
    return d->state.clock_mhz < 0 ? d->state.clock_mhz : d->state.clock_mhz * 1000000;
}

static void hand_device_info(struct page *p)
{
    of_devices(p, "device_info", true, one);
}

static void hand_device_memory_bytes(struct page *p)
{
    of_devices(p, "device_memory_bytes", false, memory);
}

static void hand_device_memory_used_bytes(struct page *p)
{
    of_devices(p, "device_memory_used_bytes", false, memory_used);
}

static void hand_device_temperature_celsius(struct page *p)
{
    of_devices(p, "device_temperature_celsius", false, temperature);
}

static void hand_device_clock_hertz(struct page *p)
{
    of_devices(p, "device_clock_hertz", false, clock_hz);
}

static void unscheduled(struct page *p, const struct xs_device_name *name, const char *kind, uint32_t n)
{
    struct xs_text *t = p->out;
    size_t from;

    xs_text_add(t, "xsched_device_unscheduled_processes{");
    from = t->bytes;
    label(t, from, "gpu", name->gpu);
    label(t, from, "UUID", name->uuid);
    label(t, from, "pci_bus_id", name->pci);
    label(t, from, "kind", kind);
    xs_text_add_bytes(t, "}", 1);
    value(t, ONE, n);
}

static void hand_device_unscheduled_processes(struct page *p)
{
    struct xs_unscheduled u;

    xs_unscheduled_of(p->r, &u);
    for (size_t i = 0; i < u.n; i++) {
        const struct xs_device_name *name = name_of(u.rows[i].device);

        unscheduled(p, name, "compute", u.rows[i].compute);
        unscheduled(p, name, "graphics", u.rows[i].graphics);
    }
}

void xs_metrics_text(const struct xs_request *r, struct xs_text *ret)
{
    const struct xs_status_record *st = &r->state;
    struct page page = {.r = r, .out = ret}, *p = &page;

    page.queues = calloc(r->n_queues + 1, sizeof(*page.queues));
    page.processes = calloc(r->n_clients + 1, sizeof(*page.processes));
    page.devices = xs_devices_of(r);
    if (!page.queues || !page.processes || !page.devices)
        ret->failed = true;
    else
        make_labels(p);
    ret->failed = ret->failed || page.labels.failed;
    if (!ret->failed) {
#define M_STATE(name, type, unit, v, help)                                                                   \
    head(ret, #name, #type, help);                                                                           \
    xs_text_add(ret, "xsched_" #name);                                                                       \
    value(ret, unit, (int64_t)(v));
#define M_SERVER(name, type, unit, v, help)                                                                  \
    if (r->asker.all) {                                                                                      \
        M_STATE(name, type, unit, v, help)                                                                   \
    }
#define M_HAND(name, type, help)                                                                             \
    head(ret, #name, #type, help);                                                                           \
    hand_##name(p);
#define M_SERVER_HAND(name, type, help)                                                                      \
    if (r->asker.all) {                                                                                      \
        M_HAND(name, type, help)                                                                             \
    }
#define PROCESSES(name, type, unit, v, help, counts)                                                         \
    head(ret, #name, #type, help);                                                                           \
    for (size_t i = 0; i < r->n_clients; i++) {                                                              \
        const struct xs_client_record *c = &r->clients[i];                                                   \
                                                                                                             \
        if (counts)                                                                                          \
            line(p, #name, &page.processes[i], unit, (int64_t)(v));                                          \
    }
#define M_PROCESS(name, type, unit, v, help) PROCESSES(name, type, unit, v, help, true)
#define M_SWAP(name, type, unit, v, help)    PROCESSES(name, type, unit, v, help, c->swap != XS_SWAP_RECORD_NO)
#define M_QUEUE(name, type, unit, v, help)                                                                   \
    head(ret, #name, #type, help);                                                                           \
    for (size_t i = 0; i < r->n_queues; i++) {                                                               \
        const struct xs_queue_record *q = &r->queues[i];                                                     \
                                                                                                             \
        line(p, #name, &page.queues[i], unit, (int64_t)(v));                                                 \
    }
#include "http/metrics.def"
    }
    free(page.devices);
    free(page.queues);
    free(page.processes);
    free(page.labels.data);
}
