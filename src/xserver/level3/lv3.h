/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 of the joined programs. The main loop decides anew when one of them becomes ready, idle,
 * suspended or permitted. judge.h decides, from the facts of lv3_facts.h; lv3.c carries the wishes
 * out. Main loop's thread. */
#ifndef XS_XSERVER_LEVEL3_LV3_H
#define XS_XSERVER_LEVEL3_LV3_H

#include "base/list.h"
#include "xserver/level3/judge.h"
#include "xserver/level3/lv3_kfd.h"
#include "xserver/level3/lv3_nvidia.h"

struct xs_server;
struct xs_client;

#define XS_LV3_DEVICES     8u     /* of one program */
#define XS_LV3_ALL_DEVICES 64u    /* of all */
#define XS_LV3_LOOKS       256u   /* queues that one decision about a device looks at, but for one of each program */

/** A device on which level 3 steers programs. */
struct xs_lv3_device {
    XDevice device;
    bool changed;                 /* a program became ready, idle, suspended or permitted there */
    uint64_t next_ns;             /* decide again then */
};

/** What level 3 keeps of a program for one device. */
struct xs_lv3_on_device {
    XDevice device;               /* 0: free */
    struct xs_lv3_wish in_force;
    struct xs_lv3_memory memory;
};

/** Of a program. */
struct xs_lv3_of {
    struct xs_list steered_link;
    struct xs_lv3_program *nvidia; /* NULL: it passed no channel groups */
    struct xs_lv3_kfd kfd[XS_LV3_KFD_DEVICES];
    struct xs_lv3_on_device on[XS_LV3_DEVICES];
    bool gathers;                 /* its commands gather at times, and need gates for that */
    bool gates;                   /* its queues have gates by our message */
    uint64_t gates_order;         /* ... those with an order up to this one */
};

/** Of the server. */
struct xs_level3 {
    struct xs_lv3 *nvidia;        /* NULL: no program has passed channel groups yet, or it is off */
    uint32_t n_programs;          /* that have */
    uint32_t n_kfd;               /* devices of programs that suspend their queues themselves */
    struct xs_lv3_counts kfd_counts; /* of these */
    struct xs_list steered;       /* programs that level 3 may steer: they passed groups, or have queues that they can suspend */
    bool changed;                 /* it decides anew on all devices */
    bool moved;                   /* ... on which devices it steers which programs */
    struct xs_lv3_device devices[XS_LV3_ALL_DEVICES];
    size_t n_devices;
    uint64_t next_ns;             /* decide on slices again then */
};

/** The program wants level 3 to steer it: takes its share of the programs that level 3 steers. @return
 *  false: that is too much */
bool xs_lv3_steer(struct xs_server *s, struct xs_client *c);
/** A fact on the device changed that level 3 uses. Cheap where it steers no program there. */
void xs_lv3_touch(struct xs_server *s, XDevice device);
/** ... on all devices where level 3 steers this program, or the program's devices may have changed. */
void xs_lv3_touch_program(struct xs_server *s, struct xs_client *c);
/** Called after each decision of the scheduler. @return when to call again at the latest */
uint64_t xs_lv3_update(struct xs_server *s);
/** Whether the device leaves this program soon, even while its words permit it: it has short slices there. */
bool xs_lv3_cuts_short(const struct xs_client *c, XDevice device);
/** The program leaves: gives its slices back, if its process lives. */
void xs_lv3_forget(struct xs_server *s, struct xs_client *c);

#endif
