/* SPDX-License-Identifier: Apache-2.0 */
/* The main loop's real-time class, which its unit gives it. A server that uses too much of a core
 * leaves the class for a while, so that other threads get that core. Main loop's thread. */
#ifndef XS_XSERVER_REALTIME_H
#define XS_XSERVER_REALTIME_H

#include "base/xs_base.h"

#include <pthread.h>

struct xs_realtime {
    int policy, priority;     /* as it started; policy 0: no real-time class */
    uint64_t began_ns, cpu_ns; /* of this second */
    uint64_t back_ns;         /* outside the class until then; 0: it has the class */
    bool warned;
};

/** Finds out whether the thread has such a class. If so, the kernel's limit on its time (RLIMIT_RTTIME,
 *  SIGXCPU) ends the class as well, instead of the server. */
void xs_realtime_init(struct xs_realtime *r);
/** Once a round, cheap: looks once a second.
 *  @param percent  of a core, from which on it is too much; 0: never */
void xs_realtime_look(struct xs_realtime *r, uint64_t percent, uint64_t now_ns);

/** Initialises a mutex that the main loop shares with threads of the ordinary class. While the main
 *  loop waits for the mutex, its holder has the main loop's class. Otherwise any program that uses a
 *  core could keep the main loop waiting. */
void xs_realtime_mutex_init(pthread_mutex_t *m);

#endif
