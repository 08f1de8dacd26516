/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the fake driver share. */
#ifndef XS_FAKE_CUDA_INTERNAL_H
#define XS_FAKE_CUDA_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>

#include "fake_cuda.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define API __attribute__((visibility("default"))) CUresult

/* record.c */
void fake_record(const char *function, const char *name, int version, uint64_t flags, const void *caller);
#define FAKE_RECORD(name, version, flags) fake_record(__func__, name, version, flags, __builtin_return_address(0))

#define DEVICES             2
#define MULTIPROCESSORS     132u
#define INVALID_CONTEXT     201
#define NOT_PERMITTED       800
#define INVALID_HANDLE      400
#define ILLEGAL_STATE       401
#define ILLEGAL_ADDRESS     700
#define CAPTURE_UNSUPPORTED 900
#define CAPTURE_INVALIDATED 901
#define CAPTURE_UNMATCHED   903
#define CAPTURE_UNJOINED    904
#define CAPTURED_EVENT      907

/* device.c. The lock guards contexts, streams, events and commands; `fake_changed` is told of each
 * command that comes or ends. */
extern pthread_mutex_t fake_lock;
extern pthread_cond_t fake_changed;
extern struct CUctx_st *fake_contexts;
extern unsigned (*fake_speed)(int dev); /* in 1/1000; NULL: 1000. Writer likewise */
extern bool (*fake_paused)(int dev); /* writer: whoever plays the kernel driver, before the first command */
extern bool fake_lost;   /* the device is lost */
extern bool fake_forked; /* this is a child of who had it, and nothing is waited for */

void fake_lose_device(void) __attribute__((visibility("default")));
void fake_devices_start_locked(void);
struct CUstream_st *fake_stream_new(struct CUctx_st *c, unsigned flags, int priority);
/* The stream that a handle means in the calling thread, NULL without a current context. */
struct CUstream_st *fake_stream_of(CUstream s, bool per_thread);
/* Under the lock. Into the stream, or into the graph that it captures. */
struct fake_op *fake_put_locked(struct CUstream_st *s, struct fake_op op);
CUresult fake_put(CUstream stream, bool per_thread, struct fake_op op);
/* Under the lock, which it gives back while it waits: until what the stream holds now is done. */
void fake_drain(struct CUstream_st *s);

/* time.c: the clock of this process, or of a world that several share (fakes/world). */
/* Until the device has given the context so much time. */
void fake_time_take(struct CUctx_st *c, uint64_t ns);
/* Only the time by which a command of so much is longer on a part of the device. */
void fake_time_slow(struct CUctx_st *c, uint64_t ns);
/* Until fake_changed, or to look again at memory that commands of this device wait for. */
void fake_time_idle_locked(int dev, bool for_memory);
/* A command is about to be taken on. False: the lock was given back meanwhile; choose again, and come back. */
bool fake_time_turn_locked(void);
/* The context's channel group comes and goes; the latter waits for nothing. */
void fake_group_new(struct CUctx_st *c);
void fake_group_ends(struct CUctx_st *c);
/* A handle or a context has been freed, and the call has not returned. */
void fake_freed(void);

/* channel.c, under the lock. Before each call that a context has one lock for; before each command: room in the stream. */
void fake_context_enter_locked(struct CUctx_st *c);
/* A call that waits for whatever the context has, and for which every other call on it waits. */
void fake_context_wait_locked(struct CUctx_st *c);
void fake_channel_room_locked(struct CUstream_st *s);

/* host_memory.c, under the lock */
void fake_host_memory_of_context_ends_locked(struct CUctx_st *c);

/* graph_memory.c. Whether the stream captures, and records it. */
bool fake_captures_alloc(CUstream s, CUdeviceptr *ret, size_t bytes);
bool fake_captures_free(CUstream s, CUdeviceptr at);
void fake_graph_memory_launched_locked(CUgraph g);

/* launch.c: by name; NULL: there is none. */
const struct CUfunc_st *fake_function(const char *name);

/* green.c, under the lock: whether a kernel that waits for others may start; a launch. */
bool fake_has_room(const struct CUstream_st *s, const struct fake_op *op);
void fake_count_launch(const struct CUstream_st *s);

/* library.c. The function of a kernel, loaded if need be; what is no kernel is a function already. */
const struct CUfunc_st *fake_loaded(const void *handle);

/* contexts.c. A green context, which holds the primary one. */
CUcontext fake_green_new_locked(int dev, unsigned multiprocessors);
void fake_green_end_locked(CUcontext green);
CUcontext fake_current(void);
/* What the driver calls of its own does not go through a shim. */
CUresult fake_context_synchronize(void);

/* streams.c */
CUresult fake_synchronize(CUstream stream, bool per_thread);

/* visible.c: the devices that this program sees, at most DEVICES. ret may be NULL. @return how many */
int fake_visible(int *ret);
/* Whether contexts are of an MPS server: a daemon listens in the folder that the environment names. */
bool fake_mps(void);
/* Of a device by its place on the bus, 16 bytes. */
void fake_uuid(int device, unsigned char *ret);

/* memory.c. FAKE_CUDA names one fault: see there. */
bool fake_without(const char *what);
/* What the device may use: `room` is where the driver put it (an allocation of its own, or a reserved range). */
enum fake_memory { FAKE_PAGEABLE, FAKE_PINNED, FAKE_DEVICE };
struct fake_block {
    CUdeviceptr from;
    size_t bytes;
    enum fake_memory type;
    bool managed, mapped;         /* mapped: of a handle */
    bool rdma;
    int dev;
    struct CUctx_st *ctx;         /* of a mapped one NULL */
    uint64_t id;                  /* no two have the same */
    CUdeviceptr room;
    size_t room_bytes;
    struct fake_block *next;
};
void fake_block_add(struct fake_block b);
void fake_block_forget(CUdeviceptr from);
/* Under fake_lock: what the context allocated is the device's again. */
void fake_memory_of_context_ends_locked(const struct CUctx_st *c);
/* Bytes of a device. False: it has no more. FAKE_CUDA_MEMORY: what it has, in MiB; without it has any amount.
 * FAKE_CUDA_SHARED: a file by which several processes share that. */
bool fake_memory_take(int dev, size_t bytes);
void fake_memory_give(int dev, size_t bytes);
/* @return what it has; 0: any amount */
size_t fake_memory_total(int dev, size_t *ret_used);

/* faults.c. Whether this call of the function is one that is to fail, and with what. */
bool fake_fails(const char *function, CUresult *ret);
#define FAKE_MAY_FAIL()                                                                           \
    do {                                                                                          \
        CUresult fails_with_;                                                                     \
        if (fake_fails(__func__, &fails_with_))                                                   \
            return fails_with_;                                                                   \
    } while (0)

/* Set by virtual_memory.c with the first reservation. Whether a part of it lies in a reserved range without memory that
 * the device may touch; and around what a command does with memory, so that none goes meanwhile. */
extern bool (*fake_absent)(const void *p, size_t bytes);
extern pthread_mutex_t fake_mappings;

#endif
