/* SPDX-License-Identifier: Apache-2.0 */
/* The actual behaviour of an AMD GPU, its runtime and its kernel driver, tried on work of our own. It tries
 * gates in a stream and their cost (level 2), takes queues with work off the device (level 3), and confines them
 * to a part of its compute units (`xsched run --share=space`). It judges by the effect on the work, never by
 * status codes alone. It prints one JSON line a device. A trial may hang; the program that started this one
 * ends it after a time limit. The work is fills of memory, since there is no compiler here; the probe does not
 * see whether one of them stops in the middle.
 *
 * Takes each GPU for about a second. Without MES in the device's firmware, taking queues off and masks interrupt
 * all programs' work on it for a moment. Never tried on an AMD GPU. */
#include "base/pci.h"
#include "base/str.h"
#include "hal/hip/hip_abi.h"
#include "hal/hip/kfd/kfd.h"
#include "probe/probe.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FUNCTIONS(X)                                                                              \
    X(hipGetDeviceCount, (int *))                                                                 \
    X(hipSetDevice, (int))                                                                        \
    X(hipDeviceGetPCIBusId, (char *, int, int))                                                   \
    X(hipStreamCreateWithFlags, (hipStream_t *, unsigned))                                        \
    X(hipStreamQuery, (hipStream_t))                                                              \
    X(hipStreamSynchronize, (hipStream_t))                                                        \
    X(hipStreamWaitValue64, (hipStream_t, void *, uint64_t, unsigned, uint64_t))                  \
    X(hipStreamWriteValue64, (hipStream_t, void *, uint64_t, unsigned))                           \
    X(hipHostRegister, (void *, size_t, unsigned))                                                \
    X(hipHostGetDevicePointer, (void **, void *, unsigned))                                       \
    X(hipMalloc, (void **, size_t))                                                               \
    X(hipFree, (void *))                                                                          \
    X(hipMemsetD32Async, (void *, int, size_t, hipStream_t))
#define X(name, params) static hipError_t (*name) params;
FUNCTIONS(X)
#undef X

#define WORK_NS       (300 * XS_NS_PER_MS)
#define WAITS         40u
#define ROUNDS        5u          /* the best counts */
#define LOOK_NS       (5 * STILL_NS) /* at queues that are off */
#define DEAR_US       20ull       /* a gate that takes longer costs more than it gains; or the argument */
#define MEASURED      4u
#define TRIES         3u          /* of a measurement */
#define LEAST_FILLS   32u
#define MOST_FILLS    1000u       /* a queue of the device takes more */
#define MOST_WORDS    (64u << 20)
#define RATE_NS       (12 * XS_NS_PER_MS) /* of work, to compare it */
#define RATES         4u          /* on a part and on all by turns: a machine with much to do slows it at any time */
#define PARTS         8u          /* the part of the device that it tries: one of so many, as fills are bound by memory */

struct hip_device {
    int id;
    char bus[32];
    hipStream_t gated, other;
    _Atomic uint64_t *word;       /* 0: the gate; 1, 2, 3: written by streams */
    char *at;                     /* where the device sees them; NULL: it does not */
    uint64_t gate_ns, off_ns, on_ns, mask_ns;
    uint32_t part;                /* compute units of the part that it tried */
    char text[96];
};

static uint64_t g_dear_us = DEAR_US;

static bool writes(struct hip_device *d, hipStream_t s, unsigned word, uint64_t value)
{
    return hipStreamWriteValue64(s, d->at + 8 * word, value, 0) == XS_HIP_SUCCESS;
}

/* @return why the device runs nothing at all, or NULL */
static const char *prepare(struct hip_device *d)
{
    void *page, *at = NULL;

    if (hipSetDevice(d->id) || hipStreamCreateWithFlags(&d->gated, XS_HIP_STREAM_NONBLOCKING) ||
        hipStreamCreateWithFlags(&d->other, XS_HIP_STREAM_NONBLOCKING))
        return "the runtime makes no stream";
    if (posix_memalign(&page, 4096, 4096))
        return "out of memory";
    memset(page, 0, 4096);
    d->word = page;
    if (hipHostRegister(page, 4096, XS_HIP_HOST_REGISTER_PORTABLE_MAPPED) == XS_HIP_SUCCESS &&
        hipHostGetDevicePointer(&at, page, 0) == XS_HIP_SUCCESS && at) {
        d->at = at;
        if (!writes(d, d->other, 1, 1) || !reaches(&d->word[1], 1))
            d->at = NULL;
    }
    return NULL;
}

/* Level 2. @return the reason against it, or NULL */
static const char *gates(struct hip_device *d)
{
    d->gate_ns = UINT64_MAX;
    if (!d->at)
        return "the device does not write into memory of the host";
    if (hipStreamWaitValue64(d->gated, d->at, 7, XS_HIP_WAIT_GTE, UINT64_MAX))
        return "the runtime takes no wait for a value";
    if (!writes(d, d->gated, 2, 1) || !writes(d, d->other, 1, 2))
        return "the runtime launches no command";
    if (!reaches(&d->word[1], 2)) {
        atomic_store(&d->word[0], 7);
        return "another stream stands behind the gate too";
    }
    sleep_ns(STILL_NS);
    if (atomic_load(&d->word[2]) != 0)
        return "work passes a closed gate";
    atomic_store(&d->word[0], 7);
    if (!reaches(&d->word[2], 1))
        return "an opened gate stays closed";
    for (unsigned round = 2; round < 2 + ROUNDS; round++) {
        uint64_t began = xs_now_ns();

        for (unsigned i = 0; i < WAITS; i++)
            if (hipStreamWaitValue64(d->gated, d->at, 7, XS_HIP_WAIT_GTE, UINT64_MAX))
                return "the runtime takes few waits for a value";
        if (!writes(d, d->gated, 2, round) || !reaches(&d->word[2], round))
            return "work does not pass open gates";
        d->gate_ns = XS_MIN(d->gate_ns, (xs_now_ns() - began) / WAITS);
    }
    if (d->gate_ns / 1000 < g_dear_us)
        return NULL;
    snprintf(d->text, sizeof(d->text), "a wait takes %llu us", (unsigned long long)d->gate_ns / 1000);
    return d->text;
}

/* The least time of so many fills: whatever else the machine does only adds. 0: not possible */
static uint64_t fill_ns(struct hip_device *d, void *memory, size_t words, unsigned n)
{
    uint64_t least_ns = UINT64_MAX;

    for (unsigned round = 0; round < TRIES; round++) {
        uint64_t began = xs_now_ns();

        for (unsigned i = 1; i <= n; i++)
            if (hipMemsetD32Async(memory, 1, words, d->gated) || !writes(d, d->gated, 3, 0))
                return 0;
        if (hipStreamSynchronize(d->gated))
            return 0;
        least_ns = XS_MIN(least_ns, xs_now_ns() - began);
    }
    return least_ns;
}

/* Fills that last a while, each followed by its number. @return how many; 0: not possible */
static unsigned put_work(struct hip_device *d, void **ret_memory, uint64_t *ret_each_ns)
{
    size_t words = 1u << 12;
    uint64_t each = 0;
    unsigned n;

    for (;; words *= 2) {
        uint64_t one, all;

        if (hipMalloc(ret_memory, words * 4))
            return 0;
        if (fill_ns(d, *ret_memory, words, 1) == 0) /* the first one loads code */
            return 0;
        one = fill_ns(d, *ret_memory, words, 1);
        all = fill_ns(d, *ret_memory, words, 1 + MEASURED);
        if (!one || !all)
            return 0;
        /* without what a single one costs the caller and the runtime */
        each = all > one ? (all - one) / MEASURED : 0;
        if (each * MOST_FILLS >= WORK_NS || words >= MOST_WORDS)
            break;
        hipFree(*ret_memory);
    }
    *ret_each_ns = each;
    n = (unsigned)XS_MIN(WORK_NS / XS_MAX(each, 1ull) + LEAST_FILLS, (uint64_t)MOST_FILLS);
    for (unsigned i = 1; i <= n; i++)
        if (hipMemsetD32Async(*ret_memory, (int)i, words, d->gated) || !writes(d, d->gated, 3, i))
            return 0;
    return n;
}

static bool bring(uint32_t address, bool off, uint32_t part, uint64_t *ret_ns)
{
    struct xs_kfd_wish w = {.off = off, .part = part, .until_ns = UINT64_MAX - 1};
    uint64_t began = xs_now_ns();
    bool known = xs_kfd_wish(address, &w);

    xs_kfd_due(began);
    *ret_ns = xs_now_ns() - began;
    return known && xs_kfd_level() == 3;
}

/* Level 3. @return the reason against it, or NULL */
static const char *queues(struct hip_device *d)
{
    unsigned n;
    uint64_t before, end, each_ns = 0;
    uint32_t address;
    void *memory;
    bool moved;

    if (!d->at)
        return "the device does not write into memory of the host";
    if (xs_kfd_level() != 3)
        return xs_kfd_why();
    if (!xs_pci_parse(d->bus, &address))
        return "the device has no address";
    n = put_work(d, &memory, &each_ns);
    if (!n || !reaches(&d->word[3], 1))
        return "the runtime launches no command";
    if (!bring(address, true, 0, &d->off_ns))
        return *xs_kfd_why() ? xs_kfd_why() : "the kernel does not tell which queues are this device's";
    sleep_ns(2 * XS_NS_PER_MS);
    before = atomic_load(&d->word[3]);
    /* Long enough for fills to end, if they go on; and a busy machine may hold up what feeds the device, so that work stands
     * still for a moment and yet goes on. */
    moved = reaches_within(&d->word[3], before + 1, LOOK_NS + 3 * each_ns);
    if (!bring(address, false, 0, &d->on_ns))
        return "the driver does not take queues back";
    if (before == n)
        return "the work was over before the probe stopped it";
    if (moved)
        return "work goes on although its queues are off";
    end = xs_now_ns() + ENOUGH_NS;
    while (hipStreamQuery(d->gated) == XS_HIP_NOT_READY)
        if (xs_now_ns() > end)
            return "stopped work does not go on";
    if (hipStreamQuery(d->gated) != XS_HIP_SUCCESS || !reaches(&d->word[3], n))
        return "the device loses stopped work";
    return NULL;
}

/* Fills that end in a while. */
static uint64_t rate(struct hip_device *d)
{
    uint64_t before = atomic_load(&d->word[3]);

    sleep_ns(RATE_NS);
    return atomic_load(&d->word[3]) - before;
}

/* Masks. @return the reason against them, or NULL */
static const char *masks(struct hip_device *d)
{
    uint64_t part, whole, least = UINT64_MAX, on_ns, each_ns = 0;
    bool slower = true;
    uint32_t address, units;
    void *memory;
    unsigned n;

    if (!d->at)
        return "the device does not write into memory of the host";
    if (!xs_pci_parse(d->bus, &address))
        return "the device has no address";
    if (!xs_kfd_lanes(address, &units) || *xs_kfd_why_no_masks())
        return *xs_kfd_why_no_masks() ? xs_kfd_why_no_masks() : "the kernel does not tell which queues are this device's";
    d->part = xs_kfd_part_near(address, units / PARTS);
    n = put_work(d, &memory, &each_ns);
    if (!n || !reaches(&d->word[3], 1))
        return "the runtime launches no command";
    for (unsigned round = 0; round < RATES; round++) {
        if (!bring(address, false, d->part, &d->mask_ns) || *xs_kfd_why_no_masks())
            return *xs_kfd_why_no_masks() ? xs_kfd_why_no_masks() : "the kernel does not tell which queues are this device's";
        sleep_ns(4 * XS_NS_PER_MS + 2 * each_ns); /* what began before may end */
        part = rate(d);
        least = XS_MIN(least, part);
        bring(address, false, 0, &on_ns);
        whole = rate(d);
        slower = slower && part * 4 < whole * 3;
    }
    if (atomic_load(&d->word[3]) == n)
        return "the work was over before the probe stopped it";
    if (hipStreamSynchronize(d->gated) || !reaches(&d->word[3], n))
        return "the device loses work whose queue gets a mask";
    if (!least)
        return "no work ends on a part of the device";
    return slower ? NULL : "work is as fast on a part of the device as on all of it";
}

static void probe(int ordinal)
{
    struct hip_device d = {.id = ordinal};
    const char *broken, *no_gates, *no_queues = NULL, *no_masks = NULL;

    if (hipDeviceGetPCIBusId(d.bus, sizeof(d.bus) - 1, ordinal))
        snprintf(d.bus, sizeof(d.bus), "device-%d", ordinal);
    broken = prepare(&d);
    no_gates = broken ? broken : gates(&d);
    if (!broken)
        no_queues = queues(&d);
    if (!broken)
        no_masks = masks(&d);
    printf("{\"device\":%d", ordinal);
    print_text("uuid", d.bus);
    print_text("gates", no_gates ? no_gates : "work");
    print_text("queues", broken ? broken : no_queues ? no_queues : "work");
    print_text("masks", broken ? broken : no_masks ? no_masks : "work");
    d.gate_ns = d.gate_ns == UINT64_MAX ? 0 : d.gate_ns;
    printf(",\"gate_ns\":%llu,\"off_ns\":%llu,\"on_ns\":%llu,\"mask_ns\":%llu,\"part\":%u,\"level\":%d}\n",
           (unsigned long long)d.gate_ns, (unsigned long long)d.off_ns, (unsigned long long)d.on_ns,
           (unsigned long long)d.mask_ns, d.part, broken ? 0 : !no_queues ? 3 : !no_gates ? 2 : 1);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    void *lib = open_vendor(&xs_platforms[XS_PLATFORM_HIP]), *p;
    int count = 0;

    if (argc > 2 || (argc == 2 && xs_str_parse_u64(argv[1], 10, &g_dear_us) < 0)) {
        fputs("usage: xsched-probe-hip [MICROSECONDS] (`xsched doctor --probe` starts it)\n", stderr);
        return 64;
    }
    if (!lib) {
        if (isatty(STDOUT_FILENO)) /* doctor has its own words */
            fputs("xsched-probe-hip: found no runtime that loads\n", stderr);
        return 3;
    }
#define X(name, params)                                            \
    p = dlsym(lib, #name);                                         \
    if (!p)                                                        \
        return 3;                                                  \
    memcpy(&name, &p, sizeof(p));
    FUNCTIONS(X)
#undef X
    if (hipGetDeviceCount(&count))
        return 3;
    for (int i = 0; i < count; i++)
        probe(i);
    fflush(stdout);
    _exit(0); /* the runtime may still wait for something */
}
