/* SPDX-License-Identifier: Apache-2.0 */
/* Finds functions of the objects that are mapped, without dlsym.
 *
 * dlsym takes the lock that dlopen has while constructors run: a constructor that waits for a thread would wait
 * for ever if that thread has to look a function up. dlsym may also be another object's, whose answer to RTLD_NEXT
 * is the next function behind that object, and so ours.
 *
 * A sanitizer asks for functions before it can answer calls itself. Until then each function of the C library that
 * it has a version of leads to address 0. So none of these calls one (musl: but getauxval), unless this object came by
 * dlopen. */
#ifndef XS_HAL_NEXT_SYMBOL_H
#define XS_HAL_NEXT_SYMBOL_H

#include "base/xs_base.h"

/** Looks through the mapped objects behind the one that contains this code, in the order of their mapping:
 *  preloaded objects first, then those that the program depends on. Any thread, at any time; allocates
 *  nothing. Ignores the versions of symbols. @param name  of a function
 *  @return NULL: no object behind it defines the name */
void *xs_symbol_next(const char *name);

/** A function of <dlfcn.h> as the C library itself has it, past all objects that hook it. Otherwise the same. */
void *xs_symbol_of_loader(const char *name);

/** As dlsym(3) with a handle of dlopen. An object that hooks dlsym may answer with a function of its own, which calls
 *  the vendor's by way of us; so our look for the vendor's functions does not ask it. */
void *xs_dlsym(void *handle, const char *name);

#endif
