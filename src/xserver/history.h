/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers the last programs that left: people see them in the status, and a process that joins anew gets back what an
 * operator set for it. */
#ifndef XS_XSERVER_HISTORY_H
#define XS_XSERVER_HISTORY_H

#include "xserver/procinfo.h"

#define XS_HISTORY_LENGTH 256u
#define XS_CMDLINE_BYTES  256u
#define XS_GROUP_BYTES    64u

/** One program, joined or ended. */
struct xs_client_record {
    uint64_t session;
    uint64_t handle_prefix; /* tells, with pid and uid, a process that joins anew */
    int32_t pid, pid_in_namespace;
    uint32_t uid;
    uint32_t queues; /* now; of an ended one: at its end */
    uint64_t queues_ever;
    uint64_t entered;    /* commands */
    uint64_t held_ns;    /* time that its threads spent at gates */
    uint64_t running_ns, waiting_ns; /* of its queues: with work, permitted or not */
    uint64_t service_ns; /* device time received, as far as known */
    uint64_t suspensions, preemptions; /* times held; ... with work */
    int64_t joined_s, left_s; /* since 1970; left_s 0: still joined */
    uint32_t protocol_minor;
    int32_t utilization;
    bool intra, held, window; /* held: by an operator */
    bool priority_set, utilization_set; /* by an operator, for the process and what it is yet to add */
    int32_t priority;
    uint64_t priority_ns; /* when it was set, by our clock */
    char group[XS_GROUP_BYTES];
    char cmdline[XS_CMDLINE_BYTES];
    char left_why[32];
    struct xs_container container;
};

struct xs_history {
    uint64_t count; /* ever */
    struct xs_client_record records[XS_HISTORY_LENGTH];
};

static inline void xs_history_add(struct xs_history *h, const struct xs_client_record *r)
{
    h->records[h->count++ % XS_HISTORY_LENGTH] = *r;
}

/** The newest one of that process. @return NULL when there is none, or too many left since */
static inline const struct xs_client_record *xs_history_of(const struct xs_history *h, uint64_t handle_prefix,
                                                           int32_t pid, uint32_t uid)
{
    for (uint64_t i = 0; i < XS_MIN(h->count, XS_HISTORY_LENGTH); i++) {
        const struct xs_client_record *r = &h->records[(h->count - 1 - i) % XS_HISTORY_LENGTH];

        if (r->handle_prefix == handle_prefix && r->pid == pid && r->uid == uid)
            return r;
    }
    return NULL;
}

#endif
