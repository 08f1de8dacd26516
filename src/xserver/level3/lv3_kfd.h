/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 and masks of compute units on AMD's driver from outside. The driver takes requests for a queue only from the queue's
 * own process. So xserver says its wish, again and again while it has it, and the process carries it
 * out. A wish that xserver does not repeat for the length of a lease ends by itself there. A stopped
 * process does nothing. Main loop's thread. */
#ifndef XS_XSERVER_LEVEL3_LV3_KFD_H
#define XS_XSERVER_LEVEL3_LV3_KFD_H

#include "wire/wire.h"

#include "xsched/types.h"

struct xs_server;
struct xs_client;
struct xs_client_device;

#define XS_LV3_KFD_DEVICES  8u
#define XS_LV3_KFD_LEASE_MS 500u  /* xserver repeats it each XS_LEASE_TICK_NS */
/* A program gets the whole device back so long after the urgent one became idle. For a change of mask the driver takes
 * queues off the device, so it must not happen between two launches. */
#define XS_LV3_KFD_WIDEN_NS (50 * XS_NS_PER_MS)

/** The wish for a program's queues on one device, and the last message about it. */
struct xs_lv3_kfd {
    XDevice device;               /* 0: free */
    struct xs_client_device *on;  /* its XQueues there; NULL: it has none, and its word does not count */
    uint32_t queues;
    bool denied;                  /* its driver refused: xserver does without it from then on */
    bool off;
    uint32_t part;                /* compute units to which masks confine it; 0: all */
    uint64_t free_ns;             /* since when the scheduler confines it no longer, though it has a part; 0: it does */
    uint64_t said_ns;
};

/** @return NULL, or a text: why not */
const char *xs_lv3_kfd_device(struct xs_server *s, struct xs_client *c, const struct xs_msg_kfd_device *m);
/** The program has its first XQueue on the device; its last one goes. */
void xs_lv3_kfd_on(struct xs_server *s, struct xs_client *c, struct xs_client_device *on);
void xs_lv3_kfd_off(struct xs_server *s, struct xs_client *c, struct xs_client_device *on);
void xs_lv3_kfd_held(struct xs_server *s, struct xs_client *c, const struct xs_msg_kfd_held *m);
/** NULL: it has no queues there that xserver may ask it to suspend. */
struct xs_lv3_kfd *xs_lv3_kfd_of(struct xs_client *c, XDevice device);
/** The compute units to which the scheduler confines the program there, by the words of its queues (sched/beside.c);
 *  0: all. The driver knows no streams, so it is the same for all queues of a program. */
uint32_t xs_lv3_kfd_part(const struct xs_client *c, const struct xs_lv3_kfd *k);
/** @return when to say it again */
uint64_t xs_lv3_kfd_want(struct xs_server *s, struct xs_client *c, struct xs_lv3_kfd *k, bool off, uint32_t part);
/** The session ends, the program may live on: it puts everything back by itself. */
void xs_lv3_kfd_forget(struct xs_server *s, struct xs_client *c);

#endif
