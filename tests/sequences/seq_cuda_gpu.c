/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA programs for a GPU: legal calls that a lane could break.
 *
 * There are kernels whose blocks wait for one another, two streams that wait for each other, values in memory that
 * another stream writes, streams that end with work pending, modules that go, and times between events.
 *
 * Each program ends without XSched. At most one kernel whose blocks wait is in flight. Where one stream waits for
 * another, the other has the awaited command already, and nothing before it there waits. */
#include <unistd.h>

#include "seq_cuda.h"

#define WIDE      1000 /* blocks from which on a kernel says on which multiprocessors it ran */
#define SEEN_ROWS 256  /* behind the log of each slot: a row for each such kernel, by its tag */
#define SEEN_WORDS 8
#define LOG_BYTES  (4 * SEQ_LOG_WORDS)
#define CELLS      2048
#define STRING(x)  STRING_(x)
#define STRING_(x) #x

#define NOT_SUPPORTED 801 /* CUDA_ERROR_NOT_SUPPORTED */

static const char k_kernels[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
#define SEEN \
    "  .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<8>;\n" \
    "  griddepcontrol.wait;\n" \
    "  ld.param.u64 %d1, [ns]; ld.param.u64 %d2, [log]; ld.param.u32 %r1, [tag];\n" \
    "  mov.u32 %r2, %nctaid.x; setp.lt.u32 %p, %r2, " STRING(WIDE) "; @%p bra L0;\n" \
    "  mov.u32 %r3, %smid; shr.u32 %r4, %r3, 5; and.b32 %r3, %r3, 31; mov.u32 %r5, 1; shl.b32 %r5, %r5, %r3;\n" \
    "  and.b32 %r6, %r1, 255; mad.lo.u32 %r6, %r6, 8, %r4; mul.wide.u32 %d3, %r6, 4; add.u64 %d3, %d3, %d2;\n" \
    "  red.global.or.b32 [%d3+1280], %r5;\n"
    /* work(ns, log, tag): takes ns, then appends tag to log, whose first word counts */
    ".visible .entry work(.param .u64 ns, .param .u64 log, .param .u32 tag)\n{\n" SEEN
    "L0: mov.u64 %d4, %globaltimer; add.u64 %d4, %d4, %d1;\n"
    "L1: mov.u64 %d5, %globaltimer; setp.lt.u64 %p, %d5, %d4; @%p bra L1;\n"
    "  mov.u32 %r3, %ctaid.x; setp.ne.u32 %p, %r3, 0; @%p bra L2;\n"
    "  ld.global.u32 %r4, [%d2]; add.u32 %r4, %r4, 1; mul.wide.u32 %d6, %r4, 4; add.u64 %d6, %d6, %d2;\n"
    "  st.global.u32 [%d6], %r1; st.global.u32 [%d2], %r4;\n"
    "L2: ret;\n}\n"
    ".visible .entry nop(.param .u64 ns, .param .u64 log, .param .u32 tag)\n{\n" SEEN
    "L0: ret;\n}\n"
    /* barrier(at): adds 1 to at[0] when all of its blocks run; at[1] counts arrivals, of grids of one size */
    ".visible .entry barrier(.param .u64 at)\n{\n"
    "  .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<2>;\n"
    "  ld.param.u64 %d1, [at]; mov.u32 %r1, %tid.x; setp.ne.u32 %p, %r1, 0; @%p bra L2;\n"
    "  mov.u32 %r2, %nctaid.x; atom.global.add.u32 %r3, [%d1+4], 1;\n"
    "  div.u32 %r3, %r3, %r2; add.u32 %r3, %r3, 1; mul.lo.u32 %r3, %r3, %r2;\n"
    "L1: ld.volatile.global.u32 %r4, [%d1+4]; setp.lt.u32 %p, %r4, %r3; @%p bra L1;\n"
    "  mov.u32 %r5, %ctaid.x; setp.ne.u32 %p, %r5, 0; @%p bra L2;\n"
    "  red.global.add.u32 [%d1], 1;\n"
    "L2: bar.sync 0; ret;\n}\n"
    /* meet(at, ranks): adds 1 and runs until so many have */
    ".visible .entry meet(.param .u64 at, .param .u32 ranks)\n{\n"
    "  .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<2>;\n"
    "  ld.param.u64 %d1, [at]; ld.param.u32 %r1, [ranks]; atom.global.add.u32 %r2, [%d1], 1;\n"
    "L1: ld.volatile.global.u32 %r3, [%d1]; setp.lt.u32 %p, %r3, %r1; @%p bra L1;\n"
    "  ret;\n}\n";

_Static_assert(LOG_BYTES == 1280, "the kernels have it as a number");

/* Grids of one size count on cells of their own. The last has a block for each multiprocessor, and shared memory
 * that leaves no room for a second: it fits the device and no part of it. */
static const struct barrier {
    unsigned blocks, for_each_multiprocessor, threads, shared_bytes;
} k_barriers[] = {{8, 0, 32, 0}, {100, 0, 64, 0}, {0, 1, 1024, 120 * 1024}};
#define BARRIERS (sizeof(k_barriers) / sizeof(k_barriers[0]))

static CUfunction g_barrier, g_meet;
static CUcontext g_context;
static bool g_primary;
static int g_multiprocessors, g_confined;
static void *g_partner;            /* a stream that waits for nothing but the event before what it does */
static void *g_before, *g_barrier_end;
static bool g_barrier_was;
static CUdeviceptr g_cells;
static unsigned g_cell;

static int lacking(void)
{
    return NOT_SUPPORTED;
}

static void *find(unsigned row)
{
    return seq_fn[row] ? NULL : (void *)(uintptr_t)lacking;
}

static bool is_weak(unsigned row)
{
    (void)row;
    return false;
}

void *(*const seq_find)(unsigned row) = find;
bool (*const seq_is_weak)(unsigned row) = is_weak;

void seq_read_log(void *to, struct seq_slot *s, size_t bytes)
{
    OK(CALL(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t), to, DEV(s->log), bytes));
}

int seq_capture_begin(struct seq_slot *s)
{
    return CALL(cuStreamBeginCapture_v2, (CUstream, int), s->stream, 2);
}

static CUdeviceptr cell(void)
{
    return g_cells + 4 * (2 * BARRIERS + g_cell++);
}

/* One at a time on the device: two could each get a part of it, and wait for the rest. */
static void grid_barrier(struct seq_slot *s)
{
    unsigned kind = seq_chance(s == &seq_slots[SEQ_FREE] ? BARRIERS : BARRIERS - 1);
    const struct barrier *b = &k_barriers[kind];
    unsigned blocks = b->blocks + b->for_each_multiprocessor * (unsigned)g_multiprocessors;
    CUdeviceptr at = g_cells + 8 * kind;
    void *params[] = {&at};

    if (g_barrier_was)
        CALL(cuStreamWaitEvent, (CUstream, CUevent, unsigned), s->stream, g_barrier_end, 0);
    CALL(cuLaunchKernel, LAUNCH_TYPES, g_barrier, blocks, 1, 1, b->threads, 1, 1, b->shared_bytes, s->stream, params, NULL);
    CALL(cuEventRecord, (CUevent, CUstream), g_barrier_end, s->stream);
    g_barrier_was = true;
}

static void partner_comes_here(struct seq_slot *s)
{
    CALL(cuEventRecord, (CUevent, CUstream), g_before, s->stream);
    CALL(cuStreamWaitEvent, (CUstream, CUevent, unsigned), g_partner, g_before, 0);
}

/* Each kernel runs until the other one does. */
static void two_streams_meet(void)
{
    struct seq_slot *s = &seq_slots[SEQ_FREE];
    CUdeviceptr at = cell();
    unsigned ranks = 2;
    void *params[] = {&at, &ranks};

    partner_comes_here(s);
    CALL(cuLaunchKernel, LAUNCH_TYPES, g_meet, 1, 1, 1, 1, 1, 1, 0, s->stream, params, NULL);
    CALL(cuLaunchKernel, LAUNCH_TYPES, g_meet, 1, 1, 1, 1, 1, 1, 0, g_partner, params, NULL);
}

static void value_of_another_stream(void)
{
    struct seq_slot *s = &seq_slots[SEQ_FREE];
    CUdeviceptr at = cell();

    partner_comes_here(s);
    CALL(cuStreamWaitValue32_v2, (CUstream, CUdeviceptr, uint32_t, unsigned), s->stream, at, 1, 0);
    CALL(cuStreamWriteValue32_v2, (CUstream, CUdeviceptr, uint32_t, unsigned), g_partner, at, 1, 0);
}

static void own_value(struct seq_slot *s)
{
    CUdeviceptr at = DEV(s->words) + 4 * (SEQ_WORDS - 2);

    CALL(cuStreamWriteValue32_v2, (CUstream, CUdeviceptr, uint32_t, unsigned), s->stream, at, ++seq_tag, 0);
    CALL(cuStreamWaitValue32_v2, (CUstream, CUdeviceptr, uint32_t, unsigned), s->stream, at, seq_tag, 0);
}

static void short_lived_stream(void)
{
    uint64_t ns = 20000;
    CUdeviceptr log = cell();
    uint32_t tag = 0; /* nop writes nothing but its row, and has few blocks */
    void *params[] = {&ns, &log, &tag}, *stream = NULL;

    OK(CALL(cuStreamCreate, (void **, unsigned), &stream, seq_chance(2)));
    for (unsigned n = 1 + seq_chance(4); n > 0; n--)
        CALL(cuLaunchKernel, LAUNCH_TYPES, seq_nop, 100, 1, 1, 64, 1, 1, 0, stream, params, NULL);
    CALL(cuStreamDestroy_v2, (CUstream), stream);
}

static void short_lived_memory(struct seq_slot *s)
{
    CUdeviceptr p = 0;

    OK(CALL(cuMemAllocAsync, (CUdeviceptr *, size_t, CUstream), &p, 256, s->stream));
    CALL(cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream), p, 3, 256, s->stream);
    CALL(cuMemcpyAsync, (CUdeviceptr, CUdeviceptr, size_t, CUstream), DEV(s->words), p, 128, s->stream);
    CALL(cuMemFreeAsync, (CUdeviceptr, CUstream), p, s->stream);
}

static void another_module(struct seq_slot *s)
{
    uint64_t ns = 0;
    void *log = s->log, *module = NULL;
    uint32_t tag = 0;
    void *params[] = {&ns, &log, &tag};
    CUfunction nop = NULL;

    if (seq_chance(4))
        return;
    OK(CALL(cuModuleLoadData, (void **, const void *), &module, k_kernels));
    OK(CALL(cuModuleGetFunction, (CUfunction *, void *, const char *), &nop, module, "nop"));
    CALL(cuLaunchKernel, LAUNCH_TYPES, nop, 100, 1, 1, 32, 1, 1, 0, s->stream, params, NULL);
    CALL(cuStreamSynchronize, (CUstream), s->stream);
    CALL(cuModuleUnload, (void *), module);
}

static void time_between(struct seq_slot *s)
{
    void *a = NULL, *b = NULL;
    float ms = -1;
    unsigned char is_time;

    OK(CALL(cuEventCreate, (void **, unsigned), &a, 0));
    OK(CALL(cuEventCreate, (void **, unsigned), &b, 0));
    CALL(cuEventRecord, (CUevent, CUstream), a, s->stream);
    grid_barrier(s);
    CALL(cuEventRecord, (CUevent, CUstream), b, s->stream);
    CALL(cuEventSynchronize, (CUevent), b);
    CALL(cuEventElapsedTime, (float *, CUevent, CUevent), &ms, a, b);
    is_time = ms >= 0 && ms < 60e3f;
    seq_note(&is_time, sizeof(is_time));
    CALL(cuEventDestroy_v2, (CUevent), a);
    CALL(cuEventDestroy_v2, (CUevent), b);
}

static void ask(struct seq_slot *s)
{
    CUcontext of = NULL, current = NULL;
    int priority = 0;
    unsigned flags = 0;
    unsigned char same;

    CALL(cuStreamGetCtx, (CUstream, CUcontext *), s->stream, &of);
    CALL(cuCtxGetCurrent, (CUcontext *), &current);
    CALL(cuStreamGetPriority, (CUstream, int *), s->stream, &priority);
    CALL(cuStreamGetFlags, (CUstream, unsigned *), s->stream, &flags);
    CALL_TIMED(cuStreamQuery, (CUstream), s->stream);
    same = of == current;
    seq_note(&same, sizeof(same));
    seq_note(&priority, sizeof(priority));
    seq_note(&flags, sizeof(flags));
}

void seq_other(struct seq_slot *s)
{
    bool room = g_cell < CELLS - 2 * BARRIERS - SEEN_ROWS;

    switch (seq_chance(12)) {
    case 0:
    case 1:
    case 2:
        grid_barrier(s);
        break;
    case 3:
    case 4:
        if (room)
            two_streams_meet();
        break;
    case 5:
        if (room)
            value_of_another_stream();
        break;
    case 6:
        own_value(s);
        break;
    case 7:
        if (room)
            short_lived_stream();
        break;
    case 8:
        short_lived_memory(s);
        break;
    case 9:
        another_module(s);
        break;
    case 10:
        time_between(s);
        break;
    default:
        ask(s);
        break;
    }
}

/* Lanes are made when the first kernel asks for one, in a thread aside, and programs are short. */
static void let_lanes_be_made(void)
{
    uint64_t ns = 0;
    uint32_t tag = 255; /* the last row, which is not counted */

    if (!g_primary || !getenv("SEQ_LANES"))
        return;
    for (int i = 0; i < SEQ_SLOTS; i++) {
        struct seq_slot *s = &seq_slots[i];
        void *params[] = {&ns, &s->log, &tag};

        OK(FN(cuLaunchKernel, int, LAUNCH_TYPES)(seq_work, 5000, 1, 1, 1, 1, 1, 0, s->stream, params, NULL));
        OK(FN(cuCtxSynchronize, int, (void))());
        OK(FN(cuMemsetD32_v2, int, (CUdeviceptr, unsigned, size_t))(DEV(s->log), 0, SEQ_LOG_WORDS));
    }
    OK(FN(cuCtxSynchronize, int, (void))()); /* a fill returns before it is done, and SEQ_FREE would not wait for it */
    usleep(4000);
}

/* SEQ_LARGE: so large that XSCHED_SWAP serves it. What the program computes is the same. */
static CUdeviceptr allocate(size_t bytes)
{
    const size_t least = getenv("SEQ_LARGE") ? (size_t)2 << 20 : 0;
    CUdeviceptr p;

    OK(CALL(cuMemAlloc_v2, (CUdeviceptr *, size_t), &p, bytes > least ? bytes : least));
    return p;
}

void seq_open(void)
{
    const size_t log_bytes = LOG_BYTES + 4 * SEEN_ROWS * SEEN_WORDS;
    CUdeviceptr p;
    void *module = NULL;
    int priority, r;

    g_primary = seq_chance(32) > 0; /* another context has no lanes, and takes long to make */
    if (g_primary) {
        OK(CALL(cuDevicePrimaryCtxRetain, (CUcontext *, int), &g_context, 0));
        OK(CALL(cuCtxSetCurrent, (CUcontext), g_context));
    } else {
        OK(CALL(cuCtxCreate_v2, (CUcontext *, unsigned, int), &g_context, 0, 0));
    }
    OK(CALL(cuDeviceGetAttribute, (int *, int, int), &g_multiprocessors, 16, 0));
    OK(CALL(cuModuleLoadData, (void **, const void *), &module, k_kernels));
    OK(CALL(cuModuleGetFunction, (CUfunction *, void *, const char *), &seq_work, module, "work"));
    OK(CALL(cuModuleGetFunction, (CUfunction *, void *, const char *), &seq_nop, module, "nop"));
    OK(CALL(cuModuleGetFunction, (CUfunction *, void *, const char *), &g_barrier, module, "barrier"));
    r = CALL(cuFuncSetAttribute, (CUfunction, int, int), g_barrier, XS_CU_FUNC_SHARED_MOST,
             (int)k_barriers[BARRIERS - 1].shared_bytes);
    seq_must(r == NOT_SUPPORTED ? 0 : r, "the barrier's shared memory"); /* the fake driver needs no such call */
    OK(CALL(cuModuleGetFunction, (CUfunction *, void *, const char *), &g_meet, module, "meet"));
    seq_slots[SEQ_PER_THREAD].stream = XS_CU_STREAM_PER_THREAD;
    OK(CALL(cuStreamCreate, (void **, unsigned), &seq_slots[SEQ_BLOCKING].stream, 0));
    priority = -(int)seq_chance(3); /* of both streams that meet: the urgent one would wait for the other */
    OK(CALL(cuStreamCreateWithPriority, (void **, unsigned, int), &seq_slots[SEQ_FREE].stream, 1, priority));
    OK(CALL(cuStreamCreateWithPriority, (void **, unsigned, int), &g_partner, 1, priority));
    for (int i = 0; i < SEQ_SLOTS; i++) {
        p = allocate(4 * SEQ_WORDS);
        seq_slots[i].words = (void *)(uintptr_t)p;
        OK(CALL(cuMemsetD32_v2, (CUdeviceptr, unsigned, size_t), p, 0, SEQ_WORDS));
        p = allocate(log_bytes);
        seq_slots[i].log = (void *)(uintptr_t)p;
        OK(CALL(cuMemsetD32_v2, (CUdeviceptr, unsigned, size_t), p, 0, log_bytes / 4));
        OK(CALL(cuEventCreate, (void **, unsigned), &seq_slots[i].event, 0));
    }
    OK(CALL(cuEventCreate, (void **, unsigned), &g_before, 2));
    OK(CALL(cuEventCreate, (void **, unsigned), &g_barrier_end, 2));
    g_cells = allocate(4 * CELLS);
    OK(CALL(cuMemsetD32_v2, (CUdeviceptr, unsigned, size_t), g_cells, 0, CELLS));
    OK(CALL(cuCtxSynchronize, (void)));
    g_cell = 0;
    g_barrier_was = false;
    let_lanes_be_made();
}

/* Kernels of many blocks that left multiprocessors free. */
static void count_confined(struct seq_slot *s)
{
    static uint32_t seen[SEEN_ROWS][SEEN_WORDS];

    OK(CALL(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t), seen, DEV(s->log) + LOG_BYTES, sizeof(seen)));
    for (int row = 0; row < SEEN_ROWS - 1; row++) {
        int used = 0;

        for (int k = 0; k < SEEN_WORDS; k++)
            used += __builtin_popcount(seen[row][k]);
        g_confined += used > 0 && used < g_multiprocessors;
    }
}

void seq_close(void)
{
    uint32_t counts[2 * BARRIERS];

    OK(CALL(cuStreamSynchronize, (CUstream), g_partner));
    OK(CALL(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t), counts, g_cells, sizeof(counts)));
    seq_note(counts, sizeof(counts));
    CALL(cuStreamDestroy_v2, (CUstream), seq_slots[SEQ_BLOCKING].stream);
    CALL(cuStreamDestroy_v2, (CUstream), seq_slots[SEQ_FREE].stream);
    CALL(cuStreamDestroy_v2, (CUstream), g_partner);
    CALL(cuEventDestroy_v2, (CUevent), g_before);
    CALL(cuEventDestroy_v2, (CUevent), g_barrier_end);
    for (int i = 0; i < SEQ_SLOTS; i++) {
        count_confined(&seq_slots[i]);
        CALL(cuMemFree_v2, (CUdeviceptr), DEV(seq_slots[i].words));
        CALL(cuMemFree_v2, (CUdeviceptr), DEV(seq_slots[i].log));
        CALL(cuEventDestroy_v2, (CUevent), seq_slots[i].event);
    }
    CALL(cuMemFree_v2, (CUdeviceptr), g_cells);
    if (!g_primary)
        OK(CALL(cuCtxDestroy_v2, (CUcontext), g_context));
    else if (seq_chance(64) == 0)
        OK(CALL(cuDevicePrimaryCtxReset_v2, (int), 0));
    seq_say_confined(g_confined);
}
