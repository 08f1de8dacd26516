/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of the level-3 judge, taken from the server's tables, the scheduler's and the programs'
 * pages. Main loop's thread. */
#ifndef XS_XSERVER_LEVEL3_LV3_FACTS_H
#define XS_XSERVER_LEVEL3_LV3_FACTS_H

#include "xserver/level3/judge.h"

#include "xsched/types.h"

struct xs_server;
struct xs_client;
struct xs_lv3_on_device;
struct xs_client_device;

/** The program of a seat, and the record that level 3 keeps of it for the device. */
struct xs_lv3_place {
    struct xs_client *client;
    struct xs_client_device *on;  /* NULL: its last queue there went */
    struct xs_lv3_on_device *kept;
};

/** Takes the programs that level 3 can steer on a device, and their facts now.
 *  @param most  of both arrays
 *  @return how many there are */
size_t xs_lv3_take_facts(struct xs_server *s, XDevice device, struct xs_lv3_seat *seats, struct xs_lv3_place *places,
                         size_t most);
/** @param own_queues  of the device's programs: see struct xs_lv3_seat */
struct xs_lv3_rules xs_lv3_take_rules(struct xs_server *s, bool own_queues);

#endif
