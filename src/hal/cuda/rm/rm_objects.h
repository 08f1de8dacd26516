/* SPDX-License-Identifier: Apache-2.0 */
/* The table of objects that the process made in the driver; inside hal/cuda/rm only. */
#ifndef XS_HAL_CUDA_RM_RM_OBJECTS_H
#define XS_HAL_CUDA_RM_RM_OBJECTS_H

#include "base/lock.h"
#include "hal/cuda/rm/rm.h"

enum xs_rm_kind { XS_RM_NONE, XS_RM_CLIENT, XS_RM_DEVICE, XS_RM_SUBDEVICE, XS_RM_TSG, XS_RM_TSG_OTHER, XS_RM_CHANNEL };

struct xs_rm_object {
    uint8_t kind;                 /* enum xs_rm_kind; XS_RM_NONE: free */
    int fd;                       /* through which the program made it */
    uint32_t client, parent, handle;
    uint32_t number;              /* of a device: its instance; of a compute group: index in groups */
};

struct xs_rm_tsg {
    uint32_t id;                  /* 0: free */
    uint32_t changes;
    uint32_t object;              /* index */
    bool address_known;
    uint32_t address;
    uint64_t slice_us;            /* our own; 0: the one that the driver gave */
    uint64_t default_us;          /* 0: not read yet */
};

/** Everything of it under `lock`, except the atomics. */
struct xs_rm_table {
    /* Lock 7: the objects that NVIDIA's driver made for the program. A thread that makes or frees one holds
     * it for a few stores, and releases it before each ioctl. The control thread only tries. */
    struct xs_lock lock;
    _Atomic int pid;              /* of this process; a forked child starts over */
    _Atomic uint32_t generation;  /* writer: each thread that changes a group, under lock */
    _Atomic int level;            /* 0: nothing seen yet; 3, 2; writer: under lock */
    bool by_probe;                /* level 3 under a newer driver */
    bool asked_for;               /* level 2 as the user wants it */
    uint32_t used;                /* objects below this index have been in use */
    uint32_t next_id;
    struct xs_rm_object objects[XS_RM_OBJECTS];
    struct xs_rm_tsg groups[XS_RM_GROUPS];
    struct xs_rm_counts counts;
    char why[128];
};
extern struct xs_rm_table xs_rm_table;

/** NULL when there is none. */
struct xs_rm_tsg *xs_rm_tsg_by_id(uint32_t id);
void xs_rm_fill(const struct xs_rm_tsg *t, struct xs_rm_group *ret);
/** Under lock: ends level 3 in this process and keeps the reason for xs_rm_why. @return true: it had not ended
 *  before. Then the caller restores the slices after the lock */
bool xs_rm_refuse_locked(const char *why, uint32_t number);
/** Makes the table this process's own. */
void xs_rm_check_fork(void);

#endif
