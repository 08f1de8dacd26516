/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/handles.h"

#include "base/clock.h"
#include "base/map.h"
#include "xserver/server.h"

#include <errno.h>
#include <linux/random.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BUCKETS 65536u

static struct xs_server_queue **bucket_of(struct xs_server *s, uint64_t handle)
{
    return &s->handles.buckets[xs_hash_u64(xs_hash_u64(handle ^ s->handles.secret) + s->handles.secret) % BUCKETS];
}

int xs_handles_init(struct xs_handles *h)
{
    for (unsigned i = 0; i < XS_PID_BUCKETS; i++)
        xs_list_init(&h->by_pid[i]);
    /* a system call, since glibc 2.17 has no function for it */
    if (syscall(SYS_getrandom, &h->secret, sizeof(h->secret), GRND_NONBLOCK) < 0)
        h->secret = xs_now_ns();
    h->buckets = calloc(BUCKETS, sizeof(struct xs_server_queue *));
    return h->buckets ? 0 : -ENOMEM;
}

void xs_handles_fini(struct xs_handles *h)
{
    free(h->buckets);
}

struct xs_server_queue *xs_handles_get(struct xs_server *s, uint64_t handle)
{
    struct xs_server_queue *q = *bucket_of(s, handle);

    while (q && (q->handle != handle || q->client->dead)) /* a program that leaves has none */
        q = q->next_of_hash;
    return q;
}

void xs_handles_add(struct xs_server *s, struct xs_server_queue *q)
{
    struct xs_server_queue **bucket = bucket_of(s, q->handle);

    q->next_of_hash = *bucket;
    *bucket = q;
}

void xs_handles_remove(struct xs_server *s, struct xs_server_queue *q)
{
    for (struct xs_server_queue **at = bucket_of(s, q->handle); *at; at = &(*at)->next_of_hash) {
        if (*at == q) {
            *at = q->next_of_hash;
            return;
        }
    }
}

struct xs_list *xs_pid_bucket(struct xs_server *s, int32_t pid)
{
    return &s->handles.by_pid[(uint32_t)pid % XS_PID_BUCKETS];
}
