/* SPDX-License-Identifier: Apache-2.0 */
/* What xserver tells of queues, programs, events and itself. */
#ifndef XS_RECORDS_H
#define XS_RECORDS_H

#include "base/settings/hint_rows.h"
#include "sched/sched.h"

/** The container of a process; "" where it is in none. */
struct xs_container {
    char id[13];  /* the first twelve digits, as tools show them */
    char pod[37]; /* Kubernetes' own name of the pod */
};

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
    uint64_t share_key; /* the user that it counts for: see host/user_key.h */
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

struct xs_lv3_counts {
    uint64_t groups, slices, offs, ons, denied, failed;
    uint64_t slice_ns, off_ns, on_ns; /* the last call of each kind; off and on: of AMD's queues (lv3_kfd.h) */
};

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
    char log_file[512]; /* "": the log is not in a file */
    uint16_t http_port; /* of TCP; 0: none */
};

/** What xserver's configuration says of HTTP. */
struct xs_settings_record {
    int64_t operators;  /* the group of operators; -1: there is none */
    bool share_by_pod;
    bool http;          /* OFF: it answers nothing */
    char token[256];    /* of requests that may change everything; "": there is none */
};

#define XS_TIMELINE_ANSWER 8192u  /* events at which it looks for one answer */

#define XS_TIMELINE_KINDS(X)                                                                                 \
    X(add)                                                                                                   \
    X(remove)                                                                                                \
    X(ready)                                                                                                 \
    X(idle)                                                                                                  \
    X(permit)                                                                                                \
    X(hold)                                                                                                  \
    X(lane)                                                                                                  \
    X(hint)                                                                                                  \
    X(policy)

enum xs_timeline_kind {
#define X(name) XS_TIMELINE_##name,
    XS_TIMELINE_KINDS(X)
#undef X
};

struct xs_timeline_event {
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t handle;  /* 0: of the server (policy) */
    int32_t pid;
    uint32_t uid;
    uint64_t device; /* hold: enum xs_why, its reason */
    int32_t value;   /* add, hint: priority; hold: 1: by a user; policy: its number; lane: multiprocessors, 0: the whole device */
    enum xs_timeline_kind kind;
};

#define XS_LOADS_LENGTH   300u
#define XS_LOADS_PROGRAMS 24u  /* of a point; what others used is one number */

struct xs_load {
    uint64_t session;
    uint32_t uid, millis; /* thousandths of a device */
};

struct xs_load_point {
    uint64_t time_ns;
    uint64_t mean_ns, p99_ns; /* of decisions since the last point; 0: there was none */
    uint32_t others_millis, n;
    struct xs_load programs[XS_LOADS_PROGRAMS];
};

#endif
