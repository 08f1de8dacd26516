/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a call waits while the queue of its stream is suspended. */
#ifndef TESTS_STREAM_HAS_TURN_H
#define TESTS_STREAM_HAS_TURN_H

#include <pthread.h>
#include <stdbool.h>

#include "check.h"
#include "xsched/xsched.h"

static struct {
    const void *what;             /* for the thread */
    XQueueHandle xq;              /* by the thread, which knows its stream */
    volatile bool ready, suspended, back;
} g_turn;

/** In the thread: its queue is known. Returns when that is suspended; the call follows, and then turn_back. */
static inline void turn_ready(XQueueHandle xq)
{
    g_turn.xq = xq;
    g_turn.ready = true;
    while (!g_turn.suspended)
        usleep(100);
}

static inline void turn_back(void)
{
    g_turn.back = true;
}

/** Runs the thread. @param waits  its call does not return before the queue is resumed; else it does */
static inline void has_turn(void *(*thread)(void *), const void *what, bool waits)
{
    pthread_t t;

    g_turn.what = what;
    g_turn.ready = g_turn.suspended = g_turn.back = false;
    TRUE(pthread_create(&t, NULL, thread, NULL) == 0);
    UNTIL(g_turn.ready);
    TRUE(XQueueSuspend(g_turn.xq, kQueueSuspendFlagNone) == kXSchedSuccess);
    g_turn.suspended = true;
    if (waits) {
        usleep(5000);
        TRUE(!g_turn.back);
    } else {
        UNTIL(g_turn.back);
    }
    TRUE(XQueueResume(g_turn.xq, kQueueResumeFlagNone) == kXSchedSuccess);
    TRUE(pthread_join(t, NULL) == 0 && g_turn.back);
}

#endif
