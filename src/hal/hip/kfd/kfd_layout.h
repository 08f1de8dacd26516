/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the interface of AMD's kernel driver for compute (amdkfd) that we use, in our own words after
 * the kernel's public header linux/kfd_ioctl.h, with which tests/fakes/kfd compares it. A request's number
 * contains the size of its structure, so one that grew is another request. */
#ifndef XS_HAL_HIP_KFD_KFD_LAYOUT_H
#define XS_HAL_HIP_KFD_KFD_LAYOUT_H

#include "base/xs_base.h"

#define XS_KFD_MAJOR 1u           /* of the interface; minors only add */

struct xs_kfd_version {
    uint32_t major, minor;
};

/** The part that is the same in all releases; newer ones add fields after it. */
struct xs_kfd_create {
    uint64_t ring, write_pointer, read_pointer, doorbell;
    uint32_t ring_bytes, gpu_id, type, percentage, priority, queue_id;
    uint64_t eop, eop_bytes, save_area;
    uint32_t save_bytes, stack_bytes;
};

struct xs_kfd_destroy {
    uint32_t queue_id, pad;
};

/** The driver takes all of it each time. Percentage 0 takes the queue off the device and saves its waves;
 *  bits from 8 on name a part of the device in newer releases. */
struct xs_kfd_update {
    uint64_t ring;
    uint32_t queue_id, ring_bytes, percentage, priority;
};

/** The bits of the compute units of a queue, a multiple of 32 of them. */
struct xs_kfd_set_mask {
    uint32_t queue_id, bits;
    uint64_t words;               /* address */
};

/** Makes a queue one for cooperative launches. */
struct xs_kfd_gws {
    uint32_t queue_id, count, first, pad;
};

_Static_assert(sizeof(struct xs_kfd_create) == 88, "AMDKFD_IOC_CREATE_QUEUE");
_Static_assert(sizeof(struct xs_kfd_update) == 24, "AMDKFD_IOC_UPDATE_QUEUE");

#define XS_KFD_TYPE_COMPUTE     0u
#define XS_KFD_TYPE_COMPUTE_AQL 2u
#define XS_KFD_PERCENT          0xffu

/* As in asm-generic/ioctl.h: direction, size, type, number. */
#define XS_KFD_REQUEST(dir, nr, bytes) ((uint64_t)(dir) << 30 | (uint64_t)(bytes) << 16 | 'K' << 8 | (nr))
#define XS_KFD_NR(request)             ((unsigned)(request) & 0xff)
#define XS_KFD_BYTES(request)          ((unsigned)(request) >> 16 & 0x3fff)

enum {
    XS_KFD_NR_VERSION = 0x01,
    XS_KFD_NR_CREATE = 0x02,
    XS_KFD_NR_DESTROY = 0x03,
    XS_KFD_NR_UPDATE = 0x07,
    XS_KFD_NR_SET_MASK = 0x1a,
    XS_KFD_NR_GWS = 0x1e,
};

#define XS_KFD_IOC_VERSION XS_KFD_REQUEST(2u, XS_KFD_NR_VERSION, sizeof(struct xs_kfd_version))
#define XS_KFD_IOC_CREATE  XS_KFD_REQUEST(3u, XS_KFD_NR_CREATE, sizeof(struct xs_kfd_create))
#define XS_KFD_IOC_DESTROY XS_KFD_REQUEST(3u, XS_KFD_NR_DESTROY, sizeof(struct xs_kfd_destroy))
#define XS_KFD_IOC_UPDATE  XS_KFD_REQUEST(1u, XS_KFD_NR_UPDATE, sizeof(struct xs_kfd_update))
#define XS_KFD_IOC_SET_MASK XS_KFD_REQUEST(1u, XS_KFD_NR_SET_MASK, sizeof(struct xs_kfd_set_mask))
#define XS_KFD_IOC_GWS     XS_KFD_REQUEST(3u, XS_KFD_NR_GWS, sizeof(struct xs_kfd_gws))

/** Whether a request is one that passes through xs_kfd_call: a compare for everything else. */
static inline bool xs_kfd_wants(unsigned long request)
{
    unsigned nr = XS_KFD_NR(request);

    if (((request >> 8) & 0xff) != 'K')
        return false;
    switch (nr) {
    case XS_KFD_NR_VERSION:
        return request == XS_KFD_IOC_VERSION;
    case XS_KFD_NR_CREATE: /* may have grown */
        return (request & 0xc000ffff) == (XS_KFD_IOC_CREATE & 0xc000ffff) &&
               XS_KFD_BYTES(request) >= sizeof(struct xs_kfd_create);
    case XS_KFD_NR_DESTROY:
        return request == XS_KFD_IOC_DESTROY;
    case XS_KFD_NR_UPDATE:
        return (request & 0xc000ffff) == (XS_KFD_IOC_UPDATE & 0xc000ffff);
    case XS_KFD_NR_SET_MASK:
        return (request & 0xc000ffff) == (XS_KFD_IOC_SET_MASK & 0xc000ffff);
    case XS_KFD_NR_GWS:
        return (request & 0xc000ffff) == (XS_KFD_IOC_GWS & 0xc000ffff) && XS_KFD_BYTES(request) >= sizeof(struct xs_kfd_gws);
    default:
        return false;
    }
}

#endif
