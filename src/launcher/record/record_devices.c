/* SPDX-License-Identifier: Apache-2.0 */
/* Which programs run on each device while a recording runs. */
#include "launcher/record/record.h"

#include "base/str.h"
#include "query/device_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define NAMES 3u /* programs that a slice names */

struct runner {
    int64_t pid;
    unsigned queues; /* that run there */
    char name[64];
    UT_hash_handle hh;
};

struct record_device {
    uint64_t device;
    unsigned number;
    struct runner *runners; /* in the order in which they came */
    uint64_t since_ns;      /* this set of them runs since then */
    UT_hash_handle hh;
};

void record_device_name(struct record *r, uint64_t device, char *ret, size_t size)
{
    json_t *answer;

    if (xs_device_text(device, r->device_names, ret, size) || !r->ask)
        return;
    answer = r->ask(r->ctx, "/devices");
    if (!answer)
        return;
    json_decref(r->device_names);
    r->device_names = answer;
    xs_device_text(device, answer, ret, size);
}

static struct record_device *device_of(struct record *r, uint64_t device)
{
    struct record_device *d;
    char name[128];

    HASH_FIND(hh, r->devices, &device, sizeof(device), d);
    if (d)
        return d;
    d = calloc(1, sizeof(*d));
    if (!d)
        abort();
    d->device = device;
    d->number = ++r->next_device;
    HASH_ADD(hh, r->devices, device, sizeof(device), d);
    record_device_name(r, device, name, sizeof(name));
    r->to->device(r->f, d->number, name);
    return d;
}

/* "serve.py", "serve.py + train.py", "a + b + c and 4 more" */
static void slice_name(const struct record_device *d, char *ret, size_t size)
{
    unsigned n = 0, all = HASH_COUNT(d->runners);
    size_t used = 0;

    for (const struct runner *p = d->runners; p && n < NAMES && used < size; p = p->hh.next, n++)
        used += (size_t)snprintf(ret + used, size - used, "%s%s", n ? " + " : "", p->name);
    if (all > NAMES && used < size)
        snprintf(ret + used, size - used, " and %u more", all - NAMES);
}

static void end_slice(struct record *r, struct record_device *d)
{
    char name[NAMES * 64 + 32] = "";

    if (d->runners && r->at_ns > d->since_ns) {
        slice_name(d, name, sizeof(name));
        r->to->had(r->f, d->number, name, d->since_ns, r->at_ns);
        r->written++;
    }
    d->since_ns = r->at_ns;
}

/* The last part of a path, and the first argument that names a script: "python3 serve.py". */
static void short_name(const char *command, int64_t pid, char *ret, size_t size)
{
    size_t first = strcspn(command, " "), from = 0, second;

    for (size_t i = 0; i < first; i++)
        if (command[i] == '/')
            from = i + 1;
    second = command[first] ? first + 1 + strcspn(command + first + 1, " ") : first;
    if (command[first] && command[first + 1] == '-')
        second = first;
    if (command[0])
        snprintf(ret, size, "%.*s (%" PRId64 ")", (int)XS_MIN(second - from, size - 24), command + from, pid);
    else
        snprintf(ret, size, "PID %" PRId64, pid);
}

void record_device_change(struct record *r, uint64_t device, int64_t pid, const char *program, bool runs)
{
    struct record_device *d = device_of(r, device);
    struct runner *p;

    HASH_FIND(hh, d->runners, &pid, sizeof(pid), p);
    if (runs && !p) {
        end_slice(r, d);
        p = calloc(1, sizeof(*p));
        if (!p)
            abort();
        p->pid = pid;
        short_name(program, pid, p->name, sizeof(p->name));
        HASH_ADD(hh, d->runners, pid, sizeof(pid), p);
    }
    if (!p)
        return;
    p->queues += runs ? 1 : (unsigned)-1;
    if (p->queues == 0) {
        end_slice(r, d);
        HASH_DEL(d->runners, p);
        free(p);
    }
}

static void forget_runners(struct record_device *d)
{
    struct runner *p, *next_p;

    /* NOLINTBEGIN(clang-analyzer-unix.Malloc,clang-analyzer-core.NullDereference): as HASH_DEL moves the head on, unseen */
    HASH_ITER(hh, d->runners, p, next_p)
    {
        HASH_DEL(d->runners, p);
        free(p);
    }
    /* NOLINTEND(clang-analyzer-unix.Malloc,clang-analyzer-core.NullDereference) */
}

void record_devices_end(struct record *r)
{
    struct record_device *d, *next_d;

    for (d = r->devices; d; d = d->hh.next)
        end_slice(r, d);
    /* NOLINTBEGIN(clang-analyzer-unix.Malloc,clang-analyzer-core.NullDereference): as above */
    HASH_ITER(hh, r->devices, d, next_d)
    {
        forget_runners(d);
        HASH_DEL(r->devices, d);
        free(d);
    }
    /* NOLINTEND(clang-analyzer-unix.Malloc,clang-analyzer-core.NullDereference) */
    json_decref(r->device_names);
    r->device_names = NULL;
}
