/* SPDX-License-Identifier: Apache-2.0 */
/* HIP's part for src/shim/stream. */
#ifndef XS_SHIM_HIP_PLATFORM_H
#define XS_SHIM_HIP_PLATFORM_H

#include "hal/hip/hal.h"
#include "shim/hip/made_objects.h"
#include "shim/stream/command_keys.h"

#define XS_API_NAME      "HIP"
#define XS_API_SONAME    "libshimhip.so"
#define XS_API_NAMES     "names"           /* our folder with objects that take the vendor's names for us, see deep.c */
#define XS_API_LIBRARY   "runtime"
#define XS_API_VERSION_NODES 1             /* exported functions have versions, as the runtime's */
#define XS_API_ROWS      "shim/hip/rows.def"
#define XS_API_PLATFORM  kPlatformHIP
#define XS_API_CAPTURERS "hipStreamBegin"  /* functions with this prefix begin captures */
#define XS_API_OVER      "libOpenCL"       /* runtimes exist that are clients of this; its shim leaves them alone */
#define XS_API_GIVES     "hipGetProcAddress" /* gives functions of all kinds */
#define XS_API_MULTI     1                 /* wheels carry a runtime of their own beside the system's */
#define XS_API_NAMES_BEGIN "hip", "hiprtc", "__hip", "_Z2", "_ZN8hip_impl"
#define XS_API_ANSWERS   1                 /* dlopen of any of the vendor's files gives us */
#define XS_API_OWN_NAME  0                 /* dlopen gives our functions for every copy */
#define XS_API_VERSIONS  0                 /* another version of a function has another symbol */

typedef hipError_t xs_api_result;
typedef hipStream_t xs_api_stream;
typedef int xs_api_context;                /* always the current device */

#define XS_API_OK              XS_HIP_SUCCESS
#define XS_API_NOT_INITIALIZED XS_HIP_NO_DEVICE /* programs take this for "no GPU here" */
#define XS_API_NOT_SUPPORTED   XS_HIP_NOT_SUPPORTED
#define XS_API_PER_THREAD      XS_HIP_STREAM_PER_THREAD
#define XS_API_PROC_PER_THREAD XS_HIP_PROC_PER_THREAD

/* shim/stream/stream_memory.h */
#define XS_API_MEMORY         "shim/hip/memory.def"
#define XS_API_OUT_OF_MEMORY  XS_HIP_OUT_OF_MEMORY
#define ROW_XS_API_GET_DEVICE ROW_hipGetDevice
#define ROW_XS_API_GET_TOTAL  ROW_hipDeviceTotalMem
#define ROW_XS_API_FREE       ROW_hipFree
#define ROW_XS_API_GRAPH_NODES     ROW_hipGraphGetNodes
#define ROW_XS_API_GRAPH_NODE_TYPE ROW_hipGraphNodeGetType
#define ROW_XS_API_GRAPH_ALLOC     ROW_hipGraphMemAllocNodeGetParams
#define ROW_XS_API_GRAPH_FREE      ROW_hipGraphMemFreeNodeGetParams
#define ROW_XS_API_GRAPH_CHILD     ROW_hipGraphChildGraphNodeGetGraph
#define ROW_XS_API_GRAPH_MEMORY    ROW_hipDeviceGetGraphMemAttribute

#define xs_api_captures xsched_priv_hip_captures
#define xs_api_captures_unseen xsched_priv_hip_captures_unseen
#define xs_api_vendor   xsched_priv_hip_vendor

/** @param hal  from xs_api_hal_bind for the library that gets the call */
static inline bool xs_api_capturing(const void *hal, hipStream_t stream)
{
    return xsched_priv_hip_capturing(hal, stream);
}

/** HIP captures into graphs alone. */
static inline bool xs_api_recording(void)
{
    return false;
}

static inline struct xs_queue *xs_api_queue(const void *hal, hipStream_t stream, bool per_thread)
{
    return XS_LIKELY(hal != NULL) ? xs_hip_queue(hal, stream, per_thread) : NULL;
}

static inline uint64_t xs_api_native(const void *hal, hipStream_t stream, bool per_thread)
{
    return xsched_priv_hip_native(hal, stream, per_thread);
}

static inline void xs_api_each_queue(const void *hal, int current, void (*fn)(struct xs_queue *q, void *arg),
                                     void *arg)
{
    (void)current;
    xsched_priv_hip_each_queue(hal, fn, arg);
}

/* If a scheduler may suspend single streams (xsched_priv_intra): */
#define XS_API_LENDS     1
#define XS_API_NOT_READY XS_HIP_NOT_READY
static inline void xs_api_implicit(const void *hal, struct xs_queue *q, hipStream_t stream, bool per_thread)
{
    xsched_priv_hip_implicit(q, xs_api_native(hal, stream, per_thread));
}

static inline void xs_api_lend_context(const void *hal)
{
    xsched_priv_hip_lend_device(hal);
}

static inline bool xs_api_is_legacy(hipStream_t stream, bool per_thread)
{
    return stream == XS_HIP_STREAM_LEGACY || (!stream && !per_thread);
}

static inline const void *xs_api_hal_bind(void *handle)
{
    return xsched_priv_hip_bind(handle);
}

/* Rows of kinds STREAM and STREAM_END. */
static inline void xs_api_queue_gone(hipStream_t stream)
{
    xsched_priv_hip_stream_gone(stream);
}

static inline void xs_api_queue_ends(hipStream_t stream)
{
    xsched_priv_hip_stream_ends(stream);
}

static inline void xs_api_on_first(void (*fn)(void))
{
    xsched_priv_hip_on_first(fn);
}

/** A copy of the runtime is in use from now on. Logs one line in the process if it has functions that no row knows. Any
 *  thread, without locks held. @param handle  of dlopen (newer_runtime.c) */
void xs_api_library_found(void *handle);
/** Takes the place of __hipRegisterFatBinary if the runtime lacks it. */
void *xs_hip_registers_nowhere(void);
/** The stream that this thread named in its last hipConfigureCall. */
hipStream_t xs_hip_configured_stream(void);

static inline uint64_t xs_dim3_count(struct xs_dim3 d)
{
    return (uint64_t)d.x * d.y * d.z;
}

/* Rows of kind MADE, after success. */
#define xs_api_named_hipEventCreate(ret)                      xs_hip_made(ret)
#define xs_api_named_hipEventCreateWithFlags(ret, ...)        xs_hip_made(ret)
#define xs_api_named_hipIpcOpenEventHandle(ret, ...)                                               \
    do {                                                                                          \
        xs_hip_made(ret);                                                                         \
        xs_api_event_foreign(*(ret));                                                             \
    } while (0)
#define xs_api_named_hipIpcOpenMemHandle(...)                 xsched_priv_peer_memory()
#define xs_api_named_hipMemImportFromShareableHandle(...)     xsched_priv_peer_memory()
#define xs_api_named_hipMemPoolImportFromShareableHandle(...) xsched_priv_peer_memory()

/* Rows of kind NAMED, after success. */
#define xs_api_named_hipModuleLoad(ret, ...)       xs_hip_made(ret)
#define xs_api_named_hipModuleLoadData(ret, ...)   xs_hip_made(ret)
#define xs_api_named_hipModuleLoadDataEx(ret, ...) xs_hip_made(ret)
#define xs_api_named_hipModuleGetFunction(ret, module, name)                                      \
    do {                                                                                          \
        xs_hip_made(ret);                                                                         \
        if (ret)                                                                                  \
            xs_collective_named(*(void **)(ret), name);                                           \
    } while (0)

#define xs_api_named_hipLibraryGetModule(ret, ...) xs_hip_made(ret)
static inline void xs_api_named_hipLibraryGetKernel(void *ret, void *library, const char *name)
{
    (void)library;
    if (ret)
        xs_collective_named(*(void **)ret, name);
}

/* In the scope of an entry. */
#define xs_api_named_hipFuncGetAttributes(attr, function) xs_hip_asked_about(rt, function)
#define xs_api_named_hipModuleEnumerateFunctions(functions, number, module)                       \
    xs_hip_functions_made(rt, functions, number, module)
struct xs_api_runtime;
/** The program has a list of a module's functions, which belong to `rt` (hand.c). */
void xs_hip_functions_made(const struct xs_api_runtime *rt, void *const *functions, unsigned number, void *module);
/** The program asks for a kernel's attributes (registration.c). */
void xs_hip_asked_about(const struct xs_api_runtime *rt, const void *function);
/** The row of kind HAND0 (hand.c). */
hipError_t xs_hand_hipDeviceReset(const struct xs_api_runtime *rt);

static inline void xs_api_named_hipGetFuncBySymbol(void *ret, const void *symbol)
{
    if (ret)
        xs_collective_same(*(void **)ret, symbol);
}

static inline void xs_api_named_hipKernelGetFunction(void *ret, const void *kernel)
{
    if (ret)
        xs_collective_same(*(void **)ret, kernel);
}

#define XS_KEY_CONFIG(config, f) XS_KEY_KERNEL(f, xs_hip_config_blocks(config))
#define XS_CONFIG_STREAM(config) xs_hip_config_stream(config)

static inline hipStream_t xs_hip_config_stream(const struct xs_hip_launch_config *c)
{
    return c ? c->stream : NULL;
}

static inline uint64_t xs_hip_config_blocks(const struct xs_hip_launch_config *c)
{
    return c ? (uint64_t)c->grid[0] * c->grid[1] * c->grid[2] : 0;
}

/* The device for whose queues a SYNC_CTX row waits. */
#define XS_CTX_hipCtxSynchronize    0
#define XS_CTX_hipDeviceSynchronize 0
#define XS_CTX_hipExecutionCtxSynchronize 0 /* all of them: we do not know which streams are its own */

#endif
