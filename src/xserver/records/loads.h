/* SPDX-License-Identifier: Apache-2.0 */
/* What programs used of the devices in the last minutes, for who opens the status page. The main loop looks once a
 * second at most, and only when it is awake anyway: an idle host has no look, and one look then covers the time since
 * the last one. Main loop's thread. */
#ifndef XS_XSERVER_LOADS_H
#define XS_XSERVER_LOADS_H

#include "asks/records.h"

#define XS_LOADS_QUEUES   2048u /* at which one look looks; programs that joined later are left out */

struct xs_server;

struct xs_loads {
    struct xs_load_point *ring; /* NULL: no program was here yet */
    uint64_t count, next_ns;
    struct xs_latency decision; /* the counts at the last point */
};

/** Of a program. */
struct xs_load_of {
    uint64_t ns; /* device time of its queues at the last look */
    bool known;  /* ... there was one */
};

/** One look, if it is time. */
void xs_loads_look(struct xs_server *s);
/** Copies the points, the oldest first. @param ret  room for XS_LOADS_LENGTH. @return how many */
size_t xs_loads_copy(const struct xs_loads *l, struct xs_load_point *ret);

#endif
