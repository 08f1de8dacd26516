/* SPDX-License-Identifier: Apache-2.0 */
/* Which copy of the vendor's library a caller means, where a process may have several (XS_API_MULTI). Each caller
 * keeps the one to which the dynamic linker binds its symbols (hal/common/vendor.h), as without us. We know a caller
 * by its return address, which a tail call hides.
 *
 * A caller that depends on none (an interpreter, compiled code, the caller of a function that ended in a tail call) has
 * our functions by our handle. That stands for the copy that the program opened first; for others it has handles and
 * functions of their own (xs_copy_function). A caller that has them in no such way gets the copy that its thread used
 * last.
 *
 * Compiled into each shim. */
#ifndef XS_SHIM_COMMON_CALLERS_H
#define XS_SHIM_COMMON_CALLERS_H

#include XS_SHIM_PLATFORM

#include "base/xs_base.h"
#include "hal/common/vendor.h"

/** The first copy, for the first caller. Calls dl* functions: the caller has no lock of ours. Any thread.
 *  @return NULL: none. The log says so */
void *xs_callers_first(const void *caller, char *ret_path, size_t size);

/* Whether there may be several copies: then xs_callers_copy tells. Owner: callers.c */
extern _Atomic bool xs_callers_matter XS_HIDDEN;

/** Whether the process has, and needs, no other copy than this one. Calls dl* functions: the caller has no lock of ours. */
bool xs_callers_alone(void *handle);
/** The shim binds the first copy: one thread, before others see that it has. Calls nothing.
 *  @param table  what xs_callers_copy gives for it */
void xs_callers_bound(void *handle, void *table, bool alone);
/** The handle of this caller's copy. NULL: the shim has bound none yet, or the caller has none */
void *xs_callers_library(const void *caller);
/** The program is about to load objects. Any thread, with no lock of ours. */
void xs_callers_load(void);
/** The table of this caller's copy. NULL: the caller needs a copy that is not to be found, so its calls fail. */
void *xs_callers_copy(const void *caller);
/** The table of the copy of the object at this address, if it has called; NULL: unknown, or it depends on none. */
void *xs_callers_of_object(const void *address);

/** The program opens, or looks up functions of, this copy. The first one gets our own handle. Any thread, also before the
 *  first call. @return whether our handle stands for this copy */
bool xs_callers_give(void *library);
/** For which our handle stands; NULL: none yet. */
void *xs_callers_given(void);
/** The number of a copy, from now on. After the first call. */
unsigned xs_callers_number(void *library);
/* 1 + the number of the copy for this thread's next call; 0: its caller tells. Written by entries of one copy */
extern _Thread_local uint8_t xs_callers_forced XS_HIDDEN;

/* By the platform: a function that means this copy, whoever calls it. @param ours  the exported one
 * @return NULL: there is none */
void *xs_copy_function(void *library, void *ours, const void *caller);
/* By the platform: the functions of a further copy, to be freed by free. NULL: no memory */
void *xs_copy_new(void *handle);
/* By the platform: xs_callers_matter is about to become true, or has become false. */
void xs_copy_several(bool several);

/* An object that called, and its copy; never changes. */
struct xs_calling {
    uintptr_t from, to;
    unsigned copy;                /* its number */
    struct xs_calling *next;
};
extern _Atomic(struct xs_calling *) xs_callers_last XS_HIDDEN; /* a hint; NULL: none; owner: callers.c */
void xs_callers_look(const void *caller);

/** Where programs and libraries begin: finds out which copy this caller uses, if it is new here. */
static inline void xs_callers_new(const void *caller)
{
    const struct xs_calling *o;

    if (!XS_API_MULTI)
        return;
    /* acquire pairs with the release in callers.c */
    o = atomic_load_explicit(&xs_callers_last, memory_order_acquire);
    if (!(XS_LIKELY(o != NULL) && XS_LIKELY((uintptr_t)caller - o->from < o->to - o->from)))
        xs_callers_look(caller);
}

#endif
