/* SPDX-License-Identifier: Apache-2.0 */
/* A program of the tests of this folder: what a vendor's library asks the driver for when a context is made. The calls go
 * through our exported ioctl(). */
#ifndef FAKE_RM_PROGRAM_H
#define FAKE_RM_PROGRAM_H

#include "fake_rm.h"

/* cmocka.h wants these */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct context {
    int fd;
    uint32_t client, device, subdevice, group, copies, channels[300];
    unsigned n;
};

/** How objects are asked for: 0 as is usual, 1 by the shorter request, 2 wrapped. */
extern int program_form;

/** @return the driver's status */
uint32_t alloc_form(int fd, uint32_t client, uint32_t parent, uint32_t handle, uint32_t object_class, void *params,
                    uint32_t params_bytes, int form, uint32_t *ret_handle);
/** @return the handle; what is refused ends the test */
uint32_t alloc(int fd, uint32_t client, uint32_t parent, uint32_t object_class, void *params, uint32_t bytes);
uint32_t alloc_group(int fd, uint32_t client, uint32_t device, uint32_t engine);
void add_channels(struct context *c, unsigned n);
/** @param fd  of the fake's. Two groups: one for copies with one channel, one for kernels */
void make_context(struct context *c, int fd, unsigned channels);
void rm_free(int fd, uint32_t client, uint32_t handle);

#endif
