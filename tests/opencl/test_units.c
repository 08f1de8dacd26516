/* SPDX-License-Identifier: Apache-2.0 */
/* Parts without a device: identity, watched events, size classes, filter. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <gnu/libc-version.h>

#include <cmocka.h>

#include "hal/opencl/hal.h"
#include "shim/common/filter.h"
#include "shim/opencl/opencl_call.h"

bool xs_shim_tracing;

/* A vendor that knows what the test says. */
static struct {
    bool khr, nv, nv_domain, amd;
    cl_device_type type;
    const char *platform, *name;
} g_vendor;

#define PARENT ((cl_device_id)(uintptr_t)16)
#define CHILD  ((cl_device_id)(uintptr_t)32)

static cl_int answer(const void *from, size_t n, size_t size, void *value, size_t *ret_size)
{
    if (value && size < n)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, from, n);
    if (ret_size)
        *ret_size = n;
    return CL_SUCCESS;
}

static cl_int device_info(cl_device_id device, cl_device_info name, size_t size, void *value,
                          size_t *ret_size)
{
    static const cl_uint khr[4] = {2, 0xC1, 3, 1}, nv_bus = 0x41, nv_slot = 2 << 3, nv_domain = 1;
    static const uint8_t amd[24] = {1, 0, 0, 0, [21] = 0x83, [22] = 4, [23] = 2};
    cl_device_id parent = device == CHILD ? PARENT : NULL;
    cl_platform_id platform = (cl_platform_id)(uintptr_t)8;

    switch ((int)name) {
    case CL_DEVICE_PARENT_DEVICE: return answer(&parent, sizeof(parent), size, value, ret_size);
    case CL_DEVICE_PLATFORM: return answer(&platform, sizeof(platform), size, value, ret_size);
    case CL_DEVICE_TYPE: return answer(&g_vendor.type, sizeof(g_vendor.type), size, value, ret_size);
    case CL_DEVICE_NAME:
        return answer(device == CHILD ? "a part" : g_vendor.name,
                      strlen(device == CHILD ? "a part" : g_vendor.name) + 1, size, value, ret_size);
    case CL_DEVICE_PCI_BUS_INFO_KHR:
        return g_vendor.khr ? answer(khr, sizeof(khr), size, value, ret_size) : CL_INVALID_VALUE;
    case CL_DEVICE_PCI_BUS_ID_NV:
        return g_vendor.nv ? answer(&nv_bus, sizeof(nv_bus), size, value, ret_size) : CL_INVALID_VALUE;
    case CL_DEVICE_PCI_SLOT_ID_NV:
        return g_vendor.nv ? answer(&nv_slot, sizeof(nv_slot), size, value, ret_size) : CL_INVALID_VALUE;
    case CL_DEVICE_PCI_DOMAIN_ID_NV:
        return g_vendor.nv_domain ? answer(&nv_domain, sizeof(nv_domain), size, value, ret_size)
                                  : CL_INVALID_VALUE;
    case CL_DEVICE_TOPOLOGY_AMD:
        return g_vendor.amd ? answer(amd, sizeof(amd), size, value, ret_size) : CL_INVALID_VALUE;
    default: return CL_INVALID_VALUE;
    }
}

static cl_int platform_info(cl_platform_id platform, cl_platform_info name, size_t size, void *value,
                            size_t *ret_size)
{
    (void)platform;
    (void)name;
    return answer(g_vendor.platform, strlen(g_vendor.platform) + 1, size, value, ret_size);
}

static struct {
    void (*notify)(cl_event, cl_int, void *);
    void *data;
} g_watched[20000];
static _Atomic int g_watched_count;
static bool g_refuse;

static cl_int set_callback(cl_event event, cl_int type, void (*notify)(cl_event, cl_int, void *), void *data)
{
    int i;

    (void)event;
    assert_int_equal(type, CL_COMPLETE);
    if (g_refuse)
        return CL_INVALID_VALUE;
    i = atomic_fetch_add(&g_watched_count, 1) % 20000;
    g_watched[i].notify = notify;
    g_watched[i].data = data;
    return CL_SUCCESS;
}

static _Atomic int g_released;
static int g_depth;

static cl_int release_event(cl_event event)
{
    assert_true(event == (cl_event)(uintptr_t)64);
    atomic_fetch_add(&g_released, 1);
    return CL_SUCCESS;
}

int xsched_priv_depth(void)
{
    return g_depth;
}

void xsched_priv_depth_add(int delta)
{
    (void)delta;
}

static const struct xs_ocl_api g_api = {
    .clReleaseEvent = release_event,
    .clGetDeviceInfo = device_info,
    .clGetPlatformInfo = platform_info,
    .clSetEventCallback = set_callback,
};

static _Atomic uint64_t g_completed, g_lost, g_sum;

void xsched_priv_completed(struct xs_queue *q, uint64_t number)
{
    (void)q;
    atomic_fetch_add(&g_completed, 1);
    atomic_fetch_add(&g_sum, number);
}

void xsched_priv_mark_lost(struct xs_queue *q, uint64_t number)
{
    (void)q;
    atomic_fetch_add(&g_lost, 1);
    atomic_fetch_add(&g_sum, number);
}

static void identity(void **state)
{
    XDevice a, b;

    (void)state;
    g_vendor = (__typeof__(g_vendor)){.type = CL_DEVICE_TYPE_GPU, .platform = "P", .name = "D"};
    g_vendor.khr = g_vendor.nv = g_vendor.amd = true;
    assert_true(xs_ocl_device_identity(&g_api, PARENT) ==
                ((XDevice)kDeviceTypeGPU << 32 | 2u << 16 | 0xC1u << 8 | 3u << 3 | 1));
    g_vendor.khr = false;
    assert_true((uint32_t)xs_ocl_device_identity(&g_api, PARENT) == (0x41u << 8 | 2u << 3));
    g_vendor.nv_domain = true;
    assert_true((uint32_t)xs_ocl_device_identity(&g_api, PARENT) == (1u << 16 | 0x41u << 8 | 2u << 3));
    g_vendor.nv = false;
    assert_true((uint32_t)xs_ocl_device_identity(&g_api, PARENT) == (0x83u << 8 | 4u << 3 | 2));
    g_vendor.amd = false;
    g_vendor.type = CL_DEVICE_TYPE_CPU;
    a = xs_ocl_device_identity(&g_api, PARENT);
    assert_true(a >> 32 == kDeviceTypeCPU);
    assert_true((a & 0xFFFF0000u) == 0xFFFF0000u);
    b = xs_ocl_device_identity(&g_api, CHILD); /* a part of it is the same hardware */
    assert_true(a == b);
    g_vendor.name = "E";
    assert_true(a != xs_ocl_device_identity(&g_api, PARENT));
    g_vendor.name = "D";
    g_vendor.platform = "Q";
    assert_true(a != xs_ocl_device_identity(&g_api, PARENT));
    g_vendor.type = CL_DEVICE_TYPE_ACCELERATOR;
    assert_true(xs_ocl_device_identity(&g_api, PARENT) >> 32 == kDeviceTypeFPGA);
}

static void *watch_thread(void *data)
{
    (void)data;
    for (uint64_t i = 1; i <= 3000; i++)
        assert_true(xsched_priv_ocl_watch(&g_api, (cl_event)(uintptr_t)64, i % 2, (struct xs_queue *)8, i));
    return NULL;
}

static void *complete_thread(void *data)
{
    int half = *(int *)data;

    for (int i = half; i < 12000; i += 2)
        g_watched[i].notify(NULL, i % 5 ? CL_COMPLETE : -14, g_watched[i].data);
    return NULL;
}

/* Every watched event is reported once with its number, in whatever thread. */
static void watches(void **state)
{
    pthread_t t[4];
    int half[2] = {0, 1};

    (void)state;
    for (int round = 0; round < 3; round++) { /* 36000 in all: records come again */
        atomic_store(&g_watched_count, 0);
        atomic_store(&g_completed, 0);
        atomic_store(&g_lost, 0);
        atomic_store(&g_sum, 0);
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&t[i], NULL, watch_thread, NULL), 0);
        for (int i = 0; i < 4; i++)
            pthread_join(t[i], NULL);
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&t[i], NULL, complete_thread, &half[i]), 0);
        for (int i = 0; i < 2; i++)
            pthread_join(t[i], NULL);
        assert_int_equal(g_completed, 12000 - 2400);
        assert_int_equal(g_lost, 2400);
        assert_int_equal(g_sum, 4 * (3000u * 3001u / 2));
    }
    /* each reference that was taken over is given back once, those of failed events a mark later */
    assert_true(xsched_priv_ocl_watch(&g_api, (cl_event)(uintptr_t)64, false, NULL, 1));
    assert_int_equal(g_released, 3 * 6000);
    g_watched[12000].notify(NULL, CL_COMPLETE, g_watched[12000].data);
    g_refuse = true;
    assert_false(xsched_priv_ocl_watch(&g_api, (cl_event)(uintptr_t)64, true, NULL, 1));
    g_refuse = false;
    atomic_store(&g_watched_count, 0);
    for (int i = 0; i < 16384; i++)
        assert_true(xsched_priv_ocl_watch(&g_api, (cl_event)(uintptr_t)64, true, NULL, 1));
    assert_false(xsched_priv_ocl_watch(&g_api, (cl_event)(uintptr_t)64, true, NULL, 1)); /* all are out */
    g_watched[77].notify(NULL, CL_COMPLETE, g_watched[77].data);
    assert_true(xsched_priv_ocl_watch(&g_api, (cl_event)(uintptr_t)64, true, NULL, 1));
}

static void classes(void **state)
{
    uint64_t before = 0;

    (void)state;
    for (uint64_t bytes = 0; bytes < 100000; bytes++) {
        uint64_t c = xs_size_class(bytes);

        assert_true(c >= before && c <= before + 8);
        before = c;
    }
    assert_true(xs_size_class(1024) == xs_size_class(1100));
    assert_true(xs_size_class(1024) != xs_size_class(2048));
    assert_true(xs_size_class(UINT64_MAX) < 256);
    assert_true(xs_ocl_key(ROW_clEnqueueReadBuffer, 5) != xs_ocl_key(ROW_clEnqueueWriteBuffer, 5));
    assert_true(xs_ocl_key_range(ROW_clEnqueueNDRangeKernel, NULL, 2, (size_t[]){4, 8}) !=
                xs_ocl_key_range(ROW_clEnqueueNDRangeKernel, NULL, 2, (size_t[]){8, 4}));
    assert_true(xs_ocl_key_range(ROW_clEnqueueNDRangeKernel, NULL, 2, NULL) != 0);
}

static void filters(void **state)
{
    (void)state;
    assert_true(xs_filter_function("clFinish", "clFinish"));
    assert_false(xs_filter_function("clFinish", "clFinis"));
    assert_false(xs_filter_function("clFinis", "clFinish"));
    assert_true(xs_filter_function("clFlush, clEnqueue*", "clEnqueueReadBuffer"));
    assert_true(xs_filter_function("*", "clFlush"));
    assert_false(xs_filter_function("", "clFlush"));
    assert_false(xs_filter_function(",,@libm", "clFlush"));
    assert_true(xs_filter_has_libraries("clFlush,@libm"));
    assert_false(xs_filter_has_libraries("clFlush"));
    assert_true(xs_filter_caller("@libc.so", (const void *)(uintptr_t)gnu_get_libc_version));
    assert_true(xs_filter_caller("@libc.so", (const void *)(uintptr_t)gnu_get_libc_version));
    assert_false(xs_filter_caller("@libc.so", (const void *)(uintptr_t)filters));
    assert_false(xs_filter_caller("@libc.so", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(identity), cmocka_unit_test(watches),
                                       cmocka_unit_test(classes), cmocka_unit_test(filters)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
