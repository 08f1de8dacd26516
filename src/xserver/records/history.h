/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers the last programs that left. Users see them in the status, and a process that joins anew
 * gets back the settings of an operator. */
#ifndef XS_XSERVER_HISTORY_H
#define XS_XSERVER_HISTORY_H

#include "xserver/procinfo.h"

#define XS_HISTORY_LENGTH 256u
#define XS_CMDLINE_BYTES  256u
#define XS_GROUP_BYTES    64u

/** Where a program's device memory is. */
enum xs_swap_record {
    XS_SWAP_RECORD_NO,            /* it cannot move */
    XS_SWAP_RECORD_IN,
    XS_SWAP_RECORD_GOES_OUT,
    XS_SWAP_RECORD_OUT,
    XS_SWAP_RECORD_COMES_IN
};

/** One program, joined or ended. */
struct xs_client_record {
    uint64_t session;
    uint64_t handle_prefix; /* identifies, with pid and uid, a process that joins anew */
    int32_t pid, pid_in_namespace;
    uint32_t uid;
    uint64_t share_key; /* the user that it counts for: see shares/charges.h */
    uint32_t queues; /* now; of an ended one: at its end */
    uint64_t queues_ever;
    uint64_t entered;    /* commands */
    uint64_t held_ns;    /* time that its threads waited for permits */
    uint64_t running_ns, waiting_ns; /* of its queues: with work, permitted or not */
    uint64_t gathered_ns; /* ... with commands that gathered while others computed */
    uint64_t service_ns; /* device time received, as far as known */
    uint64_t memory_used, memory_limit; /* bytes, as the program reports; limit 0: not known */
    uint8_t swap;        /* enum xs_swap_record */
    uint64_t swap_movable; /* bytes of device memory that can move, as the program reports */
    uint64_t swap_moves, swap_bytes, swap_ns; /* moves of it, out and in; bytes and time of them all */
    char swap_why[96];   /* why the last one failed, or "" */
    uint64_t suspensions, preemptions; /* times suspended; ... with work */
    int64_t joined_s, left_s; /* since 1970; left_s 0: still joined */
    uint32_t protocol_minor;
    int32_t utilization;
    bool intra, space, held, window; /* held: an operator suspended it */
    bool mps_higher, mps_lower;      /* which of its two priorities MPS gave it; neither: not known */
    bool priority_set, utilization_set; /* an operator set it, for the process and its later queues */
    uint64_t held_until_ns; /* by our clock; 0: until somebody resumes it */
    int32_t priority;
    uint64_t priority_ns; /* when the operator set it, by our clock */
    char group[XS_GROUP_BYTES];
    char cmdline[XS_CMDLINE_BYTES];
    char left_why[32];
    struct xs_container container;
};

/** When it is full, the user with most records loses one of his: the oldest that no operator changed,
 *  else the oldest. */
struct xs_history {
    uint32_t n;
    uint16_t order[XS_HISTORY_LENGTH];   /* places in records, the oldest first */
    uint16_t of_user[XS_HISTORY_LENGTH]; /* number of records that this one's user has */
    uint64_t keys[XS_HISTORY_LENGTH];    /* their share_key */
    struct xs_client_record records[XS_HISTORY_LENGTH];
};

void xs_history_add(struct xs_history *h, const struct xs_client_record *r);
/** The i-th one, from the oldest. i: below n. */
const struct xs_client_record *xs_history_at(const struct xs_history *h, uint32_t i);
/** The newest one of that process. @return NULL when there is none, or too many left since */
const struct xs_client_record *xs_history_of(const struct xs_history *h, uint64_t handle_prefix, int32_t pid, uint32_t uid);

#endif
