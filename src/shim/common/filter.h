/* SPDX-License-Identifier: Apache-2.0 */
/* XSCHED_FILTER: calls that the shim leaves alone. Comma-separated: a function name, a prefix with a trailing
 * *, or @library for all calls from an object whose file name begins so. */
#ifndef XS_SHIM_FILTER_H
#define XS_SHIM_FILTER_H

#include "base/xs_base.h"

/** Whether a list leaves this function alone. */
bool xs_filter_function(const char *list, const char *function);
/** Whether a list names libraries at all. */
bool xs_filter_has_libraries(const char *list);
/** Whether the list leaves the object at this address alone. Any thread; calls the dynamic linker for
 *  addresses that it has not seen lately. */
bool xs_filter_caller(const char *list, const void *address);

#endif
