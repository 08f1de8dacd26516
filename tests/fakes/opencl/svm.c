/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that host and device share by address. */
#include "internal.h"

#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define WAITS cl_uint count, const cl_event *list, cl_event *event

API void *clSVMAlloc(cl_context c, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
    (void)c, (void)flags, (void)alignment;
    return calloc(1, size);
}

API void clSVMFree(cl_context c, void *p)
{
    (void)c;
    free(p);
}

API cl_int clEnqueueSVMMemcpy(cl_command_queue q, cl_bool blocking, void *to, const void *from, size_t size, WAITS)
{
    return fake_enqueue(q, (struct fake_op){.kind = FAKE_COPY, .dst = to, .src = from, .bytes = size}, count, list,
                        event, blocking);
}

API cl_int clEnqueueSVMMemFill(cl_command_queue q, void *to, const void *pattern, size_t width, size_t size, WAITS)
{
    return fake_enqueue(q, fake_fill_op(to, pattern, width, size), count, list, event, false);
}

API cl_int clEnqueueSVMMap(cl_command_queue q, cl_bool blocking, cl_map_flags flags, void *p, size_t size, WAITS)
{
    (void)flags, (void)p, (void)size;
    return fake_enqueue(q, (struct fake_op){.kind = FAKE_WORK}, count, list, event, blocking);
}

API cl_int clEnqueueSVMUnmap(cl_command_queue q, void *p, WAITS)
{
    (void)p;
    return fake_enqueue(q, (struct fake_op){.kind = FAKE_WORK}, count, list, event, false);
}

struct freeing {
    cl_command_queue queue;
    void (*fn)(cl_command_queue, cl_uint, void *[], void *);
    void *data;
    cl_uint count;
    void *pointers[];
};

static void run_free(void *opaque)
{
    struct freeing *f = opaque;

    if (f->fn)
        f->fn(f->queue, f->count, f->pointers, f->data);
    for (cl_uint i = 0; !f->fn && i < f->count; i++)
        free(f->pointers[i]);
    free(f);
}

API cl_int clEnqueueSVMFree(cl_command_queue q, cl_uint n, void *pointers[],
                            void (*fn)(cl_command_queue, cl_uint, void *[], void *), void *data, WAITS)
{
    struct freeing *f;

    if (!n || !pointers)
        return CL_INVALID_VALUE;
    f = malloc(sizeof(*f) + n * sizeof(void *));
    *f = (struct freeing){q, fn, data, n};
    for (cl_uint i = 0; i < n; i++)
        f->pointers[i] = pointers[i];
    return fake_enqueue(q, (struct fake_op){.kind = FAKE_HOST, .fn = run_free, .arg = f}, count, list, event, false);
}
