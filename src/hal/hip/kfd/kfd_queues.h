/* SPDX-License-Identifier: Apache-2.0 */
/* The table of queues; inside hal/hip/kfd only. */
#ifndef XS_HAL_HIP_KFD_KFD_QUEUES_H
#define XS_HAL_HIP_KFD_KFD_QUEUES_H

#include "base/lock.h"
#include "hal/hip/kfd/kfd.h"
#include "hal/hip/kfd/kfd_masks.h"

struct xs_kfd_queue {
    bool live;
    bool dying;                   /* the program ends it now: no request of ours any more */
    int fd;
    uint32_t device;              /* index */
    struct xs_kfd_update program; /* the program's wish */
    uint32_t has_percentage, has_priority; /* the values of the last request */
    /* Counts requests to change it. If a request is not the last one begun, its thread cannot know which of
     * them the driver took last. Written under the lock; read without. */
    _Atomic uint32_t asked;
    _Atomic uint32_t busy;        /* requests of ours under way: the program ends it only when there are none */
    /* Requests of the program under way: we make none meanwhile, and only the control thread repeats. If two
     * threads did, each would make the other repeat, without end. Under lock. */
    uint32_t changing;
    _Atomic bool unsure;          /* see asked: repeat it; any thread sets it, the control thread clears it */
    uint32_t failures;            /* the control thread's: failed attempts to bring it back */
    bool cooperative;             /* its kernels need the whole device: no mask of ours */
    struct xs_kfd_mask own;       /* the program's last mask */
    /* Of the last mask; 0: the program's own is in force. Written under lock, and by the control thread. */
    _Atomic uint32_t has_part;
    _Atomic bool mask_unsure;     /* as unsure */
};

struct xs_kfd_device_row {
    _Atomic uint32_t gpu_id;      /* the driver's; 0: free; written under lock */
    uint32_t queues;
    bool off;                     /* in force for its queues */
    uint32_t part;                /* likewise; 0: all of its compute units */
    /* the control thread's own */
    bool address_known, address_missing;
    uint32_t address;
    struct xs_kfd_shape shape;
    struct xs_kfd_wish wish;
    bool report_due;
    struct xs_kfd_report report;
};

/** Everything of it under `lock`, except the atomics and the control thread's own. */
struct xs_kfd_table {
    /* Lock 7: the queues that the program has from AMD's driver. A thread that makes, changes or ends one
     * holds it for a few stores, and releases it before each ioctl. The control thread only tries. */
    struct xs_lock lock;
    _Atomic int pid;              /* of this process; a forked child starts over */
    _Atomic int level;            /* 0: nothing seen yet; 3, 1, in this order; writer: any thread */
    _Atomic uint32_t generation;  /* counts changes for the control thread; writer: any thread */
    struct xs_kfd_queue queues[XS_KFD_QUEUES];
    struct xs_kfd_device_row devices[XS_KFD_DEVICES];
    _Atomic(const char *) why;    /* static text; writer: the thread that ends level 3 */
    _Atomic(const char *) why_no_masks; /* likewise, that ends masks; NULL: there may be some */
};
extern struct xs_kfd_table xs_kfd_table;

int xs_kfd_ioctl(int fd, unsigned long request, void *arg);
/** The values to request from the driver now. Under lock. */
void xs_kfd_effective_locked(const struct xs_kfd_queue *q, struct xs_kfd_update *ret);
/** Ends level 3 in this process; one line says why. The next xs_kfd_due puts everything back. Any thread, no
 *  lock. */
void xs_kfd_refuse(const char *why, uint32_t number);

#endif
