/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of libpreempt share. */
#ifndef TESTS_XQUEUE_TEST_H
#define TESTS_XQUEUE_TEST_H

#include "fake_hal.h"
#include "vtime.h"

#include "base/clock.h"
#include "wire/page.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Under a sanitizer: memory is not what it is without, nor are stacks. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define XQUEUE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define XQUEUE_SANITIZED 1
#endif
#endif

#define US 1000ull
#define MS 1000000ull
#define S  1000000000ull

/** A stream with a hardware queue and an XQueue. */
struct lane {
    struct fake_stream *stream;
    HwQueueHandle hwq;
    XQueueHandle xq;
};

struct lane lane_open(struct fake_device *d);
struct lane lane_open_flags(struct fake_device *d, int64_t flags);
/** Destroys XQueue and hardware queue; both must exist. */
void lane_close(struct lane *l);
/** The XQueue of a stream, as a shim finds it; NULL: none. */
struct xs_queue *queue_of(struct fake_stream *s);

/** Its words in the client page. */
struct xs_client_cell *cell_of(struct fake_stream *s);

/** A callback command that launches a kernel of this duration and tag, and returns `result`. */
HwCommandHandle command(struct lane *l, uint64_t duration_ns, uint32_t tag, XResult result);

/** The most kernels that the device held at once, from that record of the trace on. */
uint64_t most_in_flight(size_t from_record);

/** What a test is about: set up by one of the functions below. */
extern struct fake_device *g_d;
extern struct lane g_l;
extern struct lane g_low, g_high;
#define LOW  1u                   /* tags of their kernels */
#define HIGH 2u

/** For setup and teardown of each test: a fresh world in virtual time, time standing. */
int world_setup(void **state);
/** Ends the world; the test must have closed its lanes. */
int world_teardown(void **state);
/** The same with g_d, a device that runs one kernel at a time. */
int device_setup(void **state);
/** The same with g_l, a lane on it. */
int lane_setup(void **state);
int lane_teardown(void **state);
/** Likewise g_low and g_high, of priorities 0 and 10, scheduled by HPF in the process. */
int pair_setup(void **state);
/** What follows the fresh world in that. */
void pair_open(void);
/** A test may have closed g_high, and set its stream to NULL. */
int pair_teardown(void **state);

/** How many names a folder has, . and .. among them. */
int entries(const char *path);
/** How many threads this process has. */
int threads(void);

/** Looks (in real time) until the condition holds; fails the test after 20 s. */
#define WAIT_FOR(condition)                                                     \
    do {                                                                        \
        uint64_t wf_until = vtime_real_ns() + 20 * S;                           \
        vtime_poll_begin();                                                     \
        while (!(condition)) {                                                  \
            struct timespec wf_ts = {0, 200000};                                \
            if (vtime_real_ns() > wf_until)                                     \
                fail_msg("never: %s", #condition);                              \
            vtime_real_sleep(&wf_ts);                                           \
        }                                                                       \
        vtime_poll_end();                                                       \
    } while (0)

/** A thread that runs fn(arg) and can be asked whether it is done. */
struct task {
    pthread_t thread;
    void (*fn)(void *arg);
    void *arg;
    _Atomic bool done;
};
void task_start(struct task *t, void (*fn)(void *arg), void *arg);
void task_join(struct task *t);

#define ok(call) assert_int_equal((call), kXSchedSuccess)
#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define D(name) cmocka_unit_test_setup_teardown(name, device_setup, world_teardown)
#define L(name) cmocka_unit_test_setup_teardown(name, lane_setup, lane_teardown)

#endif
