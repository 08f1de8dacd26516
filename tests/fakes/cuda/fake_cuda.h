/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA driver without a device, for tests: the target fakecuda, SONAME libcuda.so.1.
 *
 * Contexts, streams with the ordering of the default streams, events, memory (device memory is host
 * memory), stream memory operations, capture and graphs, entry points. One worker thread a device
 * takes commands in an order that the streams allow, and takes as long as they say: of real time, or in a
 * world (fakes/world) of its clock, on a GPU that several processes share. Every other
 * function of the driver is there by its row in cuda_api.def: those that wait for their turn do nothing on their stream,
 * the rest answers CUDA_ERROR_NOT_SUPPORTED.
 *
 * Kernels are found by name: "work" (u64 ns, u32 *log, u32 tag) takes ns and appends tag to log,
 * whose first word counts; "nop" does nothing; "burn" (u64 ns, u32 *started, u32 stamp, u64 *sum) stores
 * stamp, takes ns and adds ns to sum; "spin" (u64 ns) takes ns; "add" (u64 *at) adds 1; "grind" (u64
 * ns, u64 *sum) takes ns and adds a number that depends on it; "count" (u64 ns, u64 *at, u64 *stop) adds 1 for each ms
 * that it had the device, for ns or until *stop is not 0; "meet" (u32 *at, u32 ranks), also under the
 * name of a collective of NCCL's, adds 1 and runs until so many have; "barrier" (u64 *at) adds 1 when all of its blocks run.
 *
 * A device has 132 multiprocessors, and each takes one block. Of that only kernels know that wait for others: "barrier" starts
 * when there is room for its blocks, and "meet" when there is beside others of the kind, in the worst of places. */
#ifndef XS_FAKE_CUDA_H
#define XS_FAKE_CUDA_H

#include <pthread.h>

#include "hal/cuda/cuda_abi.h"

enum fake_op_kind { FAKE_WORK, FAKE_COPY, FAKE_FILL, FAKE_EVENT, FAKE_WAIT_EVENT, FAKE_WRITE, FAKE_WAIT, FAKE_HOST };

struct fake_op {
    enum fake_op_kind kind;
    uint64_t seq, ns;
    struct CUctx_st *ctx;
    /* WORK */
    uint32_t *log, tag;
    uint32_t *started, stamp;
    uint64_t *sum;
    uint64_t *add;
    uint64_t grind;               /* added to sum instead of the time */
    uint32_t *meet, ranks;        /* runs until so many have come there */
    bool came;                    /* it has, and runs */
    uint64_t blocks;              /* of the grid; one on each multiprocessor */
    bool barrier;                 /* its blocks wait for one another */
    uint64_t *count, *stop;       /* counts there until this is not 0 */
    /* COPY, FILL */
    void *dst;
    const void *src;
    size_t bytes;
    uint64_t value;
    unsigned width;               /* FILL, WRITE and WAIT: bytes of an element */
    unsigned flags;
    /* EVENT, WAIT_EVENT */
    struct fake_record *record;
    /* HOST */
    void (*fn)(void *);
    void *arg;
    struct fake_op *next;
};

struct CUctx_st {
    int dev;
    bool primary;
    int attached;                 /* uses beside the first: cuCtxAttach */
    unsigned long long id;        /* no two have the same */
    struct CUstream_st *streams;  /* the legacy one first */
    int slot;                     /* its channel group in the world; -1: none */
    uint32_t group;               /* for the kernel driver; 0: none */
    struct CUctx_st *green_of;    /* the primary context, which it holds; NULL: it is no green one */
    unsigned multiprocessors;     /* of a green one */
    const void *holder;           /* the thread that is blocked inside the driver with the context's lock */
    struct CUctx_st *next;
};

struct CUstream_st {
    struct CUctx_st *ctx;
    bool legacy, blocking;        /* blocking: ordered with the legacy stream */
    int priority;
    unsigned flags;
    struct fake_op *head, *tail;
    int entries;                  /* in that list */
    bool running;                 /* its head is being executed */
    bool destroyed;
    struct CUgraph_st *capture;
    int captured, rejoined;       /* commands put into that; how many of them another of its streams waits for */
    void *thread;                 /* of a per-thread stream */
    pthread_t maker;              /* the thread that made it */
    unsigned number;              /* of the streams of its context */
    struct CUstream_st *next;
};

/* One time that an event was recorded; who waits, waits for the one that was the last then. Never freed. */
struct fake_record {
    bool done;
};

struct CUevent_st {
    struct CUctx_st *ctx;
    struct fake_record *record;   /* the last one; NULL: never */
    struct CUgraph_st *capture;   /* recorded within it, on stream `on` after so many commands there */
    struct CUstream_st *on;
    int captured;
};

struct CUgraph_st {
    struct fake_op *head, *tail;
    struct fake_node *nodes;      /* that allocate and free (graph_memory.c) */
    struct CUstream_st *origin;
    bool graphics;                /* it is no graph but a command list of a graphics API */
    bool invalid;                 /* something was done that a capture cannot hold: it can only be ended */
};

struct CUfunc_st {
    const char *name;
};

#endif
