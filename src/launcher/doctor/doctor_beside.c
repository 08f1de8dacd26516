/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that xserver does not schedule against the others of a device: those of other xservers, and those of none. */
#include "launcher/doctor/doctor.h"

#include "base/str.h"
#include "launcher/proc.h"
#include "query/device_text.h"
#include "query/listening.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAMED_MOST 3

static const char k_mends[] =
    "One xserver for all users mends it: install the service (docs/howto/install.md, \"Several users\").";

#define CPU 1 /* the upper half of xserver's number of a device */

/* A device of these queues that programs wait for: the kernel shares CPUs out between all. */
static bool has_device(const json_t *queues, json_int_t device)
{
    json_t *q;
    size_t i;

    if (device >> 32 == CPU)
        return false;
    json_array_foreach((json_t *)(uintptr_t)queues, i,
                       q) if (json_integer_value(json_object_get(q, "device")) == device) return true;
    return false;
}

static const json_t *client_of(const struct xs_doctor_server *s, json_int_t pid)
{
    json_t *row;
    size_t i;

    json_array_foreach(json_object_get(s->clients, "clients"), i,
                       row) if (json_integer_value(json_object_get(row, "pid")) == pid) return row;
    return NULL;
}

/* A server that is not this one, whatever path leads to it. */
static bool is_other(const struct xs_doctor_server *a, const struct xs_doctor_server *b)
{
    return a != b && !(a->pid > 1 && a->pid == b->pid) &&
           (xs_place_is_up(b->err) || b->err == -EACCES || b->err == -EPERM);
}

/* Programs of another server on the devices of ours. @return whether the server tells them, to this user */
static bool name_programs(struct xs_doctor *d, const struct xs_doctor_server *other, const json_t *queues)
{
    json_t *answer = xs_place_is_up(other->err) ? xs_doctor_ask(other->place.path, "/xqueues") : NULL, *q;
    json_int_t last = 0;
    int named = 0;
    bool told;
    size_t i;

    json_array_foreach(json_object_get(answer, "xqueues"), i, q)
    {
        json_int_t pid = json_integer_value(json_object_get(q, "pid"));
        const char *command = json_string_value(json_object_get(client_of(other, pid), "cmdline"));
        char device[128], user[64];

        if (pid == last || !has_device(queues, json_integer_value(json_object_get(q, "device"))) ||
            named == NAMED_MOST)
            continue;
        last = pid;
        named++;
        xs_user_text((uid_t)json_integer_value(json_object_get(client_of(other, pid), "uid")), user,
                     sizeof(user));
        xs_device_text((uint64_t)json_integer_value(json_object_get(q, "device")), d->devices, device,
                       sizeof(device));
        xs_doctor_problem(d, "other_server", k_mends,
                          "PID %lld (%.60s, %s) uses %s too, under another xserver (%s): neither is "
                          "suspended for the other",
                          (long long)pid, command ? command : "?", user, device,
                          xs_place_name(&other->place));
    }
    told = answer != NULL;
    json_decref(answer);
    return told && (json_is_true(json_object_get(other->status, "whole_server")) || other->uid == getuid());
}

/* A server whose programs this user does not see. */
static void name_server(struct xs_doctor *d, const struct xs_doctor_server *other)
{
    char user[64];

    xs_user_text(other->uid, user, sizeof(user));
    xs_doctor_hint(d,
                   "another xserver runs here, of %s (%s), and does not tell this user its programs. Those "
                   "on the same device and "
                   "this one are not suspended for each other. One xserver for all users mends that "
                   "(docs/howto/install.md, "
                   "\"Several users\")",
                   user, xs_place_name(&other->place));
}

/* Whether a server's list has all programs of a user, as this user gets it. */
static bool tells_all_of(const struct xs_doctor_server *s, uid_t uid)
{
    return s->clients && (json_is_true(json_object_get(s->status, "whole_server")) || uid == getuid());
}

/* A process that the driver has on a device and that no server here knows, as far as they tell.
 * @param queues  NULL: on whichever device */
static void name_unscheduled(struct xs_doctor *d, const struct xs_doctor_servers *all, const json_t *queues,
                             pid_t but)
{
    json_t *list = xs_doctor_gpu_processes(), *o;
    static struct xs_proc p; /* large, and stacks may be small */
    int named = 0;
    size_t i;

    json_array_foreach(list, i, o)
    {
        json_int_t pid = json_integer_value(json_object_get(o, "pid")),
                   device = json_integer_value(json_object_get(o, "device"));
        bool known = pid == but || (queues && !has_device(queues, device)), told = all->count > 0;
        char text[128], user[64];

        if (known || named == NAMED_MOST || xs_proc_read((pid_t)pid, &p) < 0)
            continue;
        for (size_t k = 0; k < all->count; k++) {
            if (!xs_place_is_up(all->items[k].err))
                continue;
            known |= xs_doctor_server_row(&all->items[k], &p) != NULL;
            told &= tells_all_of(&all->items[k], p.uid);
        }
        xs_user_text(p.uid, user, sizeof(user));
        xs_device_text((uint64_t)device, d->devices, text, sizeof(text));
        if (!known && told) {
            named++;
            xs_doctor_hint(d,
                           "PID %d (%s, %s) is on %s, and no xserver here knows it: XSched schedules nothing "
                           "of it, and programs "
                           "under XSched run beside it as they would without",
                           (int)p.pid, p.name, user, text);
        }
        xs_proc_free(&p);
    }
    if (json_array_size(list))
        json_object_set(d->facts, "processes on GPUs", list);
    json_decref(list);
}

static bool has_any_device(const json_t *queues)
{
    json_t *q;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)queues, i, q)
        if (has_device(queues, json_integer_value(json_object_get(q, "device"))))
            return true;
    return false;
}

void xs_doctor_beside(struct xs_doctor *d, const struct xs_proc *p, const struct xs_doctor_servers *all,
                      const struct xs_doctor_server *s, const json_t *queues)
{
    if (!has_any_device(queues))
        return;
    for (size_t i = 0; i < all->count; i++) {
        const struct xs_doctor_server *other = &all->items[i];

        if (is_other(s, other) && !name_programs(d, other, queues) && other->uid != getuid())
            name_server(d, other);
    }
    name_unscheduled(d, all, queues, p->pid);
}

/* A second server of this user: he can end it, or use it. */
static void name_own_server(struct xs_doctor *d, const struct xs_doctor_server *ours, const struct xs_doctor_server *other)
{
    const char *path = xs_place_name(&other->place);
    char mends[PATH_MAX + 64];

    if (ours)
        snprintf(mends, sizeof(mends), "`kill %d` ends it", (int)other->pid);
    else
        snprintf(mends, sizeof(mends), "`xsched run --socket=%s` uses it", path);
    xs_doctor_hint(d,
                   "another xserver of this user runs here (%s, PID %d): its programs and those of the one %s are not "
                   "suspended for each other. %s",
                   path, (int)other->pid, ours ? "that programs find first" : "that you would start", mends);
}

void xs_doctor_beside_here(struct xs_doctor *d, const struct xs_doctor_servers *all)
{
    const struct xs_doctor_server *ours = xs_doctor_servers_first(all);
    int own = 0;

    for (size_t i = 0; i < all->count; i++) {
        const struct xs_doctor_server *other = &all->items[i];
        char user[64];

        if (ours == other || (ours && !is_other(ours, other)) || (i < all->places && !xs_place_is_up(other->err)))
            continue;
        if (other->uid == getuid()) {
            if (other->pid > 0 && ++own <= NAMED_MOST)
                name_own_server(d, ours, other);
            continue;
        }
        xs_user_text(other->uid, user, sizeof(user));
        xs_doctor_hint(d,
                       "another xserver runs here, of %s (%s): its programs and those of %s are not "
                       "suspended for each other. One "
                       "xserver for all users mends that (docs/howto/install.md, \"Several users\")",
                       user, xs_place_name(&other->place), ours ? "yours" : "the one that you would start");
    }
    if (own > NAMED_MOST)
        xs_doctor_hint(d, "%d more xserver%s of this user here", own - NAMED_MOST, own - NAMED_MOST == 1 ? "" : "s");
    name_unscheduled(d, all, NULL, 0);
}
