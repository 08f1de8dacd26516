/* SPDX-License-Identifier: Apache-2.0 */
/* A question of a user or tool, or a change, with its answer. The process that asks has one of these. xserver's main loop, which
 * alone touches the scheduler, has another. ask_wire.h brings them over the socket. */
#ifndef XS_REQUEST_H
#define XS_REQUEST_H

#include "asks/records.h"
#include "policy/policies.h"

enum xs_request_kind {
    XS_REQ_QUEUES,  /* snapshot of queues and joined programs */
    XS_REQ_QUEUE,   /* of one queue and its program */
    XS_REQ_CLIENTS, /* joined and ended programs */
    XS_REQ_METRICS, /* all of these: queues, joined programs with their counts, state */
    XS_REQ_TIMELINE, /* events of queues */
    XS_REQ_STATUS,
    XS_REQ_POLICY,
    XS_REQ_SETTINGS, /* of HTTP; for operators */
    XS_REQ_SET_POLICY, /* from here on: changes */
    XS_REQ_CONFIG,
    XS_REQ_HINT,
    XS_REQ_HOLD, /* an operator's suspension or resumption of a process */
    XS_REQ_SWAP, /* its device memory goes out, or comes in */
    XS_REQ_FOLLOW, /* of the server itself: its queues follow a change of the process */
    XS_REQ_KINDS
};

/** The asker. */
struct xs_asker {
    uint32_t uid;
    uint64_t share_key; /* the user that it counts for (xs_user_key) */
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
    bool repeat; /* a subscription to XS_REQ_METRICS or XS_REQ_TIMELINE: an answer each for_ms */
    bool loads; /* with XS_REQ_METRICS: what programs used until now, too */
    struct {
        int32_t priority;
        uint32_t share_millis; /* thousandths of the device */
        uint64_t within_us, memory_bytes;
        bool one_device; /* else any will do */
        uint64_t device;
    } admission;
};

struct xs_client;

struct xs_request {
    struct xs_request *next;
    enum xs_request_kind kind;
    struct xs_asker asker;
    struct xs_request_params params;

    /* the answer; valid once done */
    int status;     /* HTTP status code */
    char text[160]; /* why it failed, or what it did */
    bool other_build; /* the asker's: xserver is another build, which sends it no records */
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
    struct xs_status_record state;
    struct xs_settings_record settings;
    uint64_t events_next, events_end, events_lost, events_now_ns; /* lost: of a subscription to XS_REQ_METRICS, answers */

    /* the main loop's */
    bool done;
    struct xs_client *of; /* the connection that waits for the answer; NULL: none */
    bool own;             /* of the server itself, or of a connection that is gone: nobody waits, the main loop frees it */
    void *walk;           /* while it takes a snapshot */
    uint64_t began_ns;    /* when it took the request. Not the round's time: the asker's earlier actions come before */
    uint64_t step_ns;     /* when the present step of the work began */
    uint64_t work_ns;     /* the time of all steps, and for a change also that between them, in which decisions follow it;
                             valid once done */
};

struct xs_request *xs_request_new(enum xs_request_kind kind);
void xs_request_free(struct xs_request *r);
/** Room for so many queues and clients, and for all bounded parts (ended programs, events) that its
 *  kind needs. @return false: out of memory */
bool xs_request_make_room(struct xs_request *r, size_t queues, size_t clients);
/** The program of a session in r->clients, which the main loop fills in the order of their sessions.
 *  For the present owner of r. @return NULL when it is not there */
struct xs_client_record *xs_request_client(const struct xs_request *r, uint64_t session);

#endif
