/* SPDX-License-Identifier: Apache-2.0 */
/* A device whose commands are done the moment they are launched, with the least possible vendor
 * call, so that what is measured is what a scheduler adds. */
#ifndef XS_NULL_DEVICE_H
#define XS_NULL_DEVICE_H

#include "xqueue/interface.h"
#include "xsched/xsched.h"

struct null_stream {
    uint64_t launched;
    uint64_t ring[64];
    /* what was launched completes only up to here; UINT64_MAX: at once */
    _Atomic uint64_t hold_from;
    _Atomic(struct xs_queue *) held_queue;   /* a mark that waits, and its number */
    _Atomic uint64_t held_number;
};

/** The vendor call. */
int null_launch(struct null_stream *s, uint64_t argument);
/** The same as a shim makes it. */
int null_api_launch(struct null_stream *s, uint64_t argument, uint64_t key);
/** Lets go what hold_from held back. */
void null_complete(struct null_stream *s);
/** A hardware queue on it. */
XResult null_queue(struct null_stream *s, uint32_t device, HwQueueHandle *ret);

#endif
