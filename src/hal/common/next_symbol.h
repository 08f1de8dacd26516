/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a function of the same name in the next object in line, without dlsym. dlsym takes the lock that
 * dlopen has while constructors run. A constructor that waits for a thread would wait for ever if that thread
 * has to look a function up. */
#ifndef XS_HAL_NEXT_SYMBOL_H
#define XS_HAL_NEXT_SYMBOL_H

#include "base/xs_base.h"

/** Looks through the mapped objects behind the one that contains `after`, in the order of their mapping:
 *  preloaded objects first, then those that the program depends on. Any thread, at any time; allocates
 *  nothing. Ignores the versions of symbols. @param name  of a function
 *  @return NULL: no object behind it defines the name */
void *xs_symbol_next(const void *after, const char *name);

/** The same in any object but that one, from the first on. */
void *xs_symbol_other(const void *self, const char *name);

#endif
