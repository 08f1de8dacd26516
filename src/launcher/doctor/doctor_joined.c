/* SPDX-License-Identifier: Apache-2.0 */
/* What a server says of the process, and why none knows it. */
#include "launcher/doctor/doctor.h"

#include "base/settings/hint_rows.h"
#include "base/str.h"
#include "launcher/proc.h"
#include "query/mps_priority.h"
#include "query/policy_in_force.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void queue_line(json_t *to, const json_t *q)
{
    static const char *const kept[] = {"handle",   "device",    "platform",  "level",      "levels",
                                       "priority", "ready",     "suspended", "lane",       "reserve",
                                       "commands", "completed", "held_us",   "suspensions"};
    json_t *o = json_object(), *v;

    for (size_t i = 0; i < XS_ARRAY_LEN(kept); i++) {
        v = json_object_get(q, kept[i]);
        if (v)
            json_object_set(o, kept[i], v);
    }
    json_array_append_new(to, o);
}

/* The level that the environment asks for on this platform; 0: auto, or none that there is. */
static json_int_t wanted_level(const struct xs_proc *p)
{
    const char *value = xs_proc_env(p, "XSCHED_AUTO_XQUEUE_LEVEL");

    return value && value[0] >= '1' && value[0] <= '3' && !value[1] ? value[0] - '0' : 0;
}

static void check_level(struct xs_doctor *d, const struct xs_proc *p, const json_t *q,
                        unsigned long long handle)
{
    json_int_t level = json_integer_value(json_object_get(q, "level")), wanted = wanted_level(p);
    json_int_t levels = json_integer_value(json_object_get(q, "levels"));

    if (wanted <= level)
        return;
    if (levels >> wanted & 1)
        xs_doctor_problem(d, "level_denied",
                          "`xcli config -x HANDLE -l LEVEL` sets it; a program may do so, too.",
                          "queue 0x%llx has level %d, and the program's environment asks for level %d, which "
                          "its device has",
                          handle, (int)level, (int)wanted);
    else
        xs_doctor_problem(
            d, "level_denied", "The queue works at the level that it has.",
            "queue 0x%llx has level %d, and the program's environment asks for level %d: the platform does "
            "not have that here",
            handle, (int)level, (int)wanted);
}

/* Idle time inside an urgent program: whether others compute in it, and if not, why. */
static void tell_gather(struct xs_doctor *d, const json_t *q, unsigned long long handle)
{
    static const struct {
        const char *state, *words;
    } k_words[] = {
        {"learns", "does not gather its commands yet: xserver learns how many of them each of its steps has"},
        {"gathers", "gathers its commands while the program launches them"},
        {"irregular", "does not gather its commands: no number of them comes again in its steps"},
        {"no use", "gathers no commands for now: its steps are too short for that, or took longer with it"},
    };
    const char *state = json_string_value(json_object_get(q, "gather"));
    double s = (double)json_integer_value(json_object_get(q, "gathered_us")) / 1e6;

    for (size_t i = 0; state && i < XS_ARRAY_LEN(k_words); i++)
        if (strcmp(state, k_words[i].state) == 0)
            xs_doctor_hint(d, "queue 0x%llx %s; others computed for %.1f s meanwhile", handle, k_words[i].words, s);
}

/* @param held  a user suspended the process */
static void check_queue(struct xs_doctor *d, const struct xs_proc *p, const json_t *q, bool held)
{
    json_int_t priority = json_integer_value(json_object_get(q, "priority"));
    json_int_t lane = json_integer_value(json_object_get(q, "lane"));
    json_int_t reserve = json_integer_value(json_object_get(q, "reserve"));
    unsigned long long handle = (unsigned long long)json_integer_value(json_object_get(q, "handle"));
    bool ready = json_is_true(json_object_get(q, "ready"));
    const char *why = json_string_value(json_object_get(q, "why_text")); /* an older xserver says nothing */
    char other[64] = "";

    if (reserve > 0)
        snprintf(other, sizeof(other), " of %lld", (long long)(lane + reserve));
    check_level(d, p, q, handle);
    tell_gather(d, q, handle);
    if (priority <= PRIORITY_NO_EXECUTE) {
        snprintf(other, sizeof(other), "`xcli hint %d --priority 0` gives it another.", (int)p->pid);
        xs_doctor_problem(d, "never_runs", other, "queue 0x%llx has priority -256: it never runs", handle);
    } else if (!held && json_is_true(json_object_get(q, "suspended")) && ready)
        xs_doctor_hint(d, "xserver suspends queue 0x%llx right now: %s", handle,
                       why ? why : "the policy prefers another program");
    else if (!held && lane > 0 && ready)
        xs_doctor_hint(d,
                       "queue 0x%llx runs beside a more important one right now, on %lld%s multiprocessors",
                       handle, (long long)lane, other);
}

/* Hints of the process that the policy does not read.
 * @param process  from the server's list, with its queues */
static void check_unread(struct xs_doctor *d, const json_t *process, const json_t *queues,
                         const char *socket_path)
{
    struct xs_policy_in_force policy;
    json_int_t value;
    json_t *q;
    size_t k;

    if (!xs_policy_in_force_ask(socket_path, &policy))
        return;
    for (size_t i = 0; i < xs_hint_rows_count; i++) {
        const struct xs_hint_row *hint = &xs_hint_rows[i];
        char what[64], text[256];

        if (!hint->of_queue)
            continue;
        value = hint->without;
        if (json_object_get(process, hint->name))
            value = json_integer_value(json_object_get(process, hint->name));
        json_array_foreach((json_t *)(uintptr_t)queues, k, q) /* an older xserver does not know each hint */
            if (value == hint->without && json_object_get(q, hint->name))
                value = json_integer_value(json_object_get(q, hint->name));
        if (value == hint->without || value <= PRIORITY_NO_EXECUTE)
            continue;
        snprintf(what, sizeof(what), "a %s of %lld%s", hint->name, (long long)value, hint->unit);
        if (xs_policy_in_force_unread(&policy, hint->reads | hint->reads_of_process, what, "xcli policy", text, sizeof(text)))
            xs_doctor_problem(d, "hint_without_effect", "", "%s", text);
    }
}

static void check_mps_priority(struct xs_doctor *d, const json_t *process, const json_t *queues)
{
    json_int_t priority = INT32_MIN;
    char text[256];
    json_t *q;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)queues, i, q) priority =
        XS_MAX(priority, json_integer_value(json_object_get(q, "priority")));
    if (xs_mps_priority_is_stale(process, priority, text, sizeof(text)))
        xs_doctor_hint(d, "%s", text);
}

static bool check_held(struct xs_doctor *d, const struct xs_proc *p, const json_t *row)
{
    json_int_t left = json_integer_value(json_object_get(row, "held_for_us"));
    char resume[64], until[48] = "";

    if (!json_is_true(json_object_get(row, "held")))
        return false;
    snprintf(resume, sizeof(resume), "`xcli resume --pid %d` resumes it.", (int)p->pid);
    if (left > 0)
        snprintf(until, sizeof(until), "; xserver resumes it in %.1f s", (double)left / 1e6);
    xs_doctor_problem(d, "held", resume, "a user has suspended the process (`xcli suspend`)%s", until);
    return true;
}

/* The program joined where it could when it started; others that start now may join elsewhere. */
static void check_place(struct xs_doctor *d, const struct xs_doctor_servers *all,
                        const struct xs_doctor_server *s)
{
    const struct xs_doctor_server *first = xs_doctor_servers_first(all);

    if (s < all->items + all->places && first && first != s)
        xs_doctor_problem(
            d, "two_servers",
            "End one of them: programs of different xservers are not suspended for each other.",
            "the program has joined the xserver at %s, and programs that start now join the one at %s",
            xs_place_name(&s->place), xs_place_name(&first->place));
}

void xs_doctor_queues(struct xs_doctor *d, const struct xs_proc *p, const struct xs_doctor_servers *all,
                      const struct xs_doctor_server *s, json_t *row)
{
    json_t *answer = xs_doctor_ask(s->place.path, "/xqueues"), *queues = json_array(), *whole = json_array(),
           *item;
    bool held = check_held(d, p, row);
    size_t i;

    json_object_set(d->facts, "joined", row);
    json_array_foreach(json_object_get(answer, "xqueues"), i, item)
    {
        if (json_integer_value(json_object_get(item, "pid")) ==
            json_integer_value(json_object_get(row, "pid"))) {
            json_array_append(whole, item);
            queue_line(queues, item);
            check_queue(d, p, item, held);
        }
    }
    json_object_set(d->facts, "queues", queues);
    check_place(d, all, s);
    if (!json_array_size(queues))
        xs_doctor_problem(d, "no_queues", "Nothing is wrong if the program has not used its device yet.",
                          "the program has joined xserver and has no queue");
    if (json_array_size(queues)) {
        d->devices = xs_doctor_ask(s->place.path, "/devices"); /* an older server does not know it */
        check_unread(d, row, whole, s->place.path);
        check_mps_priority(d, row, whole);
        xs_doctor_beside(d, p, all, s, whole);
    }
    json_decref(whole);
    json_decref(queues);
    json_decref(answer);
}

/* Something is at a place, and the program may not use it; the service's socket without rights, for one. */
static bool say_denied(struct xs_doctor *d, const struct xs_proc *p, const struct xs_doctor_servers *all)
{
    for (size_t i = 0; i < all->places; i++) {
        const struct xs_doctor_server *s = &all->items[i];

        if (s->err_theirs != -EACCES && s->err_theirs != -EPERM)
            continue;
        xs_doctor_problem(
            d, "no_rights",
            "The folder of the socket and those above it must let the program's user in; xserver "
            "itself lets everybody connect.",
            "user %u, whose the program is, may not connect to %s: %s", (unsigned)p->uid,
            xs_place_name(&s->place), xs_place_text(s->err_theirs));
        return true;
    }
    return false;
}

/* The most files that the process may have open; -1: not known, or no limit. */
static long open_files_most(const struct xs_proc *p)
{
    static const char k_row[] = "Max open files";
    char path[64], line[256], *end;
    long most = -1;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/limits", (int)p->pid);
    f = fopen(path, "re");
    while (f && most < 0 && fgets(line, sizeof(line), f)) {
        if (strncmp(line, k_row, sizeof(k_row) - 1) != 0)
            continue;
        most = strtol(line + sizeof(k_row) - 1, &end, 10);
        if (end == line + sizeof(k_row) - 1) /* "unlimited" */
            most = -1;
    }
    if (f)
        fclose(f);
    return most;
}

#define DESCRIPTORS_NEEDED 6      /* of a program that joins: its pages, the socket, a doorbell */

static bool say_no_descriptors(struct xs_doctor *d, const struct xs_proc *p)
{
    long most = open_files_most(p);

    if (most < 0 || p->descriptors + DESCRIPTORS_NEEDED <= most)
        return false;
    xs_doctor_problem(d, "no_descriptors", "Raise the limit before it starts (`ulimit -n`, LimitNOFILE=).",
                      "the program has %d of the %ld files open that its limit allows, and XSched needs up to %d more",
                      p->descriptors, most, DESCRIPTORS_NEEDED);
    return true;
}

/* A program keeps the page of a server that ended for some seconds. The socket of such a server is there, and nobody listens. */
static bool has_ended(const struct xs_doctor_servers *all)
{
    for (size_t i = 0; i < all->places; i++)
        if (all->items[i].err_theirs == -ECONNREFUSED)
            return true;
    return false;
}

void xs_doctor_not_joined(struct xs_doctor *d, const struct xs_proc *p, const struct xs_doctor_servers *all)
{
    const struct xs_doctor_server *first = xs_doctor_servers_first(all);
    char looked[1024];

    if (xs_doctor_server_is_stopped(d, all))
        return;
    /* its page of a server shows that it has joined one */
    if (p->server_page && (first ? !first->clients : !has_ended(all))) {
        d->unasked = true;
        if (first)
            xs_doctor_hint(d,
                           "the xserver at %s answers no questions (http = OFF?): the program has joined "
                           "one, and doctor cannot "
                           "list its queues",
                           xs_place_name(&first->place));
        else
            xs_doctor_hint(
                d,
                "doctor finds no way to the xserver that the program has joined, and cannot list the queues: its socket was "
                "renamed or removed, or this user may not reach it. A new xserver there takes the program over");
        return;
    }
    if (!first) {
        if (say_denied(d, p, all))
            return;
        xs_doctor_servers_text(all, looked, sizeof(looked));
        xs_doctor_problem(d, "no_server",
                          "`xserver` starts one, or `systemctl start xserver`; the program joins by itself.",
                          "no xserver answers where the program looks (%s)", looked);
        return;
    }
    if (!first->clients)
        xs_doctor_hint(d,
                       "the xserver at %s answers no questions (http = OFF?): doctor cannot see its records "
                       "of the program",
                       xs_place_name(&first->place));
    if (!p->client_page && say_no_descriptors(d, p))
        return;
    if (!p->client_page) {
        d->asked_driver = true;
        xs_doctor_problem(d, "no_queues", "It joins when it makes its first queue (stream, command queue).",
                          "the program has made no queue yet, so it has not joined xserver");
    } else if (p->server_page) {
        d->unasked = true;
        xs_doctor_hint(
            d, "the program has joined an xserver, and not the one at %s: doctor cannot list its queues",
            xs_place_name(&first->place));
    } else if (first->clients) {
        xs_doctor_problem(d, "not_joined", "Its log (XLOG_LEVEL=INFO) and xserver's say why.",
                          "the program has queues, and the xserver at %s does not know it",
                          xs_place_name(&first->place));
    }
}
