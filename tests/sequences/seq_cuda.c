/* SPDX-License-Identifier: Apache-2.0 */
/* Random legal CUDA programs: seq_cuda FIRST COUNT STEPS
 *
 * Seed FIRST and the COUNT - 1 after it are each one program of about STEPS calls, in a context of
 * its own. One line a seed: the digest of every result code and of everything that the device
 * computed, read when its stream is synchronised. The program knows nothing of XSched: run.py
 * compares its lines with and without.
 *
 * The functions are those of cuda_api.def. What the fake driver implements is called by hand below,
 * with what belongs to it; every other row answers "not supported", and is called with arguments
 * made up from its prototype. The last lines count the rows that were called, and name the others. */
#include "hal/cuda/cuda_abi.h"

#include <ctype.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum row {
#define CU(kind, symbol, name, version, streams, params, args, stream, key) ROW_##symbol,
#define CU_PASS(symbol, name, version, streams)                             ROW_##symbol,
#include "shim/cuda/cuda_api.def"
#undef CU
#undef CU_PASS
    ROWS
};

static const struct {
    const char *symbol, *params;
} k_rows[] = {
#define CU(kind, symbol, name, version, streams, params, args, stream, key) {#symbol, #params},
#define CU_PASS(symbol, name, version, streams)                             {#symbol, NULL},
#include "shim/cuda/cuda_api.def"
};

typedef CUresult (*generic_fn)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                               uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

static void *g_fn[ROWS];
static bool g_weak[ROWS]; /* the fake does no better than "not supported" */
static unsigned long g_called[ROWS], g_steps;
static unsigned g_weak_rows[ROWS], g_weak_count;

/* ---- digest and chance ---- */
static uint64_t g_digest, g_random;

static bool g_verbose; /* SEQ_VERBOSE: what goes into the digest, to find where two runs part */

static void note(const void *data, size_t bytes)
{
    const unsigned char *p = data;

    for (size_t i = 0; g_verbose && i < bytes; i++)
        printf(i + 1 < bytes ? "%02x" : "%02x\n", p[i]);
    for (size_t i = 0; i < bytes; i++)
        g_digest = (g_digest ^ p[i]) * 0x100000001b3ull; /* FNV-1a */
}

static unsigned chance(unsigned n)
{
    g_random ^= g_random << 13; /* xorshift64 */
    g_random ^= g_random >> 7;
    g_random ^= g_random << 17;
    return (unsigned)((g_random >> 20) % n);
}

static CUresult noted(enum row row, CUresult r)
{
    g_called[row]++;
    g_steps++;
    if (g_verbose)
        printf("%s ", k_rows[row].symbol);
    note(&r, sizeof(r));
    return r;
}

/* A call by hand: the result goes into the digest. CALL_TIMED: it depends on time, and does not. */
#define CALL(symbol, types, ...) noted(ROW_##symbol, ((CUresult(*) types)g_fn[ROW_##symbol])(__VA_ARGS__))
#define CALL_TIMED(symbol, types, ...)                                                                       \
    (g_called[ROW_##symbol]++, g_steps++, ((CUresult(*) types)g_fn[ROW_##symbol])(__VA_ARGS__))

static void must(CUresult r, const char *what)
{
    if (r == 0)
        return;
    printf("FAILED %s -> %d\n", what, r);
    fflush(stdout);
    _Exit(1);
}
#define OK(call) must(call, #call)

/* ---- a program ---- */
/* Each stream has memory and a log of its own, so that what it computes does not hang on time. */
#define SLOTS 4 /* legacy, per thread, blocking, non-blocking */
#define WORDS 64u

struct slot {
    CUstream stream; /* as given to functions of the plain names */
    CUdeviceptr words, log;
    uint32_t host[WORDS], back[WORDS];
    uint32_t host_log[256], host_count; /* written by host functions, in stream order */
    CUevent event;
    unsigned pending; /* entries of the log since the last synchronisation */
};
static struct slot g_slots[SLOTS];
static CUfunction g_work, g_nop;
static uint32_t g_tag;

static void host_function(void *arg)
{
    struct slot *s = arg;

    if (s->host_count < 256)
        s->host_log[s->host_count++] = 7;
}

#define LAUNCH_TYPES                                                                                         \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **,    \
     void **)

static void launch(struct slot *s, unsigned how)
{
    uint64_t ns = chance(8) ? 0 : chance(3000);
    uint32_t *log = (uint32_t *)(uintptr_t)s->log, tag = ++g_tag;
    void *params[] = {&ns, &log, &tag};
    CUfunction f = s->pending < 200 && chance(5) ? g_work : g_nop;

    s->pending += f == g_work;
    if (s == &g_slots[1] && how % 2)
        CALL(cuLaunchKernel_ptsz, LAUNCH_TYPES, f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    else if (how % 7 == 3)
        CALL(cuLaunchCooperativeKernel,
             (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
              void **),
             f, 1, 1, 1, 1, 1, 1, 0, s->stream, params);
    else if (how % 7 == 5) {
        struct xs_cu_launch_config config = {{1, 1, 1}, {1, 1, 1}, 0, s->stream, NULL, 0};

        CALL(cuLaunchKernelEx, (const struct xs_cu_launch_config *, CUfunction, void **, void **), &config, f,
             params, NULL);
    } else
        CALL(cuLaunchKernel, LAUNCH_TYPES, f, 1, 1, 1, 1, 1, 1, 0, s->stream, params, NULL);
}

/* What the stream did becomes part of the digest: the order of its kernels, its memory. */
static void synchronise(struct slot *s, unsigned how)
{
    uint32_t log[WORDS * 4 + 8];
    static const uint32_t zero;

    CALL(cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream), s->back, s->words, sizeof(s->back),
         s->stream);
    if (how % 8 == 0)
        CALL(cuCtxSynchronize, (void));
    else if (how % 8 == 1) {
        OK(CALL(cuEventRecord, (CUevent, CUstream), s->event, s->stream));
        CALL(cuEventSynchronize, (CUevent), s->event);
        if (CALL_TIMED(cuEventQuery, (CUevent), s->event) != 0)
            must(1, "an event that was waited for is complete");
    } else if (s == &g_slots[1])
        CALL(cuStreamSynchronize_ptsz, (CUstream), NULL);
    else
        CALL(cuStreamSynchronize, (CUstream), s->stream);
    if (CALL_TIMED(cuStreamQuery, (CUstream), s->stream) != 0)
        must(1, "a stream that was synchronised is idle");
    memcpy(log, (void *)(uintptr_t)s->log,
           sizeof(log[0]) * (1 + s->pending)); /* device memory is host memory */
    note(log, sizeof(log[0]) * (1 + s->pending));
    note(s->back, sizeof(s->back));
    note(s->host_log, sizeof(s->host_log[0]) * s->host_count);
    s->host_count = 0;
    s->pending = 0;
    CALL(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t), s->log, &zero, sizeof(zero));
}

/* From one stream to another and back, ordered by events. */
static void hand_over(struct slot *from, struct slot *to)
{
    CALL(cuEventRecord, (CUevent, CUstream), from->event, from->stream);
    CALL(cuStreamWaitEvent, (CUstream, CUevent, unsigned), to->stream, from->event, 0);
    CALL(cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream), to->words, from->words,
         4 * chance(WORDS), to->stream);
    CALL(cuEventRecord, (CUevent, CUstream), to->event, to->stream);
    CALL(cuStreamWaitEvent, (CUstream, CUevent, unsigned), from->stream, to->event, 0);
}

static void capture(struct slot *s)
{
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    int status = 0, mode = 2;

    CALL(cuThreadExchangeStreamCaptureMode, (int *), &mode);
    OK(CALL(cuStreamBeginCapture_v2, (CUstream, int), s->stream, 2));
    CALL(cuStreamIsCapturing, (CUstream, int *), s->stream, &status);
    note(&status, sizeof(status));
    for (unsigned n = 1 + chance(4); n > 0; n--) {
        if (chance(2))
            launch(s, 0);
        else
            CALL(cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream), s->words, chance(1000),
                 chance(WORDS), s->stream);
    }
    OK(CALL(cuStreamEndCapture, (CUstream, CUgraph *), s->stream, &graph));
    OK(CALL(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, uint64_t), &exec, graph, 0));
    s->pending = 4 * s->pending + 16;
    if (s->pending > 200) /* room for three times what was captured and what came before */
        synchronise(s, 2);
    s->pending = 0;
    synchronise(s, 2);
    for (unsigned n = 1 + chance(3); n > 0; n--)
        CALL(cuGraphLaunch, (CUgraphExec, CUstream), exec, s->stream);
    s->pending = 12; /* the most that was launched: what lies behind is zero or the same in each run */
    CALL(cuThreadExchangeStreamCaptureMode, (int *), &mode);
}

/* Types of a prototype: what it is given. */
static void by_prototype(unsigned row)
{
    static uint64_t scratch[8192]; /* zero, and never written: nothing is supported */
    uintptr_t a[12] = {0};
    const char *p = k_rows[row].params;
    unsigned n = 0;
    CUresult r;

    for (p = p ? p + 1 : ""; *p && *p != ')' && n < 12; n++) {
        size_t len = strcspn(p, ",)");
        char type[128] = "";

        memcpy(type, p, len < sizeof(type) ? len : sizeof(type) - 1);
        if (strchr(type, '*'))
            a[n] = (uintptr_t)scratch;
        else if (strstr(type, "CUstream"))
            a[n] = (uintptr_t)g_slots[chance(SLOTS)].stream;
        else if (strstr(type, "CUevent"))
            a[n] = (uintptr_t)g_slots[chance(SLOTS)].event;
        else if (strstr(type, "CUdeviceptr"))
            a[n] = (uintptr_t)g_slots[0].words;
        else if (strstr(type, "CUdevice"))
            a[n] = 0;
        else if (strstr(type, "CUcontext") || strstr(type, "CUfunction") || strstr(type, "CUgraph"))
            a[n] = (uintptr_t)scratch;
        else
            a[n] = chance(4);
        p += len + (p[len] == ',');
    }
    if (!k_rows[row].params) /* passes through: whatever it is */
        for (n = 0; n < 12; n++)
            a[n] = (uintptr_t)scratch;
    r = ((generic_fn)g_fn[row])(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
    noted(row, r);
}

static void allocate_and_free(struct slot *s)
{
    CUdeviceptr p = 0;

    if (chance(2)) {
        OK(CALL(cuMemAllocAsync, (CUdeviceptr *, size_t, CUstream), &p, 256, s->stream));
        CALL(cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream), p, 3, 256, s->stream);
        CALL(cuMemcpyAsync, (CUdeviceptr, CUdeviceptr, size_t, CUstream), s->words, p, 128, s->stream);
        CALL(cuMemFreeAsync, (CUdeviceptr, CUstream), p, s->stream);
    } else {
        uint32_t word = 0;

        OK(CALL(cuMemAlloc_v2, (CUdeviceptr *, size_t), &p, 64));
        CALL(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t), p, &g_tag, 4);
        CALL(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t), &word, p, 4);
        note(&word, 4);
        CALL(cuMemFree_v2, (CUdeviceptr), p);
    }
}

/* Memory that no command uses: it comes and goes. */
static void other_memory(struct slot *s)
{
    size_t bytes = 0, total = 0, pitch = 0, description[16] = {64, 4, 0, 1};
    CUdeviceptr p = 0;
    uint64_t handle = 0, again = 0;
    void *thing = NULL;

    switch (chance(6)) {
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
        if (CALL(cuMemCreate, (uint64_t *, size_t, const void *, uint64_t), &handle, 4096, description, 0))
            break;
        CALL(cuMemMap, (CUdeviceptr, size_t, size_t, uint64_t, uint64_t), s->words, 4096, 0, handle, 0);
        if (CALL(cuMemRetainAllocationHandle, (uint64_t *, void *), &again, (void *)(uintptr_t)s->words) == 0)
            CALL(cuMemRelease, (uint64_t), again);
        CALL(cuMemUnmap, (CUdeviceptr, size_t), s->words, 4096);
        CALL(cuMemRelease, (uint64_t), handle);
        break;
    }
    note(&total, sizeof(total));
    note(&pitch, sizeof(pitch));
}

static void ask(struct slot *s)
{
    CUcontext context = NULL, other = NULL;
    int number = 0, active = 0;
    unsigned flags = 0;

    switch (chance(9)) {
    case 0:
        CALL(cuStreamGetPriority, (CUstream, int *), s->stream, &number);
        break;
    case 1:
        CALL(cuStreamGetFlags, (CUstream, unsigned *), s->stream, &flags);
        break;
    case 2:
        CALL(cuStreamGetCtx, (CUstream, CUcontext *), s->stream, &context);
        CALL(cuCtxGetCurrent, (CUcontext *), &other);
        number = context == other;
        break;
    case 3:
        CALL(cuCtxGetDevice, (int *), &number);
        break;
    case 4:
        CALL(cuDeviceGetCount, (int *), &number);
        break;
    case 5:
        CALL(cuDeviceGetAttribute, (int *, int, int), &number, 33, (int)chance(2));
        break;
    case 6:
        CALL(cuDriverGetVersion, (int *), &number);
        break;
    case 7:
        CALL(cuDevicePrimaryCtxGetState, (int, unsigned *, int *), (int)chance(2), &flags, &active);
        break;
    default:
        CALL_TIMED(cuStreamQuery, (CUstream), s->stream);
        if (s == &g_slots[1])
            CALL_TIMED(cuStreamQuery_ptsz, (CUstream), NULL);
        CALL_TIMED(cuEventQuery, (CUevent), s->event);
        break;
    }
    note(&number, sizeof(number));
    note(&flags, sizeof(flags));
    note(&active, sizeof(active));
}

static void memory_operations(struct slot *s)
{
    CUdeviceptr last = s->words + 4 * (WORDS - 2);

    /* what is not written is not waited for */
    if (chance(2)) {
        if (CALL(cuStreamWriteValue32_v2, (CUstream, CUdeviceptr, uint32_t, unsigned), s->stream, last,
                 ++g_tag, 0) == 0)
            CALL(cuStreamWaitValue32_v2, (CUstream, CUdeviceptr, uint32_t, unsigned), s->stream, last, g_tag,
                 0);
    } else {
        if (CALL(cuStreamWriteValue64_v2, (CUstream, CUdeviceptr, uint64_t, unsigned), s->stream, last,
                 ++g_tag, 0) == 0)
            CALL(cuStreamWaitValue64_v2, (CUstream, CUdeviceptr, uint64_t, unsigned), s->stream, last, g_tag,
                 0);
    }
}

static void contexts(void)
{
    CUcontext primary = NULL, old = NULL;
    void *pointer = NULL;
    int status = 0, dev = (int)chance(2);

    switch (chance(5)) {
    case 0:
        OK(CALL(cuDevicePrimaryCtxRetain, (CUcontext *, int), &primary, dev));
        CALL(cuCtxPushCurrent_v2, (CUcontext), primary);
        CALL(cuCtxSynchronize, (void));
        CALL(cuCtxPopCurrent_v2, (CUcontext *), &old);
        if (chance(4))
            CALL(cuDevicePrimaryCtxRelease_v2, (int), dev);
        else
            CALL(cuDevicePrimaryCtxReset_v2, (int), dev);
        break;
    case 1:
        CALL(cuCtxGetCurrent, (CUcontext *), &old);
        CALL(cuCtxSetCurrent, (CUcontext), old);
        break;
    case 2:
        CALL(cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *), "cuMemsetD32Async", &pointer,
             12000, 0, &status);
        ((CUresult(*)(CUdeviceptr, unsigned, size_t, CUstream))pointer)(g_slots[2].words, g_tag, 4,
                                                                        g_slots[2].stream);
        break;
    case 3:
        CALL(cuGetProcAddress, (const char *, void **, int, uint64_t), "cuStreamWaitEvent", &pointer, 11030,
             0);
        break;
    default:
        CALL(cuDeviceGet, (int *, int), &dev, (int)chance(4));
        break;
    }
    note(&status, sizeof(status));
    note(&dev, sizeof(dev));
}

static void registered_memory(struct slot *s)
{
    CUdeviceptr p = 0;

    CALL(cuMemHostRegister_v2, (void *, size_t, unsigned), s->host, sizeof(s->host), 2);
    CALL(cuMemHostGetDevicePointer_v2, (CUdeviceptr *, void *, unsigned), &p, s->host, 0);
    CALL(cuMemHostUnregister, (void *), s->host);
}

static void open_slots(void)
{
    CUstream s;

    memset(g_slots, 0, sizeof(g_slots));
    g_slots[0].stream = NULL;
    g_slots[1].stream = XS_CU_STREAM_PER_THREAD;
    OK(CALL(cuStreamCreate, (CUstream *, unsigned), &s, 0));
    g_slots[2].stream = s;
    OK(CALL(cuStreamCreateWithPriority, (CUstream *, unsigned, int), &s, 1, -(int)chance(3)));
    g_slots[3].stream = s;
    for (int i = 0; i < SLOTS; i++) {
        OK(CALL(cuMemAlloc_v2, (CUdeviceptr *, size_t), &g_slots[i].words, 4 * WORDS));
        OK(CALL(cuMemAlloc_v2, (CUdeviceptr *, size_t), &g_slots[i].log, 4 * (4 * WORDS + 64)));
        OK(CALL(cuEventCreate, (CUevent *, unsigned), &g_slots[i].event, 0));
        for (unsigned k = 0; k < WORDS; k++)
            g_slots[i].host[k] = (uint32_t)i * 1000 + k;
    }
}

static void close_slots(void)
{
    for (int i = 0; i < SLOTS; i++)
        synchronise(&g_slots[i], 2);
    CALL(cuStreamDestroy_v2, (CUstream), g_slots[2].stream);
    CALL(cuStreamDestroy_v2, (CUstream), g_slots[3].stream);
    for (int i = 0; i < SLOTS; i++) {
        CALL(cuMemFree_v2, (CUdeviceptr), g_slots[i].words);
        CALL(cuMemFree_v2, (CUdeviceptr), g_slots[i].log);
    }
}

static void step(void)
{
    struct slot *s = &g_slots[chance(SLOTS)];
    unsigned how = chance(64);

    if (s->pending > 180)
        synchronise(s, how);
    switch (chance(21)) {
    case 20:
        other_memory(s);
        break;
    case 0:
    case 1:
    case 2:
    case 3:
        launch(s, how);
        break;
    case 4:
        CALL(cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream), s->words, how, chance(WORDS),
             s->stream);
        break;
    case 5:
        if (s == &g_slots[1])
            CALL(cuMemcpyHtoDAsync_v2_ptsz, (CUdeviceptr, const void *, size_t, CUstream), s->words, s->host,
                 64, NULL);
        else
            CALL(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream), s->words, s->host,
                 4 * chance(WORDS), s->stream);
        break;
    case 6:
        synchronise(s, how);
        break;
    case 7:
        hand_over(s, &g_slots[chance(SLOTS)]);
        break;
    case 8:
        if (s->stream != NULL && s->stream != XS_CU_STREAM_PER_THREAD && how < 32)
            capture(s);
        break;
    case 9:
        CALL(cuLaunchHostFunc, (CUstream, void *, void *), s->stream, (void *)(uintptr_t)host_function, s);
        break;
    case 10:
        allocate_and_free(s);
        break;
    case 11:
        memory_operations(s);
        break;
    case 12:
        contexts();
        break;
    case 13:
        ask(s);
        break;
    case 14:
        registered_memory(s);
        break;
    default:
        if (g_weak_count)
            by_prototype(g_weak_rows[chance(g_weak_count)]);
        break;
    }
}

static void program(uint64_t seed, unsigned long steps)
{
    unsigned long until = g_steps + steps;
    CUcontext context = NULL;
    void *module = NULL;

    g_digest = 0xcbf29ce484222325ull;
    g_random = (seed + 1) * 0x9e3779b97f4a7c15ull;
    g_tag = 0;
    chance(2);
    OK(CALL(cuCtxCreate_v2, (CUcontext *, unsigned, int), &context, 0, (int)chance(2)));
    OK(CALL(cuModuleLoadData, (void **, const void *), &module, "image"));
    OK(CALL(cuModuleGetFunction, (CUfunction *, void *, const char *), &g_work, module, "work"));
    OK(CALL(cuModuleGetFunction, (CUfunction *, void *, const char *), &g_nop, module, "nop"));
    open_slots();
    while (g_steps < until)
        step();
    close_slots();
    OK(CALL(cuCtxDestroy_v2, (CUcontext), context));
    printf("%llu %016llx\n", (unsigned long long)seed, (unsigned long long)g_digest);
}

/* Which rows the driver implements, as its symbol table says: the others are weak. */
static int open_driver(const char *real)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOW), *driver;

    if (!handle)
        return -1;
    for (unsigned i = 0; i < ROWS; i++)
        if (!(g_fn[i] = dlsym(handle, k_rows[i].symbol))) {
            printf("FAILED no %s\n", k_rows[i].symbol);
            return -1;
        }
    OK(CALL(cuInit, (unsigned), 0));
    driver = dlopen(real, RTLD_NOW);
    for (unsigned i = 0; i < ROWS; i++) {
        void *at = driver ? dlsym(driver, k_rows[i].symbol) : NULL;
        const ElfW(Sym) *symbol = NULL;
        Dl_info info;

        if (!at || !dladdr1(at, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
            return -1;
        g_weak[i] = ELF64_ST_BIND(symbol->st_info) == STB_WEAK;
        if (g_weak[i])
            g_weak_rows[g_weak_count++] = i;
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned long first, count, steps, rows = 0;

    if (argc != 5)
        return 2;
    first = strtoul(argv[2], NULL, 0);
    count = strtoul(argv[3], NULL, 0);
    steps = strtoul(argv[4], NULL, 0);
    g_verbose = getenv("SEQ_VERBOSE") != NULL;
    if (open_driver(argv[1]) < 0)
        return 2;
    for (unsigned long seed = first; seed < first + count; seed++)
        program(seed, steps);
    for (unsigned i = 0; i < ROWS; i++)
        rows += g_called[i] > 0;
    printf("steps %lu\nrows %lu of %d\n", g_steps, rows, ROWS);
    for (unsigned i = 0; i < ROWS; i++)
        if (!g_called[i])
            printf("not called: %s\n", k_rows[i].symbol);
    fflush(stdout);
    _Exit(0);
}
