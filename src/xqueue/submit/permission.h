/* SPDX-License-Identifier: Apache-2.0 */
/* The permits of a command: the application's own, the scheduler's, and that of a lane. */
#ifndef XS_XQUEUE_PERMISSION_H
#define XS_XQUEUE_PERMISSION_H

#include "xqueue/queue.h"

/** Whether command n may start. */
static inline bool xs_queue_permitted(struct xs_queue *q, uint64_t n)
{
    struct xs_server_cell *sc = atomic_load(&q->sc);

    return n <= atomic_load(&sc->permitted) && n <= atomic_load(&q->app_permitted);
}

/* What a command may have to wait for: a mask. */
enum xs_permit_reason {
    XS_PERMIT_REASON_SUSPENDED = 1u, /* the application or the scheduler suspends the queue */
    XS_PERMIT_REASON_LANE = 2u,      /* the scheduler confines the queue to a lane, which cannot take the kernel */
};

/* Where the command is. */
enum xs_permit_place {
    XS_PERMIT_ENTERED,            /* its thread has entered it, and waits before the driver */
    XS_PERMIT_NEXT,               /* it is the next one, and has not entered yet */
    XS_PERMIT_AT_GATE,            /* in the stream, at a gate that the host opens */
};

/* A wait for a permit. */
struct xs_permit_wait {
    uint32_t reasons;             /* XS_PERMIT_REASON_*: it lasts as long as one of these */
    enum xs_permit_place place;
    uint64_t n;                   /* the command's number; XS_PERMIT_NEXT: as the function found it last */
    uint64_t id;                  /* XS_PERMIT_AT_GATE: of the queue (xsched_priv_queue_id); the wait ends with it */
    uint64_t lane_until_ns;       /* XS_PERMIT_REASON_LANE: the kernel may leave the lane then */
    uint64_t timeout_ns;          /* for so long, or one tick more; UINT64_MAX: no limit */
    uint64_t since_ns;            /* since when the caller waits, in earlier calls, too: the lease counts from there.
                                     Earlier afterwards if the clock stepped back */
    bool slept;                   /* the thread has slept */
};

/** Waits until none of the reasons holds the command. Looks at all of them again after each sleep, which ends with a
 *  change of the reason or after a tick. Ends the session when its lease is over. Threads that have no lock.
 *  @return false: the time is over, and a reason holds the command yet */
bool xs_permit_wait(struct xs_queue *q, struct xs_permit_wait *w);

#endif
