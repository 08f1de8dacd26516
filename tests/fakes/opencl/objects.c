/* SPDX-License-Identifier: Apache-2.0 */
/* Platform, devices, contexts, memory, programs, kernels. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

CUresult cuInit(unsigned flags);
CUresult cuDevicePrimaryCtxRetain(CUcontext *ret, CUdevice d);

static const void *const k_table[1];
const void *const fake_dispatch = k_table;
struct _cl_platform_id fake_platform = {k_table};
struct _cl_device_id fake_devices[DEVICES];

void fake_start(void)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&once);
    if (!fake_devices[0].dispatch) {
        cuInit(0);
        for (int i = DEVICES - 1; i >= 0; i--) {
            cuDevicePrimaryCtxRetain(&fake_devices[i].ctx, i);
            fake_devices[i].index = i;
            fake_devices[i].dispatch = k_table;
        }
    }
    pthread_mutex_unlock(&once);
}

void *fake_new(size_t bytes)
{
    struct fake_head *h = calloc(1, bytes);

    h->dispatch = k_table;
    h->references = 1;
    return h;
}

void fake_retain(void *object)
{
    struct fake_head *h = object;

    pthread_mutex_lock(&fake_lock);
    h->references++;
    pthread_mutex_unlock(&fake_lock);
}

bool fake_release(void *object)
{
    struct fake_head *h = object;
    bool last;

    pthread_mutex_lock(&fake_lock);
    last = --h->references == 0;
    pthread_mutex_unlock(&fake_lock);
    return last;
}

cl_int fake_answer(const void *value, size_t bytes, size_t size, void *ret, size_t *ret_size)
{
    if (ret && size < bytes)
        return CL_INVALID_VALUE;
    if (ret)
        memcpy(ret, value, bytes);
    if (ret_size)
        *ret_size = bytes;
    return CL_SUCCESS;
}

#define ANSWER(value) fake_answer(&(value), sizeof(value), size, ret, ret_size)

API cl_int clGetPlatformIDs(cl_uint n, cl_platform_id *platforms, cl_uint *count)
{
    fake_start();
    if (n && platforms)
        platforms[0] = &fake_platform;
    if (count)
        *count = 1;
    return CL_SUCCESS;
}

API cl_int clGetPlatformInfo(cl_platform_id p, cl_platform_info name, size_t size, void *ret, size_t *ret_size)
{
    static const char k_name[] = "Fake";

    if (p != &fake_platform || name != CL_PLATFORM_NAME)
        return CL_INVALID_VALUE;
    return ANSWER(k_name);
}

API cl_int clGetDeviceIDs(cl_platform_id p, cl_device_type type, cl_uint n, cl_device_id *devices, cl_uint *count)
{
    (void)type;
    fake_start();
    if (p != &fake_platform)
        return CL_INVALID_PLATFORM;
    for (cl_uint i = 0; devices && i < n && i < DEVICES; i++)
        devices[i] = &fake_devices[i];
    if (count)
        *count = DEVICES;
    return CL_SUCCESS;
}

API cl_int clGetDeviceInfo(cl_device_id d, cl_device_info name, size_t size, void *ret, size_t *ret_size)
{
    static const cl_device_type type = CL_DEVICE_TYPE_GPU;
    static const cl_ulong total = 1 << 30;
    cl_platform_id platform = &fake_platform;
    char text[] = "fake 0";

    switch (name) {
    case CL_DEVICE_TYPE:
        return ANSWER(type);
    case CL_DEVICE_PLATFORM:
        return ANSWER(platform);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return ANSWER(total);
    case CL_DEVICE_NAME:
        text[5] = (char)('0' + d->index);
        return ANSWER(text);
    default:
        return CL_INVALID_VALUE;
    }
}

/* ---- contexts ---- */

API cl_context clCreateContext(const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
                               void (*notify)(const char *, const void *, size_t, void *), void *data, cl_int *err)
{
    cl_context c = NULL;

    (void)properties, (void)notify, (void)data;
    if (n == 1 && devices && devices[0]) {
        c = fake_new(sizeof(*c));
        c->device = devices[0];
    }
    if (err)
        *err = c ? CL_SUCCESS : CL_INVALID_VALUE;
    return c;
}

API cl_int clRetainContext(cl_context c)
{
    fake_retain(c);
    return CL_SUCCESS;
}

API cl_int clReleaseContext(cl_context c)
{
    if (fake_release(c)) {
        if (c->notify)
            c->notify(c, c->data);
        free(c);
    }
    return CL_SUCCESS;
}

API cl_int clGetContextInfo(cl_context c, cl_context_info name, size_t size, void *ret, size_t *ret_size)
{
    return name == CL_CONTEXT_DEVICES ? ANSWER(c->device) : CL_INVALID_VALUE;
}

API cl_int clSetContextDestructorCallback(cl_context c, void (*notify)(cl_context, void *), void *data)
{
    if (!notify || c->notify)
        return CL_INVALID_VALUE;
    c->data = data;
    c->notify = notify;
    return CL_SUCCESS;
}

/* ---- memory ---- */

API cl_mem clCreateBuffer(cl_context c, cl_mem_flags flags, size_t size, void *host, cl_int *err)
{
    cl_mem m = fake_new(sizeof(*m));

    (void)c, (void)flags;
    m->size = size;
    m->bytes = calloc(1, size);
    if (host)
        memcpy(m->bytes, host, size);
    if (err)
        *err = CL_SUCCESS;
    return m;
}

API cl_int clRetainMemObject(cl_mem m)
{
    fake_retain(m);
    return CL_SUCCESS;
}

API cl_int clReleaseMemObject(cl_mem m)
{
    if (fake_release(m)) {
        if (m->notify)
            m->notify(m, m->data);
        free(m->bytes);
        free(m);
    }
    return CL_SUCCESS;
}

API cl_int clGetMemObjectInfo(cl_mem m, cl_mem_info name, size_t size, void *ret, size_t *ret_size)
{
    return name == CL_MEM_SIZE ? ANSWER(m->size) : CL_INVALID_VALUE;
}

API cl_int clSetMemObjectDestructorCallback(cl_mem m, void (*notify)(cl_mem, void *), void *data)
{
    if (!notify || m->notify)
        return CL_INVALID_VALUE;
    m->data = data;
    m->notify = notify;
    return CL_SUCCESS;
}

/* ---- programs and kernels ---- */

API cl_program clCreateProgramWithSource(cl_context c, cl_uint n, const char **strings, const size_t *lengths,
                                         cl_int *err)
{
    cl_program p = n && strings ? fake_new(sizeof(*p)) : NULL;

    (void)c, (void)lengths;
    if (err)
        *err = p ? CL_SUCCESS : CL_INVALID_VALUE;
    return p;
}

API cl_int clBuildProgram(cl_program p, cl_uint n, const cl_device_id *devices, const char *options,
                          void (*notify)(cl_program, void *), void *data)
{
    (void)n, (void)devices, (void)options;
    if (notify)
        notify(p, data);
    return CL_SUCCESS;
}

API cl_int clRetainProgram(cl_program p)
{
    fake_retain(p);
    return CL_SUCCESS;
}

API cl_int clReleaseProgram(cl_program p)
{
    if (fake_release(p))
        free(p);
    return CL_SUCCESS;
}

API cl_kernel clCreateKernel(cl_program p, const char *name, cl_int *err)
{
    cl_kernel k = fake_new(sizeof(*k));

    (void)p;
    k->work = strcmp(name, "work") == 0;
    if (err)
        *err = CL_SUCCESS;
    return k;
}

API cl_int clRetainKernel(cl_kernel k)
{
    fake_retain(k);
    return CL_SUCCESS;
}

API cl_int clReleaseKernel(cl_kernel k)
{
    if (fake_release(k))
        free(k);
    return CL_SUCCESS;
}

API cl_int clSetKernelArg(cl_kernel k, cl_uint i, size_t size, const void *value)
{
    if (i >= 3 || size > sizeof(k->args[0]) || !value)
        return CL_INVALID_VALUE;
    k->args[i] = 0;
    memcpy(&k->args[i], value, size);
    return CL_SUCCESS;
}
