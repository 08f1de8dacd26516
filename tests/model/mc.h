/* SPDX-License-Identifier: Apache-2.0 */
/* Exhaustive interleaving of real code.
 *
 * A model includes this file first, then the sources under test. Every atomic operation of
 * theirs becomes a point where any other thread of the model may go on, futexes become sleeping
 * in the model, and the explorer runs every order once: depth first, by running the model again
 * with another choice, and stopping where a state was seen before (the state is the shared
 * memory plus, for each thread, everything it has read).
 *
 * Memory: a store weaker than seq_cst goes to a store buffer of its thread and reaches memory
 * later, at any point (as on x86, TSO); read-modify-writes, seq_cst stores, fences and futex
 * calls empty it first. Reorderings of loads, as other processors have them, are not explored.
 *
 * Plain variables are ghosts: reading and writing them is one with the atomic operation before. */
#ifndef XS_MC_H
#define XS_MC_H

#include "base/xs_base.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define MC_THREADS 8

struct mc_model {
    const char *name;
    void (*init)(void);                    /* sets all shared memory and ghosts to their start */
    void (*threads[MC_THREADS])(void);     /* up to the first NULL */
    uint32_t daemons;                      /* bit t: thread t may sleep for ever at the end */
    void (*final)(void);                   /* invariants at the end of each run; may be NULL */
    void (*always)(void);                  /* invariants in each state; may be NULL */
    uint32_t timeouts;                     /* how many time limits of sleeps may run out in a run */
    uint64_t patience;                     /* > 0: where nobody else can go on, time limits run out for nothing,
                                              but at most this often in a run */
    uint64_t tick_ns;                      /* how far the clock moves when a time limit runs out */
    bool expect_violation;                 /* a deliberately wrong variant: finding nothing is the failure */
};

/** Memory that is part of the state. Call from main, before mc_run. */
void mc_region(void *memory, size_t bytes);
/** Memory of each thread that the code under test has as thread-local. */
void mc_thread_local(void *memory, size_t bytes);
/** Explores; prints what it did. @return 0 when as expected */
int mc_run(const struct mc_model *m);
/** The first value that is not true ends the run and prints how it came to that. */
void mc_check(bool ok, const char *what);
int mc_self(void);
/** What a thread of the model sleeps on, or NULL. */
const volatile void *mc_asleep_on(int thread);

/* ---- what the macros below call ---- */
enum mc_op { MC_LOAD, MC_STORE, MC_RMW, MC_FENCE, MC_FUTEX_WAIT, MC_FUTEX_WAKE, MC_STEP };
/** A point: anybody may run; then this thread does its operation. */
void mc_point(enum mc_op op, const volatile void *at, int line);
/** True when this thread's own store to that place is still in its buffer. */
bool mc_buffer_read(const volatile void *at, void *value, size_t bytes);
void mc_buffer_write(volatile void *at, const void *value, size_t bytes);
void mc_buffer_flush(void);
/** Of all threads: membarrier(2). */
void mc_buffers_flush(void);
/** Makes a value that the thread learnt part of its state. */
void mc_learn(const void *value, size_t bytes);
int mc_futex_wait(_Atomic uint32_t *word, uint32_t expected, bool timed);
int mc_futex_wake(_Atomic uint32_t *word, int count);
/** A point of the model's own. */
#define mc_step() mc_point(MC_STEP, NULL, __LINE__)

#define MC_PLAIN(p) ((__typeof__((void)0, *(p)) *)(uintptr_t)(p))

#undef atomic_load_explicit
#undef atomic_load
#undef atomic_store_explicit
#undef atomic_store
#undef atomic_exchange_explicit
#undef atomic_exchange
#undef atomic_fetch_add_explicit
#undef atomic_fetch_add
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_sub
#undef atomic_fetch_or_explicit
#undef atomic_fetch_or
#undef atomic_fetch_and_explicit
#undef atomic_fetch_and
#undef atomic_compare_exchange_strong_explicit
#undef atomic_compare_exchange_strong
#undef atomic_compare_exchange_weak_explicit
#undef atomic_compare_exchange_weak
#undef atomic_thread_fence

#define atomic_load_explicit(p, o)                                                           \
    ({                                                                                       \
        __auto_type mp_ = (p);                                                               \
        __typeof__((void)0, *mp_) mv_;                                                       \
        (void)(o);                                                                           \
        mc_point(MC_LOAD, mp_, __LINE__);                                                    \
        if (!mc_buffer_read(mp_, &mv_, sizeof(mv_)))                                         \
            memcpy(&mv_, MC_PLAIN(mp_), sizeof(mv_));                                        \
        mc_learn(&mv_, sizeof(mv_));                                                         \
        mv_;                                                                                 \
    })
#define atomic_load(p) atomic_load_explicit(p, memory_order_seq_cst)
#define atomic_store_explicit(p, v, o)                                                       \
    do {                                                                                     \
        __auto_type mp_ = (p);                                                               \
        __typeof__((void)0, *mp_) mv_ = (v);                                                 \
        mc_point(MC_STORE, mp_, __LINE__);                                                   \
        if ((o) == memory_order_seq_cst) {                                                   \
            mc_buffer_flush();                                                               \
            memcpy(MC_PLAIN(mp_), &mv_, sizeof(mv_));                                        \
        } else {                                                                             \
            mc_buffer_write(mp_, &mv_, sizeof(mv_));                                         \
        }                                                                                    \
    } while (0)
#define atomic_store(p, v) atomic_store_explicit(p, v, memory_order_seq_cst)
#define MC_RMW_(p, expression)                                                               \
    ({                                                                                       \
        __auto_type mp_ = (p);                                                               \
        __typeof__((void)0, *mp_) mv_, mn_;                                                  \
        mc_point(MC_RMW, mp_, __LINE__);                                                     \
        mc_buffer_flush();                                                                   \
        memcpy(&mv_, MC_PLAIN(mp_), sizeof(mv_));                                            \
        mn_ = (expression);                                                                  \
        memcpy(MC_PLAIN(mp_), &mn_, sizeof(mn_));                                            \
        mc_learn(&mv_, sizeof(mv_));                                                         \
        mv_;                                                                                 \
    })
#define atomic_exchange_explicit(p, v, o)  MC_RMW_(p, (v))
#define atomic_exchange(p, v)              MC_RMW_(p, (v))
#define atomic_fetch_add_explicit(p, v, o) MC_RMW_(p, mv_ + (v))
#define atomic_fetch_add(p, v)             MC_RMW_(p, mv_ + (v))
#define atomic_fetch_sub_explicit(p, v, o) MC_RMW_(p, mv_ - (v))
#define atomic_fetch_sub(p, v)             MC_RMW_(p, mv_ - (v))
#define atomic_fetch_or_explicit(p, v, o)  MC_RMW_(p, mv_ | (v))
#define atomic_fetch_or(p, v)              MC_RMW_(p, mv_ | (v))
#define atomic_fetch_and_explicit(p, v, o) MC_RMW_(p, mv_ & (v))
#define atomic_fetch_and(p, v)             MC_RMW_(p, mv_ & (v))
#define atomic_compare_exchange_strong(p, e, v)                                              \
    ({                                                                                       \
        __auto_type cp_ = (p);                                                               \
        __auto_type ce_ = (e);                                                               \
        __typeof__((void)0, *cp_) cn_ = (v), cv_;                                            \
        bool ok_;                                                                            \
        mc_point(MC_RMW, cp_, __LINE__);                                                     \
        mc_buffer_flush();                                                                   \
        memcpy(&cv_, MC_PLAIN(cp_), sizeof(cv_));                                            \
        ok_ = cv_ == *ce_;                                                                   \
        if (ok_)                                                                             \
            memcpy(MC_PLAIN(cp_), &cn_, sizeof(cn_));                                        \
        else                                                                                 \
            *ce_ = cv_;                                                                      \
        mc_learn(&cv_, sizeof(cv_));                                                         \
        ok_;                                                                                 \
    })
#define atomic_compare_exchange_weak(p, e, v)                     atomic_compare_exchange_strong(p, e, v)
#define atomic_compare_exchange_strong_explicit(p, e, v, s, f)    atomic_compare_exchange_strong(p, e, v)
#define atomic_compare_exchange_weak_explicit(p, e, v, s, f)      atomic_compare_exchange_strong(p, e, v)
#define atomic_thread_fence(o)                                                               \
    do {                                                                                     \
        mc_point(MC_FENCE, NULL, __LINE__);                                                  \
        if ((o) == memory_order_seq_cst)                                                     \
            mc_buffer_flush();                                                               \
    } while (0)

/* base/forks.h, base/futex.h and base/clock.h, in the model */
#define XS_FORKS_H
static inline uint32_t xs_forks(void)
{
    return 4;
}
#define XS_FUTEX_H
static inline int xs_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    return mc_futex_wait(word, expected, timeout_ns != UINT64_MAX);
}
static inline void xs_futex_pause(uint64_t ns)
{
    static _Atomic uint32_t never;

    xs_futex_wait(&never, 0, ns);
}
static inline int xs_futex_wake(_Atomic uint32_t *word, int count)
{
    return mc_futex_wake(word, count);
}
static inline _Atomic uint32_t *xs_futex_low(_Atomic uint64_t *word)
{
    return (_Atomic uint32_t *)(void *)word;
}

#define XS_CLOCK_H
extern uint64_t mc_now_ns;        /* a ghost; models move it themselves */
static inline uint64_t xs_now_ns(void)
{
    return mc_now_ns;
}

#endif
