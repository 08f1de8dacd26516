/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of cuda_api.def become. */
#ifndef XS_SHIM_CUDA_TABLE_H
#define XS_SHIM_CUDA_TABLE_H

#include "base/xs_base.h"
#include "hal/cuda/hal.h"
#include "shim/common/trace.h"

enum xs_cuda_row {
#define CU(kind, symbol, name, version, streams, params, args, stream, key) ROW_##symbol,
#define CU_PASS(symbol, name, version, streams) ROW_##symbol,
#include "shim/cuda/cuda_api.def"
    ROW_COUNT
};

enum xs_cuda_streams { XS_STREAMS_ANY, XS_STREAMS_LEGACY, XS_STREAMS_PTDS };

struct xs_cuda_info {
    const char *symbol, *name;
    uint16_t version;
    uint8_t streams;              /* xs_cuda_streams */
    bool pass;
};
extern const struct xs_cuda_info xs_cuda_info[ROW_COUNT];

enum xs_cuda_mode {
    XS_CUDA_UNBOUND,              /* the real functions are not known yet */
    XS_CUDA_QUIET,                /* everything passes through */
    XS_CUDA_ACTIVE,               /* there are XQueues, or a trace is wanted */
};

/* One line for each call: what is read on every call stands together. */
extern _Atomic int xs_cuda_mode;  /* xs_cuda_mode; owner: state.c; set after the table is complete */
extern bool xs_cuda_tracing;      /* XSCHED_TRACE is set; valid once the mode is not UNBOUND */
/** The functions behind us; complete once the mode is not UNBOUND, never NULL then. */
extern void *xs_cuda_real[ROW_COUNT];

/** What the entries of PASS rows jump to (pass.c): the real function, or code that finds it. */
extern void *xs_cuda_slots[ROW_COUNT] XS_HIDDEN;
/** Our entries. */
extern void *const xs_cuda_entries[ROW_COUNT] XS_HIDDEN;

static inline int xs_cuda_mode_now(void)
{
    /* acquire pairs with the release in state.c: the table was filled before */
    return atomic_load_explicit(&xs_cuda_mode, memory_order_acquire);
}

/** Finds the real library. @return false when there is none: answer "not initialised" */
bool xs_cuda_start(const void *caller);
/** Stands where the driver lacks a function. */
CUresult xs_cuda_missing(void);
/** Whether the user wants this call left alone. */
bool xs_cuda_filtered(enum xs_cuda_row row, const void *caller);

/** What the program gets instead of the driver's answer to cuGetProcAddress. */
void *xs_cuda_answer(const char *name, int version, uint64_t flags, void *real);
/** The real functions are known: prepares answers. */
void xs_cuda_answers_prepare(void);

#define XS_UNPACK(...) __VA_ARGS__
#define XS_HAND_HAND(symbol, params) CUresult xs_hand_##symbol params;
#define XS_HAND_SUBMIT(symbol, params)
#define XS_HAND_COUNT(symbol, params)
#define XS_HAND_SYNC(symbol, params)
#define XS_HAND_QUERY(symbol, params)
#define XS_HAND_SYNC_CTX(symbol, params)
#define CU(kind, symbol, name, version, streams, params, args, stream, key) XS_HAND_##kind(symbol, params)
#include "shim/cuda/cuda_api.def"
#undef XS_HAND_HAND
#undef XS_HAND_SUBMIT
#undef XS_HAND_COUNT
#undef XS_HAND_SYNC
#undef XS_HAND_QUERY
#undef XS_HAND_SYNC_CTX

/** The real function of a row, with its type. */
#define XS_REAL(symbol) ((__typeof__(&symbol))xs_cuda_real[ROW_##symbol])

#endif
