/* SPDX-License-Identifier: Apache-2.0 */
/* A mailbox between HTTP and the main loop. An HTTP thread puts a request in and waits. The main loop,
 * which alone touches the scheduler, answers it (answer_requests.c). If that takes too long, the HTTP
 * thread abandons the request, and the main loop only drops it. Messages of programs do not come this
 * way (messages.c). */
#ifndef XS_XSERVER_REQUEST_H
#define XS_XSERVER_REQUEST_H

#include "base/settings/hint_rows.h"
#include "policy/policies.h"
#include "sched/sched.h"
#include "xserver/records/history.h"
#include "xserver/level3/lv3_nvidia.h"
#include "xserver/records/loads.h"
#include "xserver/records/timeline.h"

#include <pthread.h>

enum xs_request_kind {
    XS_REQ_QUEUES,  /* snapshot of queues and joined programs */
    XS_REQ_QUEUE,   /* of one queue and its program */
    XS_REQ_CLIENTS, /* joined and ended programs */
    XS_REQ_METRICS, /* all of these: queues, joined programs with their counts, state */
    XS_REQ_TIMELINE, /* events of queues */
    XS_REQ_STATUS,
    XS_REQ_POLICY,
    XS_REQ_SET_POLICY,
    XS_REQ_CONFIG,
    XS_REQ_HINT,
    XS_REQ_HOLD, /* an operator's suspension or resumption of a process */
    XS_REQ_SWAP, /* its device memory goes out, or comes in */
    XS_REQ_FOLLOW, /* of the server itself: its queues follow a change of the process */
};

#define XS_REQ_NEEDS_ROOM 1 /* in place of an HTTP status: make room, then ask again */

/** The asker. */
struct xs_asker {
    uint32_t uid;
    uint64_t share_key; /* the user that it counts for (xs_charges_key) */
    int32_t pid; /* in the server's PID namespace; 0: not known (TCP, or a process that the server
                    does not see) */
    bool known;  /* the server knows the uid */
    bool all;   /* an operator: root, the server's own user, a member of operator-group, or the
                   token; sees and changes everything, others only their own */
};

struct xs_request_params {
    uint64_t handle; /* 0: by pid */
    int32_t pid;
    int32_t policy; /* XPolicyType; 0: by its name */
    char policy_name[32];
    int32_t level;                 /* 0 keeps */
    int64_t threshold, batch_size; /* 0 keeps */
    enum xs_hint_kind hint;
    int64_t value;                           /* of a hint of hints.def */
    int32_t lax_priority, critical_priority; /* INT32_MIN: not given */
    char display[64];
    bool hold, out;
    uint64_t for_ms; /* with hold: the suspension ends by itself after so long; 0: it does not */
    uint64_t since; /* event; UINT64_MAX: from now on */
    bool loads; /* with XS_REQ_METRICS: what programs used until now, too */
    struct {
        int32_t priority;
        uint32_t share_millis; /* thousandths of the device */
        uint64_t within_us, memory_bytes;
        bool one_device; /* else any will do */
        uint64_t device;
    } admission;
};

struct xs_queue_record {
    struct xs_sched_queue_status status;
    struct xs_hints hints;
    struct xs_hints_later later;
    uint64_t session; /* of its program */
    int32_t pid, level;
    uint32_t levels, platform, inflight_us, waiters;
    int64_t threshold, batch_size;
    uint64_t held_ns;
    int32_t who_pid;  /* of the program that runs instead (status.why), where the asker may see it; else 0 */
    uint32_t who_uid; /* then: its user */
    uint64_t until_ns; /* that reason lasts until then at most; UINT64_MAX: not known */
    char why_own[XS_WHY_OWN]; /* the policy's own words, or "" */
};

#define XS_LATENCY_BUCKETS 24 /* the last: the rest */

struct xs_latency {
    uint64_t count, sum_ns, max_ns, buckets[XS_LATENCY_BUCKETS];
};

/* Times in bucket i are below this; the last bucket has no bound. */
static inline uint64_t xs_latency_bound_ns(unsigned i)
{
    return 1ull << (i + 10);
}

static inline void xs_latency_count(struct xs_latency *l, uint64_t ns)
{
    unsigned bucket = 0;

    while (bucket < XS_LATENCY_BUCKETS - 1 && ns >= xs_latency_bound_ns(bucket))
        bucket++;
    l->buckets[bucket]++;
    l->count++;
    l->sum_ns += ns;
    l->max_ns = XS_MAX(l->max_ns, ns);
}

struct xs_status_record {
    uint64_t uptime_ns, session_next, joined_ever, refused, malformed, requests;
    uint64_t spins, spin_ns, sleeps;
    uint64_t longest_round_ns, late_rounds; /* of the main loop: see count_round() in loop.c */
    uint64_t muted;               /* times that a program rang too often, so that xserver stopped listening */
    uint64_t level3_looks;        /* programs and queues that level 3 looked at */
    struct xs_sched_counters sched;
    struct xs_latency decision;   /* from the event to the stored permits */
    struct xs_latency preemption; /* ... and to the estimated end of the suspended queue's commands
                                     in flight */
    struct xs_policy_params params;
    int32_t policy;
    char policy_name[32];
    uint32_t policy_reads; /* XS_POLICY_READS_* */
    uint32_t policy_flags; /* XS_POLICY_* */
    bool policy_reads_known;
    char loaded_name[32],
        loaded_title[64]; /* the policy of the shared object that the options name; "": none */
    struct xs_lv3_counts lv3;
    bool early_death; /* robust futexes show deaths */
};

struct xs_request {
    struct xs_request *next;
    enum xs_request_kind kind;
    struct xs_asker asker;
    struct xs_request_params params;

    /* the answer; valid once done */
    int status;     /* HTTP status code */
    char text[160]; /* why it failed, or what it did */
    /* The asker makes room for these (xs_request_make_room): the main loop must not wait for memory. */
    struct xs_queue_record *queues;
    size_t n_queues, room_queues;
    struct xs_client_record *clients, *ended;
    size_t n_clients, room_clients, n_ended;
    struct xs_timeline_event *events;
    size_t n_events;
    struct xs_load_point *loads;
    size_t n_loads;
    uint64_t now_ns; /* of loads */
    bool events_more; /* there are some at which it did not look */
    size_t need_queues, need_clients; /* status XS_REQ_NEEDS_ROOM: for so many, as of now */
    struct xs_status_record state;
    uint64_t events_next, events_end, events_lost, events_now_ns;

    /* the mailbox's */
    bool done, abandoned; /* under its lock */
    void *walk;           /* of the main loop, while it takes a snapshot */
    uint64_t began_ns;    /* of the main loop: when it took the request. Not the round's time: the
                             asker's earlier actions come before */
    uint64_t work_ns;     /* how long the main loop worked on it, without its sleep; valid once done */
};

struct xs_request *xs_request_new(enum xs_request_kind kind);
void xs_request_free(struct xs_request *r);
/** Room for so many queues and clients, and for all bounded parts (ended programs, events) that its
 *  kind needs. Touches the memory. @return false: out of memory */
bool xs_request_make_room(struct xs_request *r, size_t queues, size_t clients);
/** The program of a session in r->clients, which the main loop fills in the order of their sessions.
 *  For the present owner of r. @return NULL when it is not there */
struct xs_client_record *xs_request_client(const struct xs_request *r, uint64_t session);

/** Between the threads. */
struct xs_mailbox {
    /* Lock: requests on their way. The threads of HTTP wait on it for an answer, with a limit. */
    pthread_mutex_t lock;
    pthread_cond_t answered;
    struct xs_request *first, **last;
    bool closed;
    int event_fd; /* signals a new request */
};

int xs_mailbox_init(struct xs_mailbox *m);
void xs_mailbox_fini(struct xs_mailbox *m);

/** Any thread but the main loop. Puts the request in and waits. On success the answer is in r, which
 *  the caller frees; on failure r is gone.
 *  @return 0, -ETIMEDOUT, or -ESHUTDOWN when the server is ending */
int xs_mailbox_ask(struct xs_mailbox *m, struct xs_request *r, uint64_t timeout_ns);

/** The main loop: the next request, or NULL; frees those without an asker. */
struct xs_request *xs_mailbox_take(struct xs_mailbox *m);
/** The main loop: the answer is complete. */
void xs_mailbox_answer(struct xs_mailbox *m, struct xs_request *r);
/** Refuses all waiting requests and all later ones. */
void xs_mailbox_close(struct xs_mailbox *m);

#endif
