/* SPDX-License-Identifier: Apache-2.0 */
/* A function of the same name in the next object in line, found without dlsym. dlsym takes the lock that dlopen has while
 * constructors run: a constructor that waits for a thread which asks for the first time would wait for ever. */
#ifndef XS_HAL_NEXT_SYMBOL_H
#define XS_HAL_NEXT_SYMBOL_H

#include "base/xs_base.h"

/** Looks through the mapped objects behind the one that contains `after`, in the order in which they were mapped; that is
 *  the order of the preloaded objects and of what the program depends on. Any thread, at any time; allocates nothing.
 *  Symbols' versions are not looked at. @param name  of a function
 *  @return NULL: none behind it defines the name */
void *xs_symbol_next(const void *after, const char *name);

/** The same in any object but that one, from the first on. */
void *xs_symbol_other(const void *self, const char *name);

#endif
