/* SPDX-License-Identifier: Apache-2.0 */
/* A client of xserver's HTTP socket that never comes to the end of its request. */
#ifndef XS_TESTS_TRICKLE_H
#define XS_TESTS_TRICKLE_H

#include "scene.h"

/** Runs the scene with two attackers that send head at once and a byte each 0.3 s after it, and prints how long xserver kept
 *  the connection that it kept longest.
 *  @return exit status: 1 where that was more than 12 s */
int trickle_run(const char *name, const char *head);

#endif
