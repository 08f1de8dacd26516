/* SPDX-License-Identifier: Apache-2.0 */
/* A process that takes what it may and is killed, again and again. */
#ifndef XS_TESTS_LEAVING_H
#define XS_TESTS_LEAVING_H

#include "scene.h"

/** The process has taken all: tells the test so, and waits to be killed. */
void leaving_waits(struct scene *s);
/** The whole test: take() ends in leaving_waits(). @param late  of these waits over 5 ms there may be so many for each end
 *  @return exit status */
int leaving(const char *name, unsigned seconds, void (*take)(struct scene *s), unsigned late);

#endif
