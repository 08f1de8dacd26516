/* SPDX-License-Identifier: Apache-2.0 */
/* The memory limit on OpenCL. If there is one, these functions stand between our entries and the real ones,
 * in the tables of all loaders and layers. A call may come through both (the program's own and the layer's): the outer
 * one counts.
 *
 * Objects of a context with several devices may lie on each of them, and count on each. The library destroys
 * an object after its last reference; then this gives its bytes back. */
#include "shim/opencl/opencl_memory.h"

#include "base/lock.h"
#include "base/log.h"
#include "base/map.h"
#include "shim/common/memory_limit.h"

#include <stdlib.h>
#include <string.h>

#define DEVICES 8

/* Counted bytes. */
struct charge {
    uint64_t bytes;
    int n, devices[DEVICES];
};

/* Each table has counting functions of its own, which know the real ones by their number. */
#define SIDES 8u                  /* loaders, and layers in them; calls of others do not count */

static struct xs_ocl_table g_real[SIDES]; /* written before others use the table */
static unsigned g_count;                  /* under g_lock */
/* Lock 7: g_count. The first call of a loader holds it. */
static struct xs_lock g_lock;
static struct xs_map g_svm; /* pointer to its charge */
static _Thread_local int g_inside;

/* Parts of a device share its memory. */
static cl_device_id whole(const struct xs_ocl_table *T, cl_device_id device)
{
    cl_device_id parent = NULL;

    for (int i = 0; i < 8; i++) {
        if (T->clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent, NULL) !=
                CL_SUCCESS ||
            !parent)
            break;
        device = parent;
    }
    return device;
}

static int device_of(const struct xs_ocl_table *T, cl_device_id device)
{
    uint64_t id;
    cl_ulong total = 0;
    int known;

    device = whole(T, device);
    id = (uint64_t)(uintptr_t)device;
    known = xs_mem_find(id);
    if (known >= 0)
        return known;
    if (T->clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(total), &total, NULL) != CL_SUCCESS)
        total = 0;
    return xs_mem_add(id, total);
}

static void give_back(struct charge *c)
{
    for (int i = 0; i < c->n; i++)
        xs_mem_give(c->devices[i], c->bytes);
    free(c);
}

/* Counts on all devices of the context. @return NULL: more than the limit, or out of memory */
static struct charge *charge(const struct xs_ocl_table *T, cl_context context, uint64_t bytes)
{
    struct charge *c = calloc(1, sizeof(*c));
    cl_device_id devices[DEVICES];
    size_t size = 0;

    if (!c)
        return NULL;
    c->bytes = bytes;
    if (T->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, &size) != CL_SUCCESS)
        size = 0; /* no context, or one of many devices: the real function returns the error */
    for (size_t i = 0; i < size / sizeof(devices[0]); i++) {
        int d = device_of(T, devices[i]);
        bool again = false;

        for (int k = 0; k < c->n; k++)
            again |= c->devices[k] == d;
        if (d < 0 || again)
            continue;
        if (!xs_mem_take(d, bytes)) {
            give_back(c);
            return NULL;
        }
        c->devices[c->n++] = d;
    }
    return c;
}

static void destroyed(cl_mem mem, void *user_data)
{
    (void)mem;
    give_back(user_data);
}

static cl_mem refuse(cl_int *errcode_ret)
{
    if (errcode_ret)
        *errcode_ret = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return NULL;
}

/* From now on these bytes are the object's. */
static cl_mem keep(const struct xs_ocl_table *T, cl_mem mem, struct charge *c)
{
    if (!mem || T->clSetMemObjectDestructorCallback(mem, destroyed, c) != CL_SUCCESS)
        give_back(c); /* no call would tell us of its end: rather do not count it */
    return mem;
}

/* An object that has a known size only after its creation. */
static cl_mem judge(const struct xs_ocl_table *T, cl_context context, cl_mem mem, cl_int *errcode_ret)
{
    struct charge *c;
    size_t bytes = 0;

    if (!mem || T->clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL) != CL_SUCCESS)
        return mem;
    c = charge(T, context, bytes);
    if (c)
        return keep(T, mem, c);
    T->clReleaseMemObject(mem);
    return refuse(errcode_ret);
}

/* ---- the functions; `side` is the number of the real ones ---- */

#define REAL const struct xs_ocl_table *T = &g_real[side]

static cl_mem buffer(unsigned side, cl_context context, const cl_mem_properties *properties, bool plain,
                     cl_mem_flags flags, size_t size, void *host_ptr, cl_int *errcode_ret)
{
    REAL;
    struct charge *c = NULL;
    cl_mem mem;

    if (!g_inside && !(c = charge(T, context, size)))
        return refuse(errcode_ret);
    g_inside++;
    mem = plain ? T->clCreateBuffer(context, flags, size, host_ptr, errcode_ret)
                : T->clCreateBufferWithProperties(context, properties, flags, size, host_ptr, errcode_ret);
    g_inside--;
    return c ? keep(T, mem, c) : mem;
}

#define JUDGED(call)                                                                                         \
    REAL;                                                                                                    \
    cl_mem mem;                                                                                              \
    g_inside++;                                                                                              \
    mem = T->call;                                                                                           \
    g_inside--;                                                                                              \
    return g_inside ? mem : judge(T, context, mem, errcode_ret)

static cl_mem image_2d(unsigned side, cl_context context, cl_mem_flags flags, const cl_image_format *format,
                       size_t width, size_t height, size_t pitch, void *host_ptr, cl_int *errcode_ret)
{
    JUDGED(clCreateImage2D(context, flags, format, width, height, pitch, host_ptr, errcode_ret));
}

static cl_mem image_3d(unsigned side, cl_context context, cl_mem_flags flags, const cl_image_format *format,
                       size_t width, size_t height, size_t depth, size_t pitch, size_t slice, void *host_ptr,
                       cl_int *errcode_ret)
{
    JUDGED(
        clCreateImage3D(context, flags, format, width, height, depth, pitch, slice, host_ptr, errcode_ret));
}

static cl_mem image(unsigned side, cl_context context, cl_mem_flags flags, const cl_image_format *format,
                    const cl_image_desc *desc, void *host_ptr, cl_int *errcode_ret)
{
    JUDGED(clCreateImage(context, flags, format, desc, host_ptr, errcode_ret));
}

static cl_mem image_with(unsigned side, cl_context context, const cl_mem_properties *properties,
                         cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *desc,
                         void *host_ptr, cl_int *errcode_ret)
{
    JUDGED(clCreateImageWithProperties(context, properties, flags, format, desc, host_ptr, errcode_ret));
}

static cl_mem make_pipe(unsigned side, cl_context context, cl_mem_flags flags, cl_uint packet_size,
                        cl_uint max_packets, const cl_pipe_properties *properties, cl_int *errcode_ret)
{
    JUDGED(clCreatePipe(context, flags, packet_size, max_packets, properties, errcode_ret));
}

static void *svm_alloc(unsigned side, cl_context context, cl_svm_mem_flags flags, size_t size,
                       cl_uint alignment)
{
    REAL;
    struct charge *c = NULL;
    void *p;

    if (!g_inside && !(c = charge(T, context, size)))
        return NULL; /* the only error of this function */
    g_inside++;
    p = T->clSVMAlloc(context, flags, size, alignment);
    g_inside--;
    if (c && (!p || xs_map_put(&g_svm, (uint64_t)(uintptr_t)p, c) < 0))
        give_back(c);
    return p;
}

static void svm_gone(void *p)
{
    struct charge *c = p ? xs_map_remove(&g_svm, (uint64_t)(uintptr_t)p) : NULL;

    if (c)
        give_back(c);
}

static void svm_free(unsigned side, cl_context context, void *p)
{
    REAL;

    svm_gone(p); /* before: another allocation may have the address right after */
    T->clSVMFree(context, p);
}

typedef void (*svm_free_fn)(cl_command_queue queue, cl_uint n, void *pointers[], void *user_data);

static cl_int enqueue_svm_free(unsigned side, cl_command_queue queue, cl_uint n, void *pointers[],
                               svm_free_fn fn, void *user_data, cl_uint n_waits, const cl_event *waits,
                               cl_event *event)
{
    REAL;

    if (!fn && pointers) /* else that frees them */
        for (cl_uint i = 0; i < n; i++)
            svm_gone(pointers[i]);
    return T->clEnqueueSVMFree(queue, n, pointers, fn, user_data, n_waits, waits, event);
}

static cl_int device_info(unsigned side, cl_device_id device, cl_device_info name, size_t size, void *value,
                          size_t *ret_size)
{
    REAL;
    cl_int r = T->clGetDeviceInfo(device, name, size, value, ret_size);

    if (r == CL_SUCCESS && value && size >= sizeof(cl_ulong) &&
        (name == CL_DEVICE_GLOBAL_MEM_SIZE || name == CL_DEVICE_MAX_MEM_ALLOC_SIZE)) {
        uint64_t bytes;

        memcpy(&bytes, value, sizeof(bytes));
        xs_mem_view(device_of(T, device), NULL, &bytes);
        memcpy(value, &bytes, sizeof(bytes));
    }
    return r;
}

#define ONE(number, ret, name, params, ...)                                                                  \
    static ret counting_##number##_##name params                                                             \
    {                                                                                                        \
        const unsigned side = number;                                                                        \
        return __VA_ARGS__;                                                                                  \
    }
#define EACH(ret, name, params, ...)                                                                         \
    ONE(0, ret, name, params, __VA_ARGS__)                                                                   \
    ONE(1, ret, name, params, __VA_ARGS__)                                                                   \
    ONE(2, ret, name, params, __VA_ARGS__)                                                                   \
    ONE(3, ret, name, params, __VA_ARGS__)                                                                   \
    ONE(4, ret, name, params, __VA_ARGS__)                                                                   \
    ONE(5, ret, name, params, __VA_ARGS__)                                                                   \
    ONE(6, ret, name, params, __VA_ARGS__)                                                                   \
    ONE(7, ret, name, params, __VA_ARGS__)                                                                   \
    static __typeof__(&counting_0_##name) const counting_##name[SIDES] = {                                   \
        counting_0_##name, counting_1_##name, counting_2_##name, counting_3_##name,                          \
        counting_4_##name, counting_5_##name, counting_6_##name, counting_7_##name};

EACH(cl_mem, clCreateBuffer, (cl_context c, cl_mem_flags f, size_t n, void *p, cl_int *e),
      buffer(side, c, NULL, true, f, n, p, e))
EACH(cl_mem, clCreateBufferWithProperties,
      (cl_context c, const cl_mem_properties *o, cl_mem_flags f, size_t n, void *p, cl_int *e),
      buffer(side, c, o, false, f, n, p, e))
EACH(cl_mem, clCreateImage2D,
      (cl_context c, cl_mem_flags f, const cl_image_format *i, size_t w, size_t h, size_t pitch, void *p,
       cl_int *e),
      image_2d(side, c, f, i, w, h, pitch, p, e))
EACH(cl_mem, clCreateImage3D,
      (cl_context c, cl_mem_flags f, const cl_image_format *i, size_t w, size_t h, size_t d, size_t pitch,
       size_t slice, void *p, cl_int *e),
      image_3d(side, c, f, i, w, h, d, pitch, slice, p, e))
EACH(cl_mem, clCreateImage,
      (cl_context c, cl_mem_flags f, const cl_image_format *i, const cl_image_desc *d, void *p, cl_int *e),
      image(side, c, f, i, d, p, e))
EACH(cl_mem, clCreateImageWithProperties,
      (cl_context c, const cl_mem_properties *o, cl_mem_flags f, const cl_image_format *i,
       const cl_image_desc *d, void *p, cl_int *e),
      image_with(side, c, o, f, i, d, p, e))
EACH(cl_mem, clCreatePipe,
      (cl_context c, cl_mem_flags f, cl_uint size, cl_uint max, const cl_pipe_properties *o, cl_int *e),
      make_pipe(side, c, f, size, max, o, e))
EACH(void *, clSVMAlloc, (cl_context c, cl_svm_mem_flags f, size_t n, cl_uint a),
      svm_alloc(side, c, f, n, a))
EACH(void, clSVMFree, (cl_context c, void *p), svm_free(side, c, p))
EACH(cl_int, clEnqueueSVMFree,
      (cl_command_queue q, cl_uint n, void *p[], svm_free_fn fn, void *u, cl_uint nw, const cl_event *w,
       cl_event *e),
      enqueue_svm_free(side, q, n, p, fn, u, nw, w, e))
EACH(cl_int, clGetDeviceInfo, (cl_device_id d, cl_device_info i, size_t n, void *v, size_t *r),
      device_info(side, d, i, n, v, r))

void xs_ocl_memory_wrap(struct xs_ocl_table *t)
{
    unsigned side;

    if (!xs_mem_limited())
        return;
    xs_lock_acquire(&g_lock);
    side = g_count;
    if (side < SIDES)
        g_real[g_count++] = *t;
    xs_lock_release(&g_lock);
    if (side == SIDES) {
        XS_WARN_ONCE("OpenCL: more than %u loaders in one process; what others allocate does not count", SIDES);
        return;
    }
#define PUT(name)                                                                                            \
    if (t->name != xs_ocl_missing.name)                                                                      \
        t->name = counting_##name[side];
    PUT(clCreateBuffer)
    PUT(clCreateBufferWithProperties)
    PUT(clCreateImage2D)
    PUT(clCreateImage3D)
    PUT(clCreateImage)
    PUT(clCreateImageWithProperties)
    PUT(clCreatePipe)
    PUT(clSVMAlloc)
    PUT(clSVMFree)
    PUT(clEnqueueSVMFree)
    PUT(clGetDeviceInfo)
#undef PUT
}
