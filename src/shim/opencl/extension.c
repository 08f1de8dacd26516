/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that programs look up by name. Those of opencl_ext.def get an entry of ours in front; those of
 * the main table get their usual entry. */
#include "shim/opencl/body.h"

#include "base/lock.h"
#include "base/log.h"

#include <string.h>

#define EXT_COUNT     (ROW_COUNT - ROW_CORE_COUNT)
#define PLATFORMS_MAX 16          /* installed drivers that implement one and the same extension */

/* The vendors' functions. Threads fill slots in order under the lock and never change them, so readers go up
 * to the first empty one without it. */
struct real {
    cl_platform_id platform;      /* NULL: looked up without a platform */
    _Atomic(void *) fn;
};

static struct real g_real[EXT_COUNT][PLATFORMS_MAX];
/* Lock 7: empty slots of g_real. A thread that looks an extension's function up holds it. */
static struct xs_lock g_lock;

static bool remember(enum xs_row row, void *fn, cl_platform_id platform)
{
    struct real *slots = g_real[row - ROW_CORE_COUNT];
    bool kept = false;

    xs_lock_acquire(&g_lock);
    for (int i = 0; i < PLATFORMS_MAX && !kept; i++) {
        void *known = atomic_load_explicit(&slots[i].fn, memory_order_relaxed);

        if (known == fn && slots[i].platform == platform)
            kept = true;
        if (known)
            continue;
        slots[i].platform = platform;
        /* release pairs with the acquire in recall */
        atomic_store_explicit(&slots[i].fn, fn, memory_order_release);
        kept = true;
    }
    xs_lock_release(&g_lock);
    return kept;
}

static cl_platform_id platform_of_queue(cl_command_queue queue)
{
    const struct xs_ocl_hw *hw = queue ? xsched_priv_ocl_find(queue) : NULL;
    const struct xs_ocl_api *api = hw ? hw->api : xsched_priv_ocl_api(NULL);
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;

    if (queue && api &&
        api->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL) == CL_SUCCESS &&
        device)
        api->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    return platform;
}

/* Nearly always there is one. */
static void *recall(enum xs_row row, cl_command_queue queue)
{
    struct real *slots = g_real[row - ROW_CORE_COUNT];
    void *first = atomic_load_explicit(&slots[0].fn, memory_order_acquire);
    cl_platform_id platform;

    if (!first || !atomic_load_explicit(&slots[1].fn, memory_order_acquire))
        return first;
    platform = platform_of_queue(queue);
    for (int i = 0; i < PLATFORMS_MAX; i++) {
        void *fn = atomic_load_explicit(&slots[i].fn, memory_order_acquire);

        if (fn && slots[i].platform == platform)
            return fn;
    }
    return first;
}

#define OCL_EXT(kind, name, ret, params, args, miss, key, blocking)                               \
    static ret missing_##name params                                                              \
    {                                                                                             \
        miss                                                                                      \
    }
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "shim/opencl/opencl_ext.def"
#undef OCL_EXT

static inline cl_command_queue first_queue(cl_uint count, const cl_command_queue *queues)
{
    return count && queues ? queues[0] : NULL;
}

/* The queue whose platform selects the vendor's function. */
#define XS_QUEUE_OF_BODY(name) command_queue
#define XS_QUEUE_OF_HAND(name) XS_QUEUE_##name
#define XS_QUEUE_clEnqueueCommandBufferKHR              first_queue(num_queues, queues)
#define XS_QUEUE_clCreateCommandBufferKHR               first_queue(num_queues, queues)
#define XS_QUEUE_clReleaseCommandBufferKHR              NULL
#define XS_QUEUE_clRetainCommandBufferKHR               NULL
#define XS_QUEUE_clCreateCommandQueueWithPropertiesKHR  NULL
#define XS_QUEUE_clEnqueueSVMFreeARM                    command_queue

#define OCL_EXT(kind, name, ret, params, args, miss, key, blocking)                               \
    static ret entry_##name params                                                                \
    {                                                                                             \
        const void *caller = __builtin_return_address(0);                                         \
        ret(*fn) params = missing_##name;                                                         \
        void *real = recall(ROW_##name, XS_BY(XS_QUEUE_OF_, code, kind)(name));                   \
        if (XS_LIKELY(real != NULL))                                                              \
            memcpy(&fn, &real, sizeof(fn));                                                       \
        if (XS_QUIET(kind) == XS_QUIET_REAL && !xs_ocl_is_active())                               \
            return fn args;                                                                       \
        BODY_##kind(kind, fn, fn, ret, name, args, key, blocking)                                 \
    }
#include "shim/opencl/opencl_ext.def"
#undef OCL_EXT

static void *const k_entries[EXT_COUNT] = {
#define OCL_EXT(kind, name, ret, params, args, miss, key, blocking)                               \
    [ROW_##name - ROW_CORE_COUNT] = (void *)entry_##name,
#include "shim/opencl/opencl_ext.def"
#undef OCL_EXT
};

void *xs_ocl_wrap(const char *name, void *real, cl_platform_id platform, const struct xs_ocl_table *T)
{
    if (!real || !name)
        return real;
    for (int row = 0; row < ROW_COUNT; row++) {
        if (strcmp(xs_row_info[row].symbol, name) != 0)
            continue;
        if (row >= ROW_CORE_COUNT) {
            if (remember((enum xs_row)row, real, platform))
                return k_entries[row - ROW_CORE_COUNT];
            XS_WARN_ONCE("OpenCL: more than %d drivers implement %s; XSched does not schedule it for the others",
                         PLATFORMS_MAX, name);
            return real;
        }
        /* loaders lack some functions that drivers have: then our own entry leads nowhere */
        if (xs_row_info[row].handled && T->real[row] != xs_ocl_missing.real[row])
            return T->layer ? xs_ocl_layer_entry(T->layer - 1, (enum xs_row)row) : xs_row_entries[row];
        return real;
    }
    return real;
}
