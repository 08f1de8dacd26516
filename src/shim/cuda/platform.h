/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's part for src/shim/stream. */
#ifndef XS_SHIM_CUDA_PLATFORM_H
#define XS_SHIM_CUDA_PLATFORM_H

#include "hal/cuda/hal.h"
#include "shim/cuda/device_memory.h"
#include "shim/cuda/loaded.h"
#include "shim/cuda/overwritten.h"
#include "shim/stream/command_keys.h"

#define XS_API_NAME      "CUDA"
#define XS_API_SONAME    "libcuda.so.1"
#define XS_API_LIBRARY   "driver"
#define XS_API_ROWS      "shim/cuda/rows.def"
#define XS_API_PLATFORM  kPlatformCUDA
#define XS_API_CAPTURERS "cuStreamBegin"   /* functions with this prefix begin captures */
#define XS_API_GIVES     "cuGetProcAddress"  /* gives functions of all kinds */
#define XS_API_MULTI     0                 /* a process has one driver */
#define XS_API_NAMES_BEGIN "cu"
#define XS_API_ANSWERS   1                 /* dlopen of any of the vendor's files gives us */
#define XS_API_OWN_NAME  1                 /* programs have our functions by our SONAME alone, which leads to one copy */
#define XS_API_VERSIONS  1                 /* programs look up a function of a version */
#define XS_API_WRAPS     1                 /* swap_calls.c */

typedef CUresult xs_api_result;
typedef CUstream xs_api_stream;
typedef CUcontext xs_api_context;

#define XS_API_OK              XS_CU_SUCCESS
#define XS_API_NOT_INITIALIZED XS_CU_NOT_INITIALIZED
#define XS_API_NOT_SUPPORTED   XS_CU_NOT_SUPPORTED
#define XS_API_PER_THREAD      XS_CU_STREAM_PER_THREAD
#define XS_API_PROC_PER_THREAD XS_CU_PROC_PER_THREAD

/* shim/stream/stream_memory.h */
#define XS_API_MEMORY          "shim/cuda/memory.def"
#define XS_API_OUT_OF_MEMORY   XS_CU_OUT_OF_MEMORY
#define ROW_XS_API_GET_DEVICE  ROW_cuCtxGetDevice
#define ROW_XS_API_GET_TOTAL   ROW_cuDeviceTotalMem_v2
#define ROW_XS_API_GET_CONTEXT ROW_cuCtxGetCurrent
#define ROW_XS_API_GET_STATE   ROW_cuDevicePrimaryCtxGetState
#define ROW_XS_API_FREE        ROW_cuMemFree_v2
#define ROW_XS_API_GRAPH_NODES     ROW_cuGraphGetNodes
#define ROW_XS_API_GRAPH_NODE_TYPE ROW_cuGraphNodeGetType
#define ROW_XS_API_GRAPH_ALLOC     ROW_cuGraphMemAllocNodeGetParams
#define ROW_XS_API_GRAPH_FREE      ROW_cuGraphMemFreeNodeGetParams
#define ROW_XS_API_GRAPH_CHILD     ROW_cuGraphChildGraphNodeGetGraph
#define ROW_XS_API_GRAPH_MEMORY    ROW_cuDeviceGetGraphMemAttribute

#define xs_api_captures xsched_priv_cuda_captures
#define xs_api_captures_unseen xsched_priv_cuda_captures_unseen
#define xs_api_vendor   xsched_priv_cuda_vendor

/** @param hal  from xs_api_hal_bind for the library that gets the call */
static inline bool xs_api_capturing(const void *hal, CUstream stream)
{
    (void)hal;
    return xsched_priv_cuda_capturing(stream);
}

/** Every stream counts as captured. */
static inline bool xs_api_recording(void)
{
    return atomic_load_explicit(&xsched_priv_cuda_recordings, memory_order_relaxed) != 0; /* as xs_api_captures */
}

static inline struct xs_queue *xs_api_queue(const void *hal, CUstream stream, bool per_thread)
{
    (void)hal;
    return xs_cuda_queue(stream, per_thread);
}

static inline uint64_t xs_api_native(const void *hal, CUstream stream, bool per_thread)
{
    (void)hal;
    return xs_cuda_native(stream, per_thread);
}

static inline void xs_api_each_queue(const void *hal, CUcontext ctx, void (*fn)(struct xs_queue *q, void *arg),
                                     void *arg)
{
    (void)hal;
    xsched_priv_cuda_each_queue(ctx, fn, arg);
}

/* If a scheduler may suspend single streams (xsched_priv_intra): */
#define XS_API_LENDS     1
#define XS_API_NOT_READY XS_CU_NOT_READY
static inline void xs_api_implicit(const void *hal, struct xs_queue *q, CUstream stream, bool per_thread)
{
    xsched_priv_cuda_implicit(q, xs_api_native(hal, stream, per_thread));
}

static inline void xs_api_lend_context(const void *hal)
{
    (void)hal;
    xsched_priv_cuda_lend_context();
}

static inline bool xs_api_is_legacy(CUstream stream, bool per_thread)
{
    return stream == XS_CU_STREAM_LEGACY || (!stream && !per_thread);
}

/** cuGetProcAddress gives what is newer than the table, and answer.c says so. */
static inline void xs_api_library_found(void *handle)
{
    (void)handle;
}

static inline const void *xs_api_hal_bind(void *handle)
{
    xsched_priv_cuda_bind(handle);
    return NULL;
}

/* Rows of kinds STREAM and STREAM_END. */
static inline void xs_api_queue_gone(CUstream stream)
{
    xsched_priv_cuda_stream_gone(stream);
}

static inline void xs_api_queue_ends(CUstream stream)
{
    xsched_priv_cuda_stream_ends(stream);
}

static inline void xs_api_on_first(void (*fn)(void))
{
    xsched_priv_cuda_on_first(fn);
}

#define XS_KEY_LAUNCH            XS_KEY_KERNEL(f, (uint64_t)gridDimX * gridDimY * gridDimZ)
#define XS_KEY_CONFIG(config, f) XS_KEY_KERNEL(f, xs_cuda_config_blocks(config))
#define XS_KEY_2D(copy)          XS_KEY_BYTES(xs_cuda_copy_bytes(copy))
#define XS_KEY_HANDLE(handle)    ((uint64_t)(uintptr_t)(handle))
struct xs_api_runtime;
/** The current context; NULL: none, or unknown. */
CUcontext xs_cuda_current(const struct xs_api_runtime *rt);
/** The current context has loaded this function of a module. Does nothing while XSched schedules nothing. */
void xs_cuda_note_loaded(const struct xs_api_runtime *rt, const void *function);
/* Rows of kind ONCE. A program that has a function of a module has loaded it; a kernel's handle does not say
 * that. Queries about either, and captured commands, share one mark. */
#define XS_LOADED_CODE           ((unsigned)ROW_COUNT)
#define XS_LOADED_AS(row)        ((row) == ROW_cuLibraryGetModule || (row) == ROW_cuKernelGetFunction ? (row) : XS_LOADED_CODE)
#define xs_api_mark(rt, row, handle) xs_loaded_mark(handle, XS_LOADED_AS(row), xs_cuda_current(rt))
#define xs_api_code_mark(rt, key)    xs_loaded_mark(key, XS_LOADED_CODE, xs_cuda_current(rt))
/* Rows of kind UNLOAD, and the ends of contexts, before the call. */
static inline void xs_api_code_gone(void)
{
    xs_loaded_forget();
    xsched_priv_cuda_lane_forget();
    xsched_priv_code_gone();
}

/* Rows of kind MADE, after success. */
static inline void xs_api_made(CUcontext *ret)
{
    if (ret)
        xsched_priv_cuda_context_made(*ret);
}

#define xs_api_named_cuCtxCreate(ret, ...)              xs_api_made(ret)
#define xs_api_named_cuCtxCreate_v2(ret, ...)           xs_api_made(ret)
#define xs_api_named_cuCtxCreate_v3(ret, ...)           xs_api_made(ret)
#define xs_api_named_cuCtxCreate_v4(ret, ...)           xs_api_made(ret)
#define xs_api_named_cuCtxFromGreenCtx(ret, ...)        xs_api_made(ret)
#define xs_api_named_cuDevicePrimaryCtxRetain(ret, ...) xs_api_made(ret)

#define xs_api_named_cuIpcOpenEventHandle(ret, ...)          xs_api_event_foreign(*(ret))
#define xs_api_named_cuIpcOpenMemHandle(...)                 xsched_priv_peer_memory()
#define xs_api_named_cuIpcOpenMemHandle_v2(...)              xsched_priv_peer_memory()
#define xs_api_named_cuMemImportFromShareableHandle(...)     xsched_priv_peer_memory()
#define xs_api_named_cuMemPoolImportFromShareableHandle(...) xsched_priv_peer_memory()

/* Rows of kinds NAMED and ONCE, after success. A setter without an attribute's number has one of ours. */
#define XS_CUDA_CACHE 1000
#define XS_CUDA_BANKS 1001

#define xs_api_named_cuFuncGetAttribute(...)      ((void)0)
#define xs_api_named_cuFuncGetModule(...)         ((void)0)
#define xs_api_named_cuFuncGetParamCount(...)     ((void)0)
#define xs_api_named_cuFuncGetParamInfo(...)      ((void)0)
#define xs_api_named_cuFuncLoad(...)              ((void)0)
#define xs_api_named_cuFuncSetAttribute(f, attribute, value) xsched_priv_cuda_lane_function_set(f, attribute, value)
#define xs_api_named_cuFuncSetCacheConfig(f, config) xsched_priv_cuda_lane_function_set(f, XS_CUDA_CACHE, config)
#define xs_api_named_cuFuncSetSharedMemConfig(f, config) xsched_priv_cuda_lane_function_set(f, XS_CUDA_BANKS, config)
#define xs_api_named_cuKernelGetParamCount(...)   ((void)0)
#define xs_api_named_cuKernelGetParamInfo(...)    ((void)0)
#define xs_api_named_cuKernelSetAttribute(attribute, value, kernel, dev) \
    xsched_priv_cuda_lane_function_set(kernel, attribute, value)
#define xs_api_named_cuKernelSetCacheConfig(kernel, config, dev) xsched_priv_cuda_lane_function_set(kernel, XS_CUDA_CACHE, config)
#define xs_api_named_cuLibraryGetModule(...)      ((void)0)
#define xs_api_named_cuOccupancyAvailableDynamicSMemPerBlock(...)              ((void)0)
#define xs_api_named_cuOccupancyMaxActiveBlocksPerMultiprocessor(...)          ((void)0)
#define xs_api_named_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(...) ((void)0)
#define xs_api_named_cuOccupancyMaxActiveClusters(...)                         ((void)0)
#define xs_api_named_cuOccupancyMaxPotentialBlockSize(...)                     ((void)0)
#define xs_api_named_cuOccupancyMaxPotentialBlockSizeWithFlags(...)            ((void)0)
#define xs_api_named_cuOccupancyMaxPotentialClusterSize(...)                   ((void)0)
/* In the scope of an entry. */
#define xs_api_named_cuModuleGetFunction(ret, module, name) xs_cuda_got_function(rt, ret, name)
static inline void xs_cuda_got_function(const struct xs_api_runtime *rt, void *ret, const char *name)
{
    if (!ret)
        return;
    xs_collective_named(*(void **)ret, name);
    xs_cuda_note_loaded(rt, *(void **)ret);
}

static inline void xs_api_named_cuLibraryGetKernel(void *ret, void *library, const char *name)
{
    (void)library;
    if (ret)
        xs_collective_named(*(void **)ret, name);
}

#define xs_api_named_cuKernelGetFunction(ret, kernel) xs_cuda_got_function_of(rt, ret, kernel)
static inline void xs_cuda_got_function_of(const struct xs_api_runtime *rt, void *ret, void *kernel)
{
    if (!ret)
        return;
    xs_collective_same(*(void **)ret, kernel);
    xs_cuda_note_loaded(rt, *(void **)ret);
}

/* lane_launch.c: rows of kind LAUNCH where the ticket names a lane. */
#define XS_CUDA_LAUNCH_PARAMS                                                                         \
    CUfunction f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ, unsigned blockDimX, unsigned blockDimY,    \
    unsigned blockDimZ, unsigned sharedMemBytes, CUstream hStream, void **kernelParams, void **extra
#define XS_CUDA_LAUNCH_EX_PARAMS const void *config, CUfunction f, void **kernelParams, void **extra
CUresult xs_api_lane_cuLaunchKernel(const struct xs_api_runtime *rt, struct xs_ticket *t, XS_CUDA_LAUNCH_PARAMS);
CUresult xs_api_lane_cuLaunchKernel_ptsz(const struct xs_api_runtime *rt, struct xs_ticket *t, XS_CUDA_LAUNCH_PARAMS);
CUresult xs_api_lane_cuLaunchKernelEx(const struct xs_api_runtime *rt, struct xs_ticket *t, XS_CUDA_LAUNCH_EX_PARAMS);
CUresult xs_api_lane_cuLaunchKernelEx_ptsz(const struct xs_api_runtime *rt, struct xs_ticket *t, XS_CUDA_LAUNCH_EX_PARAMS);

/* The key of a command that lets the stream's kernels alone use some memory. */
#define XS_KEY_ATTACH(stream, per_thread) (xsched_priv_cuda_lane_never(stream, per_thread), XS_KEY_ROW)

#define XS_CONFIG_STREAM(config) xs_cuda_config_stream(config)

static inline CUstream xs_cuda_config_stream(const struct xs_cu_launch_config *c)
{
    return c ? c->stream : NULL;
}

static inline uint64_t xs_cuda_config_blocks(const struct xs_cu_launch_config *c)
{
    return c ? (uint64_t)c->grid[0] * c->grid[1] * c->grid[2] : 0;
}

static inline uint64_t xs_cuda_copy_bytes(const struct xs_cu_copy_2d *c)
{
    return c ? (uint64_t)c->width_bytes * c->height : 0;
}

/* The context for whose queues a SYNC_CTX row waits. */
#define XS_CTX_cuCtxSynchronize    NULL
#define XS_CTX_cuCtxSynchronize_v2 ctx

#endif
