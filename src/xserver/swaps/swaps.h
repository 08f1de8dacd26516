/* SPDX-License-Identifier: Apache-2.0 */
/* xserver asks programs to move their device memory to host memory and back, and hears of it (decision 0044).
 * policy/swap_plan.h decides who makes room for whom. The main loop's thread alone calls this. */
#ifndef XS_XSERVER_SWAPS_H
#define XS_XSERVER_SWAPS_H

#include "base/list.h"
#include "wire/wire.h"
#include "xserver/records/history.h"

#include "xsched/types.h"

struct xs_server;
struct xs_client;
struct xs_request;

/** Of one program. */
struct xs_swap_of {
    struct xs_list link;          /* the server's swaps.programs, in order of joining; itself: its memory cannot move */
    bool can;                     /* it has said that its memory can move */
    bool out;                     /* as it last said */
    bool moving, to_out;          /* it was asked, and has not answered */
    bool by_hand;                 /* an operator, or its user, moved it out */
    bool by_plan;                 /* out, to make room for others */
    bool waits;                   /* out, and one of its threads waits for its memory */
    uint32_t number;              /* of the last move that it was asked for */
    uint64_t asked_ns, since_ns;  /* ...; in or out since then */
    uint64_t move_ns;             /* its last move took so long */
    uint64_t lacks, lacks_ns;     /* see xs_swap_program; ... and since when */
    uint64_t patience_ns;         /* likewise */
    uint64_t entered, returned;   /* commands, at the last look; while its memory is out, those between wait for it */
    uint64_t entered_ns;          /* when that number last grew */
    struct {
        uint32_t number, answered;
        uint64_t bytes, since_ns;
        int32_t priority;         /* of queues to come, within its bounds */
        XDevice device;
    } want;                       /* of its threads that allocate */
};

/** Of the server. */
struct xs_swaps {
    struct xs_list programs;
    uint64_t next_ns;             /* look again then; UINT64_MAX: when something changes */
};

void xs_swaps_init(struct xs_server *s);
void xs_swaps_joined(struct xs_client *c);
/** It leaves: others may have its memory. */
void xs_swaps_left(struct xs_server *s, struct xs_client *c);
/** The program says where its memory is. */
void xs_swaps_told(struct xs_server *s, struct xs_client *c, const struct xs_msg_memory *m);
/** It lacks memory. @return NULL, or what is wrong */
const char *xs_swaps_want(struct xs_server *s, struct xs_client *c, const struct xs_msg_memory_want *m);
/** One of its queues has work, or no more. */
void xs_swaps_worked(struct xs_server *s, struct xs_client *c);
/** Somebody moves it out, or in. It is not answered yet: see its record.
 *  @return NULL, or why not */
const char *xs_swaps_by_hand(struct xs_server *s, struct xs_client *c, bool out);
/** Plans and asks, if it is time. */
void xs_swaps_look(struct xs_server *s);
void xs_swaps_describe(const struct xs_client *c, struct xs_client_record *ret);

#endif
