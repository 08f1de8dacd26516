/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs over the public functions of libpreempt, on the fake device in real time:
 * seq_preempt FIRST COUNT STEPS [SECONDS [global]]
 *
 * One thread a program, which makes right and wrong calls. It knows what each must answer, and the
 * order in which the kernels of each stream must start: the order of the calls that launched them,
 * whoever launched them and whatever was suspended meanwhile. Prints how often each function was
 * called (after SECONDS at the latest; global: the schedulers that it changes to are xserver, too);
 * every line that begins with FAILED is a difference. */
#include "fake_hal.h"
#include "vtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANES    3
#define COMMANDS 64
#define ORDER    4096
#define NOBODY   0x7fff1234ull

#define FUNCTIONS(X)                                                                                         \
    X(XQueueCreate)                                                                                          \
    X(XQueueDestroy)                                                                                         \
    X(XQueueGet)                                                                                             \
    X(XQueueSubmit)                                                                                          \
    X(XQueueWait)                                                                                            \
    X(XQueueWaitAll)                                                                                         \
    X(XQueueQuery)                                                                                           \
    X(XQueueProfileHwCommandCount)                                                                           \
    X(XQueueSuspend)                                                                                         \
    X(XQueueResume)                                                                                          \
    X(XQueueSetPreemptLevel)                                                                                 \
    X(XQueueSetLaunchConfig)                                                                                 \
    X(HwQueueDestroy)                                                                                        \
    X(HwQueueLaunch)                                                                                         \
    X(HwQueueSynchronize)                                                                                    \
    X(HwCommandCreateCallback)                                                                               \
    X(HwCommandDestroy)                                                                                      \
    X(XHintPriority)                                                                                         \
    X(XHintSwapPriority)                                                                                     \
    X(XHintUtilization)                                                                                      \
    X(XHintTimeslice)                                                                                        \
    X(XHintLaxity)                                                                                           \
    X(XHintDeadline)                                                                                         \
    X(XHintKDeadline)                                                                                        \
    X(XHintSetScheduler)

enum function {
#define X(name) F_##name,
    FUNCTIONS(X)
#undef X
        FUNCTION_COUNT
};
static const char *const k_names[] = {
#define X(name) #name,
    FUNCTIONS(X)
#undef X
};

static unsigned long g_called[FUNCTION_COUNT], g_steps, g_failures, g_kernels;
static uint64_t g_random, g_seed;
static bool g_global;

static unsigned chance(unsigned n)
{
    g_random ^= g_random << 13; /* xorshift64 */
    g_random ^= g_random >> 7;
    g_random ^= g_random << 17;
    return (unsigned)((g_random >> 20) % n);
}

static void failed(const char *what, long got, long want)
{
    if (g_failures++ < 20)
        printf("FAILED seed %llu: %s gave %ld, not %ld\n", (unsigned long long)g_seed, what, got, want);
}

#define EXPECT(want, name, ...)                                                                              \
    do {                                                                                                     \
        XResult result_ = name(__VA_ARGS__);                                                                 \
        g_called[F_##name]++;                                                                                \
        g_steps++;                                                                                           \
        if (result_ != (want))                                                                               \
            failed(#name, (long)result_, (long)(want));                                                      \
    } while (0)
#define OK(name, ...) EXPECT(kXSchedSuccess, name, __VA_ARGS__)

/* ---- a program ---- */

struct kernel {
    struct fake_stream *stream;
    uint64_t duration_ns;
    uint32_t tag;
    XResult result;
    _Atomic bool ran;
};

struct lane {
    struct fake_stream *stream;
    HwQueueHandle hwq;
    XQueueHandle xq; /* 0: none */
    bool suspended, blocking;
    struct {
        HwCommandHandle handle;
        struct kernel *kernel;
    } commands[COMMANDS]; /* submitted, not waited for, in order */
    unsigned n_commands;
    int64_t count, batch, threshold;
    uint32_t order[ORDER]; /* tags as they must start */
    unsigned n_order;
};

static struct fake_device *g_device;
static struct lane g_lanes[LANES];
static struct kernel g_kernel_storage[ORDER * LANES];
static uint32_t g_tag;

static XResult launch_kernel(HwQueueHandle hwq, void *data)
{
    struct kernel *k = data;

    (void)hwq;
    atomic_store(&k->ran, true);
    if (fake_launch(k->stream, k->duration_ns, k->tag, NULL) != FAKE_OK)
        return kXSchedErrorHardware;
    return k->result;
}

static HwCommandHandle new_command(struct lane *l, struct kernel **ret)
{
    struct kernel *k = &g_kernel_storage[++g_tag];
    HwCommandHandle c = 0;

    *k = (struct kernel){l->stream, chance(4) ? 0 : 1 + chance(3000), g_tag,
                         chance(16) ? 0 : kXSchedErrorHardware, 0};
    OK(HwCommandCreateCallback, &c, launch_kernel, k);
    *ret = k;
    g_kernels++;
    return c;
}

static void resume(struct lane *l)
{
    if (l->suspended)
        OK(XQueueResume, l->xq, 0);
    l->suspended = false;
}

/* All that was handed over is complete after this, and each command told its own result. */
static void wait_for_commands(struct lane *l)
{
    resume(l);
    if (chance(3) == 0)
        OK(XQueueWaitAll, l->xq);
    for (unsigned i = 0; i < l->n_commands; i++)
        EXPECT(l->commands[i].kernel->result, XQueueWait, l->xq, l->commands[i].handle);
    l->n_commands = 0;
}

static void open_queue(struct lane *l)
{
    XQueueHandle got = 0;

    l->blocking = chance(4) == 0;
    OK(XQueueCreate, &l->xq, l->hwq, 1 + chance(3), l->blocking ? kQueueCreateFlagBlockingSubmit : 0);
    OK(XQueueCreate, &got, l->hwq, 1, 0);
    if (got != l->xq)
        failed("a second XQueueCreate", (long)got, (long)l->xq);
    OK(XQueueGet, &got, l->hwq);
    l->count = 0;
    l->threshold = 16;
    l->batch = 8;
}

static void close_queue(struct lane *l)
{
    wait_for_commands(l);
    EXPECT(kXSchedErrorNotAllowed, HwQueueDestroy, l->hwq);
    OK(XQueueDestroy, l->xq);
    l->xq = 0;
}

static void open_lane(struct lane *l)
{
    memset(l, 0, sizeof(*l));
    if (fake_stream_create(g_device, &l->stream) != FAKE_OK ||
        fake_queue_create(&l->hwq, l->stream) != kXSchedSuccess)
        failed("a stream and its queue", 0, 1);
    open_queue(l);
}

static void submit(struct lane *l)
{
    struct kernel *k;
    HwCommandHandle c;

    if (l->n_commands == COMMANDS)
        wait_for_commands(l);
    if (l->blocking)
        resume(l); /* one thread: nobody else would */
    c = new_command(l, &k);
    OK(XQueueSubmit, l->xq, c);
    l->commands[l->n_commands].handle = c;
    l->commands[l->n_commands++].kernel = k;
    l->order[l->n_order++] = k->tag;
    l->count++;
    if (chance(8) == 0)
        EXPECT(kXSchedErrorNotAllowed, XQueueSubmit, l->xq, c);
}

/* As a shim's launch: behind everything that was submitted. */
static void direct(struct lane *l)
{
    resume(l); /* likewise */
    if (fake_api_launch(l->stream, chance(2000), ++g_tag) != FAKE_OK)
        failed("a direct launch", 1, 0);
    g_kernel_storage[g_tag].ran = true;
    l->order[l->n_order++] = g_tag;
    l->count++;
    g_steps++;
}

/* Past the XQueue: in order only when nothing waits there. */
static void past(struct lane *l)
{
    struct kernel *k;
    HwCommandHandle c;

    wait_for_commands(l);
    c = new_command(l, &k);
    EXPECT(k->result, HwQueueLaunch, l->hwq, c);
    l->order[l->n_order++] = k->tag;
    OK(HwCommandDestroy, c);
    OK(HwQueueSynchronize, l->hwq);
}

/* What did not start by then never does. */
static void drop(struct lane *l)
{
    unsigned kept = 0;

    OK(XQueueSuspend, l->xq, kQueueSuspendFlagSyncHwQueue);
    OK(XQueueResume, l->xq, kQueueResumeFlagDropCommands);
    l->suspended = false;
    OK(XQueueWaitAll, l->xq);
    for (unsigned i = 0; i < l->n_commands; i++)
        l->count -= !l->commands[i].kernel->ran; /* what was dropped is not counted */
    for (unsigned i = 0; i < l->n_order; i++)
        if (g_kernel_storage[l->order[i]].ran)
            l->order[kept++] = l->order[i];
    l->n_order = kept;
    for (unsigned i = 0; i < l->n_commands; i++) {
        bool ran = l->commands[i].kernel->ran;
        XResult r = XQueueWait(l->xq, l->commands[i].handle);

        g_called[F_XQueueWait]++;
        g_steps++;
        if (ran ? r != l->commands[i].kernel->result : r == kXSchedSuccess)
            failed("XQueueWait after a drop", (long)r, ran);
    }
    l->n_commands = 0;
}

static void ask(struct lane *l)
{
    XQueueState state = kQueueStateUnknown;
    int64_t count = -1;

    OK(XQueueQuery, l->xq, &state);
    if (state != kQueueStateIdle && state != kQueueStateReady)
        failed("a state", (long)state, 1);
    if (chance(2)) /* while the worker launches one that waited, it may count twice for a moment */
        wait_for_commands(l);
    OK(XQueueProfileHwCommandCount, l->xq, &count);
    if (count != l->count && count != l->count + 1)
        failed("the count of commands", (long)count, (long)l->count);
}

static void configure(struct lane *l)
{
    int64_t threshold = (int64_t)chance(40) - 4, batch = (int64_t)chance(40) - 4;
    int64_t t = threshold > 0 ? threshold : l->threshold, b = batch > 0 ? batch : l->batch;

    if (batch <= 0 && threshold > 0 && b > t)
        b = t; /* the batch size follows */
    if (b > t) {
        EXPECT(kXSchedErrorInvalidValue, XQueueSetLaunchConfig, l->xq, threshold, batch);
    } else {
        OK(XQueueSetLaunchConfig, l->xq, threshold, batch);
        l->threshold = t;
        l->batch = b;
    }
    switch (chance(4)) {
    case 0:
        OK(XQueueSetPreemptLevel, l->xq, kPreemptLevelBlock);
        break;
    case 1:
        EXPECT(kXSchedErrorNotSupported, XQueueSetPreemptLevel, l->xq, kPreemptLevelInterrupt);
        break;
    case 2:
        EXPECT(kXSchedErrorInvalidValue, XQueueSetPreemptLevel, l->xq, (XPreemptLevel)4);
        break;
    default:
        break;
    }
}

static void hint(struct lane *l)
{
    int32_t p = (int32_t)chance(600) - 300;
    Priority old;

    switch (chance(8)) {
    case 0: /* never PRIORITY_NO_EXECUTE, which holds for ever */
        EXPECT(p < -255 || p > 255 ? kXSchedErrorInvalidValue : 0, XHintPriority, l->xq,
               p == -256 ? -257 : p);
        break;
    case 1:
        OK(XHintSwapPriority, l->xq, (int32_t)chance(100), &old);
        break;
    case 2:
        EXPECT(p < 0 || p > 100 ? kXSchedErrorInvalidValue : 0, XHintUtilization, l->xq, p);
        break;
    case 3:
        EXPECT(p < 100 && p != -1 ? kXSchedErrorInvalidValue : 0, XHintTimeslice, p); /* -1: unlimited */
        break;
    case 4:
        EXPECT(p < -1 ? kXSchedErrorInvalidValue : 0, XHintLaxity, l->xq, p, 0, 1);
        break;
    case 5:
        EXPECT(p == 0 || p < -1 ? kXSchedErrorInvalidValue : 0, XHintDeadline, l->xq, p);
        break;
    case 6:
        EXPECT(p % 4 == 0 ? kXSchedErrorInvalidValue : 0, XHintKDeadline, (size_t)abs(p % 4));
        break;
    default:
        if (chance(8) == 0)
            EXPECT(kXSchedErrorInvalidValue, XHintSetScheduler, (XSchedulerType)77,
                   kPolicyHighestPriorityFirst);
        else if (g_global && chance(2))
            OK(XHintSetScheduler, kSchedulerGlobal, kPolicyUnknown);
        else if (chance(2))
            OK(XHintSetScheduler, kSchedulerLocal, (XPolicyType)(1 + chance(11)));
        else
            OK(XHintSetScheduler, kSchedulerAppManaged, kPolicyUnknown);
        break;
    }
}

/* Handles that nobody has. */
static void wrong(void)
{
    XQueueHandle xq = 0;
    int64_t count;
    XQueueState state;

    switch (chance(12)) {
    case 0:
        EXPECT(kXSchedErrorNotFound, XQueueSubmit, NOBODY, NOBODY);
        break;
    case 1:
        EXPECT(kXSchedErrorNotFound, XQueueWait, NOBODY, NOBODY);
        break;
    case 2:
        EXPECT(kXSchedErrorNotFound, XQueueSuspend, NOBODY, 0);
        EXPECT(kXSchedErrorNotFound, XQueueResume, NOBODY, 0);
        break;
    case 3:
        EXPECT(kXSchedErrorNotFound, XQueueCreate, &xq, NOBODY, 1, 0);
        break;
    case 4:
        EXPECT(kXSchedErrorInvalidValue, XQueueCreate, NULL, g_lanes[0].hwq, 1, 0);
        break;
    case 5:
        EXPECT(kXSchedErrorNotFound, XQueueDestroy, NOBODY);
        EXPECT(kXSchedErrorNotFound, HwQueueDestroy, NOBODY);
        break;
    case 6:
        EXPECT(kXSchedErrorNotFound, HwQueueLaunch, NOBODY, NOBODY);
        EXPECT(kXSchedErrorNotFound, HwQueueSynchronize, NOBODY);
        break;
    case 7:
        EXPECT(kXSchedErrorNotFound, HwCommandDestroy, NOBODY);
        break;
    case 8:
        EXPECT(kXSchedErrorNotFound, XQueueProfileHwCommandCount, NOBODY, &count);
        EXPECT(kXSchedErrorNotFound, XQueueQuery, NOBODY, &state);
        break;
    case 9:
        EXPECT(kXSchedErrorNotFound, XHintPriority, NOBODY, 1);
        break;
    case 10:
        EXPECT(kXSchedErrorNotFound, XQueueGet, &xq, NOBODY);
        break;
    default:
        EXPECT(kXSchedErrorInvalidValue, XQueueCreate, &xq, g_lanes[1].hwq, 9, 0);
        break;
    }
}

static void step(void)
{
    struct lane *l = &g_lanes[chance(LANES)];

    switch (chance(24)) {
    case 0:
        OK(XQueueSuspend, l->xq, chance(2) ? kQueueSuspendFlagSyncHwQueue : 0);
        l->suspended = true;
        break;
    case 1:
    case 2:
        resume(l);
        break;
    case 3:
    case 4:
    case 5:
    case 6:
        direct(l);
        break;
    case 7:
        wait_for_commands(l);
        break;
    case 8:
        ask(l);
        break;
    case 9:
        configure(l);
        break;
    case 10:
    case 11:
        hint(l);
        break;
    case 12:
        wrong();
        break;
    case 13:
        if (chance(4) == 0)
            past(l);
        break;
    case 14:
        if (chance(4) == 0) {
            close_queue(l);
            open_queue(l);
        }
        break;
    case 15:
        if (chance(4) == 0)
            drop(l);
        break;
    case 16: {
        struct kernel *k;

        OK(HwCommandDestroy, new_command(l, &k)); /* one that was never submitted */
        g_kernels--;
        break;
    }
    default:
        submit(l);
        break;
    }
}

static void check_order(struct lane *l)
{
    size_t n = fake_trace_count(), at = 0;

    for (size_t i = 0; i < n; i++) {
        struct fake_record r = fake_trace_get(i);

        if (r.what != FAKE_T_START || r.stream != fake_stream_id(l->stream))
            continue;
        if (at >= l->n_order || r.tag != l->order[at]) {
            failed("the order of a stream at its kernel", (long)r.tag,
                   at < l->n_order ? (long)l->order[at] : -1);
            return;
        }
        at++;
    }
    if (at != l->n_order)
        failed("the number of kernels that started", (long)at, (long)l->n_order);
}

static void program(uint64_t seed, unsigned long steps)
{
    unsigned long until = g_steps + steps;

    g_seed = seed;
    g_random = (seed + 1) * 0x9e3779b97f4a7c15ull;
    g_tag = 0;
    fake_world_reset(true);
    fake_hal_set_self_marked(false);
    fake_hal_set_levels(2);
    g_device = fake_device_create(FAKE_EXCLUSIVE); /* the kind that runs in real time */
    for (int i = 0; i < LANES; i++)
        open_lane(&g_lanes[i]);
    while (g_steps < until && g_tag < ORDER - 8)
        step();
    for (int i = 0; i < LANES; i++) {
        struct lane *l = &g_lanes[i];

        close_queue(l);
        fake_synchronize(l->stream);
        check_order(l);
        OK(HwQueueDestroy, l->hwq);
        EXPECT(kXSchedErrorNotFound, HwQueueDestroy, l->hwq);
    }
    OK(XHintSetScheduler, kSchedulerAppManaged, kPolicyUnknown);
}

int main(int argc, char **argv)
{
    unsigned long first, count, steps, rows = 0, done = 0;
    uint64_t until_ns = UINT64_MAX;

    if (argc < 4 || argc > 6)
        return 2;
    first = strtoul(argv[1], NULL, 0);
    count = strtoul(argv[2], NULL, 0);
    steps = strtoul(argv[3], NULL, 0);
    if (argc > 4)
        until_ns = vtime_real_ns() + strtoull(argv[4], NULL, 0) * 1000000000ull;
    g_global = argc > 5;
    for (; done < count && vtime_real_ns() < until_ns; done++)
        program(first + done, steps);
    for (unsigned i = 0; i < FUNCTION_COUNT; i++) {
        rows += g_called[i] > 0;
        printf("%s%s %lu", i % 5 ? "  " : i ? "\n" : "", k_names[i], g_called[i]);
    }
    printf("\n%lu seeded programs, %lu API calls, %lu kernels, %lu differences, %lu of %d functions called\n",
           done, g_steps, g_kernels, g_failures, rows, FUNCTION_COUNT);
    fake_world_reset(false);
    return g_failures || rows != FUNCTION_COUNT;
}
