/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 of the programs that are joined: decided anew when one of them becomes ready, idle, suspended or permitted.
 * judge.h decides, from what lv3_facts.h takes; here its wishes are carried out. Main loop's thread. */
#ifndef XS_XSERVER_LEVEL3_LV3_H
#define XS_XSERVER_LEVEL3_LV3_H

#include "xserver/level3/judge.h"
#include "xserver/level3/lv3_nvidia.h"

struct xs_server;
struct xs_client;

#define XS_LV3_DEVICES 8u         /* of one program */

/** What level 3 keeps of a program for one device. */
struct xs_lv3_on_device {
    XDevice device;               /* 0: free */
    struct xs_lv3_wish in_force;
    struct xs_lv3_memory memory;
};

/** Called after each decision of the scheduler. @return when to call again at the latest */
uint64_t xs_lv3_update(struct xs_server *s);
/** Whether the device takes itself off this program soon, whatever its words say: it has short slices there. */
bool xs_lv3_cuts_short(const struct xs_client *c, XDevice device);
/** The program leaves: what it was given goes back, if its process lives. */
void xs_lv3_forget(struct xs_server *s, struct xs_client *c);

#endif
