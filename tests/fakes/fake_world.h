/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the fake device. Everything here is guarded by fake_w.lock, unless noted. */
#ifndef XS_FAKE_WORLD_H
#define XS_FAKE_WORLD_H

#include "fake_device.h"

#include <pthread.h>
#include <stdatomic.h>

/* Remaining work is counted in this many units a ns, so that up to ten kernels share evenly
 * without a remainder. */
#define FAKE_UNITS 2520ull

enum fake_kind { K_KERNEL, K_POLLING, K_MARK, K_HOST, K_WAIT_VALUE, K_RECORD, K_WAIT_EVENT };

struct fake_command {
    struct fake_command *next;
    enum fake_kind kind;
    uint64_t sequence;            /* in order of submission, over the device */
    uint64_t number;              /* of a kernel in its stream, from 1 */
    uint64_t left;                /* units */
    uint32_t tag;
    bool started, lost, calling;
    void (*done)(void *data, bool failed);
    void (*host)(void *data);
    void *data;
    const _Atomic uint64_t *word;
    uint64_t value;
    struct fake_event *event;
    uint64_t generation;          /* of the event, as the command was made */
};

struct fake_event {
    struct fake_event *next;
    uint64_t recorded, reached;   /* generations */
    bool user;
};

struct fake_stream {
    struct fake_stream *next;
    struct fake_device *device;
    uint32_t id;
    bool destroyed;
    struct fake_command *head, **tail;
    uint64_t launched, completed, pending;
    uint32_t fault_launch, fault_lose_mark, fault_refuse_mark;
};

struct fake_device {
    struct fake_device *next;
    enum fake_exec exec;
    bool lost;
    struct fake_stream *streams;
    struct fake_command *running; /* FAKE_EXCLUSIVE: who has it */
    uint64_t sequence;
    pthread_t thread;             /* real time */
    bool has_thread, stop;
    pthread_cond_t kick;
    pthread_mutex_t *shared;      /* in a file, or NULL */
};

struct fake_world {
    pthread_mutex_t lock;
    pthread_cond_t changed;       /* something completed, or arrived */
    bool real;
    bool automatic, auto_stop;
    pthread_t auto_thread;
    struct fake_device *devices;
    struct fake_event *events;
    uint32_t streams;
};
extern struct fake_world fake_w;

/* fake_exec.c */
/** Time of the next end of a kernel in virtual time; UINT64_MAX: none. Starts what can start. */
uint64_t fake_exec_next_locked(struct fake_device *only);
/** Completes whatever is complete at this time; may leave the lock to call back.
 *  @return true when anything happened */
bool fake_exec_step_locked(struct fake_device *only, uint64_t now_ns);
/** Lets running kernels get on by ns. */
void fake_exec_work_locked(uint64_t ns);
void fake_exec_start_thread(struct fake_device *d);
void fake_exec_stop_thread(struct fake_device *d);
void fake_auto_stop(void);
/* fake_trace.c */
void fake_trace_reset(void);
void fake_trace_add(enum fake_what what, struct fake_stream *s, uint32_t tag, uint64_t number);

#endif
