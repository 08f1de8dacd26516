/* SPDX-License-Identifier: Apache-2.0 */
/* A process that takes what it may and is killed, again and again. */
#ifndef XS_TESTS_LEAVING_H
#define XS_TESTS_LEAVING_H

#include "scene.h"

/** The process has taken all: tells the test so, and waits to be killed. */
void leaving_waits(struct scene *s);
/** The whole test: take() ends in leaving_waits(). It fails by what xserver computes, which other load on the machine does not
 *  change: for long within one wait of the victim, or for a good part of a core.
 *  @return exit status */
int leaving(const char *name, unsigned seconds, void (*take)(struct scene *s));

#endif
