/* SPDX-License-Identifier: Apache-2.0 */
/* A policy: facts in, decisions out. No clock, no I/O, no threads, no allocation: the same code runs
 * in xserver, in a process and in the simulator. A policy keeps its memory in the memo fields of its
 * facts.
 *
 * An entity is the unit that the scheduler suspends and resumes: a process's queues on one device (a
 * gang); or a single queue where a process asks for that (XSCHED_INTRA, or a local scheduler).
 *
 * This header is for policies of your own, in a shared object: see examples/policy. The command
 * `cc -shared -fPIC -o mine.so mine.c $(pkg-config --cflags xsched)` makes one, `xserver ./mine.so` uses it. */
#ifndef XSCHED_POLICY_H
#define XSCHED_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Hints of one entity; their ranges are right. */
struct xs_hints {
    int32_t priority;              /* PRIORITY_NO_EXECUTE -256: never runs; -255..255 */
    int32_t utilization;           /* percent, 0..100 */
    int64_t deadline_us;           /* from ready_since; -1: none */
    int64_t laxity_us;             /* from ready_since; -1: none */
    int32_t lax_priority, critical_priority;
};

/** A process, shared by all of its entities. */
struct xs_policy_process {
    uint64_t id;                   /* unique for the life of the scheduler, never a pid */
    int32_t utilization;           /* percent, for PUP and SPUP; default 100 */
    int32_t sched_class_priority;  /* CPU scheduling: real time 1..99 -> 1000 + rt priority; else -nice (20..-19) */
    bool window_active;            /* owns the active window of some display */
    uint64_t memo[8];              /* the policy's; zero after a join or a change of policy */
    uint32_t uid;                  /* its user's number, as the scheduler sees it. XS_POLICY_READS_UID */
};

struct xs_policy_entity {
    /* facts */
    uint64_t id;                   /* unique for the life of the scheduler; breaks ties: lower first */
    uint32_t device;               /* dense number of the device */
    struct xs_policy_process *process;
    bool ready;                    /* has commands that wait or run (or lingers, see sched.h) */
    bool running;                  /* permitted by the last decision */
    uint64_t ready_since_ns;       /* when it last became ready; 0 if it never was */
    uint64_t service_ns;           /* device time received since it joined; grows */
    struct xs_hints hints;
    /* the policy's; zero after a join or a change of policy */
    uint64_t memo[8];
    /* decision */
    bool run;                      /* may run; false on entry */
    const char *why;               /* why it may not, for users: some words that stay valid, or NULL; NULL on entry */
};

struct xs_policy_params {
    uint64_t timeslice_ns;         /* XHintTimeslice; UINT64_MAX: unlimited */
    uint32_t k;                    /* XHintKDeadline */
    uint64_t starvation_ns;        /* 0: off. Else a ready entity that was suspended for this long
                                      gets one slice */
    uint64_t switch_ns;            /* measured cost of a switch; slices are at least 20 times this */
};

/** The input of a policy: the entities of one device, or of the whole host for a policy of scope
 *  XS_SCOPE_HOST, in order of id. Entities that are not ready are there too (budgets, reservations). If
 *  `run` is set for one, nothing suspends it when it becomes ready. */
struct xs_policy_view {
    uint64_t now_ns;
    const struct xs_policy_params *params;
    struct xs_policy_entity **entities;
    size_t n;
    uint64_t *memo;                /* 8 words a view (device or host); zero at the start */
    /* decision */
    uint64_t next_ns;              /* ask again then, at the latest; UINT64_MAX: when facts change */
};

enum xs_policy_scope { XS_SCOPE_DEVICE, XS_SCOPE_HOST };

#define XS_POLICY_ABI 1u

struct xs_policy_ops {
    uint32_t abi;                  /* XS_POLICY_ABI */
    uint32_t size;                 /* sizeof(struct xs_policy_ops) of the writer */
    int type;                      /* XPolicyType; 0 for one from a shared object */
    const char *name;              /* "HPF" */
    const char *title;             /* "highest priority first" */
    enum xs_policy_scope scope;
    /** Sets `run` of each entity and next_ns. The scheduler calls it on every change of facts of the
     *  view and at next_ns. Two calls with the same facts and time give the same decisions. */
    void (*decide)(struct xs_policy_view *view);
    uint32_t flags;                /* XS_POLICY_*; a writer whose size ends before them has XS_POLICY_USES_SERVICE */
    uint64_t flags_known;          /* XS_POLICY_FLAGS_KNOWN of the writer; the first three, where its size ends before it */
};

/** ops.flags: it reads service_ns. Then the scheduler updates service_ns before timers and when several
 *  entities become ready; else it may lag behind. */
#define XS_POLICY_USES_SERVICE 1u
/** ops.flags: importance decides which entities run, not turns. Then the scheduler suspends a gang with
 *  work on several devices on all of them when it suspends it on one. */
#define XS_POLICY_BY_RANK 2u
/** ops.flags: it gives turns of the device. A turn begins when the commands of the last one on the
 *  device are over. The policy's clock (now_ns, next_ns) stands until then. service_ns is the time for
 *  which an entity had the device. Not for scope XS_SCOPE_HOST. */
#define XS_POLICY_TURNS 4u
/** ops.flags: it reads sched_class_priority. Without this flag xserver does not look at the CPU scheduling of programs. */
#define XS_POLICY_CPU_CLASS 8u
/** ops.flags: the hints that it reads. xsched run, xcli and doctor say of the others that they have no
 *  effect. */
#define XS_POLICY_READS_PRIORITY 16u             /* hints.priority, beyond PRIORITY_NO_EXECUTE */
#define XS_POLICY_READS_UTILIZATION 32u          /* hints.utilization */
#define XS_POLICY_READS_PROCESS_UTILIZATION 64u  /* process->utilization */
#define XS_POLICY_READS_DEADLINE 128u            /* hints.deadline_us */
#define XS_POLICY_READS_LAXITY 256u              /* hints.laxity_us, lax_priority, critical_priority */
#define XS_POLICY_READS                                                                                                  \
    (XS_POLICY_READS_PRIORITY | XS_POLICY_READS_UTILIZATION | XS_POLICY_READS_PROCESS_UTILIZATION |                      \
     XS_POLICY_READS_DEADLINE | XS_POLICY_READS_LAXITY)
/** ops.flags: it reads process->uid. An xserver that is older than the field logs that it does not know this flag. */
#define XS_POLICY_READS_UID 512u
/** ops.flags_known: the flags of this header. xserver takes a policy that knows fewer flags, or more,
 *  than xserver does. It logs one line with the flags that the policy cannot set, and those that
 *  xserver does not know. */
#define XS_POLICY_FLAGS_KNOWN                                                                                            \
    (XS_POLICY_USES_SERVICE | XS_POLICY_BY_RANK | XS_POLICY_TURNS | XS_POLICY_CPU_CLASS | XS_POLICY_READS |              \
     XS_POLICY_READS_UID)

/** A shared object with a policy exports a function of this type under the name XS_POLICY_ENTRY. Its
 *  result stays valid while the object is loaded. */
typedef const struct xs_policy_ops *(*xs_policy_entry_fn)(void);
#define XS_POLICY_ENTRY "xsched_policy_entry"

#ifdef __cplusplus
}
#endif
#endif
