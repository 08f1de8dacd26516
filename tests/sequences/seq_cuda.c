/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's functions for seq_stream.c, on the fake driver (seq_cuda_fake.c) and on a GPU (seq_cuda_gpu.c). */
#include "seq_cuda.h"

#include <dlfcn.h>

const struct seq_row seq_rows[] = {
#define CU(kind, symbol, name, version, streams, params, args, stream, key) {#symbol, #params, NULL},
#define CU_PASS(symbol, name, version, streams)                             {#symbol, NULL, NULL},
#include "shim/cuda/cuda_api.def"
};
const unsigned seq_row_count = ROWS;
void *seq_fn[ROWS];
unsigned long seq_called[ROWS];
const char *const seq_library = "libcuda.so.1";
CUfunction seq_work, seq_nop;

void seq_start(void)
{
    OK(CALL(cuInit, (unsigned), 0));
}

bool seq_argument(const char *type, uintptr_t *ret, unsigned *ret_slots)
{
    (void)ret_slots;
    if (strchr(type, '*'))
        return false;
    if (strstr(type, "CUstream"))
        *ret = (uintptr_t)seq_slots[seq_chance(SEQ_SLOTS)].stream;
    else if (strstr(type, "CUevent"))
        *ret = (uintptr_t)seq_slots[seq_chance(SEQ_SLOTS)].event;
    else if (strstr(type, "CUdeviceptr"))
        *ret = (uintptr_t)seq_slots[0].words;
    else if (strstr(type, "CUdevice"))
        *ret = 0;
    else if (strstr(type, "CUcontext") || strstr(type, "CUfunction") || strstr(type, "CUgraph"))
        *ret = (uintptr_t)seq_scratch;
    else
        return false;
    return true;
}

int seq_launch(struct seq_slot *s, bool work, unsigned how, void **params)
{
    static const unsigned grids[] = {1, 100, 130, 5000}; /* these matter to where a kernel may be confined */
    unsigned grid = grids[how / 7 % 4];
    CUfunction f = work ? seq_work : seq_nop;

    if (s->per_thread && how % 2)
        return CALL(cuLaunchKernel_ptsz, LAUNCH_TYPES, f, grid, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    if (how % 7 == 3)
        return CALL(cuLaunchCooperativeKernel,
                    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     CUstream, void **),
                    f, 1, 1, 1, 1, 1, 1, 0, s->stream, params);
    if (how % 7 == 5) {
        struct xs_cu_launch_attribute programmatic = {.id = XS_CU_LAUNCH_PROGRAMMATIC, .value = {how / 28 % 2}};
        struct xs_cu_launch_config config = {{grid, 1, 1}, {1, 1, 1}, 0, s->stream, &programmatic, 1};

        return CALL(cuLaunchKernelEx,
                    (const struct xs_cu_launch_config *, CUfunction, void **, void **), &config, f, params,
                    NULL);
    }
    return CALL(cuLaunchKernel, LAUNCH_TYPES, f, grid, 1, 1, 1, 1, 1, 0, s->stream, params, NULL);
}

int seq_copy_out(struct seq_slot *s)
{
    return CALL(cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream), s->back, DEV(s->words),
                sizeof(s->back), s->stream);
}

int seq_copy_in(struct seq_slot *s, size_t bytes)
{
    if (s->per_thread)
        return CALL(cuMemcpyHtoDAsync_v2_ptsz, (CUdeviceptr, const void *, size_t, CUstream), DEV(s->words),
                    s->host, bytes, NULL);
    return CALL(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream), DEV(s->words), s->host,
                bytes, s->stream);
}

int seq_copy_between(struct seq_slot *to, struct seq_slot *from, size_t bytes)
{
    return CALL(cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream), DEV(to->words),
                DEV(from->words), bytes, to->stream);
}

int seq_fill(struct seq_slot *s, uint32_t value, size_t words)
{
    return CALL(cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream), DEV(s->words), value, words,
                s->stream);
}

int seq_wait_all(void)
{
    return CALL(cuCtxSynchronize, (void));
}

int seq_wait_stream(struct seq_slot *s)
{
    if (s->per_thread)
        return CALL(cuStreamSynchronize_ptsz, (CUstream), NULL);
    return CALL(cuStreamSynchronize, (CUstream), s->stream);
}

int seq_query_stream(struct seq_slot *s)
{
    return CALL_TIMED(cuStreamQuery, (CUstream), s->stream);
}

int seq_record(struct seq_slot *s)
{
    return CALL(cuEventRecord, (CUevent, CUstream), s->event, s->stream);
}

int seq_wait_event(struct seq_slot *s)
{
    return CALL(cuEventSynchronize, (CUevent), s->event);
}

int seq_query_event(struct seq_slot *s)
{
    return CALL_TIMED(cuEventQuery, (CUevent), s->event);
}

int seq_stream_waits(struct seq_slot *s, struct seq_slot *for_event_of)
{
    return CALL(cuStreamWaitEvent, (CUstream, CUevent, unsigned), s->stream, for_event_of->event, 0);
}

int seq_host_function(struct seq_slot *s, void (*fn)(void *))
{
    if (seq_chance(2))
        return CALL(cuLaunchHostFunc_v2, (CUstream, void *, void *, unsigned), s->stream, (void *)(uintptr_t)fn, s, 0);
    return CALL(cuLaunchHostFunc, (CUstream, void *, void *), s->stream, (void *)(uintptr_t)fn, s);
}

int seq_clear_log(struct seq_slot *s)
{
    return CALL(cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream), DEV(s->log), 0, 1, s->stream);
}

int seq_exchange_mode(int *mode)
{
    return CALL(cuThreadExchangeStreamCaptureMode, (int *), mode);
}

int seq_capture_asks(struct seq_slot *s, int *ret_status)
{
    return CALL(cuStreamIsCapturing, (CUstream, int *), s->stream, ret_status);
}

int seq_capture_end(struct seq_slot *s, void **ret_graph)
{
    return CALL(cuStreamEndCapture, (CUstream, void **), s->stream, ret_graph);
}

int seq_instantiate(void **ret_exec, void *graph)
{
    return CALL(cuGraphInstantiateWithFlags, (void **, void *, uint64_t), ret_exec, graph, 0);
}

int seq_graph_launch(void *exec, struct seq_slot *s)
{
    return CALL(cuGraphLaunch, (void *, CUstream), exec, s->stream);
}

void seq_say_confined(int seen)
{
    void *library = dlopen(seq_real, RTLD_NOW | RTLD_NOLOAD);
    int (*confined)(void) = library ? (int (*)(void))dlsym(library, "fake_cuda_confined") : NULL;

    fprintf(stderr, "confined %d\n", confined ? confined() : seen);
}
