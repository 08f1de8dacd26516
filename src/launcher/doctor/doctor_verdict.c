/* SPDX-License-Identifier: Apache-2.0 */
/* The one line about the state of things, from the findings of the checks. */
#include "launcher/doctor/doctor.h"

#include "query/device_text.h"
#include "xsched/types.h"

#include <stdio.h>
#include <string.h>

/* Problems in spite of which XSched schedules the program. */
static const char *const k_beside[] = {"level_denied",        "two_runtimes",  "two_shims",
                                       "newer_functions",     "namespace",     "never_runs",
                                       "hint_without_effect", "shim_replaced", "held",
                                       "two_servers",         "other_server",  "unknown_variable",
                                       "withdrawn_variable"};
/* Those of a program that has done nothing yet. */
static const char *const k_early[] = {"no_vendor", "no_queues"};

static const json_t *problem(const struct xs_doctor *d, const char *cause)
{
    size_t i;
    json_t *p;

    json_array_foreach(d->problems, i, p)
        if (!strcmp(json_string_value(json_object_get(p, "cause")), cause))
            return p;
    return NULL;
}

static bool is_one_of(const char *cause, const char *const *causes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(cause, causes[i]))
            return true;
    return false;
}

/* The first problem that explains why XSched does not schedule the program.
 * @param early  one of those that more time mends, instead */
static const char *reason(const struct xs_doctor *d, bool early)
{
    size_t i;
    json_t *p;

    json_array_foreach(d->problems, i, p)
    {
        const char *cause = json_string_value(json_object_get(p, "cause"));

        if (is_one_of(cause, k_early, XS_ARRAY_LEN(k_early)) == early &&
            !is_one_of(cause, k_beside, XS_ARRAY_LEN(k_beside)))
            return json_string_value(json_object_get(p, "text"));
    }
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

static const char *how_in_space(const json_t *queues)
{
    const json_t *q;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)queues, i, q)
    {
        const char *platform = json_string_value(json_object_get(q, "platform"));

        if (platform && !strcmp(platform, "HIP"))
            return ", in space (masks)";
    }
    return ", in space (MPS)";
}

static void of_queues(const struct xs_doctor *d, const json_t *queues, char *ret, size_t size)
{
    const char *share = json_string_value(json_object_get(json_object_get(d->facts, "joined"), "share"));
    const char *state = "scheduled";
    char devices[256];

    devices_text(d, devices, sizeof(devices));
    if (problem(d, "held"))
        state = "suspended by a user";
    else if (highest(queues, "priority") <= PRIORITY_NO_EXECUTE)
        state = "never runs";
    snprintf(ret, size, "%s, priority %lld, level %lld%s%s", state, (long long)highest(queues, "priority"),
             (long long)highest(queues, "level"), share && !strcmp(share, "space") ? how_in_space(queues) : "",
             devices);
}

/* What is to be said of a process whatever else is. */
static const char *end_state(const struct xs_doctor *d)
{
    const json_t *stopped = problem(d, "stopped");

    if (problem(d, "ended"))
        return "has ended (its parent has not asked for its status)";
    if (problem(d, "kernel_thread"))
        return "a thread of the kernel, and no program";
    if (!stopped)
        return NULL;
    return strstr(json_string_value(json_object_get(stopped, "text")), "frozen")
               ? "frozen by its control group"
               : "stopped by a signal or a debugger";
}

void xs_doctor_verdict_of_process(struct xs_doctor *d, pid_t pid)
{
    const json_t *queues = json_object_get(d->facts, "queues"), *o = json_object_get(d->facts, "process");
    const char *why = reason(d, false), *early = reason(d, true);
    char text[1152];

    if (end_state(d))
        snprintf(text, sizeof(text), "%s", end_state(d));
    else if (json_array_size(queues))
        of_queues(d, queues, text, sizeof(text));
    else if (d->schedules_itself && !why)
        snprintf(text, sizeof(text), "schedules itself, xserver does not know it");
    else if (problem(d, "held"))
        snprintf(text, sizeof(text), "suspended by a user, no queue yet");
    else if (why)
        snprintf(text, sizeof(text), "not scheduled: %s", why);
    else if (json_object_get(d->facts, "joined"))
        snprintf(text, sizeof(text), "joined xserver, scheduled from its first queue on");
    else if (d->unasked)
        snprintf(text, sizeof(text), "has joined an xserver whose list of queues doctor does not get");
    else
        snprintf(text, sizeof(text), "nothing to schedule yet: %s", early ? early : "it has made no queue");
    snprintf(d->verdict, sizeof(d->verdict), "PID %d: %s",
             json_object_get(o, "pid") ? (int)json_integer_value(json_object_get(o, "pid")) : (int)pid, text);
}

/* A vendor's library with a device behind it, as far as it tells. @param ret_cpu  whether those are CPUs alone */
static bool is_ready(const json_t *library, bool *ret_cpu)
{
    const json_t *devices = json_object_get(library, "devices");

    *ret_cpu = devices && json_integer_value(devices) == json_integer_value(json_object_get(library, "cpus"));
    return json_is_true(json_object_get(library, "found")) && !json_object_get(library, "broken") &&
           (!devices || json_integer_value(devices) > 0);
}

/* Of the places where programs look; other servers of this machine say nothing about those. */
static const char *server_state(const struct xs_doctor *d)
{
    bool answers = false, denied = false;
    size_t i;
    json_t *o;

    json_array_foreach(json_object_get(d->facts, "servers"), i, o)
    {
        if (!json_is_true(json_object_get(o, "programs look there")))
            continue;
        answers |= json_is_true(json_object_get(o, "answers"));
        denied |= problem(d, "no_rights") != NULL;
    }
    return answers ? "xserver answers" : denied ? "no right to use its xserver" : "no xserver yet";
}

void xs_doctor_verdict_of_system(struct xs_doctor *d)
{
    size_t problems = json_array_size(d->problems), used = 0, i;
    char vendors[256] = "";
    bool cpu;
    json_t *o;

    json_array_foreach(json_object_get(d->facts, "vendor libraries"), i,
                       o) if (is_ready(o, &cpu) && used + 40 < sizeof(vendors)) used +=
        (size_t)snprintf(vendors + used, sizeof(vendors) - used, "%s%.20s%s", used ? ", " : "",
                         json_string_value(json_object_get(o, "platform")), cpu ? " (on the CPU)" : "");
    if (problems)
        snprintf(d->verdict, sizeof(d->verdict), "XSched %s: %zu problem%s", XSCHED_VERSION, problems,
                 problems == 1 ? "" : "s");
    else
        snprintf(d->verdict, sizeof(d->verdict), "XSched %s: %s%s, %s", XSCHED_VERSION,
                 vendors[0] ? "ready for " : "installed",
                 vendors[0] ? vendors : ", and no device is here that it could schedule", server_state(d));
}
