/* SPDX-License-Identifier: Apache-2.0 */
/* xsched doctor PID: the libraries of the process, and why XSched does not schedule it. Everything comes from
 * /proc and from xserver; it does not touch the process itself. */
#include "launcher/doctor/doctor.h"

#include "base/env.h"
#include "base/str.h"
#include "launcher/preload.h"
#include "launcher/proc.h"
#include "launcher/program.h"
#include "query/mps_priority.h"
#include "query/policy_in_force.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The environment at the start of the process. */
struct wish {
    bool disabled, automatic, local, global;
    const char *level;
};

static struct wish read_wish(const struct xs_proc *p)
{
    const char *scheduler = xs_proc_env(p, "XSCHED_SCHEDULER"), *value;
    struct wish w = {0};

    value = xs_proc_env(p, "XSCHED_DISABLE");
    w.disabled = value && xs_str_parse_bool(value, &w.disabled) == 0 && w.disabled;
    value = xs_proc_env(p, "XSCHED_AUTO_XQUEUE");
    w.automatic = xs_proc_env(p, "XSCHED_PRIORITY") != NULL;
    if (value && *value && xs_str_parse_bool(value, &w.automatic) < 0)
        w.automatic = false;
    value = xs_proc_env(p, "XSCHED_POLICY");
    w.local = value && *value;
    w.local |= scheduler && xs_str_equal_nocase(scheduler, "LCL");
    w.global = !w.local && ((scheduler && xs_str_equal_nocase(scheduler, "GLB")) ||
                            (!(scheduler && *scheduler) && xs_proc_env(p, "XSCHED_PRIORITY")));
    w.level = xs_proc_env(p, "XSCHED_AUTO_XQUEUE_LEVEL");
    return w;
}

static void facts(struct xs_doctor *d, const struct xs_proc *p)
{
    json_t *o = json_object(), *env = json_object(), *libraries = json_array();

    json_object_set_new(o, "pid", json_integer(p->pid));
    json_object_set_new(o, "name", xs_doctor_text(p->name));
    json_object_set_new(o, "executable", xs_doctor_text(p->exe));
    json_object_set_new(o, "uid", json_integer(p->uid));
    json_object_set_new(o, "state", xs_doctor_text(p->state));
    json_object_set_new(o, "threads", json_integer(p->threads));
    json_object_set_new(o, "descriptors", json_integer(p->descriptors));
    json_object_set_new(d->facts, "process", o);
    for (size_t i = 0; i < p->library_count; i++) {
        const struct xs_proc_library *l = &p->libraries[i];
        json_t *one = json_object();

        json_object_set_new(one, "path", xs_doctor_text(l->path));
        json_object_set_new(one, "kind", json_string(xs_proc_kind_name(l->kind)));
        if (l->platform)
            json_object_set_new(one, "platform", json_string(l->platform));
        json_array_append_new(libraries, one);
    }
    json_object_set_new(d->facts, "libraries", libraries);
    for (size_t i = 0; i < p->env_count; i++) {
        const char *equals = strchr(p->env[i], '=');
        char name[128];

        if (equals && (size_t)(equals - p->env[i]) < sizeof(name) &&
            (strncmp(p->env[i], "XSCHED_", 7) == 0 || strncmp(p->env[i], "XLOG_", 5) == 0 ||
             xs_shims_is_variable(p->env[i]))) {
            xs_str_copy(name, (size_t)(equals - p->env[i]) + 1, p->env[i]);
            json_object_set_new(env, name, xs_doctor_text(equals + 1));
        }
    }
    json_object_set_new(d->facts, "environment", env);
}

static const char *variable(void *ctx, const char *name)
{
    return xs_proc_env(ctx, name);
}

/* Two copies of one runtime: calls may go to either. */
static void check_runtimes(struct xs_doctor *d, const struct xs_proc *p)
{
    for (size_t i = 0; i < p->library_count; i++) {
        for (size_t k = 0; k < i; k++) {
            const struct xs_proc_library *a = &p->libraries[k], *b = &p->libraries[i];

            if (a->kind == XS_LIB_VENDOR && b->kind == XS_LIB_VENDOR && strcmp(a->platform, b->platform) == 0 &&
                strcmp(a->platform, "HIP") == 0 && xs_proc_has(p, XS_LIB_SHIM, "HIP"))
                xs_doctor_hint(d,
                               "the process has two copies of the HIP runtime, %s and %s: each caller keeps the one "
                               "that it depends on",
                               a->path, b->path);
            else if (a->kind == XS_LIB_VENDOR && b->kind == XS_LIB_VENDOR && strcmp(a->platform, b->platform) == 0)
                xs_doctor_problem(d, "two_runtimes",
                                  "Name the right one in XSCHED_<PLATFORM>_LIB, or remove the other.",
                                  "the process has two copies of the %s runtime: %s and %s", a->platform, a->path,
                                  b->path);
            if (a->kind == XS_LIB_SHIM && b->kind == XS_LIB_SHIM && strcmp(a->platform, b->platform) == 0)
                xs_doctor_problem(d, "two_shims",
                                  "Remove one of them from LD_PRELOAD, or from the variable of the vendor's loader.",
                                  "the process has two copies of the %s shim: %s and %s", a->platform, a->path,
                                  b->path);
        }
    }
}

/* Why no shim is in the process. */
static void explain_no_shim(struct xs_doctor *d, const struct xs_proc *p)
{
    const char *preload = xs_proc_env(p, "LD_PRELOAD");
    enum xs_program_issue issue = xs_program_check(p->exe_link, NULL, 0);

    if (issue == XS_PROGRAM_STATIC)
        xs_doctor_problem(d, "static", "Link it dynamically.", "the program is %s",
                          xs_program_issue_text(issue));
    else if (issue == XS_PROGRAM_FOREIGN)
        xs_doctor_problem(d, "foreign", "", "the program is %s", xs_program_issue_text(issue));
    else if (issue == XS_PROGRAM_PRIVILEGED || p->uid != p->saved_uid)
        xs_doctor_problem(d, "set_user_id",
                          "Such programs ignore LD_PRELOAD and XSCHED_*; there is no remedy.",
                          "the program is %s", xs_program_issue_text(XS_PROGRAM_PRIVILEGED));
    else if (preload && strstr(preload, "libshim"))
        xs_doctor_problem(d, "preload_failed",
                          "The loader said why on the program's stderr at its start.",
                          "LD_PRELOAD names a shim (%s), and the process does not have it", preload);
    else if (xs_proc_has(p, XS_LIB_OURS, NULL))
        xs_doctor_problem(d, "queues_alone", "Preload the shim, or start it with `XSCHED_AUTO_XQUEUE=OFF xsched run -- PROGRAM`.",
                          "the program uses libpreempt without a shim: of its queues XSched schedules only commands "
                          "of XQueueSubmit");
    else
        xs_doctor_problem(d, "not_preloaded", "Start it with `xsched run -- PROGRAM`.",
                          "the process has no shim: `xsched run` did not start it");
}

static bool is_libc(const char *path)
{
    const char *name = strrchr(path, '/');

    return name && (strncmp(name, "/libc.so.", 9) == 0 || strncmp(name, "/libc-2.", 8) == 0);
}

/* A namespace of the dynamic linker (dlmopen) has copies of its own of everything: there the calls of a
 * program find no shim. Its C library shows it to us. */
static void check_namespaces(struct xs_doctor *d, const struct xs_proc *p)
{
    size_t copies = 0;

    for (size_t i = 0; i < p->object_count; i++)
        copies += p->objects[i].code && is_libc(p->objects[i].path);
    if (copies > 1)
        xs_doctor_problem(d, "namespace", "Load the libraries whose calls XSched should schedule with dlopen, not dlmopen.",
                          "the process has %zu copies of the C library (dlmopen, LD_AUDIT): calls from the namespace "
                          "of another copy bypass the shim", copies);
}

static bool check_shim(struct xs_doctor *d, const struct xs_proc *p)
{
    const char *vendor = NULL;
    bool shim = false, platform_without = false;

    for (size_t i = 0; i < p->library_count; i++) {
        const struct xs_proc_library *l = &p->libraries[i];

        shim |= l->kind == XS_LIB_SHIM;
        if (l->kind == XS_LIB_SHIM && l->deleted)
            xs_doctor_problem(d, "shim_replaced", "Start the program again.",
                              "%s is gone, or another file has its name since the program started", l->path);
        if (l->kind == XS_LIB_VENDOR && !vendor)
            vendor = l->path;
        if (l->kind == XS_LIB_VENDOR && !xs_proc_has(p, XS_LIB_SHIM, l->platform) &&
            strcmp(l->platform, "ICD") != 0)
            platform_without = true;
    }
    if (!shim) {
        explain_no_shim(d, p);
    } else if (platform_without) {
        xs_doctor_problem(d, "no_shim_for_platform", "",
                          "the process has a vendor library (%s), and no shim for it", vendor);
    }
    if (shim && vendor)
        check_namespaces(d, p);
    if (shim && !vendor)
        xs_doctor_problem(d, "no_vendor", "Nothing is wrong if the program has not used its device yet.",
                          "the process has no vendor library: the program does not use a device, or not yet");
    return shim;
}

static void queue_line(json_t *to, const json_t *q)
{
    static const char *const kept[] = {"handle",    "device",  "platform", "level",     "levels",  "priority",   "ready",
                                       "suspended", "lane", "reserve", "commands", "completed", "held_us", "suspensions"};
    json_t *o = json_object(), *v;

    for (size_t i = 0; i < XS_ARRAY_LEN(kept); i++) {
        v = json_object_get(q, kept[i]);
        if (v)
            json_object_set(o, kept[i], v);
    }
    json_array_append_new(to, o);
}

/* @param held  a user suspended the process */
static void check_queue(struct xs_doctor *d, const struct wish *w, const json_t *q, pid_t pid, bool held)
{
    char other[64];

    json_int_t level = json_integer_value(json_object_get(q, "level")), wanted = 0;
    json_int_t priority = json_integer_value(json_object_get(q, "priority"));
    json_int_t lane = json_integer_value(json_object_get(q, "lane"));
    json_int_t reserve = json_integer_value(json_object_get(q, "reserve"));
    unsigned long long handle = (unsigned long long)json_integer_value(json_object_get(q, "handle"));

    other[0] = 0;
    if (reserve > 0)
        snprintf(other, sizeof(other), " of %lld", (long long)(lane + reserve));
    if (w->level && w->level[0] >= '1' && w->level[0] <= '3')
        wanted = w->level[0] - '0';
    if (wanted > level)
        xs_doctor_problem(d, "level_denied",
                          "The platform has no more here; the queue works at the level that it has.",
                          "queue 0x%llx has level %d, and the program's environment asks for level %d", handle,
                          (int)level, (int)wanted);
    if (priority <= -256) {
        snprintf(other, sizeof(other), "`xcli hint %d --priority 0` gives it another.", (int)pid);
        xs_doctor_problem(d, "never_runs", other, "queue 0x%llx has priority -256: it never runs", handle);
    } else if (!held && json_is_true(json_object_get(q, "suspended")) && json_is_true(json_object_get(q, "ready")))
        xs_doctor_hint(d, "xserver suspends queue 0x%llx for a more important one right now", handle);
    else if (!held && lane > 0 && json_is_true(json_object_get(q, "ready")))
        xs_doctor_hint(d, "queue 0x%llx runs beside a more important one right now, on %lld%s multiprocessors", handle,
                       (long long)lane, other);
}

/* Hints of the process that the policy does not read.
 * @param process  from the server's list, with its queues */
static void check_unread(struct xs_doctor *d, const json_t *process, const json_t *queues, const char *socket_path)
{
    static const struct {
        const char *member;
        uint32_t reads;
        json_int_t without; /* the value that wishes nothing */
        const char *format;
    } k_hints[] = {
        {"priority", XS_POLICY_READS_PRIORITY, PRIORITY_DEFAULT, "priority %lld"},
        {"utilization", XS_POLICY_READS_UTILIZATION | XS_POLICY_READS_PROCESS_UTILIZATION, UTILIZATION_DEFAULT,
         "a utilization of %lld %%"},
        {"deadline", XS_POLICY_READS_DEADLINE, NO_DEADLINE, "a deadline of %lld us"},
        {"laxity", XS_POLICY_READS_LAXITY, NO_LAXITY, "a laxity of %lld us"},
    };
    struct xs_policy_in_force policy;
    json_int_t value;
    json_t *q;
    size_t k;

    if (!xs_policy_in_force_ask(socket_path, 0, &policy))
        return;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_hints); i++) {
        char what[64], text[256];

        value = k_hints[i].without;
        if (json_object_get(process, k_hints[i].member))
            value = json_integer_value(json_object_get(process, k_hints[i].member));
        json_array_foreach((json_t *)(uintptr_t)queues, k, q)
            if (value == k_hints[i].without)
                value = json_integer_value(json_object_get(q, k_hints[i].member));
        if (value == k_hints[i].without || (value <= PRIORITY_NO_EXECUTE))
            continue;
        snprintf(what, sizeof(what), k_hints[i].format, (long long)value);
        if (xs_policy_in_force_unread(&policy, k_hints[i].reads, what, "xcli policy", text, sizeof(text)))
            xs_doctor_problem(d, "hint_without_effect", "", "%s", text);
    }
}

static void check_mps_priority(struct xs_doctor *d, const json_t *process, const json_t *queues)
{
    json_int_t priority = INT32_MIN;
    char text[256];
    json_t *q;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)queues, i, q)
        priority = XS_MAX(priority, json_integer_value(json_object_get(q, "priority")));
    if (xs_mps_priority_is_stale(process, priority, text, sizeof(text)))
        xs_doctor_hint(d, "%s", text);
}

/* A server that answers no questions (http = OFF) shows by the page of it that the process has. */
static bool joined_unasked(struct xs_doctor *d, const struct xs_proc *p, const char *socket_path)
{
    xs_doctor_hint(d, "the xserver at %s answers no questions (http = OFF?): %s", socket_path,
                   p->server_page ? "the program has joined one, and doctor cannot list its queues"
                                  : "doctor cannot see its records of the program");
    d->unasked = p->server_page;
    return p->server_page;
}

/* @return whether the server knows the process */
static bool check_joined(struct xs_doctor *d, const struct xs_proc *p, const struct wish *w,
                         const char *socket_path)
{
    json_t *clients = xs_doctor_ask(socket_path, "/clients"), *all = xs_doctor_ask(socket_path, "/xqueues"),
           *item;
    json_t *queues = json_array(), *whole = json_array();
    bool joined = clients == NULL && joined_unasked(d, p, socket_path), held = false;
    char resume[64], until[48] = "";
    json_int_t left;
    size_t i;

    json_array_foreach(json_object_get(clients, "clients"), i, item)
    {
        if (json_integer_value(json_object_get(item, "pid")) == p->pid) {
            joined = true;
            json_object_set(d->facts, "joined", item);
            held = json_is_true(json_object_get(item, "held"));
            snprintf(resume, sizeof(resume), "`xcli resume --pid %d` resumes it.", (int)p->pid);
            left = json_integer_value(json_object_get(item, "held_for_us"));
            if (left > 0)
                snprintf(until, sizeof(until), "; xserver resumes it in %.1f s", (double)left / 1e6);
            if (held)
                xs_doctor_problem(d, "held", resume, "a user has suspended the process (`xcli suspend`)%s", until);
        }
    }
    json_array_foreach(json_object_get(all, "xqueues"), i, item)
    {
        if (json_integer_value(json_object_get(item, "pid")) == p->pid) {
            json_array_append(whole, item);
            queue_line(queues, item);
            check_queue(d, w, item, p->pid, held);
        }
    }
    if (joined && clients)
        json_object_set(d->facts, "queues", queues);
    if (joined && clients && !json_array_size(queues))
        xs_doctor_problem(d, "no_queues", "Nothing is wrong if the program has not used its device yet.",
                          "the program has joined xserver and has made no queue yet");
    if (json_array_size(queues)) {
        d->devices = xs_doctor_ask(socket_path, "/devices"); /* an older server does not know it */
        check_unread(d, json_object_get(d->facts, "joined"), whole, socket_path);
        check_mps_priority(d, json_object_get(d->facts, "joined"), whole);
    }
    json_decref(whole);
    json_decref(queues);
    json_decref(clients);
    json_decref(all);
    return joined;
}

/* The places where this process's own agent looks. */
static void places_of(const struct xs_proc *p, struct xs_places *ret)
{
    static const char *const names[] = {"XSCHED_SOCKET", "XDG_RUNTIME_DIR"};

    for (size_t i = 0; i < XS_ARRAY_LEN(names); i++) {
        const char *value = xs_proc_env(p, names[i]);

        if (value)
            setenv(names[i], value, 1);
        else
            unsetenv(names[i]);
    }
    xs_places_get(ret);
    while (ret->count && !ret->items[ret->count - 1].agents_look)
        ret->count--;
}

static void check_server(struct xs_doctor *d, const struct xs_proc *p, const struct wish *w)
{
    static struct xs_places places; /* large, and stacks may be small */
    int i;

    places_of(p, &places);
    json_object_set_new(d->facts, "servers", xs_doctor_servers(&places));
    i = xs_places_first(&places);
    if (i < 0) {
        xs_doctor_problem(d, "no_server", "`xserver` starts one, or `systemctl start xserver`; the program joins by itself.",
                          "no xserver answers where the program looks (%s)",
                          places.count ? places.items[0].path : "nowhere");
        return;
    }
    if (check_joined(d, p, w, places.items[i].path))
        return;
    if (!xs_proc_has(p, XS_LIB_OURS, NULL))
        return;
    if (!p->client_page)
        xs_doctor_problem(d, "no_queues", "It joins when it makes its first queue (stream, command queue).",
                          "the program has made no queue yet, so it has not joined xserver");
    else
        xs_doctor_problem(d, "not_joined", "Its log (XLOG_LEVEL=INFO) and xserver's say why.",
                          "the program has queues, and the xserver at %s does not know it",
                          places.items[i].path);
}

int xs_doctor_process(struct xs_doctor *d, pid_t pid)
{
    static struct xs_proc p; /* large, and stacks may be small */
    struct wish w;
    int err = xs_proc_read(pid, &p);

    if (err < 0)
        return err;
    w = read_wish(&p);
    facts(d, &p);
    xs_doctor_job(d, variable, &p);
    if (p.state[0] == 'T' || p.state[0] == 't')
        xs_doctor_problem(d, "stopped", "SIGCONT continues it.",
                          "the process is stopped (by a signal or a debugger)");
    if (w.disabled)
        xs_doctor_problem(d, "disabled", "Start it without XSCHED_DISABLE.",
                          "the program's environment sets XSCHED_DISABLE");
    if (check_shim(d, &p) && !w.disabled) {
        if (!w.automatic)
            xs_doctor_problem(d, "not_automatic",
                              "Set XSCHED_AUTO_XQUEUE=ON or XSCHED_PRIORITY, or start it with `xsched run`.",
                              "XSched schedules no queue by itself: the environment sets neither XSCHED_AUTO_XQUEUE "
                              "nor XSCHED_PRIORITY");
        d->schedules_itself = w.local;
        if (w.local)
            xs_doctor_hint(d, "the program schedules itself (XSCHED_POLICY or XSCHED_SCHEDULER=LCL); xserver "
                              "does not know it");
        else if (!w.global)
            xs_doctor_problem(
                d, "app_managed",
                "Set XSCHED_SCHEDULER=GLB or XSCHED_PRIORITY, or start it with `xsched run`.",
                "the application schedules its own queues (XSCHED_SCHEDULER is APP): xserver does not");
        else
            check_server(d, &p, &w);
    }
    check_runtimes(d, &p);
    xs_doctor_calls(d, &p);
    xs_doctor_unseen(d, &p);
    xs_proc_free(&p);
    return 0;
}
