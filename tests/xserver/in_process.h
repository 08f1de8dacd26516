/* SPDX-License-Identifier: Apache-2.0 */
/* A server in the process of the test, without its loop: the test says when it serves, and what time it is. */
#ifndef TESTS_IN_PROCESS_H
#define TESTS_IN_PROCESS_H

#include "raw.h"

#include "xserver/server.h"

extern struct xs_server g_inside;

/** With ahead-cpus 1, at one second. */
void inside_start(void);
/** @return 0 */
int inside_stop(void);
/** It takes who connects, and reads what was sent. */
void inside_serve(void);
/** Time passes; then who rang is heard, and it is decided. */
void inside_passes(uint64_t us);
void inside_join(struct raw_client *c);
/** One that says what it belongs to. */
void inside_join_as(struct raw_client *c, const char *group, const char *job);
/** The same process as before, on a new connection. */
void inside_join_again(struct raw_client *c, const struct raw_client *before);
/** A queue on that cell. */
void inside_add(struct raw_client *c, uint32_t cell, uint64_t device, int32_t priority);

#endif
