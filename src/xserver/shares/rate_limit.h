/* SPDX-License-Identifier: Apache-2.0 */
/* How often a user's programs may make xserver look at their doorbells (decision 0030). When a user
 * has spent that, xserver stops listening to the doorbells of his programs that ring. A timer looks at
 * them, until the user has recovered enough. Main loop's thread. */
#ifndef XS_XSERVER_SHARES_RATE_LIMIT_H
#define XS_XSERVER_SHARES_RATE_LIMIT_H

#include "base/list.h"
#include "host/quota.h"

#define XS_RATE_A_SECOND 20000u                /* that brought nothing new */
#define XS_RATE_BURST    4000u                 /* saved up at most */
#define XS_RATE_PARTS    8u                    /* the unit of the account: parts of such a ring */
#define XS_RATE_WOKE     4u                    /* ... for one that woke xserver, and brought something */
#define XS_RATE_AWAKE    1u                    /* ... for one that it saw while it looked at doorbells anyway (spin-cpu) */
#define XS_RATE_LOOK_NS  (500 * XS_NS_PER_US)  /* how often the timer looks */
#define XS_RATE_LOOKS    16u                   /* programs that it looks at each time */
#define XS_RATE_MESSAGE  3u                    /* cost of a message of a program, or of one to it */
#define XS_RATE_HELLO    80u                   /* ... the first one of a connection */
#define XS_RATE_CONNECT  4u                    /* cost of a connection, by itself; xserver closes more of
                                                   them */
#define XS_RATE_ACCEPT   2u                    /* cost of a connection, for all users; the rest waits in
                                                   the kernel */
#define XS_RATE_WORK     8u                    /* looks at queues that count as a ring */

struct xs_server;
struct xs_client;

/** Of a program. */
struct xs_rate_of {
    struct xs_list quiet_link, muted_link;
};

/** Of the server. */
struct xs_rates {
    struct xs_rate accepts; /* connections of all */
    bool deaf;              /* xserver does not accept for a moment: too many connect */
    struct xs_list quiet;   /* programs whose messages it does not read for a moment */
    struct xs_list muted;   /* ... to whose doorbells it does not listen: they rang too often */
    uint64_t look_ns;       /* look at some of them then */
};

void xs_rates_init(struct xs_rates *r);
void xs_rate_init(struct xs_rate_of *r);
/** Whether xserver does not read the program's messages for a moment. */
static inline bool xs_rate_is_quiet(const struct xs_rate_of *r)
{
    return !xs_list_empty(&r->quiet_link);
}

/** A ring that counts so many parts, and made the scheduler look at so many queues.
 *  @return whether the user had as much left */
bool xs_rate_spend(struct xs_rate *r, unsigned parts, uint64_t looks, uint64_t now_ns);
/** Whether so much of all is there again, in sixteenths. */
bool xs_rate_recovered(struct xs_rate *r, unsigned sixteenths, uint64_t now_ns);

/** Looks at the program's doorbell, since it rang or may have. @param woke  it woke xserver. @return whether it had news */
bool xs_rate_heard(struct xs_server *s, struct xs_client *c, bool woke);
/** Whether xserver may read a message of the program, or send it one; else a timer calls when it may. */
bool xs_rate_may_speak(struct xs_server *s, struct xs_client *c);
/** xserver read or sent one. @param first  of its connection. @return whether it may read more now;
 *  else a timer calls */
bool xs_rate_spoke(struct xs_server *s, struct xs_client *c, bool first);
/** The main loop worked so long for a connection that asks: its user pays, and asks again when that is paid. */
void xs_rate_asked(struct xs_server *s, struct xs_client *c, uint64_t work_ns);
/** Looks at some of the programs to which xserver does not listen, if it is time. @return whether any
 *  had news */
bool xs_rate_look(struct xs_server *s);
/** The program goes. */
void xs_rate_forget(struct xs_client *c);
/** xserver accepted a connection. @return whether it may accept more; else it does not listen for some
 *  time */
bool xs_rate_accepted(struct xs_server *s);

#endif
