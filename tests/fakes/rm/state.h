/* SPDX-License-Identifier: Apache-2.0 */
/* The resource manager's memory, in one process or shared by several. */
#ifndef FAKE_RM_STATE_H
#define FAKE_RM_STATE_H

#include "fake_rm.h"

#include <pthread.h>

#define OBJECTS 4096
#define CALLS   4096

struct object {
    bool used;
    uint32_t client, parent, handle, object_class, engine;
    uint64_t slice_us;
    int file;                     /* of a client: the open file that it was made through */
};

struct fake_rm_state {
    pthread_mutex_t lock;
    struct object objects[OBJECTS];
    struct fake_rm_call calls[CALLS];
    size_t n_calls;
    bool any_file;                /* a client may be used through each open file */
    uint32_t next_client, next_handle, gpu_id;
    uint32_t deny_command, deny_status;
    unsigned deny_skip, deny_times, complaints;
};

/** As ioctl(2) on /dev/nvidiactl. @param file  which open file of it; not 0 */
int fake_rm_request(struct fake_rm_state *r, int file, unsigned long request, void *arg);
/** The last descriptor of an open file is closed. */
void fake_rm_file_ends(struct fake_rm_state *r, int file);
struct object *fake_rm_find(struct fake_rm_state *r, uint32_t client, uint32_t handle);
void fake_rm_destroy(struct fake_rm_state *r, struct object *o);

#endif
