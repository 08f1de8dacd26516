/* SPDX-License-Identifier: Apache-2.0 */
/* The servers where a program looks, and the others of this machine. */
#include "launcher/doctor/doctor.h"

#include "launcher/proc.h"
#include "query/http_client.h"
#include "query/listening.h"
#include "query/stopped.h"
#include "transport/http_socket.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

json_t *xs_doctor_ask(const char *server_socket, const char *path)
{
    char http[PATH_MAX + 16], why[256];
    struct xs_http_target target = {.unix_path = http, .timeout_ms = 2000};
    struct xs_http_answer answer;
    json_t *j = NULL;

    xs_http_socket(server_socket, http, sizeof(http));
    if (xs_http_ask(&target, "GET", path, NULL, &answer, why, sizeof(why)) < 0)
        return NULL;
    if (answer.status == 200)
        j = json_loads(answer.body, 0, NULL);
    free(answer.body);
    return j;
}

/* Root may connect anywhere; the program, as its user, may not. */
static int probe_as(const struct xs_place *place, const struct xs_proc *p)
{
    int status = 0;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        if (setgroups(p->groups_count, p->groups) < 0 || setresgid(p->gid, p->gid, p->gid) < 0 ||
            setresuid(p->uid, p->uid, p->uid) < 0)
            _exit(255);
        _exit(-xs_place_probe_of(place, NULL, NULL));
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) == 255)
        return 0;
    return -WEXITSTATUS(status);
}

static void look(struct xs_doctor_server *s, const struct xs_proc *p)
{
    s->err = s->err_theirs = xs_place_probe_of(&s->place, &s->pid, &s->uid);
    /* in another root folder the path leads through /proc, where its user has no other rights than this one */
    if (s->err == 0 && p && geteuid() == 0 && p->uid != 0 && !p->elsewhere)
        s->err_theirs = probe_as(&s->place, p);
    if (!xs_place_is_up(s->err))
        return;
    s->stopped = xs_process_is_stopped(s->pid);
    if (s->stopped)
        return;
    s->status = xs_doctor_ask(s->place.path, "/status");
    s->clients = xs_doctor_ask(s->place.path, "/clients");
}

/* Whether two paths lead to one socket: by a mount, a link, or from inside a container and from outside. */
static bool same_socket(const struct xs_place *a, const char *path)
{
    struct stat x, y;

    return strcmp(a->path, path) == 0 ||
           (stat(a->path, &x) == 0 && stat(path, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

static bool has_place(const struct xs_doctor_servers *s, const char *path)
{
    for (size_t i = 0; i < s->count; i++)
        if (same_socket(&s->items[i].place, path))
            return true;
    return false;
}

void xs_doctor_servers_find(struct xs_doctor_servers *ret, const struct xs_proc *p)
{
    static struct xs_listening listening[XS_LISTENING_MAX];
    static struct xs_places places; /* large, and stacks may be small */
    size_t n = xs_listening(NULL, listening);

    if (p) {
        const struct xs_socket_seeker who = {.own = p->is_secure ? NULL : xs_proc_env(p, "XSCHED_SOCKET"),
                                             .runtime =
                                                 p->is_secure ? NULL : xs_proc_env(p, "XDG_RUNTIME_DIR"),
                                             .uid = p->uid};

        xs_places_of(&who, p->root, &places);
    } else {
        xs_places_get(&places);
    }
    memset(ret, 0, sizeof(*ret));
    ret->items = calloc(places.count + n + 1, sizeof(*ret->items));
    for (size_t i = 0; ret->items && i < places.count; i++) {
        ret->items[ret->count].place = places.items[i];
        look(&ret->items[ret->count++], p);
    }
    ret->places = ret->count;
    for (size_t i = 0; ret->items && i < n; i++) {
        struct xs_doctor_server *s = &ret->items[ret->count];

        if (has_place(ret, listening[i].path))
            continue;
        snprintf(s->place.path, sizeof(s->place.path), "%s", listening[i].path);
        s->place.owner = s->uid = listening[i].uid;
        look(s, NULL);
        ret->count++;
    }
}

void xs_doctor_servers_free(struct xs_doctor_servers *s)
{
    for (size_t i = 0; i < s->count; i++) {
        json_decref(s->items[i].status);
        json_decref(s->items[i].clients);
    }
    free(s->items);
    memset(s, 0, sizeof(*s));
}

json_t *xs_doctor_servers_json(const struct xs_doctor_servers *servers)
{
    static const char *const kept[] = {"version",   "protocol", "policy_name",
                                       "http_port", "clients",  "queues"};
    json_t *list = json_array();

    for (size_t i = 0; i < servers->count; i++) {
        const struct xs_doctor_server *s = &servers->items[i];
        json_t *one = json_object();

        json_object_set_new(one, "socket", xs_doctor_text(xs_place_name(&s->place)));
        json_object_set_new(one, "programs look there", json_boolean(i < servers->places));
        json_object_set_new(one, "answers", json_boolean(s->err == 0));
        if (s->err == 0) {
            json_object_set_new(one, "pid", json_integer(s->pid));
            json_object_set_new(one, "uid", json_integer(s->uid));
            json_object_set_new(one, "http", json_boolean(s->status != NULL));
            for (size_t k = 0; k < XS_ARRAY_LEN(kept); k++) {
                if (json_object_get(s->status, kept[k]))
                    json_object_set(one, kept[k], json_object_get(s->status, kept[k]));
            }
        }
        if (s->err_theirs < 0 && s->err_theirs != -ENOENT)
            json_object_set_new(one, "error", json_string(xs_place_text(s->err_theirs)));
        json_array_append_new(list, one);
    }
    return list;
}

const struct xs_doctor_server *xs_doctor_servers_first(const struct xs_doctor_servers *s)
{
    for (size_t i = 0; i < s->places; i++)
        if (xs_place_is_up(s->items[i].err_theirs))
            return &s->items[i];
    return NULL;
}

bool xs_doctor_server_is_stopped(struct xs_doctor *d, const struct xs_doctor_servers *all)
{
    const struct xs_doctor_server *first = xs_doctor_servers_first(all);
    char remedy[160];

    if (!first || !first->stopped)
        return false;
    snprintf(remedy, sizeof(remedy), XS_STOPPED_REMEDY, (int)first->pid);
    xs_doctor_problem(d, "server_stopped", remedy,
                      "the xserver at %s (PID %d) " XS_STOPPED_BY ": programs run unscheduled until it goes on",
                      xs_place_name(&first->place), (int)first->pid);
    return true;
}

void xs_doctor_servers_text(const struct xs_doctor_servers *s, char *ret, size_t size)
{
    size_t used = 0;

    ret[0] = 0;
    for (size_t i = 0; i < s->places && used < size; i++)
        used += (size_t)snprintf(ret + used, size - used, "%s%s: %s", i ? "; " : "",
                                 xs_place_name(&s->items[i].place), xs_place_text(s->items[i].err_theirs));
    if (!s->places)
        snprintf(ret, size, "its environment names no place where a socket can be");
}

/* How many PID namespaces lie between this process and the server's own; -1: it is outside of ours, or not known. */
static int depth_of(const struct xs_doctor_server *s)
{
    static struct xs_proc server; /* large, and stacks may be small */
    int depth = -1;

    if (s->pid <= 0 || xs_proc_read(s->pid, &server) < 0)
        return -1;
    depth = server.numbers_count - 1;
    xs_proc_free(&server);
    return depth;
}

/* The text of a member; "" where there is none. */
static const char *text_of(const json_t *o, const char *member)
{
    const char *text = json_string_value(json_object_get(o, member));

    return text ? text : "";
}

static void command_line(const struct xs_proc *p, char *ret, size_t size)
{
    char path[64];
    size_t n = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)p->pid);
    f = fopen(path, "re");
    if (f) {
        n = fread(ret, 1, size - 1, f);
        fclose(f);
    }
    while (n && !ret[n - 1])
        n--;
    for (size_t i = 0; i < n; i++)
        ret[i] = ret[i] ? ret[i] : ' ';
    ret[n] = 0;
}

/* @param told  by a server, which cuts a long one and writes ? in place of what is no text */
static bool same_command(const char *told, const char *command)
{
    size_t i = 0;

    while (told[i] && command[i] && (told[i] == '?' || told[i] == command[i]))
        i++;
    return i && !told[i];
}

json_t *xs_doctor_server_row(const struct xs_doctor_server *s, const struct xs_proc *p)
{
    int depth = s->clients ? depth_of(s) : -1;
    pid_t here = depth >= 0 && depth < p->numbers_count ? p->numbers[depth] : p->pid;
    pid_t inmost = p->numbers_count ? p->numbers[p->numbers_count - 1] : p->pid;
    json_t *row, *found = NULL;
    char command[512];
    size_t i, n = 0;

    command_line(p, command, sizeof(command));
    json_array_foreach(json_object_get(s->clients, "clients"), i, row)
    {
        if (depth >= 0 && json_integer_value(json_object_get(row, "pid")) == here)
            return row;
        /* a server outside of this PID namespace: by the number that the program has for itself, and its command line */
        if (depth < 0 && json_integer_value(json_object_get(row, "pid_in_namespace")) == inmost &&
            same_command(text_of(row, "cmdline"), command) && ++n == 1)
            found = row;
    }
    return n == 1 ? found : NULL;
}
