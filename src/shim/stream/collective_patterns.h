/* SPDX-License-Identifier: Apache-2.0 */
/* The names of kernels of collective communication: the built-in ones, and those of XSCHED_COLLECTIVES. */
#ifndef XS_SHIM_STREAM_COLLECTIVE_PATTERNS_H
#define XS_SHIM_STREAM_COLLECTIVE_PATTERNS_H

#include <stdbool.h>

/** Whether a kernel of this name is one. Any thread; the first call reads the environment. Not for the launch
 *  path. */
bool xs_collective_is_name(const char *name);

#endif
