/* SPDX-License-Identifier: Apache-2.0 */
/* The fake device as a platform of libpreempt: its hal, and calls that go the way of a shim. */
#ifndef XS_FAKE_HAL_H
#define XS_FAKE_HAL_H

#include "fake_device.h"

#include "xqueue/interface.h"
#include "xsched/xsched.h"

#define FAKE_PLATFORM kPlatformVPI

/** Levels that the platform claims; bit l is level l. Default: level 1 only. For streams whose
 *  hardware queue is made afterwards. */
void fake_hal_set_levels(uint32_t levels);
/** Level 1, and no marks from outside; until levels are set again. */
void fake_hal_no_outside(void);
/** True: the shim reports completions itself; false (default): the hal marks. */
void fake_hal_set_self_marked(bool on);
/** How the hal marks instead (until NULL is set): puts the mark into the stream; what it reaches is reported by whoever it
 *  is. @return false: it could not */
void fake_hal_set_mark(bool (*by)(struct fake_stream *s, struct xs_queue *q, uint64_t number));
/** The device whose number the hardware queues made afterwards have. Default 0. */
void fake_hal_set_device(uint32_t id);

/** As CudaQueueCreate. */
XResult fake_queue_create(HwQueueHandle *ret, struct fake_stream *s);
/** As the shim's stream creation under XSCHED_AUTO_XQUEUE. */
XResult fake_queue_auto(struct fake_stream *s, int32_t priority_offset);

/** The key that fake_api_launch gives to commands of this duration. */
uint64_t fake_api_key(uint64_t duration_ns);
/** As a shim's launch: finds the XQueue, submits. Commands of one duration have one key. */
enum fake_result fake_api_launch(struct fake_stream *s, uint64_t duration_ns, uint32_t tag);
/** The same with everything chosen. */
enum fake_result fake_api_launch_with(struct fake_stream *s, uint64_t duration_ns, uint32_t tag, uint64_t key,
                                      uint32_t flags);
enum fake_result fake_api_launch_polling(struct fake_stream *s, const _Atomic uint64_t *word, uint64_t value);
/** As a shim's wait for a value, which it sees. */
enum fake_result fake_api_wait_value(struct fake_stream *s, const _Atomic uint64_t *word, uint64_t value);
/** As a shim's host function, which it sees. */
enum fake_result fake_api_host_func(struct fake_stream *s, void (*fn)(void *data), void *data);
/** As a shim's wait of a stream for an event that the program recorded on another one. */
enum fake_result fake_api_stream_waits(struct fake_stream *s, struct fake_stream *other, struct fake_event *e);
enum fake_result fake_api_synchronize(struct fake_stream *s);
enum fake_result fake_api_stream_destroy(struct fake_stream *s);

/** The next mark that comes from a thread of libpreempt's own stays inside the vendor until
 *  fake_hal_unblock(). */
void fake_hal_block_outside(void);
void fake_hal_unblock(void);

/* A vendor call from inside one of the vendor's own calls to us would deadlock in many drivers:
 * here it ends the process. */

struct fake_hal_counts {
    uint64_t marks, marks_refused, completions, lost, enters, leaves, synchronizes, releases;
    uint64_t outside;             /* marks that no thread of the program asked for */
};
struct fake_hal_counts fake_hal_counts(void);
void fake_hal_counts_reset(void);

#endif
