/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the queue of an XQueue handle, in a hash table of all programs' handles. The table never
 * grows, so that no single message pays for all queues; the kernel gives it memory page by page. Also
 * finds the sessions of a process by its number. Main loop's thread only. */
#ifndef XS_XSERVER_HANDLES_H
#define XS_XSERVER_HANDLES_H

#include "base/list.h"

#define XS_PID_BUCKETS 1024u

struct xs_server;
struct xs_server_queue;

struct xs_handles {
    struct xs_server_queue **buckets;
    uint64_t secret; /* programs choose their handles: without it one could choose all for one bucket */
    struct xs_list by_pid[XS_PID_BUCKETS]; /* joined programs, through of_pid, in order of session */
};

/** @return 0 or -ENOMEM */
int xs_handles_init(struct xs_handles *h);
void xs_handles_fini(struct xs_handles *h);
/** NULL: there is none. */
struct xs_server_queue *xs_handles_get(struct xs_server *s, uint64_t handle);
/** q->handle has its value, which is not in the table. */
void xs_handles_add(struct xs_server *s, struct xs_server_queue *q);
void xs_handles_remove(struct xs_server *s, struct xs_server_queue *q);
/** Joined programs with this and other numbers, through of_pid. */
struct xs_list *xs_pid_bucket(struct xs_server *s, int32_t pid);

/** Each joined session of that process, in order. */
#define XS_FOR_SESSIONS(c, s, its_pid)                                            \
    XS_LIST_FOR(c, xs_pid_bucket(s, its_pid), struct xs_client, of_pid)           \
        if ((c)->peer.pid != (its_pid)) {                                         \
        } else

#endif
