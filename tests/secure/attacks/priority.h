/* SPDX-License-Identifier: Apache-2.0 */
/* What the attacks by priority have in common: a program that uses no device. */
#ifndef XS_TESTS_PRIORITY_H
#define XS_TESTS_PRIORITY_H

#include "scene.h"

#include <unistd.h>

/** The longest that a user may wait for others of his standing: the window, a slice's wait, and what a decision takes. */
#define PRIORITY_BOUND_MS 300

/** Joins with a queue that always has work: a call of the vendor that does not return, as far as the page tells. */
static inline void priority_join(struct raw_client *c, struct scene *s, int priority)
{
    raw_join(c, s->server.socket);
    raw_add(c, 0, DEVICE, priority);
    raw_submit(c, 0);
    atomic_fetch_add(&c->page->cells[0].entered, 1000000);
    raw_settle(c);
}

/** Says each 0.4 s that a command is complete, until the scene ends. */
static inline void priority_pretend(struct raw_client *c, unsigned n, struct scene *s)
{
    while (!s->shared->stop) {
        usleep(400000);
        for (unsigned i = 0; i < n; i++)
            atomic_fetch_add(&c[i].page->cells[0].completed, 1);
    }
    pause();
}

#endif
