/* SPDX-License-Identifier: Apache-2.0 */
/* A device that exists only in memory, with a vendor-like API: devices, in-order streams,
 * kernels with durations, marks, events, host functions, gates and kernels that poll memory.
 *
 * Virtual time (the default): the clock stands still until somebody advances it, and a program
 * that links this library sees that clock everywhere (vtime.h), so what a test measures are
 * exact numbers. Time moves in steps from event to event, and a step is taken only when every
 * other thread of the process sleeps: whatever a thread does in answer to an event, it does at
 * the time of that event.
 *
 * Real time: each device has a thread that lets commands take as long as they say.
 *
 * Any function may be called from any thread unless it says otherwise. */
#ifndef XS_FAKE_DEVICE_H
#define XS_FAKE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fake_device;
struct fake_stream;
struct fake_event;

enum fake_result {
    FAKE_OK = 0,
    FAKE_NOT_READY = 1,
    FAKE_ERROR_INVALID = 2,
    FAKE_ERROR_LAUNCH = 3,        /* injected */
    FAKE_ERROR_LOST = 4,          /* the device is gone */
};

enum fake_exec {
    FAKE_EXCLUSIVE,               /* one kernel at a time, in order of submission over all streams */
    FAKE_SHARED,                  /* the first kernels of all streams share the device evenly */
};

/* ---- the world ---- */

/** Ends everything: devices, streams, faults, trace; virtual time is at a full second again.
 *  Starts in virtual time unless real is set. Nobody may be inside a call. */
void fake_world_reset(bool real);
/** Advances virtual time by ns, from event to event; returns when all other threads sleep. One
 *  thread at a time, never together with fake_auto. */
void fake_advance(uint64_t ns);
/** Virtual time goes on by itself whenever every thread sleeps (true), or stands (false). */
void fake_auto(bool on);
/** Advances until no command is pending anywhere or nothing can go on. @return false when
 *  commands remain. */
bool fake_drain(void);
/** Returns when every other thread of the process sleeps. Time does not move. */
void fake_settle(void);
/** The time of the world, in ns. */
uint64_t fake_now_ns(void);

/* ---- vendor-like calls ---- */

struct fake_device *fake_device_create(enum fake_exec exec);
/** Several processes whose devices name the same file share one exclusive device. Real time only. */
int fake_device_share(struct fake_device *d, const char *path);

enum fake_result fake_stream_create(struct fake_device *d, struct fake_stream **ret);
/** Pending commands go on; the stream's storage stays until the world is reset. */
enum fake_result fake_stream_destroy(struct fake_stream *s);
/** A kernel of this duration. @param tag  shown in the trace; @param ret_number  may be NULL */
enum fake_result fake_launch(struct fake_stream *s, uint64_t duration_ns, uint32_t tag, uint64_t *ret_number);
/** A command that takes no time and calls done(data) when the stream gets there; done runs in
 *  the thread that advances time. `failed`: something before it was lost. */
enum fake_result fake_mark(struct fake_stream *s, void (*done)(void *data, bool failed), void *data);
/** A host function: the stream goes on when it has returned. */
enum fake_result fake_host_func(struct fake_stream *s, void (*fn)(void *data), void *data);
/** The stream waits until *word >= value; the device is free meanwhile. */
enum fake_result fake_wait_value(struct fake_stream *s, const _Atomic uint64_t *word, uint64_t value);
/** A kernel that occupies the device until *word >= value. */
enum fake_result fake_launch_polling(struct fake_stream *s, const _Atomic uint64_t *word, uint64_t value);
/** Blocks until all that the stream holds is complete. */
enum fake_result fake_synchronize(struct fake_stream *s);
enum fake_result fake_device_synchronize(struct fake_device *d);
enum fake_result fake_stream_query(struct fake_stream *s);

enum fake_result fake_event_create(struct fake_event **ret);
enum fake_result fake_event_record(struct fake_event *e, struct fake_stream *s);
enum fake_result fake_stream_wait_event(struct fake_stream *s, struct fake_event *e);
enum fake_result fake_event_query(struct fake_event *e);
enum fake_result fake_event_synchronize(struct fake_event *e);
/** An event that the program completes itself. */
enum fake_result fake_event_create_user(struct fake_event **ret);
enum fake_result fake_event_set(struct fake_event *e);

/** How much the stream holds, and how much it has completed (kernels only). */
uint64_t fake_stream_pending(struct fake_stream *s);
uint64_t fake_stream_completed(struct fake_stream *s);
uint64_t fake_stream_launched(struct fake_stream *s);
uint32_t fake_stream_id(struct fake_stream *s);

/* ---- faults ---- */

/** The nth next launch (1: the next) on this stream is refused with FAKE_ERROR_LAUNCH. */
void fake_fault_launch(struct fake_stream *s, uint32_t nth);
/** The nth next mark is accepted and never calls back. */
void fake_fault_lose_mark(struct fake_stream *s, uint32_t nth);
/** The nth next mark is refused. */
void fake_fault_refuse_mark(struct fake_stream *s, uint32_t nth);
/** The device stops: pending commands fail, marks call back with failed, later calls are refused. */
void fake_fault_device_lost(struct fake_device *d);

/* ---- trace ---- */

enum fake_what { FAKE_T_LAUNCH, FAKE_T_START, FAKE_T_END, FAKE_T_MARK, FAKE_T_SYNC, FAKE_T_REFUSED };

struct fake_record {
    uint64_t t_ns;
    enum fake_what what;
    uint32_t stream;              /* fake_stream_id */
    uint32_t tag;
    uint64_t number;              /* of the kernel in its stream, from 1 */
};

/** Number of records; a record never changes. */
size_t fake_trace_count(void);
struct fake_record fake_trace_get(size_t i);
/** How many records of a kind; tag 0: any. */
size_t fake_trace_count_of(enum fake_what what, uint32_t tag);
/** The tags in order of a kind, as text "1 1 2", for messages and comparisons. */
const char *fake_trace_order(enum fake_what what, char *buffer, size_t size);
/** Time of the nth (from 0) record of a kind with this tag; UINT64_MAX if there is none. */
uint64_t fake_trace_time(enum fake_what what, uint32_t tag, size_t nth);
void fake_trace_print(int fd);

#endif
