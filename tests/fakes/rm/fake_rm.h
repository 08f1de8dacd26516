/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's resource manager without a GPU: objects, handles, frees that cascade, and the controls
 * that level 3 needs, each checked for the layout that the driver expects and written down.
 * Descriptors are any number the test says; several may be one open file. Not thread-safe
 * except for the ioctls, which take one lock (as the driver's does). */
#ifndef FAKE_RM_H
#define FAKE_RM_H

#include "nvrm/channel_group.h"

struct fake_rm_call {             /* one control */
    uint32_t command, client, object;
    uint64_t us;                  /* SET_TIMESLICE */
    uint32_t status;
};

void fake_rm_reset(void);         /* no objects, no log; installs itself */
void fake_rm_remove(void);        /* the kernel again */
/** fd is /dev/nvidiactl, an open file of its own. */
void fake_rm_open(int fd);
/** fd is the same open file as of. */
void fake_rm_dup_fd(int fd, int of);
/** The last descriptor of a file takes its clients along. */
void fake_rm_close(int fd);
void fake_rm_set_version(const char *version);
/** Controls with this command fail with that status: `times` of them, after `skip` that do not. */
void fake_rm_deny(uint32_t command, uint32_t status, unsigned skip, unsigned times);
/** Called inside each ioctl, before it acts. */
void fake_rm_set_hook(void (*hook)(int fd, unsigned long request, void *arg));

size_t fake_rm_calls(const struct fake_rm_call **ret);
uint64_t fake_rm_slice(uint32_t client, uint32_t group);
unsigned fake_rm_objects(void);
/** Calls that a driver would have answered with an error of layout, rights or order. */
unsigned fake_rm_complaints(void);

#define FAKE_RM_DEFAULT_SLICE_US 2048u

#endif
