/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of lazy.c, which has what they share: a preparation while the gate is open, the call, and what is to be undone. */
#ifndef TESTS_GPU_LAZY_CASES_H
#define TESTS_GPU_LAZY_CASES_H

static CUmodule g_mod;
static CUlibrary g_lib;
static CUfunction g_fn;
static CUkernel g_kernel;
static CUgraph g_graph;
static CUgraphExec g_exec;
static CUgraphNode g_node;
static CUdeviceptr g_mem, g_mem2, g_managed;
static void *g_host;
static char g_pageable[65536];
static size_t g_size;
static int g_int;

#define DO(name, expression)              \
    static CUresult name(void)            \
    {                                     \
        return expression;                \
    }
#define THEN(name, first, expression)     \
    static CUresult name(void)            \
    {                                     \
        CUresult r_ = first();            \
        return r_ ? r_ : (expression);    \
    }

DO(fresh_module, cuModuleLoadData(&g_mod, g_image))

static CUresult fresh(const char *name)
{
    CUresult r = fresh_module();

    return r ? r : cuModuleGetFunction(&g_fn, g_mod, name);
}

DO(s_nothing, CUDA_SUCCESS)
DO(s_module, fresh_module())
DO(s_fn, fresh("add"))
DO(s_local_launch, fresh("local_1"))
DO(s_local_load, fresh("local_2"))
DO(s_large, fresh("large"))

static CUresult s_fn_loaded(void)
{
    CUresult r = fresh("add");

    return r ? r : cuFuncLoad(g_fn);
}

DO(s_library, cuLibraryLoadData(&g_lib, g_image, NULL, NULL, 0, NULL, NULL, 0))

static CUresult s_kernel(void)
{
    CUresult r = s_library();

    if (!r)
        r = cuLibraryGetKernel(&g_kernel, g_lib, "add");
    g_fn = (CUfunction)g_kernel;
    return r;
}

static CUresult s_kernel_module(void)
{
    CUresult r = s_kernel();

    return r ? r : cuLibraryGetModule(&g_mod, g_lib) ? CUDA_ERROR_UNKNOWN : (g_mod = NULL, CUDA_SUCCESS);
}

static CUresult s_kernel_function(void)
{
    CUresult r = s_kernel();

    return r ? r : cuKernelGetFunction(&g_fn, g_kernel);
}

static CUresult s_kernel_launched(void)
{
    CUresult r = s_kernel();

    return r ? r : launch(g_fn, g_mine, 0);
}

static CUresult s_kernel_set(void)
{
    CUresult r = s_kernel();

    return r ? r : cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536, g_kernel, g_dev);
}

static CUresult s_kernel_asked(void)
{
    CUresult r = s_kernel();

    return r ? r : cuOccupancyMaxActiveBlocksPerMultiprocessor(&g_int, g_fn, 64, 0);
}

static CUresult s_kernel_function_asked(void) /* the function is loaded; the handle of the kernel is asked about */
{
    CUresult r = s_kernel_function();

    g_fn = (CUfunction)g_kernel;
    return r;
}

DO(begin_capture, cuStreamBeginCapture(g_mine, CU_STREAM_CAPTURE_MODE_RELAXED))
THEN(s_capture, s_fn, begin_capture())
THEN(s_capture_kernel, s_kernel, begin_capture())
THEN(s_captured, s_capture, launch(g_fn, g_mine, 0))
THEN(s_graph, s_captured, cuStreamEndCapture(g_mine, &g_graph))

static CUresult graph_of(const char *name)
{
    CUresult r = fresh(name);

    if (!r)
        r = begin_capture();
    if (!r)
        r = launch(g_fn, g_mine, 0);
    return r ? r : cuStreamEndCapture(g_mine, &g_graph);
}

static CUresult s_capture_local(void)
{
    CUresult r = fresh("local_3");

    return r ? r : begin_capture();
}

DO(s_graph_local, graph_of("local_4"))
DO(s_graph_local_launch, graph_of("local_5"))
DO(s_graph_local_upload, graph_of("local_6"))

static CUresult node_params(CUDA_KERNEL_NODE_PARAMS *p)
{
    static uint64_t zero;
    static unsigned n = 3;
    static void *params[] = {&zero, &n};

    memset(p, 0, sizeof(*p));
    p->func = g_fn;
    p->gridDimX = p->gridDimY = p->gridDimZ = p->blockDimX = p->blockDimY = p->blockDimZ = 1;
    p->kernelParams = params;
    return CUDA_SUCCESS;
}

static CUresult add_node(void)
{
    CUDA_KERNEL_NODE_PARAMS p;

    node_params(&p);
    return cuGraphAddKernelNode(&g_node, g_graph, NULL, 0, &p);
}

THEN(s_empty_graph, s_fn, cuGraphCreate(&g_graph, 0))
THEN(s_empty_graph_kernel, s_kernel, cuGraphCreate(&g_graph, 0))
THEN(s_built, s_empty_graph, add_node())
THEN(s_built_kernel, s_empty_graph_kernel, add_node())
DO(instantiate, cuGraphInstantiateWithFlags(&g_exec, g_graph, 0))
THEN(s_exec, s_graph, instantiate())
THEN(s_exec_built, s_built, instantiate())
THEN(s_exec_local, s_graph_local_launch, instantiate())
THEN(s_exec_local_upload, s_graph_local_upload, instantiate())
THEN(s_uploaded, s_exec, cuGraphUpload(g_exec, g_mine))

static CUresult s_exec_run(void)
{
    CUresult r = s_exec();

    if (!r)
        r = cuGraphLaunch(g_exec, g_mine);
    return r ? r : cuStreamSynchronize(g_mine);
}

static CUresult s_exec_other(void) /* an executable of a built graph, and a function that is not loaded */
{
    CUresult r = s_exec_built();

    return r ? r : fresh("nop");
}

static CUresult s_exec_changed(void) /* the same, and a second graph with that function */
{
    CUresult r = s_exec_built();

    if (!r)
        r = fresh("add");
    if (!r)
        r = cuGraphCreate(&g_graph, 0);
    return r ? r : add_node();
}

static CUresult s_memory_graph(void)
{
    CUDA_MEM_ALLOC_NODE_PARAMS p;
    CUresult r = cuGraphCreate(&g_graph, 0);

    memset(&p, 0, sizeof(p));
    p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.bytesize = 8 << 20;
    if (!r)
        r = cuGraphAddMemAllocNode(&g_node, g_graph, NULL, 0, &p);
    return r ? r : cuGraphAddMemFreeNode(&g_node, g_graph, &g_node, 1, p.dptr);
}

static CUresult c_nothing(void)
{
    usleep(20000);
    return CUDA_SUCCESS;
}
DO(c_launch, launch(g_fn, g_mine, 0))
DO(c_module_load, fresh_module())
DO(c_module_function, cuModuleGetFunction(&g_fn, g_mod, "add"))
DO(c_module_global, cuModuleGetGlobal(&g_mem2, &g_size, g_mod, "kept"))
DO(c_module_count, cuModuleGetFunctionCount((unsigned *)&g_int, g_mod))
DO(c_module_list, cuModuleEnumerateFunctions(&g_fn, 1, g_mod))
static CUresult c_module_unload(void)
{
    CUmodule m = g_mod;

    g_mod = NULL;
    return cuModuleUnload(m);
}
DO(c_library_load, s_library())
DO(c_library_kernel, cuLibraryGetKernel(&g_kernel, g_lib, "add"))
static CUresult c_library_module(void)
{
    CUmodule m;

    return cuLibraryGetModule(&m, g_lib);
}
DO(c_library_global, cuLibraryGetGlobal(&g_mem2, &g_size, g_lib, "kept"))
DO(c_library_count, cuLibraryGetKernelCount((unsigned *)&g_int, g_lib))
DO(c_library_list, cuLibraryEnumerateKernels(&g_kernel, 1, g_lib))
static CUresult c_library_unload(void)
{
    CUlibrary l = g_lib;

    g_lib = NULL;
    return cuLibraryUnload(l);
}
DO(c_kernel_function, cuKernelGetFunction(&g_fn, g_kernel))
DO(c_kernel_attribute, cuKernelGetAttribute(&g_int, CU_FUNC_ATTRIBUTE_NUM_REGS, g_kernel, g_dev))
DO(c_kernel_set, cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536, g_kernel, g_dev))
DO(c_kernel_local, cuKernelGetAttribute(&g_int, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, g_kernel, g_dev))
DO(c_kernel_version, cuKernelGetAttribute(&g_int, CU_FUNC_ATTRIBUTE_BINARY_VERSION, g_kernel, g_dev))
DO(c_kernel_cache, cuKernelSetCacheConfig(g_kernel, CU_FUNC_CACHE_PREFER_L1, g_dev))
static CUresult c_kernel_param(void)
{
    size_t o;

    return cuKernelGetParamInfo(g_kernel, 0, &o, &g_size);
}
static CUresult c_kernel_name(void)
{
    const char *n;

    return cuKernelGetName(&n, g_kernel);
}
DO(c_func_load, cuFuncLoad(g_fn))
static CUresult c_func_is_loaded(void)
{
    CUfunctionLoadingState s;

    return cuFuncIsLoaded(&s, g_fn);
}
DO(c_func_attribute, cuFuncGetAttribute(&g_int, CU_FUNC_ATTRIBUTE_NUM_REGS, g_fn))
DO(c_func_local, cuFuncGetAttribute(&g_int, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, g_fn))
DO(c_func_set, cuFuncSetAttribute(g_fn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536))
DO(c_func_cache, cuFuncSetCacheConfig(g_fn, CU_FUNC_CACHE_PREFER_L1))
static CUresult c_func_param(void)
{
    size_t o;

    return cuFuncGetParamInfo(g_fn, 0, &o, &g_size);
}
static CUresult c_func_module(void)
{
    CUmodule m;

    return cuFuncGetModule(&m, g_fn);
}
static CUresult c_func_name(void)
{
    const char *n;

    return cuFuncGetName(&n, g_fn);
}
DO(c_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor(&g_int, g_fn, 64, 0))
DO(c_blocks_flags, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&g_int, g_fn, 64, 0, 0))
static CUresult c_block_size(void)
{
    int n;

    return cuOccupancyMaxPotentialBlockSize(&g_int, &n, g_fn, NULL, 0, 0);
}
DO(c_shared, cuOccupancyAvailableDynamicSMemPerBlock(&g_size, g_fn, 1, 64))

static void cluster_config(CUlaunchConfig *c, CUlaunchAttribute *a)
{
    memset(c, 0, sizeof(*c));
    memset(a, 0, sizeof(*a));
    a->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    a->value.clusterDim.x = 2, a->value.clusterDim.y = a->value.clusterDim.z = 1;
    c->gridDimX = 4, c->gridDimY = c->gridDimZ = 1;
    c->blockDimX = 64, c->blockDimY = c->blockDimZ = 1;
    c->attrs = a;
    c->numAttrs = 1;
}

static CUresult c_clusters(void)
{
    CUlaunchConfig c;
    CUlaunchAttribute a;

    cluster_config(&c, &a);
    return cuOccupancyMaxActiveClusters(&g_int, g_fn, &c);
}

static CUresult c_cluster_size(void)
{
    CUlaunchConfig c;
    CUlaunchAttribute a;

    cluster_config(&c, &a);
    return cuOccupancyMaxPotentialClusterSize(&g_int, g_fn, &c);
}

DO(c_capture_begin, begin_capture())
DO(c_capture_end, cuStreamEndCapture(g_mine, &g_graph))
DO(c_add_node, add_node())
DO(c_instantiate, instantiate())
static CUresult c_instantiate_upload(void)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS p;

    memset(&p, 0, sizeof(p));
    p.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    p.hUploadStream = g_mine;
    return cuGraphInstantiateWithParams(&g_exec, g_graph, &p);
}
DO(c_upload, cuGraphUpload(g_exec, g_mine))
DO(c_graph_launch, cuGraphLaunch(g_exec, g_mine))
static CUresult c_set_params(void)
{
    CUDA_KERNEL_NODE_PARAMS p;

    node_params(&p);
    return cuGraphExecKernelNodeSetParams(g_exec, g_node, &p);
}
static CUresult c_update(void)
{
    CUgraphExecUpdateResultInfo info;

    return cuGraphExecUpdate(g_exec, g_graph, &info);
}
static CUresult c_exec_destroy(void)
{
    CUgraphExec e = g_exec;

    g_exec = NULL;
    return cuGraphExecDestroy(e);
}
static CUresult c_graph_destroy(void)
{
    CUgraph g = g_graph;

    g_graph = NULL;
    return cuGraphDestroy(g);
}
DO(c_graph_trim, cuDeviceGraphMemTrim(g_dev))

/* ---- memory of another process, mapped memory, pools ---- */

static int g_to_peer = -1, g_from_peer = -1;
static CUipcMemHandle g_ipc, g_ipc_of_mine;

/* A process of its own: allocates memory and gives its handle, until its end of the pipe is closed. */
static int serve_ipc(void)
{
    CUipcMemHandle h;
    CUdeviceptr p;
    char c;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&g_dev, 0));
    CHECK(cuDevicePrimaryCtxRetain(&g_ctx, g_dev));
    CHECK(cuCtxSetCurrent(g_ctx));
    CHECK(cuMemAlloc(&p, 4 << 20));
    CHECK(cuIpcGetMemHandle(&h, p));
    if (write(1, &h, sizeof(h)) != (ssize_t)sizeof(h))
        return 1;
    return read(0, &c, 1) < 0;
}

static void start_peer(void)
{
    int there[2], back[2];

    if (pipe(there) || pipe(back))
        return;
    if (fork() == 0) {
        dup2(there[0], 0), dup2(back[1], 1);
        close(there[1]), close(back[0]);
        unsetenv("LD_PRELOAD");
        execl("/proc/self/exe", "lazy", "peer", (char *)NULL);
        _exit(127);
    }
    close(there[0]), close(back[1]);
    g_to_peer = there[1];
    g_from_peer = back[0];
}

static CUresult s_ipc(void)
{
    static bool known;

    if (!known && read(g_from_peer, &g_ipc, sizeof(g_ipc)) != (ssize_t)sizeof(g_ipc))
        return CUDA_ERROR_UNKNOWN;
    known = true;
    return CUDA_SUCCESS;
}

static CUresult s_ipc_open(void)
{
    CUresult r = s_ipc();

    return r ? r : cuIpcOpenMemHandle(&g_mem2, g_ipc, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

DO(c_ipc_get, cuIpcGetMemHandle(&g_ipc_of_mine, g_mem))
DO(c_ipc_open, cuIpcOpenMemHandle(&g_mem2, g_ipc, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))
DO(c_ipc_close, cuIpcCloseMemHandle(g_mem2))
DO(k_ipc_close, cuIpcCloseMemHandle(g_mem2))

static CUdeviceptr g_range;
static CUmemGenericAllocationHandle g_handle;
static size_t g_range_bytes = 4 << 20;

static CUmemAllocationProp properties(void)
{
    CUmemAllocationProp p;

    memset(&p, 0, sizeof(p));
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = g_dev;
    return p;
}

static CUresult c_vm_create(void)
{
    CUmemAllocationProp p = properties();

    return cuMemCreate(&g_handle, g_range_bytes, &p, 0);
}

THEN(s_vm_created, c_vm_create, cuMemAddressReserve(&g_range, g_range_bytes, 0, 0, 0))
DO(c_vm_map, cuMemMap(g_range, g_range_bytes, 0, g_handle, 0))
THEN(s_vm_mapped, s_vm_created, c_vm_map())

static CUresult c_vm_access(void)
{
    CUmemAccessDesc d;

    memset(&d, 0, sizeof(d));
    d.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    d.location.id = g_dev;
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return cuMemSetAccess(g_range, g_range_bytes, &d, 1);
}

THEN(s_vm_usable, s_vm_mapped, c_vm_access())
DO(c_vm_unmap, cuMemUnmap(g_range, g_range_bytes))
THEN(s_vm_unmapped, s_vm_usable, c_vm_unmap())
static CUresult c_vm_release(void)
{
    CUmemGenericAllocationHandle h = g_handle;

    g_handle = 0;
    return cuMemRelease(h);
}
static CUresult k_vm(void)
{
    if (g_range) {
        cuMemUnmap(g_range, g_range_bytes);
        cuMemAddressFree(g_range, g_range_bytes);
        g_range = 0;
    }
    if (g_handle)
        cuMemRelease(g_handle);
    g_handle = 0;
    return CUDA_SUCCESS;
}

static CUmemoryPool g_pool;
static CUresult c_pool_create(void)
{
    CUmemPoolProps p;

    memset(&p, 0, sizeof(p));
    p.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = g_dev;
    return cuMemPoolCreate(&g_pool, &p);
}
static CUresult c_pool_destroy(void)
{
    CUmemoryPool p = g_pool;

    g_pool = NULL;
    return p ? cuMemPoolDestroy(p) : CUDA_SUCCESS;
}

static CUcontext g_second;
static CUresult c_ctx_create(void)
{
    CUresult r = cuCtxCreate(&g_second, NULL, 0, g_dev);

    cuCtxSetCurrent(g_ctx);
    return r;
}
static CUresult c_ctx_destroy(void)
{
    CUcontext c = g_second;
    CUresult r;

    g_second = NULL;
    r = c ? cuCtxDestroy(c) : CUDA_SUCCESS;
    cuCtxSetCurrent(g_ctx);
    return r;
}
DO(c_stack, cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096))
DO(k_stack, cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024))

/* ---- synchronous memsets and copies, of which the gate is in the legacy stream ---- */

DO(c_set_d8, cuMemsetD8(g_mem, 1, 4096))
DO(c_set_d16, cuMemsetD16(g_mem, 1, 4096))
DO(c_set_d32, cuMemsetD32(g_mem, 1, 4096))
DO(c_set_2d8, cuMemsetD2D8(g_mem, 256, 1, 64, 16))
DO(c_set_2d32, cuMemsetD2D32(g_mem, 256, 1, 64, 16))
DO(c_set_managed, cuMemsetD8(g_managed, 1, 4096))
DO(c_set_pinned, cuMemsetD8((CUdeviceptr)(uintptr_t)g_host, 1, 4096))
DO(c_dtod, cuMemcpyDtoD(g_mem, g_mem + (1 << 20), 1 << 20))
DO(c_dtod_small, cuMemcpyDtoD(g_mem, g_mem + (1 << 20), 64))
DO(c_dtod_managed, cuMemcpyDtoD(g_mem, g_managed, 4096))
DO(c_dtod_pinned, cuMemcpyDtoD(g_mem, (CUdeviceptr)(uintptr_t)g_host, 4096))
DO(c_any, cuMemcpy(g_mem, g_mem + (1 << 20), 1 << 20))
DO(c_any_managed, cuMemcpy(g_mem, g_managed, 4096))
DO(c_any_pinned, cuMemcpy(g_mem, (CUdeviceptr)(uintptr_t)g_host, 4096))
DO(c_peer, cuMemcpyPeer(g_mem, g_ctx, g_mem + (1 << 20), g_ctx, 1 << 20))

static CUresult copy_2d(CUmemorytype from, CUmemorytype to)
{
    CUDA_MEMCPY2D c;

    memset(&c, 0, sizeof(c));
    c.srcMemoryType = from, c.dstMemoryType = to;
    c.srcDevice = g_mem + (1 << 20), c.dstDevice = g_mem;
    c.srcPitch = c.dstPitch = 256;
    c.WidthInBytes = 128, c.Height = 16;
    return cuMemcpy2D(&c);
}

DO(c_2d, copy_2d(CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE))
DO(c_2d_unified, copy_2d(CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED))
static CUresult c_3d(void)
{
    CUDA_MEMCPY3D c;

    memset(&c, 0, sizeof(c));
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = g_mem + (1 << 20), c.dstDevice = g_mem;
    c.srcPitch = c.dstPitch = 256, c.srcHeight = c.dstHeight = 16;
    c.WidthInBytes = 128, c.Height = 16, c.Depth = 4;
    return cuMemcpy3D(&c);
}

static CUarray g_array;
static CUresult s_array(void)
{
    CUDA_ARRAY_DESCRIPTOR d = {4096, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1};

    return g_array ? CUDA_SUCCESS : cuArrayCreate(&g_array, &d);
}
DO(c_dtoa, cuMemcpyDtoA(g_array, 0, g_mem, 4096))
DO(c_atod, cuMemcpyAtoD(g_mem, g_array, 0, 4096))
DO(c_atoa, cuMemcpyAtoA(g_array, 0, g_array, 2048, 2048))
DO(c_htod_small, cuMemcpyHtoD(g_mem, g_pageable, 64))
DO(c_htod, cuMemcpyHtoD(g_mem, g_pageable, sizeof(g_pageable)))
DO(c_htod_pinned, cuMemcpyHtoD(g_mem, g_host, 4096))
DO(c_dtoh, cuMemcpyDtoH(g_pageable, g_mem, 64))

/* ---- */

DO(k_none, CUDA_SUCCESS)

static const struct one {
    const char *name;
    CUresult (*setup)(void), (*call)(void), (*clean)(void);
    bool legacy, twice;           /* twice: the first call is part of the preparation */
} k_cases[] = {
#define ROW(name, setup, call)         {#name, s_##setup, c_##call, k_none, false, false},
#define AGAIN(name, setup, call)       {#name "_again", s_##setup, c_##call, k_none, false, true},
#define CLEAN(name, setup, call, k)    {#name, s_##setup, c_##call, k_##k, false, false},
#define LEGACY(name, setup, call)      {"legacy_" #name, s_##setup, c_##call, k_none, true, false},
    ROW(nothing, nothing, nothing)
    ROW(launch, fn, launch) AGAIN(launch, fn, launch) ROW(launch_loaded, fn_loaded, launch)
    ROW(launch_kernel_handle, kernel, launch) ROW(launch_large, large, launch) ROW(launch_local_memory, local_launch, launch)
    ROW(module_load, nothing, module_load) ROW(module_get_function, module, module_function)
    AGAIN(module_get_function, module, module_function) ROW(module_get_global, module, module_global)
    ROW(module_function_count, module, module_count) ROW(module_enumerate_functions, module, module_list)
    ROW(module_unload, module, module_unload) ROW(module_unload_loaded, fn_loaded, module_unload)
    ROW(library_load, nothing, library_load) ROW(library_get_kernel, library, library_kernel)
    ROW(library_get_module, library, library_module) AGAIN(library_get_module, library, library_module)
    ROW(library_get_global, library, library_global) ROW(library_kernel_count, library, library_count)
    ROW(library_enumerate_kernels, library, library_list) ROW(library_unload, library, library_unload)
    ROW(library_unload_loaded, kernel_function, library_unload)
    ROW(kernel_get_function, kernel, kernel_function) AGAIN(kernel_get_function, kernel, kernel_function)
    ROW(kernel_get_function_module, kernel_module, kernel_function)
    ROW(kernel_get_attribute, kernel, kernel_attribute) ROW(kernel_set_attribute, kernel, kernel_set)
    ROW(kernel_get_attribute_local, kernel, kernel_local) ROW(kernel_get_attribute_version, kernel, kernel_version)
    AGAIN(kernel_set_attribute, kernel, kernel_set) AGAIN(kernel_set_cache_config, kernel, kernel_cache)
    AGAIN(kernel_get_param_info, kernel, kernel_param) AGAIN(occupancy_blocks_kernel_handle, kernel, blocks)
    ROW(kernel_set_attribute_function, kernel_function, kernel_set)
    ROW(kernel_get_function_launched, kernel_launched, kernel_function) ROW(launch_kernel_set, kernel_set, launch)
    ROW(launch_kernel_asked, kernel_asked, launch) ROW(occupancy_blocks_set, kernel_set, blocks)
    ROW(occupancy_blocks_kernel_function, kernel_function_asked, blocks)
    AGAIN(launch_kernel_handle, kernel, launch)
    ROW(kernel_set_cache_config, kernel, kernel_cache) ROW(kernel_get_param_info, kernel, kernel_param)
    ROW(kernel_get_name, kernel, kernel_name)
    ROW(func_load, fn, func_load) AGAIN(func_load, fn, func_load) ROW(func_load_function, kernel_function, func_load)
    ROW(func_load_kernel_handle, kernel, func_load) ROW(func_is_loaded, fn, func_is_loaded)
    ROW(func_get_attribute, fn, func_attribute) AGAIN(func_get_attribute, fn, func_attribute)
    ROW(func_get_attribute_loaded, fn_loaded, func_attribute) ROW(func_get_attribute_kernel_handle, kernel, func_attribute)
    ROW(func_get_attribute_local, local_load, func_local)
    ROW(occupancy_blocks_local, local_load, blocks)
    ROW(func_set_attribute, fn, func_set) AGAIN(func_set_attribute, fn, func_set)
    ROW(func_set_attribute_kernel_handle, kernel, func_set) ROW(func_set_cache_config, fn, func_cache)
    ROW(func_get_param_info, fn, func_param) ROW(func_get_module, fn, func_module)
    ROW(func_get_module_kernel_handle, kernel, func_module) ROW(func_get_name, fn, func_name)
    ROW(occupancy_blocks, fn, blocks) AGAIN(occupancy_blocks, fn, blocks) ROW(occupancy_blocks_kernel_handle, kernel, blocks)
    ROW(occupancy_blocks_flags, fn, blocks_flags) ROW(occupancy_block_size, fn, block_size)
    ROW(occupancy_shared, fn, shared) ROW(occupancy_clusters, fn, clusters) ROW(occupancy_cluster_size, fn, cluster_size)
    ROW(capture_begin, nothing, capture_begin) ROW(capture_launch, capture, launch)
    AGAIN(capture_launch, capture, launch) ROW(capture_launch_kernel_handle, capture_kernel, launch)
    ROW(capture_launch_local_memory, capture_local, launch) ROW(capture_end, captured, capture_end)
    ROW(graph_add_kernel_node, empty_graph, add_node)
    ROW(graph_add_kernel_node_kernel_handle, empty_graph_kernel, add_node)
    ROW(graph_instantiate, graph, instantiate) AGAIN(graph_instantiate, graph, instantiate)
    ROW(graph_instantiate_built, built, instantiate) ROW(graph_instantiate_built_kernel_handle, built_kernel, instantiate)
    ROW(graph_instantiate_local_memory, graph_local, instantiate) ROW(graph_instantiate_memory, memory_graph, instantiate)
    ROW(graph_instantiate_upload, graph, instantiate_upload) ROW(graph_upload, exec, upload)
    ROW(graph_launch, exec, graph_launch) ROW(graph_launch_uploaded, uploaded, graph_launch)
    ROW(graph_launch_run, exec_run, graph_launch) ROW(graph_launch_local_memory, exec_local, graph_launch)
    ROW(graph_upload_local_memory, exec_local_upload, upload)
    ROW(graph_exec_set_params, exec_other, set_params) ROW(graph_exec_update, exec_changed, update)
    ROW(graph_exec_destroy, exec_run, exec_destroy) ROW(graph_destroy, graph, graph_destroy)
    ROW(graph_mem_trim, nothing, graph_trim)
    ROW(ipc_get_mem_handle, nothing, ipc_get) CLEAN(ipc_open_mem_handle, ipc, ipc_open, ipc_close)
    ROW(ipc_close_mem_handle, ipc_open, ipc_close)
    CLEAN(mem_create, nothing, vm_create, vm) CLEAN(mem_map, vm_created, vm_map, vm)
    CLEAN(mem_set_access, vm_mapped, vm_access, vm)
    CLEAN(mem_unmap, vm_usable, vm_unmap, vm) CLEAN(mem_release, vm_unmapped, vm_release, vm)
    ROW(pool_create, nothing, pool_create) ROW(pool_destroy, nothing, pool_destroy)
    ROW(ctx_create, nothing, ctx_create) ROW(ctx_destroy, nothing, ctx_destroy)
    CLEAN(ctx_set_limit_stack, nothing, stack, stack)
    LEGACY(memset_d8, nothing, set_d8) LEGACY(memset_d16, nothing, set_d16) LEGACY(memset_d32, nothing, set_d32)
    LEGACY(memset_d2d8, nothing, set_2d8) LEGACY(memset_d2d32, nothing, set_2d32)
    LEGACY(memset_managed, nothing, set_managed) LEGACY(memset_pinned, nothing, set_pinned)
    LEGACY(copy_dtod, nothing, dtod) LEGACY(copy_dtod_small, nothing, dtod_small)
    LEGACY(copy_dtod_managed, nothing, dtod_managed) LEGACY(copy_dtod_pinned, nothing, dtod_pinned)
    LEGACY(copy_any, nothing, any) LEGACY(copy_any_managed, nothing, any_managed) LEGACY(copy_any_pinned, nothing, any_pinned)
    LEGACY(copy_peer, nothing, peer) LEGACY(copy_2d, nothing, 2d) LEGACY(copy_2d_unified, nothing, 2d_unified)
    LEGACY(copy_3d, nothing, 3d) LEGACY(copy_dtoa, array, dtoa) LEGACY(copy_atod, array, atod)
    LEGACY(copy_atoa, array, atoa) LEGACY(copy_htod_small, nothing, htod_small) LEGACY(copy_htod, nothing, htod)
    LEGACY(copy_htod_pinned, nothing, htod_pinned) LEGACY(copy_dtoh, nothing, dtoh)
};

#endif
