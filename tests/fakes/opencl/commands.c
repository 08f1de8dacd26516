/* SPDX-License-Identifier: Apache-2.0 */
/* Commands on buffers, kernels, order. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static void complete(void *event)
{
    fake_event_complete(event);
    fake_event_release(event);
}

cl_int fake_enqueue(cl_command_queue q, struct fake_op op, cl_uint count, const cl_event *list, cl_event *ret,
                    bool blocking)
{
    struct fake_record *record;
    cl_event e;

    if (!q)
        return CL_INVALID_COMMAND_QUEUE;
    if ((count != 0) != (list != NULL))
        return CL_INVALID_EVENT_WAIT_LIST;
    e = fake_event_new(q);
    record = e->record;
    if (ret)
        fake_retain(e);
    pthread_mutex_lock(&fake_lock);
    for (cl_uint i = 0; i < count; i++)
        fake_put_locked(q->stream, (struct fake_op){.kind = FAKE_WAIT_EVENT, .record = list[i]->record});
    fake_put_locked(q->stream, op);
    fake_put_locked(q->stream, (struct fake_op){.kind = FAKE_HOST, .fn = complete, .arg = e});
    pthread_mutex_unlock(&fake_lock);
    if (ret)
        *ret = e;
    if (blocking)
        fake_record_wait(record);
    return CL_SUCCESS;
}

struct fake_op fake_fill_op(void *to, const void *pattern, size_t width, size_t bytes)
{
    struct fake_op op = {.kind = FAKE_FILL, .dst = to, .bytes = bytes / width, .width = (unsigned)width};

    memcpy(&op.value, pattern, width < sizeof(op.value) ? width : sizeof(op.value));
    return op;
}

#define WAITS         cl_uint count, const cl_event *list, cl_event *event
#define COPY(to, from) ((struct fake_op){.kind = FAKE_COPY, .dst = (to), .src = (from), .bytes = size})
#define NOTHING       ((struct fake_op){.kind = FAKE_WORK})

API cl_int clEnqueueReadBuffer(cl_command_queue q, cl_mem m, cl_bool blocking, size_t offset, size_t size, void *to,
                               WAITS)
{
    return fake_enqueue(q, COPY(to, m->bytes + offset), count, list, event, blocking);
}

API cl_int clEnqueueWriteBuffer(cl_command_queue q, cl_mem m, cl_bool blocking, size_t offset, size_t size,
                                const void *from, WAITS)
{
    return fake_enqueue(q, COPY(m->bytes + offset, from), count, list, event, blocking);
}

API cl_int clEnqueueCopyBuffer(cl_command_queue q, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
                               size_t size, WAITS)
{
    return fake_enqueue(q, COPY(to->bytes + to_offset, from->bytes + from_offset), count, list, event, false);
}

API cl_int clEnqueueFillBuffer(cl_command_queue q, cl_mem m, const void *pattern, size_t width, size_t offset,
                               size_t size, WAITS)
{
    return fake_enqueue(q, fake_fill_op(m->bytes + offset, pattern, width, size), count, list, event, false);
}

API void *clEnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool blocking, cl_map_flags flags, size_t offset,
                             size_t size, WAITS, cl_int *err)
{
    cl_int r = fake_enqueue(q, NOTHING, count, list, event, blocking);

    (void)flags, (void)size;
    if (err)
        *err = r;
    return r ? NULL : m->bytes + offset;
}

API cl_int clEnqueueUnmapMemObject(cl_command_queue q, cl_mem m, void *mapped, WAITS)
{
    (void)m, (void)mapped;
    return fake_enqueue(q, NOTHING, count, list, event, false);
}

API cl_int clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint dimensions, const size_t *offset,
                                  const size_t *global, const size_t *local, WAITS)
{
    struct fake_op op = NOTHING;
    cl_mem log;

    (void)offset, (void)local;
    if (dimensions < 1 || dimensions > 3 || !global)
        return CL_INVALID_VALUE;
    if (k->work) {
        memcpy(&log, &k->args[0], sizeof(log));
        if (!log)
            return CL_INVALID_KERNEL_ARGS;
        op.log = (uint32_t *)(void *)log->bytes;
        op.tag = (uint32_t)k->args[1];
        op.ns = k->args[2];
    }
    return fake_enqueue(q, op, count, list, event, false);
}

API cl_int clEnqueueTask(cl_command_queue q, cl_kernel k, WAITS)
{
    static const size_t one = 1;

    return clEnqueueNDRangeKernel(q, k, 1, NULL, &one, NULL, count, list, event);
}

struct native {
    void (*fn)(void *);
    uint64_t args[];
};

static void run_native(void *opaque)
{
    struct native *n = opaque;

    n->fn(n->args);
    free(n);
}

API cl_int clEnqueueNativeKernel(cl_command_queue q, void (*fn)(void *), void *args, size_t bytes, cl_uint mems,
                                 const cl_mem *mem_list, const void **args_mem_loc, WAITS)
{
    struct native *n;

    if (!fn || (args != NULL) != (bytes != 0) || (mems && !args_mem_loc))
        return CL_INVALID_VALUE;
    n = malloc(sizeof(*n) + bytes + sizeof(uint64_t));
    n->fn = fn;
    if (bytes)
        memcpy(n->args, args, bytes);
    for (cl_uint i = 0; i < mems; i++) /* the memory itself in the place of its handle */
        memcpy((char *)n->args + ((const char *)args_mem_loc[i] - (const char *)args), &mem_list[i]->bytes,
               sizeof(void *));
    return fake_enqueue(q, (struct fake_op){.kind = FAKE_HOST, .fn = run_native, .arg = n}, count, list, event, false);
}

API cl_int clEnqueueMigrateMemObjects(cl_command_queue q, cl_uint mems, const cl_mem *mem_list,
                                      cl_mem_migration_flags flags, WAITS)
{
    (void)mems, (void)mem_list, (void)flags;
    return fake_enqueue(q, NOTHING, count, list, event, false);
}

API cl_int clEnqueueMarkerWithWaitList(cl_command_queue q, WAITS)
{
    return fake_enqueue(q, NOTHING, count, list, event, false);
}

API cl_int clEnqueueBarrierWithWaitList(cl_command_queue q, WAITS)
{
    return fake_enqueue(q, NOTHING, count, list, event, false);
}

API cl_int clEnqueueMarker(cl_command_queue q, cl_event *event)
{
    return fake_enqueue(q, NOTHING, 0, NULL, event, false);
}

API cl_int clEnqueueBarrier(cl_command_queue q)
{
    return fake_enqueue(q, NOTHING, 0, NULL, NULL, false);
}

API cl_int clEnqueueWaitForEvents(cl_command_queue q, cl_uint count, const cl_event *list)
{
    return fake_enqueue(q, NOTHING, count, list, NULL, false);
}
