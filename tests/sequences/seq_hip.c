/* SPDX-License-Identifier: Apache-2.0 */
/* HIP's functions for seq_stream.c. */
#include "hal/hip/hip_abi.h"
#include "seq_stream.h"

enum row {
#define HIP(kind, symbol, name, version, streams, params, args, stream, key) ROW_##symbol,
#define HIP_PASS(symbol, name, version, streams)                             ROW_##symbol,
#include "shim/hip/hip_api.def"
#undef HIP
#undef HIP_PASS
#undef HIP_OWN
    ROWS
};

const struct seq_row seq_rows[] = {
#define HIP(kind, symbol, name, version, streams, params, args, stream, key) {#symbol, #params, NULL},
#define HIP_PASS(symbol, name, version, streams)                             {#symbol, NULL, NULL},
#include "shim/hip/hip_api.def"
};
const unsigned seq_row_count = ROWS;
void *seq_fn[ROWS];
unsigned long seq_called[ROWS];
const char *const seq_library = "libamdhip64.so.6";
void *(*const seq_find)(unsigned row) = NULL;
bool (*const seq_is_weak)(unsigned row) = NULL;

static hipFunction_t g_work, g_nop;
static char g_stub_work, g_stub_nop; /* addresses of host stubs */
static const struct xs_dim3 k_one = {1, 1, 1};

static void register_kernel(void **modules, const void *stub, char *name)
{
    CALL_AS(int, __hipRegisterFunction,
            (void **, const void *, char *, const char *, unsigned, void *, void *, void *, void *, int *),
            modules, stub, name, name, 0, NULL, NULL, NULL, NULL, NULL);
}

void seq_start(void)
{
    char work[] = "work", nop[] = "nop";
    void **modules = CALL_AS(void **, __hipRegisterFatBinary, (const void *), "fat");

    register_kernel(modules, &g_stub_work, work);
    register_kernel(modules, &g_stub_nop, nop);
    OK(CALL(hipInit, (unsigned), 0));
}

/* By value: xs_dim3 in two registers, xs_hip_location in one. Larger ones lie on the stack in the place of the last
 * arguments, which the fake never reads. */
bool seq_argument(const char *type, uintptr_t *ret, unsigned *ret_slots)
{
    if (strchr(type, '*'))
        return false;
    if (strstr(type, "hipStream_t"))
        *ret = (uintptr_t)seq_slots[seq_chance(SEQ_SLOTS)].stream;
    else if (strstr(type, "hipEvent_t"))
        *ret = (uintptr_t)seq_slots[seq_chance(SEQ_SLOTS)].event;
    else if (strstr(type, "hipFunction_t") || strstr(type, "hipGraph"))
        *ret = (uintptr_t)seq_scratch;
    else if (strstr(type, "struct xs_dim3"))
        *ret = 1, *ret_slots = 2;
    else if (strstr(type, "struct xs_hip_pitched") || strstr(type, "struct xs_hip_extent"))
        *ret = 0, *ret_slots = 0;
    else if (strstr(type, "struct xs_hip_location"))
        *ret = 0;
    else
        return false;
    return true;
}

#define BY_STUB   (const void *, struct xs_dim3, struct xs_dim3, void **, size_t, hipStream_t)
#define BY_MODULE (hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, hipStream_t, \
                   void **, void **)
#define BY_EXT    (hipFunction_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, size_t, hipStream_t, \
                   void **, void **, hipEvent_t, hipEvent_t, uint32_t)

int seq_launch(struct seq_slot *s, bool work, unsigned how, void **params)
{
    const void *stub = work ? &g_stub_work : &g_stub_nop;
    hipFunction_t f = work ? g_work : g_nop;
    struct xs_hip_launch_config config = {{1, 1, 1}, {1, 1, 1}, 0, s->stream, NULL, 0};
    struct xs_dim3 grid, block;
    size_t shared = 0;
    hipStream_t stream = NULL;

    if (how % 11 == 0) { /* as a library asks about its kernels */
        const char *name = CALL_AS(const char *, hipKernelNameRefByPtr, (const void *, hipStream_t), stub, s->stream);

        seq_must(!name || strcmp(name, work ? "work" : "nop"), "hipKernelNameRefByPtr");
        OK(CALL(hipFuncGetAttributes, (void *, const void *), seq_scratch, stub));
    }
    if (s->per_thread && how % 2)
        return CALL(hipLaunchKernel_spt, BY_STUB, stub, k_one, k_one, params, 0, NULL);
    switch (how % 9) {
    case 0:
        return CALL(hipExtModuleLaunchKernel, BY_EXT, f, 1, 1, 1, 1, 1, 1, 0, s->stream, params, NULL, NULL, NULL, 0);
    case 1:
        return CALL(_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j,
                    BY_EXT, f, 1, 1, 1, 1, 1, 1, 0, s->stream, params, NULL, NULL, NULL, 0);
    case 2:
        return CALL(hipExtLaunchKernel,
                    (const void *, struct xs_dim3, struct xs_dim3, void **, size_t, hipStream_t, hipEvent_t, hipEvent_t,
                     int),
                    stub, k_one, k_one, params, 0, s->stream, NULL, how & 16 ? s->event : NULL, 0);
    case 3:
        return CALL(hipLaunchKernelExC, (const struct xs_hip_launch_config *, const void *, void **), &config, stub,
                    params);
    case 4:
        return CALL(hipLaunchCooperativeKernel,
                    (const void *, struct xs_dim3, struct xs_dim3, void **, unsigned, hipStream_t), stub, k_one, k_one,
                    params, 0, s->stream);
    case 5: /* as compiled code does it */
        OK(CALL(__hipPushCallConfiguration, (struct xs_dim3, struct xs_dim3, size_t, hipStream_t), k_one, k_one, 0,
                s->stream));
        OK(CALL(__hipPopCallConfiguration, (struct xs_dim3 *, struct xs_dim3 *, size_t *, hipStream_t *), &grid, &block,
                &shared, &stream));
        seq_must(stream != s->stream, "the stream that was pushed");
        return CALL(hipLaunchKernel, BY_STUB, stub, grid, block, params, shared, stream);
    case 6:
        if (work) /* takes no parameters */
            break;
        OK(CALL(hipConfigureCall, (struct xs_dim3, struct xs_dim3, size_t, hipStream_t), k_one, k_one, 0, s->stream));
        return CALL(hipLaunchByPtr, (const void *), stub);
    case 7:
        return CALL(hipModuleLaunchKernel, BY_MODULE, f, 1, 1, 1, 1, 1, 1, 0, s->stream, params, NULL);
    default:
        break;
    }
    return CALL(hipLaunchKernel, BY_STUB, stub, k_one, k_one, params, 0, s->stream);
}

#define BY_COPY (void *, const void *, size_t, int, hipStream_t)

int seq_copy_out(struct seq_slot *s)
{
    return CALL(hipMemcpyAsync, BY_COPY, s->back, s->words, sizeof(s->back), 2, s->stream);
}

int seq_copy_in(struct seq_slot *s, size_t bytes)
{
    if (s->per_thread)
        return CALL(hipMemcpyAsync_spt, BY_COPY, s->words, s->host, bytes, 1, NULL);
    return CALL(hipMemcpyAsync, BY_COPY, s->words, s->host, bytes, 1, s->stream);
}

int seq_copy_between(struct seq_slot *to, struct seq_slot *from, size_t bytes)
{
    return CALL(hipMemcpyAsync, BY_COPY, to->words, from->words, bytes, 3, to->stream);
}

int seq_fill(struct seq_slot *s, uint32_t value, size_t words)
{
    if (value % 2)
        return CALL(hipMemsetAsync, (void *, int, size_t, hipStream_t), s->words, (int)value, 4 * words, s->stream);
    return CALL(hipMemsetD32Async, (void *, int, size_t, hipStream_t), s->words, (int)value, words, s->stream);
}

int seq_wait_all(void)
{
    if (seq_chance(2))
        return CALL(hipCtxSynchronize, (void));
    return CALL(hipDeviceSynchronize, (void));
}

int seq_wait_stream(struct seq_slot *s)
{
    if (s->per_thread)
        return CALL(hipStreamSynchronize_spt, (hipStream_t), NULL);
    return CALL(hipStreamSynchronize, (hipStream_t), s->stream);
}

int seq_query_stream(struct seq_slot *s)
{
    return CALL_TIMED(hipStreamQuery, (hipStream_t), s->stream);
}

int seq_record(struct seq_slot *s)
{
    return CALL(hipEventRecord, (hipEvent_t, hipStream_t), s->event, s->stream);
}

int seq_wait_event(struct seq_slot *s)
{
    int r = CALL(hipEventSynchronize, (hipEvent_t), s->event);
    float ms = 1;

    if (r == 0) {
        OK(CALL(hipEventElapsedTime, (float *, hipEvent_t, hipEvent_t), &ms, s->event, s->event));
        seq_must(ms != 0, "hipEventElapsedTime");
    }
    return r;
}

int seq_query_event(struct seq_slot *s)
{
    return CALL_TIMED(hipEventQuery, (hipEvent_t), s->event);
}

int seq_stream_waits(struct seq_slot *s, struct seq_slot *for_event_of)
{
    return CALL(hipStreamWaitEvent, (hipStream_t, hipEvent_t, unsigned), s->stream, for_event_of->event, 0);
}

int seq_host_function(struct seq_slot *s, void (*fn)(void *))
{
    return CALL(hipLaunchHostFunc, (hipStream_t, void *, void *), s->stream, (void *)(uintptr_t)fn, s);
}

int seq_clear_log(struct seq_slot *s)
{
    static const uint32_t zero;

    return CALL(hipMemcpyWithStream, BY_COPY, s->log, &zero, sizeof(zero), 1, s->stream);
}

int seq_exchange_mode(int *mode)
{
    return CALL(hipThreadExchangeStreamCaptureMode, (int *), mode);
}

void seq_read_log(void *to, struct seq_slot *s, size_t bytes)
{
    memcpy(to, s->log, bytes); /* the fake's device memory is the host's */
}

int seq_capture_begin(struct seq_slot *s)
{
    return CALL(hipStreamBeginCapture, (hipStream_t, int), s->stream, 2);
}

int seq_capture_asks(struct seq_slot *s, int *ret_status)
{
    return CALL(hipStreamIsCapturing, (hipStream_t, int *), s->stream, ret_status);
}

int seq_capture_end(struct seq_slot *s, void **ret_graph)
{
    return CALL(hipStreamEndCapture, (hipStream_t, void **), s->stream, ret_graph);
}

int seq_instantiate(void **ret_exec, void *graph)
{
    return CALL(hipGraphInstantiate, (void **, void *, void *, char *, size_t), ret_exec, graph, NULL, NULL, 0);
}

int seq_graph_launch(void *exec, struct seq_slot *s)
{
    return CALL(hipGraphLaunch, (void *, hipStream_t), exec, s->stream);
}

/* Copies of two rows of two bytes, of arrays and of symbols, without a stream. */
static void areas(char *p)
{
    const size_t described[16] = {[4] = (size_t)p, [6] = 2, [11] = (size_t)(p + 48), [13] = 2, [14] = 2, [15] = 2};
    struct xs_hip_copy_3d box = {.src = {p, 2, 2, 2}, .dst = {p + 44, 2, 2, 2}, .extent = {2, 2, 1}, .kind = 3};

    CALL(hipMemcpy2D, (void *, size_t, const void *, size_t, size_t, size_t, int), p + 16, 4, p, 2, 2, 2, 3);
    CALL(hipMemcpy2D_spt, (void *, size_t, const void *, size_t, size_t, size_t, int), p + 16, 4, p, 2, 2, 2, 3);
    CALL(hipMemcpy2DFromArray, (void *, size_t, const void *, size_t, size_t, size_t, size_t, int), p + 20, 2, p, 0, 0, 2, 2, 3);
    CALL(hipMemcpy2DToArray, (void *, size_t, size_t, const void *, size_t, size_t, size_t, int), p + 24, 0, 0, p, 2, 2, 2, 3);
    CALL(hipMemcpy2DArrayToArray, (void *, size_t, size_t, const void *, size_t, size_t, size_t, size_t, int), p + 28, 0, 0, p, 0,
         0, 2, 2, 3);
    CALL(hipMemcpy3D, (const struct xs_hip_copy_3d *), &box);
    CALL(hipMemcpyFromArray, (void *, const void *, size_t, size_t, size_t, int), p + 36, p, 0, 0, 4, 3);
    CALL(hipMemcpyToArray, (void *, size_t, size_t, const void *, size_t, int), p + 40, 0, 0, p, 4, 3);
    CALL(hipMemcpyFromSymbol, (void *, const void *, size_t, size_t, int), p + 52, p, 4, 24, 3);
    CALL(hipMemcpyToSymbol, (const void *, const void *, size_t, size_t, int), p, &seq_tag, 4, 56, 1);
    CALL(hipMemcpyToSymbol_spt, (const void *, const void *, size_t, size_t, int), p, p + 4, 4, 60, 3);
    CALL(hipMemcpyParam2D, (const void *), described);
    CALL(hipDrvMemcpy2DUnaligned, (const void *), described);
}

/* Fills and copies without a stream. */
static void within(char *p)
{
    CALL(hipMemset, (void *, int, size_t), p + 4, 2, 60);
    CALL(hipMemset_spt, (void *, int, size_t), p + 32, 3, 4);
    CALL(hipMemsetD8, (void *, unsigned char, size_t), p + 36, 4, 4);
    CALL(hipMemcpy, (void *, const void *, size_t, int), p + 4, p, 4, 3);
    CALL(hipMemcpyDtoD, (void *, void *, size_t), p + 8, p, 4);
    CALL(hipMemcpyPeer, (void *, int, const void *, int, size_t), p + 12, 0, p, 0, 4);
    areas(p);
}

/* Memory that comes and goes. */
static void memory(struct seq_slot *s)
{
    size_t bytes = 0, total = 0;
    uint32_t word = 0;
    void *p = NULL, *q = NULL;
    struct xs_hip_ipc_handle peer = {{0}};

    switch (seq_chance(6)) {
    case 0:
        OK(CALL(hipMallocAsync, (void **, size_t, hipStream_t), &p, 256, s->stream));
        CALL(hipMemsetAsync, (void *, int, size_t, hipStream_t), p, 3, 256, s->stream);
        CALL(hipMemcpyAsync, BY_COPY, s->words, p, 128, 3, s->stream);
        CALL(hipFreeAsync, (void *, hipStream_t), p, s->stream);
        break;
    case 1:
        OK(CALL(hipMalloc, (void **, size_t), &p, 64));
        CALL(hipMemcpy, (void *, const void *, size_t, int), p, &seq_tag, 4, 1);
        if (seq_chance(2))
            within(p);
        CALL(hipMemcpyDtoH, (void *, void *, size_t), &word, p, 4);
        CALL(hipFree, (void *), p);
        break;
    case 2:
        OK(CALL(hipMallocManaged, (void **, size_t, unsigned), &p, 256, 1));
        CALL(hipFree, (void *), p);
        CALL(hipIpcOpenMemHandle, (void **, struct xs_hip_ipc_handle, unsigned), &p, peer, 1);
        break;
    case 3:
        OK(CALL(hipHostMalloc, (void **, size_t, unsigned), &p, 256, 0));
        CALL(hipHostFree, (void *), p);
        break;
    case 4:
        CALL(hipHostRegister, (void *, size_t, unsigned), s->host, sizeof(s->host), 2);
        CALL(hipHostGetDevicePointer, (void **, void *, unsigned), &q, s->host, 0);
        CALL(hipHostUnregister, (void *), s->host);
        break;
    default:
        CALL(hipMemGetInfo, (size_t *, size_t *), &bytes, &total);
        CALL(hipDeviceTotalMem, (size_t *, int), &total, 0);
        break;
    }
    seq_note(&word, sizeof(word));
    seq_note(&total, sizeof(total));
}

static void ask(struct seq_slot *s)
{
    int number = 0, other = 0, device = -1;
    unsigned flags = 0;
    char text[32] = "", properties[1472]; /* hipDeviceProp_tR0600 */
    void *module = NULL;

    switch (seq_chance(10)) {
    case 0:
        CALL(hipStreamGetPriority, (hipStream_t, int *), s->stream, &number);
        break;
    case 1:
        CALL(hipStreamGetFlags, (hipStream_t, unsigned *), s->stream, &flags);
        break;
    case 2:
        CALL(hipStreamGetDevice, (hipStream_t, int *), s->stream, &number);
        CALL(hipGetStreamDeviceId, (hipStream_t), s->stream);
        break;
    case 3:
        CALL(hipGetDevice, (int *), &number);
        break;
    case 4:
        CALL(hipGetDeviceCount, (int *), &number);
        break;
    case 5:
        CALL(hipDeviceGetPCIBusId, (char *, int, int), text, (int)sizeof(text), (int)seq_chance(2));
        CALL(hipDeviceGetAttribute, (int *, int, int), &number, 87, 0);      /* these three: as a fake without an architecture */
        CALL(hipGetDevicePropertiesR0600, (void *, int), properties, 0);
        CALL(hipModuleLoad, (void **, const char *), &module, "/nonexistent");
        break;
    case 6:
        CALL(hipDriverGetVersion, (int *), &number);
        CALL(hipRuntimeGetVersion, (int *), &other);
        break;
    case 7:
        CALL(hipDeviceGetStreamPriorityRange, (int *, int *), &number, &other);
        break;
    case 8:
        CALL(hipGetDevice, (int *), &device);
        CALL(hipSetDevice, (int), 1 - device);
        CALL(hipGetDevice, (int *), &number);
        CALL(hipSetDevice, (int), device);
        break;
    default:
        CALL_TIMED(hipStreamQuery, (hipStream_t), s->stream);
        if (s->per_thread)
            CALL_TIMED(hipStreamQuery_spt, (hipStream_t), NULL);
        CALL_TIMED(hipEventQuery, (hipEvent_t), s->event);
        break;
    }
    seq_note(&number, sizeof(number));
    seq_note(&other, sizeof(other));
    seq_note(&flags, sizeof(flags));
    seq_note(text, sizeof(text));
}

static void memory_operations(struct seq_slot *s)
{
    void *last = (uint32_t *)s->words + SEQ_WORDS - 2;

    /* what is not written is not waited for */
    if (seq_chance(2)) {
        if (CALL(hipStreamWriteValue32, (hipStream_t, void *, uint32_t, unsigned), s->stream, last, ++seq_tag, 0) == 0)
            CALL(hipStreamWaitValue32, (hipStream_t, void *, uint32_t, unsigned, uint32_t), s->stream, last, seq_tag, 0,
                 UINT32_MAX);
    } else {
        if (CALL(hipStreamWriteValue64, (hipStream_t, void *, uint64_t, unsigned), s->stream, last, ++seq_tag, 0) == 0)
            CALL(hipStreamWaitValue64, (hipStream_t, void *, uint64_t, unsigned, uint64_t), s->stream, last, seq_tag, 0,
                 UINT64_MAX);
    }
}

/* The thread's last error is the program's own: nothing that XSched asks in between may change it. A query that says
 * "not ready" is such an error too, so that before it there may be any. */
static void last_error(struct seq_slot *s)
{
    CALL_TIMED(hipGetLastError, (void));
    CALL(hipPeekAtLastError, (void));
    CALL(hipSetDevice, (int), 77);
    seq_fill(s, 5, 8);
    CALL(hipPeekAtLastError, (void));
    seq_fill(s, 6, 8);
    CALL(hipGetLastError, (void));
    CALL(hipPeekAtLastError, (void));
}

static void objects(struct seq_slot *s)
{
    void *pointer = NULL;
    hipStream_t stream = NULL;
    hipEvent_t event = NULL;
    const char *text;
    void **modules;
    int status = 0;

    switch (seq_chance(6)) {
    case 0:
        switch (seq_chance(3)) {
        case 0:
            OK(CALL(hipStreamCreateWithFlags, (hipStream_t *, unsigned), &stream, seq_chance(2)));
            break;
        case 1:
            OK(CALL(hipExtStreamCreateWithCUMask, (hipStream_t *, uint32_t, const uint32_t *), &stream, 1, &seq_tag));
            break;
        default:
            OK(CALL(hipExecutionCtxStreamCreate, (hipStream_t *, void *, unsigned, int), &stream, NULL, seq_chance(2), 0));
            break;
        }
        CALL(hipMemsetD32Async, (void *, int, size_t, hipStream_t), s->words, 9, 4, s->stream);
        CALL(hipEventRecord, (hipEvent_t, hipStream_t), s->event, stream);
        CALL(hipEventSynchronize, (hipEvent_t), s->event);
        CALL(hipStreamDestroy, (hipStream_t), stream);
        break;
    case 1:
        OK(CALL(hipEventCreateWithFlags, (hipEvent_t *, unsigned), &event, seq_chance(3)));
        CALL(hipEventRecord, (hipEvent_t, hipStream_t), event, s->stream);
        CALL(hipEventDestroy, (hipEvent_t), event);
        break;
    case 2:
        CALL(hipGetProcAddress, (const char *, void **, int, uint64_t, int *), "hipMemsetD32Async", &pointer, 600, 0,
             &status);
        ((int (*)(void *, int, size_t, hipStream_t))pointer)(seq_slots[SEQ_BLOCKING].words, (int)seq_tag, 4,
                                                             seq_slots[SEQ_BLOCKING].stream);
        break;
    case 3:
        modules = CALL_AS(void **, __hipRegisterFatBinary, (const void *), "another");
        CALL_AS(int, __hipUnregisterFatBinary, (void **), modules);
        break;
    case 4:
        text = CALL_AS(const char *, hipGetErrorString, (int), (int)seq_chance(3));
        seq_note(text, strlen(text));
        break;
    default:
        last_error(s);
        break;
    }
    seq_note(&status, sizeof(status));
}

void seq_other(struct seq_slot *s)
{
    switch (seq_chance(5)) {
    case 0:
        memory(s);
        break;
    case 1:
        memory_operations(s);
        break;
    case 2:
        objects(s);
        break;
    default:
        ask(s);
        break;
    }
}

void seq_open(void)
{
    void *module = NULL;
    hipFunction_t listed[2] = {NULL, NULL};
    unsigned count = 0;

    OK(CALL(hipSetDevice, (int), (int)seq_chance(2)));
    OK(CALL(hipModuleLoadData, (void **, const void *), &module, "image"));
    OK(CALL(hipModuleGetFunctionCount, (unsigned *, void *), &count, module));
    OK(CALL(hipModuleEnumerateFunctions, (hipFunction_t *, unsigned, void *), listed, 2, module));
    OK(count >= 2 && listed[1] ? 0 : 1);
    OK(CALL(hipModuleGetFunction, (hipFunction_t *, void *, const char *), &g_work, module, "work"));
    OK(CALL(hipModuleGetFunction, (hipFunction_t *, void *, const char *), &g_nop, module, "nop"));
    seq_slots[SEQ_PER_THREAD].stream = XS_HIP_STREAM_PER_THREAD;
    OK(CALL(hipStreamCreate, (void **), &seq_slots[SEQ_BLOCKING].stream));
    OK(CALL(hipStreamCreateWithPriority, (void **, unsigned, int), &seq_slots[SEQ_FREE].stream, 1,
            1 - (int)seq_chance(3)));
    for (int i = 0; i < SEQ_SLOTS; i++) {
        OK(CALL(hipMalloc, (void **, size_t), &seq_slots[i].words, 4 * SEQ_WORDS));
        OK(CALL(hipMalloc, (void **, size_t), &seq_slots[i].log, 4 * SEQ_LOG_WORDS));
        OK(CALL(hipEventCreate, (void **), &seq_slots[i].event));
    }
}

void seq_close(void)
{
    if (seq_chance(2))
        OK(CALL(hipDevicePrimaryCtxReset, (int), 0)); /* ends nothing, as ROCm's */
    CALL(hipStreamDestroy, (hipStream_t), seq_slots[SEQ_BLOCKING].stream);
    CALL(hipStreamDestroy, (hipStream_t), seq_slots[SEQ_FREE].stream);
    for (int i = 0; i < SEQ_SLOTS; i++) {
        CALL(hipFree, (void *), seq_slots[i].words);
        CALL(hipFree, (void *), seq_slots[i].log);
        CALL(hipEventDestroy, (hipEvent_t), seq_slots[i].event);
    }
    OK(CALL(hipDeviceReset, (void)));
}
