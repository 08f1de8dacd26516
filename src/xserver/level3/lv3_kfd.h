/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 on AMD's driver from outside: it takes requests for a queue from the queue's own process only, so xserver says
 * what it wants, again and again while it wants it, and the process does it. What was not said again for the length of a
 * lease ends there by itself. A process that is stopped does nothing. Main loop's thread. */
#ifndef XS_XSERVER_LEVEL3_LV3_KFD_H
#define XS_XSERVER_LEVEL3_LV3_KFD_H

#include "wire/wire.h"

#include "xsched/types.h"

struct xs_server;
struct xs_client;
struct xs_client_device;

#define XS_LV3_KFD_DEVICES  8u
#define XS_LV3_KFD_LEASE_MS 500u  /* said anew each XS_LEASE_TICK_NS */

/** What a program's queues on one device shall be, and what it was told. */
struct xs_lv3_kfd {
    XDevice device;               /* 0: free */
    struct xs_client_device *on;  /* its XQueues there; NULL: it has none, and what it says is not believed */
    uint32_t queues;
    bool denied;                  /* its driver refused: left alone from then on */
    bool off;
    uint64_t said_ns;
};

/** @return NULL, or what is wrong */
const char *xs_lv3_kfd_device(struct xs_server *s, struct xs_client *c, const struct xs_msg_kfd_device *m);
/** The program has its first XQueue on the device; its last one goes. */
void xs_lv3_kfd_on(struct xs_server *s, struct xs_client *c, struct xs_client_device *on);
void xs_lv3_kfd_off(struct xs_server *s, struct xs_client *c, struct xs_client_device *on);
void xs_lv3_kfd_held(struct xs_server *s, struct xs_client *c, const struct xs_msg_kfd_held *m);
/** NULL: it has no queues there that it may be told to hold. */
struct xs_lv3_kfd *xs_lv3_kfd_of(struct xs_client *c, XDevice device);
/** @return when to say it again */
uint64_t xs_lv3_kfd_want(struct xs_server *s, struct xs_client *c, struct xs_lv3_kfd *k, bool off);
/** The session ends, the program may live on: it puts everything back by itself. */
void xs_lv3_kfd_forget(struct xs_server *s, struct xs_client *c);

#endif
