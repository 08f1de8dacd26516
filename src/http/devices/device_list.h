/* SPDX-License-Identifier: Apache-2.0 */
/* The devices on which the queues of an answer work, for users. Threads of HTTP. */
#ifndef XS_HTTP_DEVICE_LIST_H
#define XS_HTTP_DEVICE_LIST_H

#include "asks/request.h"
#include "http/devices/device_name.h"
#include "http/devices/device_state.h"

/* A program may invent devices: those that the kernel knows have places of their own. */
#define XS_DEVICES_REAL  64u
#define XS_DEVICES_OTHER 16u
#define XS_DEVICES_MAX   (XS_DEVICES_REAL + XS_DEVICES_OTHER)

struct xs_device_row {
    XDevice device;
    struct xs_device_name name;
    struct xs_device_state state; /* memory in use, temperature and clock: only for askers that may see all */
    uint64_t queues, ready, waiting;
};

struct xs_devices {
    size_t n;
    bool more; /* there are some that have no row */
    struct xs_device_row rows[XS_DEVICES_MAX]; /* in order of device */
};

/** @return NULL when memory is out; the caller frees it */
struct xs_devices *xs_devices_of(const struct xs_request *r);
/** @return its row, or NULL */
struct xs_device_row *xs_devices_find(struct xs_devices *d, XDevice device);

#endif
