/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a platform's rows. The build compiles src/shim/stream once for each platform whose
 * commands go to streams (CUDA, HIP); XS_SHIM_PLATFORM names the header with the differences. */
#ifndef XS_SHIM_STREAM_STREAM_TABLE_H
#define XS_SHIM_STREAM_STREAM_TABLE_H

#include "shim/common/callers.h"
#include "shim/common/rows.h"

#ifndef XS_API_LENDS              /* this platform has no call that says which stream waits for which */
#define XS_API_LENDS 0
#define XS_API_NOT_READY (-1)
static inline void xs_api_implicit(const void *hal, struct xs_queue *q, xs_api_stream stream, bool per_thread)
{
    (void)hal, (void)q, (void)stream, (void)per_thread;
}
static inline void xs_api_lend_context(const void *hal)
{
    (void)hal;
}
static inline bool xs_api_is_legacy(xs_api_stream stream, bool per_thread)
{
    (void)stream, (void)per_thread;
    return false;
}
#endif

/** One real library. */
struct xs_api_runtime {
    void *real[ROW_COUNT];        /* never NULL once bound: xs_api_absent's for missing functions */
    void *handle;
    const void *hal;              /* from xs_api_hal_bind for it */
};

/* One line for each call: the words that every call reads stand together. */
extern _Atomic int xs_api_mode XS_HIDDEN;   /* xs_shim_mode; owner: first_call.c; set after the table is complete */
extern struct xs_api_runtime xs_api_first XS_HIDDEN; /* the first one; complete once bound */

/** Where the entries of PASS rows jump (pass.c): to the real function, or to code that finds it. */
extern void *xs_api_slots[ROW_COUNT] XS_HIDDEN;

static inline int xs_api_mode_now(void)
{
    /* acquire pairs with the release in first_call.c: the table is complete */
    return atomic_load_explicit(&xs_api_mode, memory_order_acquire);
}

/** Finds the real library. @return false when there is none: answer "not initialised" */
bool xs_api_start(const void *caller);
/** Takes the place of functions that a real library lacks, or of all if there is none. By the platform. */
void *xs_api_absent(enum xs_row row, bool no_library);
/** After the first hardware queue. By the platform; any thread, once or more. */
void xs_api_first_queue_made(void);
/** All functions of a library. @return how many it lacks */
int xs_api_fill(struct xs_api_runtime *rt, void *handle);

#ifdef XS_API_WRAPS
/** While the shim fills in a library's table: functions of the platform's own take the places of real ones. */
void xs_api_wrap(struct xs_api_runtime *rt);
/** @return the row whose vendor's function is `real`, and whose place has one of those; of several the one with this
 *  name. -1: none */
int xs_api_wrapped_row(const struct xs_api_runtime *rt, const void *real, const char *name);
#else
static inline void xs_api_wrap(struct xs_api_runtime *rt)
{
    (void)rt;
}

static inline int xs_api_wrapped_row(const struct xs_api_runtime *rt, const void *real, const char *name)
{
    (void)rt, (void)real, (void)name;
    return -1;
}
#endif

/** The slots of PASS rows lead straight to the only real library, or to code that looks. */
void xs_api_slots_direct(bool direct);

/** xs_api_first is complete: one thread, before others see it. @param alone  from xs_callers_alone */
void xs_api_runtime_bound(bool alone);
/** The library of this caller, where there may be several. */
const struct xs_api_runtime *xs_api_runtime_by(const void *caller);

/** Where a call of this caller goes. */
static inline const struct xs_api_runtime *xs_api_runtime_of(const void *caller)
{
    /* acquire pairs with the release in callers.c */
    if (!XS_API_MULTI || XS_LIKELY(!atomic_load_explicit(&xs_callers_matter, memory_order_acquire)))
        return &xs_api_first;
    return xs_api_runtime_by(caller);
}

/** A stream, an event, a module or a function goes to the library that made it. The stub of a compiled kernel
 *  goes to the one that its object uses (rt: the caller's, for unknown ones). */
const struct xs_api_runtime *xs_api_runtime_made(const struct xs_api_runtime *rt, const void *object);
void xs_api_object_made(const struct xs_api_runtime *rt, const void *object);
void xs_api_object_ends(const void *object);

/** @param object  another argument that names an object of the library; NULL: none */
static inline const struct xs_api_runtime *xs_api_runtime_with(const struct xs_api_runtime *rt, xs_api_stream stream,
                                                               const void *object)
{
    if (!XS_API_MULTI || XS_LIKELY(!atomic_load_explicit(&xs_callers_matter, memory_order_relaxed)))
        return rt;
    if ((uintptr_t)stream > 2)
        return xs_api_runtime_made(rt, stream);
    return object ? xs_api_runtime_made(rt, object) : rt;
}

/* XS_OBJECT_<symbol> is "~, ARGUMENT" if a function has such an argument, XS_OBJECT_NUMBER_<symbol> "~,
 * NUMBER" for one that is a jump: the number of the argument, from 1 on. */
#define XS_SECOND(unused, second, ...) second
#define XS_SECOND_OR(instead, ...)     XS_SECOND(__VA_ARGS__, instead, ~)
#define XS_OBJECT(symbol)              XS_SECOND_OR(NULL, XS_OBJECT_##symbol)
#define XS_OBJECT_NUMBER(symbol)       XS_SECOND_OR(0, XS_OBJECT_NUMBER_##symbol)

/** The entry of a row that means this copy of the library, whoever calls it. NULL: there is none, or one copy only */
void *xs_api_copy_entry(void *library, enum xs_row row);

/** The program's answer in place of the library's to cuGetProcAddress. */
void *xs_api_answer(const struct xs_api_runtime *rt, const char *name, int version, uint64_t flags, void *real);
/** Whether the library's answer `real` is the function of this row, and no other version of it. By the
 *  platform. */
bool xs_api_is_version(const struct xs_api_runtime *rt, enum xs_row row, uint64_t flags, const void *real);
/** No level but 1 from now on, for the life of the process. By the platform. */
void xs_api_level1_only(void);
/** The shim knows the real functions: prepares answers. */
void xs_api_answers_prepare(void);

#define XS_ROW(kind, symbol, name, version, streams, params, args, stream, key)                   \
    XS_IF_HAND(kind, xs_api_result xs_hand_##symbol(const struct xs_api_runtime *rt, XS_UNPACK params);)
#include "shim/common/each_row.def"

/** The real function of a row, with its type. `rt` is in scope. */
#define XS_REAL(symbol) ((__typeof__(&symbol))rt->real[ROW_##symbol])

#endif
