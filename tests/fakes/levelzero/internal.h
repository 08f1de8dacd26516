/* SPDX-License-Identifier: Apache-2.0 */
/* A Level Zero driver without a device, for tests, under the real loader: libze_intel_gpu.so.1 in a folder of its own.
 *
 * One driver, one device with a group of engines for kernels and one for copies. Each command queue and each immediate list has
 * a thread, which does its commands in the order in which they came, also where it need not, so that results are the same each
 * time. Memory is the host's. One kernel runs at a time; with FAKE_ZE_DEVICE=FILE that holds for all processes that name the
 * file. Kernels are found by name, in any module (kernels.c has more):
 *
 *   work   (uint32 *log, uint32 tag, uint64 ns)   takes so long and appends tag to log, whose first word counts
 *   mix    (uint32 *data, uint32 count, uint32 value)   data[i] = data[i] * 5 + value
 *
 * Refused, whoever asks: a kernel "work" of 0xbad ns, a copy and memory of 0xbad bytes, a queue and an immediate list
 * with the index 0xbad, and to execute a list with a copy of 0xbae bytes.
 * FAKE_ZE=NAME:N,... are faults: the Nth call of NAME (execute, append, fence, pool, event, list, queue, immediate, alloc) is
 * refused; with lost:N the device is lost at the Nth command that it is to do. FAKE_ZE_SAID=FILE: what queues were made with. */
#ifndef XS_FAKE_ZE_INTERNAL_H
#define XS_FAKE_ZE_INTERNAL_H

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define API __attribute__((visibility("default")))

#define REFUSED       0xbadu
#define REFUSED_LATER 0xbaeu
#define WAITS_MOST 16
#define ARGS_MOST     5

struct _ze_event_handle_t {
    bool signalled;               /* under fake_lock, as is all here that changes */
    uint64_t begin_ns, end_ns;    /* of the command that signalled it */
};

struct _ze_fence_handle_t {
    bool signalled;
    struct fake_fifo *fifo;
};

struct _ze_kernel_handle_t {
    const struct fake_kernel *what;
    uint64_t args[ARGS_MOST];
    uint32_t size[3]; /* of a group */
    ze_kernel_indirect_access_flags_t indirect;
};

enum fake_kind {
    FAKE_NOTHING,
    FAKE_COPY,
    FAKE_REGION,
    FAKE_FILL,
    FAKE_KERNEL,
    FAKE_RESET,
    FAKE_STAMP,
    FAKE_STAMPS
};

struct fake_command {
    enum fake_kind kind;
    void *to;
    const void *from;
    size_t bytes, pattern_bytes;
    uint8_t pattern[16];
    struct _ze_kernel_handle_t kernel; /* as it was when the command was made */
    ze_group_count_t groups;
    const ze_group_count_t *groups_at; /* they are read there when the command runs */
    ze_copy_region_t to_region, from_region;
    uint32_t to_pitch, to_slice, from_pitch, from_slice;
    ze_event_handle_t stamps[WAITS_MOST]; /* their times go to `to`: `bytes` events */
    size_t places[WAITS_MOST];            /* there, in bytes */
    ze_event_handle_t signal, reset;
    uint32_t waits_count;
    ze_event_handle_t waits[WAITS_MOST];
    ze_fence_handle_t fence;
    struct fake_command *next;
};

/* What does commands, one after the other. */
struct fake_fifo {
    pthread_t thread;
    struct fake_command *head, **tail;
    uint64_t pending;             /* not complete */
    bool end;
};

struct _ze_command_queue_handle_t {
    struct fake_fifo fifo;
    bool synchronous;
};

struct _ze_command_list_handle_t {
    struct fake_fifo fifo;        /* of an immediate list */
    bool immediate, synchronous, closed;
    ze_context_handle_t context;
    ze_device_handle_t device;
    uint32_t ordinal, index;
    struct fake_command *commands, **tail; /* of another one */
};

extern pthread_mutex_t fake_lock;
extern pthread_cond_t fake_changed;
extern bool fake_lost;            /* the device is */

/* fifo.c */
void fake_fifo_start(struct fake_fifo *f);
/* What is pending goes on to its end. */
void fake_fifo_end(struct fake_fifo *f);
/* A copy of it goes in. */
void fake_fifo_put(struct fake_fifo *f, const struct fake_command *c);
ze_result_t fake_fifo_wait(struct fake_fifo *f, uint64_t timeout_ns);
/* Until *flag. */
ze_result_t fake_wait(const bool *flag, uint64_t timeout_ns);
/* Whether this call is one that FAKE_ZE refuses. */
bool fake_refused(const char *name);

uint64_t fake_now_ns(void);

/* kernels.c */
const struct fake_kernel *fake_kernel_by_name(const char *name);
const char *fake_kernel_name(const struct fake_kernel *kernel);
uint32_t fake_kernel_args(const struct fake_kernel *kernel);
/* How long it takes. */
uint64_t fake_kernel_ns(const struct _ze_kernel_handle_t *k);
void fake_kernel_run(const struct _ze_kernel_handle_t *k, const uint32_t groups[3]);

/* objects.c, commands.c: fill in the tables */
void fake_command_list_table(ze_api_version_t version, ze_command_list_dditable_t *t);
void fake_command_list_exp_table(void **table);
void fake_say(const char *what, const ze_command_queue_desc_t *desc);

#endif
