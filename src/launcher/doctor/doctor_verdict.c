/* SPDX-License-Identifier: Apache-2.0 */
/* The one line about the state of things, from the findings of the checks. */
#include "launcher/doctor/doctor.h"

#include "base/str.h"
#include "query/device_text.h"
#include "xsched/types.h"

#include <stdio.h>
#include <string.h>

/* Problems in spite of which XSched schedules the program. */
static const char *const k_beside[] = {
    "level_denied", "two_runtimes", "two_shims",            "newer_functions", "calls_escape", "namespace",
    "never_runs",   "no_vendor",    "no_shim_for_platform", "shim_replaced",   "held", "hint_without_effect"};

static const json_t *problem(const struct xs_doctor *d, const char *cause)
{
    size_t i;
    json_t *p;

    json_array_foreach(d->problems, i, p)
        if (!strcmp(json_string_value(json_object_get(p, "cause")), cause))
            return p;
    return NULL;
}

static bool is_beside(const char *cause)
{
    for (size_t i = 0; i < XS_ARRAY_LEN(k_beside); i++)
        if (!strcmp(cause, k_beside[i]))
            return true;
    return false;
}

/* The first problem that explains why XSched does not schedule the program. */
static const char *reason(const struct xs_doctor *d)
{
    size_t i;
    json_t *p;

    json_array_foreach(d->problems, i, p)
        if (!is_beside(json_string_value(json_object_get(p, "cause"))))
            return json_string_value(json_object_get(p, "text"));
    return NULL;
}

/* ", GPU 0 NVIDIA H100, GPU 1 NVIDIA H100" */
static void devices_text(const struct xs_doctor *d, char *ret, size_t size)
{
    const json_t *queues = json_object_get(d->facts, "queues"), *q;
    size_t i, used = 0;

    ret[0] = 0;
    json_array_foreach((json_t *)(uintptr_t)queues, i, q)
    {
        char name[128];

        xs_device_text((uint64_t)json_integer_value(json_object_get(q, "device")), d->devices, name, sizeof(name));
        if (!strstr(ret, name) && used + strlen(name) + 3 < size)
            used += (size_t)snprintf(ret + used, size - used, ", %s", name);
    }
}

/* The largest of a number that each queue has. */
static json_int_t highest(const json_t *queues, const char *member)
{
    json_int_t most = INT32_MIN;
    size_t i;
    json_t *q;

    json_array_foreach((json_t *)(uintptr_t)queues, i, q)
        most = XS_MAX(most, json_integer_value(json_object_get(q, member)));
    return most;
}

void xs_doctor_verdict_of_process(struct xs_doctor *d, pid_t pid)
{
    const json_t *queues = json_object_get(d->facts, "queues");
    const char *why = reason(d), *state = "scheduled";
    const char *share = json_string_value(json_object_get(json_object_get(d->facts, "joined"), "share"));
    char devices[256];

    if (problem(d, "stopped")) {
        snprintf(d->verdict, sizeof(d->verdict), "PID %d: stopped by a signal or a debugger", (int)pid);
    } else if (json_array_size(queues)) {
        devices_text(d, devices, sizeof(devices));
        if (problem(d, "held"))
            state = "suspended by a user";
        else if (highest(queues, "priority") <= PRIORITY_NO_EXECUTE)
            state = "never runs";
        snprintf(d->verdict, sizeof(d->verdict), "PID %d: %s, priority %lld, level %lld%s%s", (int)pid, state,
                 (long long)highest(queues, "priority"), (long long)highest(queues, "level"),
                 share && !strcmp(share, "space") ? ", in space (MPS)" : "", devices);
    } else if (d->schedules_itself && !why) {
        snprintf(d->verdict, sizeof(d->verdict), "PID %d: schedules itself, xserver does not know it", (int)pid);
    } else if (problem(d, "held")) {
        snprintf(d->verdict, sizeof(d->verdict), "PID %d: suspended by a user, no queue yet", (int)pid);
    } else if (problem(d, "no_queues") && json_object_get(d->facts, "joined")) {
        snprintf(d->verdict, sizeof(d->verdict), "PID %d: joined xserver, scheduled from its first queue on", (int)pid);
    } else if (why) {
        snprintf(d->verdict, sizeof(d->verdict), "PID %d: not scheduled: %s", (int)pid, why);
    } else if (d->unasked) {
        snprintf(d->verdict, sizeof(d->verdict), "PID %d: joined an xserver that answers no questions", (int)pid);
    } else {
        snprintf(d->verdict, sizeof(d->verdict), "PID %d: not scheduled: it has made no queue yet", (int)pid);
    }
}

/* A vendor's library that is there; one that asks drivers says whether there are any. */
static bool is_ready(const json_t *library)
{
    const json_t *platforms = json_object_get(library, "platforms"), *devices = json_object_get(library, "devices");

    return json_is_true(json_object_get(library, "found")) && (!platforms || json_array_size(platforms)) &&
           (!devices || json_integer_value(devices));
}

void xs_doctor_verdict_of_system(struct xs_doctor *d)
{
    size_t problems = json_array_size(d->problems), answering = 0, used = 0, i;
    char vendors[128] = "";
    json_t *o;

    json_array_foreach(json_object_get(d->facts, "servers"), i, o) answering += json_is_true(json_object_get(o, "answers"));
    json_array_foreach(json_object_get(d->facts, "vendor libraries"), i, o)
        if (is_ready(o) && used + 24 < sizeof(vendors))
            used += (size_t)snprintf(vendors + used, sizeof(vendors) - used, "%s%.20s", used ? ", " : "",
                                     json_string_value(json_object_get(o, "platform")));
    if (problems)
        snprintf(d->verdict, sizeof(d->verdict), "XSched %s: %zu problem%s", XSCHED_VERSION, problems,
                 problems == 1 ? "" : "s");
    else
        snprintf(d->verdict, sizeof(d->verdict), "XSched %s: %s%s, %s", XSCHED_VERSION,
                 vendors[0] ? "ready for " : "installed", vendors[0] ? vendors : ", no vendor library or driver is here",
                 answering ? "xserver answers" : "no xserver yet");
}
