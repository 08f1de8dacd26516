/* SPDX-License-Identifier: Apache-2.0 */
/* Start, devices, errors. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <linux/kfd_ioctl.h>

#include "internal.h"

static _Thread_local int t_device;
static _Thread_local hipError_t t_error;
static int g_commands;

bool fake_hip_fault(const char *what)
{
    const char *set = getenv("FAKE_HIP");

    return set && strcmp(set, what) == 0;
}

hipError_t fake_result(hipError_t r)
{
    if (r != XS_HIP_SUCCESS)
        t_error = r;
    return r;
}

static hipError_t make_current(int dev)
{
    static CUcontext contexts[DEVICES]; /* under fake_lock; forgotten by a reset */
    CUcontext c;

    pthread_mutex_lock(&fake_lock);
    c = contexts[dev];
    for (struct CUctx_st *p = fake_contexts; p != c && c; p = p->next)
        if (!p) {
            c = NULL;
            break;
        }
    pthread_mutex_unlock(&fake_lock);
    if (!c && cuDevicePrimaryCtxRetain(&c, dev))
        return XS_HIP_NO_DEVICE;
    pthread_mutex_lock(&fake_lock);
    contexts[dev] = c;
    pthread_mutex_unlock(&fake_lock);
    return cuCtxSetCurrent(c);
}

/* What ROCr does with the kernel's driver, where a test plays that one (tests/fakes/kfd): it asks the version and makes
 * two queues for kernels and one for copies on a device. Commands stand still while those are off, and are as fast as their
 * masks let them be. */
static void make_queues(int dev)
{
    static bool made[DEVICES];
    static int kfd = -1;
    void *off = dlsym(RTLD_DEFAULT, "fake_kfd_is_off"), *speed = dlsym(RTLD_DEFAULT, "fake_kfd_speed_of");
    struct kfd_ioctl_get_version_args version;

    pthread_mutex_lock(&fake_lock);
    if (off && kfd < 0) {
        kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
        ioctl(kfd, AMDKFD_IOC_GET_VERSION, &version);
        memcpy(&fake_paused, &off, sizeof(off));
        memcpy(&fake_speed, &speed, sizeof(speed));
    }
    for (unsigned i = 0; off && !made[dev] && i < 3; i++) {
        struct kfd_ioctl_create_queue_args a = {
            .ring_base_address = 0x100000u * (i + 1), .ring_size = 65536, .gpu_id = 0x4d00u + (unsigned)dev,
            .queue_type = i < 2 ? KFD_IOC_QUEUE_TYPE_COMPUTE_AQL : KFD_IOC_QUEUE_TYPE_SDMA, .queue_percentage = 100,
            .queue_priority = 7};

        ioctl(kfd, AMDKFD_IOC_CREATE_QUEUE, &a);
    }
    made[dev] = true;
    pthread_mutex_unlock(&fake_lock);
}

static bool alive(CUcontext c)
{
    bool found = false;

    pthread_mutex_lock(&fake_lock);
    for (struct CUctx_st *p = fake_contexts; p && !found; p = p->next)
        found = p == c;
    pthread_mutex_unlock(&fake_lock);
    return found;
}

hipError_t fake_ready(void)
{
    if (fake_hip_fault("no_device"))
        return XS_HIP_NO_DEVICE;
    cuInit(0);
    if (fake_current() && fake_current()->dev == t_device && alive(fake_current()))
        return XS_HIP_SUCCESS;
    make_queues(t_device);
    return make_current(t_device);
}

hipError_t fake_accepts(hipStream_t s)
{
    hipError_t r = fake_ready();

    if (r)
        return r;
    if (!fake_knows_stream(s))
        return XS_HIP_CONTEXT_DESTROYED;
    if (fake_hip_fault("lost") && __atomic_add_fetch(&g_commands, 1, __ATOMIC_RELAXED) > 100)
        return FAKE_LOST;
    return XS_HIP_SUCCESS;
}

API hipInit(unsigned flags)
{
    (void)flags;
    return fake_result(fake_ready());
}

API hipRuntimeGetVersion(int *v)
{
    *v = 60443484;
    return 0;
}

API hipDriverGetVersion(int *v)
{
    return hipRuntimeGetVersion(v);
}

API hipGetDeviceCount(int *n)
{
    hipError_t r = fake_ready();

    *n = r ? 0 : DEVICES;
    return fake_result(r);
}

API hipGetDevice(int *d)
{
    hipError_t r = fake_ready();

    *d = t_device;
    return fake_result(r);
}

API hipSetDevice(int d)
{
    if (d < 0 || d >= DEVICES)
        return fake_result(101);
    t_device = d;
    return fake_result(fake_ready());
}

API hipDeviceGetPCIBusId(char *text, int n, int d)
{
    snprintf(text, (size_t)n, "0000:%02x:00.0", 0xc3 + d);
    return 0;
}

API hipDeviceSynchronize(void)
{
    hipError_t r = fake_ready();

    return fake_result(r ? r : fake_context_synchronize());
}

API hipCtxSynchronize(void)
{
    return hipDeviceSynchronize();
}

API hipDeviceReset(void)
{
    hipError_t r = fake_ready();

    return fake_result(r ? r : cuDevicePrimaryCtxReset_v2(t_device));
}

API hipDevicePrimaryCtxReset(int dev) /* as ROCm's: nothing ends */
{
    (void)dev;
    return fake_result(fake_ready());
}

API hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 1;
    *greatest = -1;
    return 0;
}

API hipGetLastError(void)
{
    hipError_t r = t_error;

    t_error = XS_HIP_SUCCESS;
    return r;
}

API hipPeekAtLastError(void)
{
    return t_error;
}

const char *hipGetErrorString(hipError_t r) __attribute__((visibility("default")));
const char *hipGetErrorString(hipError_t r)
{
    switch (r) {
    case XS_HIP_SUCCESS:
        return "no error";
    case XS_HIP_INVALID_FUNCTION:
        return "invalid device function";
    case XS_HIP_CONTEXT_DESTROYED:
        return "context is destroyed";
    case XS_HIP_NO_DEVICE:
        return "no ROCm-capable device is detected";
    default:
        return "error";
    }
}
