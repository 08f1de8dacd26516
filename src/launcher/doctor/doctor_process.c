/* SPDX-License-Identifier: Apache-2.0 */
/* xsched doctor PID: whether XSched schedules a process, and why not. Everything comes from /proc and from xserver; it does
 * not touch the process itself. What a server says counts more than what the process has: a program may set variables, and
 * load libraries, after its start. */
#include "launcher/doctor/doctor.h"

#include "base/env.h"
#include "base/str.h"
#include "launcher/preload.h"
#include "launcher/proc.h"
#include "launcher/program.h"
#include "policy/policies.h"
#include "query/listening.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The bool that the libraries read: a value that is none leaves the default. */
static bool wish_bool(const char *value, bool otherwise)
{
    bool on;

    return value && xs_str_parse_bool(value, &on) == 0 ? on : otherwise;
}

/* A variable that is empty counts as unset. */
static const char *wish_text(const struct xs_proc *p, const char *name)
{
    const char *value = xs_proc_env(p, name);

    return value && *value ? value : NULL;
}

struct xs_doctor_wish xs_doctor_wish_of(const struct xs_proc *p)
{
    const char *scheduler = wish_text(p, "XSCHED_SCHEDULER"), *policy = wish_text(p, "XSCHED_POLICY");
    bool priority = wish_text(p, "XSCHED_PRIORITY") != NULL;
    struct xs_doctor_wish w = {0};

    w.disabled = wish_bool(wish_text(p, "XSCHED_DISABLE"), false);
    w.automatic = wish_bool(wish_text(p, "XSCHED_AUTO_XQUEUE"), priority);
    w.local = (policy && xs_policy_by_name(policy)) || (scheduler && xs_str_equal_nocase(scheduler, "LCL"));
    w.global = !w.local && (scheduler ? xs_str_equal_nocase(scheduler, "GLB") : priority);
    return w;
}

static void facts(struct xs_doctor *d, const struct xs_proc *p)
{
    json_t *o = json_object(), *env = json_object(), *libraries = json_array(), *devices = json_array();

    json_object_set_new(o, "pid", json_integer(p->pid));
    json_object_set_new(o, "name", xs_doctor_text(p->name));
    json_object_set_new(o, "executable", xs_doctor_text(p->exe));
    json_object_set_new(o, "uid", json_integer(p->uid));
    json_object_set_new(o, "state", xs_doctor_text(p->state));
    json_object_set_new(o, "threads", json_integer(p->threads));
    json_object_set_new(o, "descriptors", json_integer(p->descriptors));
    for (size_t i = 0; i < p->devices_count; i++)
        json_array_append_new(devices, xs_doctor_text(p->devices[i]));
    json_object_set_new(o, "device_files", devices);
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
    for (size_t i = 0; i < p->env_count; i++)
        xs_doctor_variable(d, env, p->env[i], false);
    json_object_set_new(d->facts, "environment", env);
}

static const char *variable(void *ctx, const char *name)
{
    return xs_proc_env(ctx, name);
}

/* The server that knows the process, with its row there. @return NULL: none does, or none tells */
static const struct xs_doctor_server *server_of(const struct xs_doctor_servers *all, const struct xs_proc *p,
                                                json_t **ret_row)
{
    for (size_t i = 0; i < all->count; i++) {
        *ret_row = xs_doctor_server_row(&all->items[i], p);
        if (*ret_row)
            return &all->items[i];
    }
    return NULL;
}

/* What the environment asks for that keeps xserver away. */
static void check_wish(struct xs_doctor *d, const struct xs_proc *p, const struct xs_doctor_servers *all)
{
    struct xs_doctor_wish w = xs_doctor_wish_of(p);

    if (w.disabled) {
        xs_doctor_problem(d, "disabled", "Start it without XSCHED_DISABLE.",
                          "the program's environment sets XSCHED_DISABLE");
        return;
    }
    if (!w.automatic)
        xs_doctor_problem(
            d, "not_automatic",
            "Set XSCHED_AUTO_XQUEUE=ON or XSCHED_PRIORITY, or start it with `xsched run`.",
            "XSched schedules no queue by itself: the environment does not set XSCHED_AUTO_XQUEUE=ON, nor "
            "XSCHED_PRIORITY");
    d->schedules_itself = w.local;
    if (w.local)
        xs_doctor_hint(d, "the program schedules itself (XSCHED_POLICY or XSCHED_SCHEDULER=LCL); xserver "
                          "does not know it");
    else if (!w.global)
        xs_doctor_problem(
            d, "app_managed", "Set XSCHED_SCHEDULER=GLB or XSCHED_PRIORITY, or start it with `xsched run`.",
            "the application schedules its own queues (XSCHED_SCHEDULER is APP): xserver does not");
    else
        xs_doctor_not_joined(d, p, all);
}

/* A process that no server knows. */
static void not_joined(struct xs_doctor *d, const struct xs_proc *p, const struct xs_doctor_servers *all)
{
    bool shim = xs_doctor_shims(d, p), vendor = xs_proc_has(p, XS_LIB_VENDOR, NULL);

    xs_doctor_layer(d, p);
    if (!shim && xs_proc_has(p, XS_LIB_OURS, NULL))
        xs_doctor_problem(
            d, "queues_alone",
            "Preload the shim, or start it with `XSCHED_AUTO_XQUEUE=OFF xsched run -- PROGRAM`.",
            "the program uses libpreempt without a shim: of its queues XSched schedules only commands "
            "of XQueueSubmit");
    else if (!shim)
        xs_doctor_no_shim(d, p);
    if (!shim)
        return;
    if (!xs_doctor_wish_of(p).disabled)
        xs_doctor_unused_shims(d, p);
    if (!vendor)
        xs_doctor_problem(d, "no_vendor", "Nothing is wrong if the program has not used its device yet.",
                          "the process has no vendor library: the program does not use a device, or not yet");
    check_wish(d, p, all);
}

static void joined(struct xs_doctor *d, const struct xs_proc *p, const struct xs_doctor_servers *all,
                   const struct xs_doctor_server *s, json_t *row)
{
    if (!p->denied) {
        if (!xs_doctor_shims(d, p))
            xs_doctor_hint(d, "the program makes its queues itself, without a shim: of its queues XSched "
                              "schedules only commands "
                              "of XQueueSubmit");
        xs_doctor_layer(d, p);
        xs_doctor_unused_shims(d, p);
    }
    xs_doctor_queues(d, p, all, s, row);
}

/* Nothing about the process is readable, and no server tells of it.
 * @return 0: what is known of it explains why XSched does not schedule it; else -EACCES with the reason */
static int denied(struct xs_doctor *d, const struct xs_proc *p, char *ret_why, size_t size)
{
    char user[64];

    if (p->uid != p->effective_uid || p->uid != p->saved_uid ||
        (p->uid != 0 && p->capabilities && p->uid == getuid())) {
        xs_doctor_problem(d, "set_user_id",
                          "Such programs ignore LD_PRELOAD and XSCHED_*. A copy without these rights, "
                          "started as the user who "
                          "needs none, can be scheduled.",
                          "the program is %s", xs_program_issue_text(XS_PROGRAM_PRIVILEGED));
        return 0;
    }
    xs_user_text(p->uid, user, sizeof(user));
    if (p->uid != getuid())
        snprintf(ret_why, size, "it belongs to another user (%s); run doctor as that user, or as root", user);
    else
        snprintf(ret_why, size,
                 "the kernel protects it from other processes of its user (a program may ask for that); run "
                 "doctor as root");
    return -EACCES;
}

/* A process that cannot do anything now, scheduled or not. @return whether there is more to look at */
static bool check_state(struct xs_doctor *d, const struct xs_proc *p)
{
    if (p->asked != p->pid)
        xs_doctor_hint(d, "%d is a thread of process %d", (int)p->asked, (int)p->pid);
    if (xs_proc_has_ended(p))
        xs_doctor_problem(d, "ended",
                          "Its parent is to ask for its exit status; until then it keeps its number.",
                          "the process has ended");
    else if (p->is_kernel)
        xs_doctor_problem(d, "kernel_thread", "", "it is a thread of the kernel, and no program");
    else if (p->state[0] == 'T' || p->state[0] == 't')
        xs_doctor_problem(d, "stopped",
                          "SIGCONT continues it; what a debugger stopped, the debugger continues.",
                          "the process is stopped (by a signal or a debugger)");
    else if (p->is_frozen)
        xs_doctor_problem(d, "stopped",
                          "What froze it thaws it: `podman unpause`, `systemctl thaw`, `scontrol resume`.",
                          "the control group of the process is frozen");
    return !xs_proc_has_ended(p) && !p->is_kernel;
}

/* A program joins in so long after it has made its first queue. */
static const struct timespec k_joins = {.tv_nsec = 500000000};

int xs_doctor_process(struct xs_doctor *d, pid_t pid, char *ret_why, size_t size)
{
    static struct xs_proc p; /* large, and stacks may be small */
    const struct xs_doctor_server *s;
    struct xs_doctor_servers all;
    json_t *row = NULL;
    int err = xs_proc_read(pid, &p);

    if (err < 0)
        return err;
    facts(d, &p);
    if (!check_state(d, &p)) {
        xs_proc_free(&p);
        return 0;
    }
    xs_doctor_job(d, variable, &p);
    xs_doctor_servers_find(&all, &p);
    json_object_set_new(d->facts, "servers", xs_doctor_servers_json(&all));
    s = server_of(&all, &p, &row);
    if (!s && p.client_page && xs_doctor_servers_first(&all)) { /* it may be about to join */
        nanosleep(&k_joins, NULL);
        xs_doctor_servers_free(&all);
        xs_doctor_servers_find(&all, &p);
        json_object_set_new(d->facts, "servers", xs_doctor_servers_json(&all));
        s = server_of(&all, &p, &row);
    }
    if (s)
        joined(d, &p, &all, s, row);
    else if (p.denied)
        err = denied(d, &p, ret_why, size);
    else
        not_joined(d, &p, &all);
    if (!p.denied) {
        xs_doctor_calls(d, &p);
        xs_doctor_unseen(d, &p);
    }
    xs_doctor_servers_free(&all);
    xs_proc_free(&p);
    return err;
}
