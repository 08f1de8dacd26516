/* SPDX-License-Identifier: Apache-2.0 */
/* What test_tables.c and the driver that it plays (played_driver.c) share. */
#ifndef XS_TESTS_PLAYED_DRIVER_H
#define XS_TESTS_PLAYED_DRIVER_H

#include "hal/levelzero/ze_abi.h"

#define PLAYED_NEWER 100          /* a place in the table of lists that only a version newer than ours has: 1.20 */

struct played {
    unsigned appends, carried;    /* kernels appended; those that came with an event */
    unsigned barriers, signals;   /* appended */
    unsigned executes, fenced, empty; /* executions; with a fence; of a list without commands */
    unsigned events, fences;      /* that are there */
    unsigned synchronized;        /* waits for a device */
    xs_ze_handle captured;        /* that joined a capture */
    struct xs_ze_groups groups, sizes;
    void **values;
};

#endif
