/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the queue of an XQueue handle, in a hash table of all programs' handles. The table never
 * grows, so that no single message pays for all queues; the kernel gives it memory page by page. Also
 * finds the sessions of a process by its number. Main loop's thread only. */
#ifndef XS_XSERVER_HANDLES_H
#define XS_XSERVER_HANDLES_H

#include "xserver/server.h"

#include "base/clock.h"
#include "base/map.h"

#include <errno.h>
#include <linux/random.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define XS_HANDLE_BUCKETS 65536u

static inline struct xs_server_queue **xs_handle_bucket(struct xs_server *s, uint64_t handle)
{
    /* programs choose their handles: without the secret one could choose all for one bucket */
    return &s->handles[xs_hash_u64(xs_hash_u64(handle ^ s->handles_secret) + s->handles_secret) % XS_HANDLE_BUCKETS];
}

/** @return 0 or -ENOMEM */
static inline int xs_handles_init(struct xs_server *s)
{
    /* a system call, since glibc 2.17 has no function for it */
    if (syscall(SYS_getrandom, &s->handles_secret, sizeof(s->handles_secret), GRND_NONBLOCK) < 0)
        s->handles_secret = xs_now_ns();
    s->handles = calloc(XS_HANDLE_BUCKETS, sizeof(struct xs_server_queue *));
    return s->handles ? 0 : -ENOMEM;
}

static inline struct xs_server_queue *xs_handles_get(struct xs_server *s, uint64_t handle)
{
    struct xs_server_queue *q = *xs_handle_bucket(s, handle);

    while (q && (q->handle != handle || q->client->dead)) /* a program that leaves has none */
        q = q->next_of_hash;
    return q;
}

/** q->handle has its value, which is not in the table. */
static inline void xs_handles_add(struct xs_server *s, struct xs_server_queue *q)
{
    struct xs_server_queue **bucket = xs_handle_bucket(s, q->handle);

    q->next_of_hash = *bucket;
    *bucket = q;
}

static inline void xs_handles_remove(struct xs_server *s, struct xs_server_queue *q)
{
    for (struct xs_server_queue **at = xs_handle_bucket(s, q->handle); *at; at = &(*at)->next_of_hash) {
        if (*at == q) {
            *at = q->next_of_hash;
            return;
        }
    }
}

static inline void xs_pids_init(struct xs_server *s)
{
    for (unsigned i = 0; i < XS_PID_BUCKETS; i++)
        xs_list_init(&s->by_pid[i]);
}

/** Joined programs with this and other numbers, through of_pid. */
static inline struct xs_list *xs_pid_bucket(struct xs_server *s, int32_t pid)
{
    return &s->by_pid[(uint32_t)pid % XS_PID_BUCKETS];
}

/** Each joined session of that process, in order. */
#define XS_FOR_SESSIONS(c, s, its_pid)                                            \
    XS_LIST_FOR(c, xs_pid_bucket(s, its_pid), struct xs_client, of_pid)           \
        if ((c)->peer.pid != (its_pid)) {                                         \
        } else

#endif
