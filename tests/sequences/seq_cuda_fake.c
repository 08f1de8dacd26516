/* SPDX-License-Identifier: Apache-2.0 */
/* What CUDA programs do beside streams, on the fake driver: whatever it implements. */
#include <unistd.h>

#include "seq_cuda.h"

void *(*const seq_find)(unsigned row) = NULL;
bool (*const seq_is_weak)(unsigned row) = NULL;

static CUcontext g_context;
static bool g_primary; /* the primary context, which the next program may find as it is */

void seq_read_log(void *to, struct seq_slot *s, size_t bytes)
{
    memcpy(to, s->log, bytes); /* the fake's device memory is the host's */
}

int seq_capture_begin(struct seq_slot *s)
{
    if (seq_chance(4) == 0)
        return CALL(cuStreamBeginRecaptureToGraph, (CUstream, int, void *, void *, void *), s->stream, 2, seq_scratch, NULL,
                    NULL);
    return CALL(cuStreamBeginCapture_v2, (CUstream, int), s->stream, 2);
}

static void allocate_and_free(struct seq_slot *s)
{
    CUdeviceptr p = 0;

    if (seq_chance(2)) {
        OK(CALL(cuMemAllocAsync, (CUdeviceptr *, size_t, CUstream), &p, 256, s->stream));
        CALL(cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream), p, 3, 256, s->stream);
        CALL(cuMemcpyAsync, (CUdeviceptr, CUdeviceptr, size_t, CUstream), DEV(s->words), p, 128, s->stream);
        CALL(cuMemFreeAsync, (CUdeviceptr, CUstream), p, s->stream);
    } else {
        uint32_t word = 0;

        OK(CALL(cuMemAlloc_v2, (CUdeviceptr *, size_t), &p, 64));
        CALL(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t), p, &seq_tag, 4);
        CALL(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t), &word, p, 4);
        seq_note(&word, 4);
        CALL(cuMemFree_v2, (CUdeviceptr), p);
    }
}

/* By a handle, at reserved addresses; commands use it, too. */
static void mapped_memory(struct seq_slot *s)
{
    const size_t block = 2 << 20;
    struct xs_cu_mem_properties p = {.type = 1, .location = {1, 0}};
    struct xs_cu_mem_access access = {{1, 0}, 3};
    uint64_t handle = 0, again = 0, how = 0;
    uint32_t word = 0;
    CUdeviceptr at = 0;
    size_t granularity = 0;

    CALL(cuMemGetAllocationGranularity, (size_t *, const void *, int), &granularity, &p, 0);
    if (CALL(cuMemAddressReserve, (CUdeviceptr *, size_t, size_t, CUdeviceptr, uint64_t), &at, block, 0, 0, 0))
        return;
    if (CALL(cuMemCreate, (uint64_t *, size_t, const void *, uint64_t), &handle, block, &p, 0) == 0) {
        CALL(cuMemGetAllocationPropertiesFromHandle, (void *, uint64_t), &p, handle);
        CALL(cuMemExportToShareableHandle, (void *, uint64_t, int, uint64_t), &how, handle, 1, 0);
        if (CALL(cuMemMap, (CUdeviceptr, size_t, size_t, uint64_t, uint64_t), at, block, 0, handle, 0) == 0 &&
            CALL(cuMemSetAccess, (CUdeviceptr, size_t, const void *, size_t), at, block, &access, 1) == 0) {
            CALL(cuMemGetAccess, (uint64_t *, const void *, CUdeviceptr), &how, &access.location, at);
            CALL(cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream), at, ++seq_tag, 16, s->stream);
            OK(CALL(cuStreamSynchronize, (CUstream), s->stream));
            CALL(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t), &word, at + 8, 4);
        }
        if (CALL(cuMemRetainAllocationHandle, (uint64_t *, void *), &again, (void *)(uintptr_t)at) == 0)
            CALL(cuMemRelease, (uint64_t), again);
        CALL(cuMemUnmap, (CUdeviceptr, size_t), at, block);
        CALL(cuMemRelease, (uint64_t), handle);
    }
    CALL(cuMemAddressFree, (CUdeviceptr, size_t), at, block);
    seq_note(&granularity, sizeof(granularity));
    seq_note(&how, sizeof(how));
    seq_note(&word, sizeof(word));
}

/* Memory that no command uses: it comes and goes. */
static void other_memory(struct seq_slot *s)
{
    size_t bytes = 0, total = 0, pitch = 0, description[16] = {64, 4, 0, 1};
    CUdeviceptr p = 0;
    void *thing = NULL;

    switch (seq_chance(6)) {
    case 0:
        CALL(cuMemGetInfo_v2, (size_t *, size_t *), &bytes, &total);
        CALL(cuDeviceTotalMem_v2, (size_t *, int), &total, 0);
        break;
    case 1:
        if (CALL(cuMemAllocPitch_v2, (CUdeviceptr *, size_t *, size_t, size_t, unsigned), &p, &pitch, 100, 4,
                 4) == 0)
            CALL(cuMemFree_v2, (CUdeviceptr), p);
        if (CALL(cuMemAllocManaged, (CUdeviceptr *, size_t, unsigned), &p, 256, 1) == 0)
            CALL(cuMemFree_v2, (CUdeviceptr), p);
        break;
    case 2:
        if (CALL(cuMemAllocFromPoolAsync, (CUdeviceptr *, size_t, void *, CUstream), &p, 256, NULL,
                 s->stream) == 0)
            CALL(cuMemFree_v2, (CUdeviceptr), p);
        break;
    case 3:
        if (CALL(cuArrayCreate_v2, (void **, const void *), &thing, description) == 0)
            CALL(cuArrayDestroy, (void *), thing);
        if (CALL(cuArray3DCreate_v2, (void **, const void *), &thing, description) == 0)
            CALL(cuArrayDestroy, (void *), thing);
        break;
    case 4:
        if (CALL(cuMipmappedArrayCreate, (void **, const void *, unsigned), &thing, description, 1) == 0)
            CALL(cuMipmappedArrayDestroy, (void *), thing);
        break;
    default:
        mapped_memory(s);
        break;
    }
    seq_note(&total, sizeof(total));
    seq_note(&pitch, sizeof(pitch));
}

static void ask(struct seq_slot *s)
{
    CUcontext context = NULL, other = NULL;
    int number = 0, active = 0;
    unsigned char uuid[16] = {0};
    const char *said = NULL;
    char text[64] = "";
    unsigned long long id = 0;
    unsigned flags = 0;

    switch (seq_chance(9)) {
    case 0:
        CALL(cuStreamGetPriority, (CUstream, int *), s->stream, &number);
        break;
    case 1:
        CALL(cuStreamGetFlags, (CUstream, unsigned *), s->stream, &flags);
        break;
    case 2:
        CALL(cuStreamGetCtx, (CUstream, CUcontext *), s->stream, &context);
        CALL(cuCtxGetCurrent, (CUcontext *), &other);
        CALL(cuCtxGetId, (CUcontext, unsigned long long *), other, &id);
        number = context == other;
        break;
    case 3:
        CALL(cuCtxGetDevice, (int *), &number);
        break;
    case 4:
        CALL(cuDeviceGetCount, (int *), &number);
        break;
    case 5:
        CALL(cuDeviceGetAttribute, (int *, int, int), &number, 33, (int)seq_chance(2));
        CALL(cuDeviceGetUuid, (unsigned char *, int), uuid, (int)seq_chance(2));
        CALL(cuDeviceGetUuid_v2, (unsigned char *, int), uuid, (int)seq_chance(2));
        break;
    case 6:
        CALL(cuDriverGetVersion, (int *), &number);
        CALL(cuDeviceGetName, (char *, int, int), text, (int)sizeof(text), (int)seq_chance(2));
        CALL(cuGetErrorName, (int, const char **), (int)seq_chance(2), &said);
        CALL(cuGetErrorString, (int, const char **), (int)seq_chance(2), &said);
        break;
    case 7:
        CALL(cuDevicePrimaryCtxGetState, (int, unsigned *, int *), (int)seq_chance(2), &flags, &active);
        break;
    default:
        CALL_TIMED(cuStreamQuery, (CUstream), s->stream);
        if (s->per_thread)
            CALL_TIMED(cuStreamQuery_ptsz, (CUstream), NULL);
        CALL_TIMED(cuEventQuery, (CUevent), s->event);
        break;
    }
    seq_note(&number, sizeof(number));
    seq_note(&flags, sizeof(flags));
    seq_note(&active, sizeof(active));
    seq_note(text, sizeof(text));
    if (said)
        seq_note(said, strlen(said));
}

static void memory_operations(struct seq_slot *s)
{
    CUdeviceptr last = DEV(s->words) + 4 * (SEQ_WORDS - 2);

    /* what is not written is not waited for */
    if (seq_chance(4)) {
        uint32_t tag = ++seq_tag;
        struct {                  /* CUstreamBatchMemOpParams */
            uint32_t operation;
            CUdeviceptr address;
            uint64_t value;
            uint32_t flags;
            uint64_t rest[2];
        } ops[2] = {{2, last, tag, 0, {0, 0}}, {1, last, tag, 0, {0, 0}}};

        CALL(cuStreamBatchMemOp_v2, (CUstream, unsigned, void *, unsigned), s->stream, 2, ops, 0);
    } else if (seq_chance(2)) {
        if (CALL(cuStreamWriteValue32_v2, (CUstream, CUdeviceptr, uint32_t, unsigned), s->stream, last,
                 ++seq_tag, 0) == 0)
            CALL(cuStreamWaitValue32_v2, (CUstream, CUdeviceptr, uint32_t, unsigned), s->stream, last, seq_tag,
                 0);
    } else {
        if (CALL(cuStreamWriteValue64_v2, (CUstream, CUdeviceptr, uint64_t, unsigned), s->stream, last,
                 ++seq_tag, 0) == 0)
            CALL(cuStreamWaitValue64_v2, (CUstream, CUdeviceptr, uint64_t, unsigned), s->stream, last, seq_tag,
                 0);
    }
}

/* Of another process, as far as the fake has one. */
static void peer_memory(void)
{
    struct xs_cu_ipc_handle handle = {{0}};
    CUdeviceptr p = 0;
    void *thing = NULL;

    CALL(cuIpcOpenMemHandle, (CUdeviceptr *, struct xs_cu_ipc_handle, unsigned), &p, handle, 1);
    CALL(cuIpcOpenMemHandle_v2, (CUdeviceptr *, struct xs_cu_ipc_handle, unsigned), &p, handle, 1);
    CALL(cuIpcCloseMemHandle, (CUdeviceptr), p);
    CALL(cuMemImportFromShareableHandle, (void *, void *, int), &thing, NULL, 1);
    CALL(cuMemPoolImportFromShareableHandle, (void *, void *, int, uint64_t), &thing, NULL, 1, 0);
}

/* Fills and copies without a stream, of memory that belongs to the default stream. */
static void default_streams(void)
{
    CUdeviceptr legacy = DEV(seq_slots[SEQ_LEGACY].words), own = DEV(seq_slots[SEQ_PER_THREAD].words), p;
    size_t half = 2 * SEQ_WORDS;
    struct xs_cu_copy_2d flat = {.src_type = XS_CU_MEMORY_DEVICE, .dst_type = XS_CU_MEMORY_DEVICE, .src_device = legacy,
                                 .dst_device = legacy + half, .width_bytes = 32, .height = 1};
    struct xs_cu_copy_3d deep = {.src_type = XS_CU_MEMORY_DEVICE, .dst_type = XS_CU_MEMORY_DEVICE, .src_device = legacy,
                                 .dst_device = legacy + half, .width_bytes = 32, .height = 1, .depth = 1};
    const int what[] = {XS_CU_POINTER_TYPE, XS_CU_POINTER_IS_MANAGED};
    unsigned type = 0, managed = 0;
    void *answers[] = {&type, &managed}, *host = NULL;
    struct xs_cu_ipc_handle peer;
    size_t bytes;

    switch (seq_chance(8)) {
    case 0:
        CALL(cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t), legacy, (unsigned char)++seq_tag, 64);
        CALL(cuMemsetD16_v2, (CUdeviceptr, unsigned short, size_t), legacy + 64, (unsigned short)seq_tag, 8);
        CALL(cuMemsetD32_v2, (CUdeviceptr, unsigned, size_t), legacy + half, seq_tag, 4);
        break;
    case 1:
        CALL(cuMemsetD8_v2_ptds, (CUdeviceptr, unsigned char, size_t), own, (unsigned char)++seq_tag, 64);
        CALL(cuMemcpyDtoD_v2_ptds, (CUdeviceptr, CUdeviceptr, size_t), own + half, own, 64);
        CALL(cuMemcpy_ptds, (CUdeviceptr, CUdeviceptr, size_t), own + half, own + 4, 16);
        break;
    case 2:
        CALL(cuMemcpyDtoD_v2, (CUdeviceptr, CUdeviceptr, size_t), legacy + half, legacy, 64);
        break;
    case 3:
        CALL(cuMemcpy, (CUdeviceptr, CUdeviceptr, size_t), legacy + half, legacy, 40);
        break;
    case 4:
        CALL(cuMemcpyPeer, (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t), legacy, g_context, legacy + half,
             g_context, 24);
        break;
    case 5:
        CALL(cuMemcpy2D_v2, (const void *), &flat);
        CALL(cuMemcpy3D_v2, (const void *), &deep);
        break;
    case 6: /* a call that waits */
        OK(CALL(cuMemAllocManaged, (CUdeviceptr *, size_t, unsigned), &p, 256, 1));
        CALL(cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t), p, 7, 256);
        CALL(cuMemcpyDtoD_v2, (CUdeviceptr, CUdeviceptr, size_t), legacy, p, 32);
        CALL(cuMemFree_v2, (CUdeviceptr), p);
        break;
    default:
        CALL(cuPointerGetAttributes, (unsigned, const int *, void **, CUdeviceptr), 2, what, answers, own);
        CALL(cuPointerGetAttribute, (void *, int, CUdeviceptr), &managed, XS_CU_POINTER_IS_MANAGED, own);
        CALL(cuPointerSetAttribute, (const void *, int, CUdeviceptr), &managed, 6, own);
        CALL(cuMemGetAddressRange_v2, (CUdeviceptr *, size_t *, CUdeviceptr), &p, &bytes, own);
        CALL(cuIpcGetMemHandle, (struct xs_cu_ipc_handle *, CUdeviceptr), &peer, own);
        if (CALL(cuMemAllocHost_v2, (void **, size_t), &host, 64) == 0)
            CALL(cuMemFree_v2, (CUdeviceptr), DEV(host));
        peer_memory();
        break;
    }
    seq_note(&type, sizeof(type));
}

static void libraries(void)
{
    void *library = NULL, *kernel = NULL, *module = NULL;
    CUfunction function = NULL;
    int results[8] = {0}, blocks = 0;
    size_t at, bytes;

    OK(CALL(cuLibraryLoadData, (void **, const void *, void *, void *, unsigned, void *, void *, unsigned), &library,
            "image", NULL, NULL, 0, NULL, NULL, 0));
    results[0] = CALL(cuLibraryGetKernel, (void **, void *, const char *), &kernel, library, seq_chance(4) ? "nop" : "no");
    for (int i = 0; i < 2; i++) {
        results[1] += CALL(cuLibraryGetModule, (void **, void *), &module, library);
        results[2] += CALL(cuKernelGetFunction, (CUfunction *, void *), &function, kernel);
    }
    results[3] = CALL(cuFuncLoad, (CUfunction), function);
    results[4] = CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, void *, int, size_t), &blocks, kernel, 64, 0);
    results[5] = CALL(cuKernelSetAttribute, (int, int, void *, int), 8, 64, kernel, 0);
    results[6] = CALL(cuKernelSetCacheConfig, (void *, int, int), kernel, 0, 0);
    results[7] = CALL(cuKernelGetParamInfo, (void *, size_t, size_t *, size_t *), kernel, 0, &at, &bytes);
    seq_note(results, sizeof(results));
    CALL(cuLibraryUnload, (void *), library);
}

/* The program's own green context: a stream of it is one more, beside others. */
static void green_context(void)
{
    struct xs_cu_resource all, part, rest;
    CUcontext primary = NULL, of = NULL;
    void *desc = NULL, *green = NULL, *stream = NULL;
    unsigned groups = 1;

    if (CALL(cuDevicePrimaryCtxRetain, (CUcontext *, int), &primary, 1) != 0)
        return;
    if (CALL(cuDeviceGetDevResource, (int, void *, int), 1, &all, 1) == 0 &&
        CALL(cuDevSmResourceSplitByCount, (void *, unsigned *, const void *, void *, unsigned, unsigned), &part, &groups, &all,
             &rest, 0, 16) == 0 &&
        CALL(cuDevResourceGenerateDesc, (void **, void *, unsigned), &desc, &part, 1) == 0 &&
        CALL(cuGreenCtxCreate, (void **, void *, int, unsigned), &green, desc, 1, 1) == 0) {
        CALL(cuCtxFromGreenCtx, (CUcontext *, void *), &of, green);
        if (CALL(cuGreenCtxStreamCreate, (void **, void *, unsigned, int), &stream, green, 1, 0) == 0) {
            CALL(cuLaunchKernel, LAUNCH_TYPES, seq_nop, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
            CALL(cuStreamSynchronize, (CUstream), stream);
            CALL(cuStreamDestroy_v2, (CUstream), stream);
        }
        CALL(cuGreenCtxDestroy, (void *), green);
    }
    CALL(cuDevicePrimaryCtxRelease_v2, (int), 1);
}

static void contexts_and_libraries(void)
{
    CUcontext primary = NULL, old = NULL;
    void *pointer = NULL;
    int status = 0, dev = (int)seq_chance(2);

    switch (seq_chance(7)) {
    case 6:
        green_context();
        break;
    case 0:
        OK(CALL(cuDevicePrimaryCtxRetain, (CUcontext *, int), &primary, dev));
        CALL(cuCtxPushCurrent_v2, (CUcontext), primary);
        CALL(cuCtxSynchronize, (void));
        if (CALL(cuCtxPopCurrent_v2, (CUcontext *), &old) != 0) /* a fault: that one may be about to end */
            CALL(cuCtxSetCurrent, (CUcontext), g_context);
        if ((g_primary && dev == 0) || seq_chance(4))
            CALL(cuDevicePrimaryCtxRelease_v2, (int), dev);
        else
            CALL(cuDevicePrimaryCtxReset_v2, (int), dev);
        break;
    case 1:
        CALL(cuCtxGetCurrent, (CUcontext *), &old);
        CALL(cuCtxSetCurrent, (CUcontext), old);
        OK(CALL(cuCtxAttach, (CUcontext *, unsigned), &old, 0)); /* one use more, and it goes on */
        OK(CALL(cuCtxDetach, (CUcontext), old));
        break;
    case 2:
        CALL(cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *), "cuMemsetD32Async", &pointer,
             12000, 0, &status);
        ((CUresult(*)(CUdeviceptr, unsigned, size_t, CUstream))pointer)(DEV(seq_slots[SEQ_BLOCKING].words), seq_tag, 4,
                                                                        seq_slots[SEQ_BLOCKING].stream);
        break;
    case 3:
        CALL(cuGetProcAddress, (const char *, void **, int, uint64_t), "cuStreamWaitEvent", &pointer, 11030,
             0);
        break;
    case 4:
        libraries();
        break;
    default:
        CALL(cuDeviceGet, (int *, int), &dev, (int)seq_chance(4));
        break;
    }
    seq_note(&status, sizeof(status));
    seq_note(&dev, sizeof(dev));
}

/* What is launched in between never runs here: no graphics API is there. */
static void command_list(struct seq_slot *s)
{
    int r = CALL(cuStreamBeginCaptureToCig, (CUstream, void *), s->stream, seq_chance(3) ? seq_scratch : NULL);

    seq_note(&r, sizeof(r));
    if (r)
        return;
    r = CALL(cuLaunchKernel, LAUNCH_TYPES, seq_nop, 1, 1, 1, 1, 1, 1, 0, s->stream, NULL, NULL);
    seq_note(&r, sizeof(r));
    OK(CALL(cuStreamEndCaptureToCig, (CUstream), s->stream));
}

/* A graph that allocates and frees. Nothing of it runs. */
static void graph_memory(void)
{
    uint64_t params[15] = {1, 1}, reserved = 0; /* on device 0; the bytes are before the last word */
    void *graph = NULL, *nodes[2], *node, *exec = NULL, *child = NULL;
    CUdeviceptr at = 0;
    size_t count = 2;
    int type = 0;

    params[13] = 4096;
    OK(CALL(cuGraphCreate, (void **, unsigned), &graph, 0));
    OK(CALL(cuGraphAddMemAllocNode, (void **, void *, const void *, size_t, void *), &node, graph, NULL, 0, params));
    OK(CALL(cuGraphAddMemFreeNode, (void **, void *, const void *, size_t, CUdeviceptr), &node, graph, NULL, 0, params[14]));
    OK(CALL(cuGraphGetNodes, (void *, void **, size_t *), graph, nodes, &count));
    OK(CALL(cuGraphNodeGetType, (void *, int *), nodes[0], &type));
    seq_note(&type, sizeof(type));
    CALL(cuGraphMemAllocNodeGetParams, (void *, void *), nodes[0], params);
    CALL(cuGraphMemFreeNodeGetParams, (void *, CUdeviceptr *), nodes[1], &at);
    CALL(cuGraphChildGraphNodeGetGraph, (void *, void **), nodes[0], &child);
    OK(CALL(cuGraphInstantiateWithFlags, (void **, void *, uint64_t), &exec, graph, 0));
    OK(CALL(cuDeviceGetGraphMemAttribute, (int, int, uint64_t *), 0, 2, &reserved));
    seq_note(&reserved, sizeof(reserved));
    OK(CALL(cuGraphExecDestroy, (void *), exec));
    OK(CALL(cuDeviceGraphMemTrim, (int), 0));
    OK(CALL(cuGraphDestroy, (void *), graph));
}

static void registered_memory(struct seq_slot *s)
{
    CUdeviceptr p = 0;

    CALL(cuMemHostRegister_v2, (void *, size_t, unsigned), s->host, sizeof(s->host), 2);
    CALL(cuMemHostGetDevicePointer_v2, (CUdeviceptr *, void *, unsigned), &p, s->host, 0);
    CALL(cuMemHostUnregister, (void *), s->host);
}

void seq_other(struct seq_slot *s)
{
    switch (seq_chance(8)) {
    case 0:
        allocate_and_free(s);
        break;
    case 6:
        default_streams();
        break;
    case 1:
        memory_operations(s);
        break;
    case 2:
        contexts_and_libraries();
        break;
    case 3:
        ask(s);
        break;
    case 4:
        registered_memory(s);
        break;
    case 5:
        graph_memory();
        command_list(s);
        break;
    default:
        other_memory(s);
        break;
    }
}

/* Lanes are made when the first kernel asks for one, in a thread aside, and programs are short. */
static void let_lanes_be_made(void)
{
    if (!g_primary || !getenv("SEQ_LANES"))
        return;
    for (int i = 0; i < SEQ_SLOTS; i++)
        OK(((int (*)LAUNCH_TYPES)seq_fn[ROW_cuLaunchKernel])(seq_nop, 5000, 1, 1, 1, 1, 1, 0, seq_slots[i].stream, NULL, NULL));
    usleep(3000);
    OK(((int (*)(void))seq_fn[ROW_cuCtxSynchronize])());
}

void seq_open(void)
{
    CUdeviceptr p;
    void *module = NULL;

    g_primary = seq_chance(2);
    if (g_primary) {
        OK(CALL(cuDevicePrimaryCtxRetain, (CUcontext *, int), &g_context, 0));
        OK(CALL(cuCtxSetCurrent, (CUcontext), g_context));
    } else {
        OK(CALL(cuCtxCreate_v2, (CUcontext *, unsigned, int), &g_context, 0, (int)seq_chance(2)));
    }
    OK(CALL(cuModuleLoadData, (void **, const void *), &module, "image"));
    OK(CALL(cuModuleGetFunction, (CUfunction *, void *, const char *), &seq_work, module, "work"));
    OK(CALL(cuModuleGetFunction, (CUfunction *, void *, const char *), &seq_nop, module, "nop"));
    seq_slots[SEQ_PER_THREAD].stream = XS_CU_STREAM_PER_THREAD;
    OK(CALL(cuStreamCreate, (void **, unsigned), &seq_slots[SEQ_BLOCKING].stream, 0));
    OK(CALL(cuStreamCreateWithPriority, (void **, unsigned, int), &seq_slots[SEQ_FREE].stream, 1,
            -(int)seq_chance(3)));
    for (int i = 0; i < SEQ_SLOTS; i++) {
        OK(CALL(cuMemAlloc_v2, (CUdeviceptr *, size_t), &p, 4 * SEQ_WORDS));
        seq_slots[i].words = (void *)(uintptr_t)p;
        OK(CALL(cuMemAlloc_v2, (CUdeviceptr *, size_t), &p, 4 * SEQ_LOG_WORDS));
        seq_slots[i].log = (void *)(uintptr_t)p;
        OK(CALL(cuEventCreate, (void **, unsigned), &seq_slots[i].event, 0));
    }
    let_lanes_be_made();
}

void seq_close(void)
{
    CALL(cuStreamDestroy_v2, (CUstream), seq_slots[SEQ_BLOCKING].stream);
    CALL(cuStreamDestroy_v2, (CUstream), seq_slots[SEQ_FREE].stream);
    for (int i = 0; i < SEQ_SLOTS; i++) {
        CALL(cuMemFree_v2, (CUdeviceptr), DEV(seq_slots[i].words));
        CALL(cuMemFree_v2, (CUdeviceptr), DEV(seq_slots[i].log));
    }
    if (!g_primary)
        OK(CALL(cuCtxDestroy_v2, (CUcontext), g_context));
    else if (seq_chance(4) == 0)
        OK(CALL(cuDevicePrimaryCtxReset_v2, (int), 0));
    seq_say_confined(0);
}
