/* SPDX-License-Identifier: Apache-2.0 */
/* The actual behaviour of an NVIDIA GPU and its driver, tried on work of our own. It tries gates in a stream
 * (level 2), and time slices of two processes that both have work (level 3). It judges by the effect on the
 * work, never by status codes alone. It prints one JSON line a device. A trial may hang; `xsched doctor` ends
 * this program after a time limit.
 *
 *   xsched-probe-cuda               all devices
 *   xsched-probe-cuda rival DEVICE  the second process: obeys lines on its standard input (struct order)
 *   xsched-probe-cuda devices       which devices a program would see here; makes no context
 *   xsched-probe-cuda numbers       and whether NVML's number 0 is the first of them, or one of its kind
 *   xsched-probe-cuda space         and whether one runs a kernel, and as a client of MPS (`xsched run --share=space`)
 *
 * Each GPU runs this work for about two seconds. It stops no other program's work. */
#include "base/pci.h"
#include "base/str.h"
#include "hal/cuda/cuda_abi.h"
#include "hal/cuda/rm/rm.h"
#include "probe/cuda_numbers.h"
#include "probe/probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* add: one more at a word. count: counts there for so many nanoseconds, or until another word is not 0. */
static const char k_ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry add(.param .u64 at) {\n"
    "  .reg .b64 %d<4>;\n"
    "  ld.param.u64 %d1, [at];\n  ld.volatile.global.u64 %d2, [%d1];\n  add.u64 %d2, %d2, 1;\n"
    "  st.volatile.global.u64 [%d1], %d2;\n  ret;\n}\n"
    ".visible .entry count(.param .u64 ns, .param .u64 at, .param .u64 stop) {\n"
    "  .reg .pred %p;\n  .reg .b64 %d<9>;\n"
    "  ld.param.u64 %d1, [ns];\n  ld.param.u64 %d2, [at];\n  ld.param.u64 %d7, [stop];\n"
    "  mov.u64 %d3, %globaltimer;\n  mov.u64 %d6, 0;\n"
    "L1:\n  add.u64 %d6, %d6, 1;\n  st.volatile.global.u64 [%d2], %d6;\n"
    "  ld.volatile.global.u64 %d8, [%d7];\n  setp.ne.u64 %p, %d8, 0;\n  @%p ret;\n"
    "  mov.u64 %d4, %globaltimer;\n  sub.u64 %d5, %d4, %d3;\n  setp.lt.u64 %p, %d5, %d1;\n  @%p bra L1;\n  ret;\n}\n";

#define FUNCTIONS(X)                                                                              \
    X(cuInit, (unsigned))                                                                         \
    X(cuDeviceGetCount, (int *))                                                                  \
    X(cuDeviceGet, (CUdevice *, int))                                                             \
    X(cuDeviceGetName, (char *, int, CUdevice))                                                   \
    X(cuDeviceGetUuid, (unsigned char *, CUdevice))                                               \
    X(cuDeviceGetAttribute, (int *, int, CUdevice))                                               \
    X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                          \
    X(cuDevicePrimaryCtxReset_v2, (CUdevice))                                                     \
    X(cuCtxSetCurrent, (CUcontext))                                                               \
    X(cuModuleLoadData, (void **, const void *))                                                  \
    X(cuModuleGetFunction, (void **, void *, const char *))                                       \
    X(cuStreamCreate, (CUstream *, unsigned))                                                     \
    X(cuStreamQuery, (CUstream))                                                                  \
    X(cuStreamWaitValue64_v2, (CUstream, CUdeviceptr, uint64_t, unsigned))                        \
    X(cuMemHostRegister_v2, (void *, size_t, unsigned))                                           \
    X(cuMemHostGetDevicePointer_v2, (CUdeviceptr *, void *, unsigned))                            \
    X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, \
                       void **, void **))
#define X(name, params) static CUresult (*name) params;
FUNCTIONS(X)
#undef X

/* The slices that xserver gives, and the windows in which the probe watches both processes under them. */
#define SHORT_US  50ull
#define LONG_US   50000ull
#define WARM_NS   (120 * XS_NS_PER_MS)  /* a slice that began before goes on to its end */
#define WINDOW_NS (300 * XS_NS_PER_MS)
#define SPIN_NS   (5 * XS_NS_PER_S)     /* no kernel of ours lasts longer, even after an error */
#define RIVAL_ENDS_MS 1000u           /* by itself */
#define RATIO     3ull                  /* least ratio of progress, for slices 1000 times as long; 1: no effect */

struct cuda_device {
    CUdevice id;
    uint32_t address;
    CUstream gated, other;
    void *add, *count;
    _Atomic uint64_t *word;       /* 0: the gate; 1, 2, 3: counts of kernels; 4: they stop */
    CUdeviceptr at;
};

static bool launch_add(struct cuda_device *d, CUstream s, unsigned word)
{
    CUdeviceptr at = d->at + word * 8;
    void *params[] = {&at};

    return cuLaunchKernel(d->add, 1, 1, 1, 1, 1, 1, 0, s, params, NULL) == XS_CU_SUCCESS;
}

static uint32_t address(CUdevice id)
{
    int domain = 0, bus = 0, slot = 0;

    cuDeviceGetAttribute(&domain, XS_CU_ATTR_PCI_DOMAIN, id);
    cuDeviceGetAttribute(&bus, XS_CU_ATTR_PCI_BUS, id);
    cuDeviceGetAttribute(&slot, XS_CU_ATTR_PCI_DEVICE, id);
    return xs_pci_number((uint32_t)domain, (uint32_t)bus, (uint32_t)slot, 0);
}

static const char *prepare(struct cuda_device *d)
{
    CUcontext ctx;
    void *module, *page;

    d->address = address(d->id);
    if (cuDevicePrimaryCtxRetain(&ctx, d->id) || cuCtxSetCurrent(ctx))
        return "the driver makes no context";
    if (cuModuleLoadData(&module, k_ptx) || cuModuleGetFunction(&d->add, module, "add"))
        return "the driver loads no kernel";
    if (cuModuleGetFunction(&d->count, module, "count"))
        d->count = NULL;
    if (cuStreamCreate(&d->gated, 1) || cuStreamCreate(&d->other, 1))
        return "the driver makes no stream";
    if (posix_memalign(&page, 4096, 4096))
        return "out of memory";
    memset(page, 0, 4096);
    if (cuMemHostRegister_v2(page, 4096, XS_CU_HOST_REGISTER_DEVICEMAP) ||
        cuMemHostGetDevicePointer_v2(&d->at, page, 0))
        return NULL; /* level 1 needs no such thing; d->word stays NULL */
    d->word = page;
    if (!launch_add(d, d->other, 1) || !reaches(&d->word[1], 1))
        return "no kernel runs";
    return NULL;
}

/* Level 2. @return the reason against it, or NULL */
static const char *gates(struct cuda_device *d)
{
    if (!d->word)
        return "the device cannot see memory of the host";
    if (cuStreamWaitValue64_v2(d->gated, d->at, 7, XS_CU_WAIT_GEQ))
        return "the driver takes no wait for a value";
    if (!launch_add(d, d->gated, 2) || !launch_add(d, d->other, 1))
        return "the driver launches no kernel";
    if (!reaches(&d->word[1], 2))
        return "another stream stands behind the gate too";
    sleep_ns(STILL_NS);
    if (atomic_load(&d->word[2]) != 0)
        return "work passes a closed gate";
    atomic_store(&d->word[0], 7);
    return reaches(&d->word[2], 1) ? NULL : "an opened gate stays closed";
}

/* ---- level 3 ---- */

static bool launch_count(struct cuda_device *d)
{
    uint64_t ns = SPIN_NS;
    CUdeviceptr at = d->at + 24, stop = d->at + 32;
    void *params[] = {&ns, &at, &stop};

    atomic_store(&d->word[3], 0);
    atomic_store(&d->word[4], 0);
    return d->count && cuLaunchKernel(d->count, 1, 1, 1, 1, 1, 1, 0, d->gated, params, NULL) == XS_CU_SUCCESS &&
           reaches(&d->word[3], 1);
}

static bool stop_count(struct cuda_device *d)
{
    uint64_t end = xs_now_ns() + ENOUGH_NS;

    atomic_store(&d->word[4], 1);
    while (cuStreamQuery(d->gated) == XS_CU_NOT_READY)
        if (xs_now_ns() > end)
            return false;
    return cuStreamQuery(d->gated) == XS_CU_SUCCESS;
}

/* An order to the second process, and its answer: one number, or -errno. */
struct order {
    enum { PREPARE, LAUNCH, PROGRESS, SLICE, STOP } what;
    uint64_t us;
};

struct rival {
    pid_t pid;
    int to, from;
};

/* @return false: it is gone */
static bool order(const struct rival *r, int what, uint64_t us, int64_t *ret)
{
    struct order o = {.what = what, .us = us};

    return write(r->to, &o, sizeof(o)) == sizeof(o) && read(r->from, ret, sizeof(*ret)) == sizeof(*ret);
}

static bool obeys(const struct rival *r, int what)
{
    int64_t answer;

    return order(r, what, 0, &answer) && answer == 0;
}

/* A process of its own, as a program is one: time slices belong to the groups of processes that do not know
 * each other. */
static bool start_rival(int ordinal, struct rival *ret)
{
    int there[2], back[2];
    char number[16];

    snprintf(number, sizeof(number), "%d", ordinal);
    if (pipe(there) < 0 || pipe(back) < 0)
        return false;
    fflush(NULL);
    ret->pid = fork();
    if (ret->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(there[0], STDIN_FILENO);
        dup2(back[1], STDOUT_FILENO);
        for (int i = 0; i < 2; i++) {
            close(there[i]);
            close(back[i]);
        }
        execl("/proc/self/exe", "xsched-probe-cuda", "rival", number, (char *)NULL);
        _exit(127);
    }
    close(there[0]);
    close(back[1]);
    ret->to = there[1];
    ret->from = back[0];
    return ret->pid > 0;
}

static void end_rival(struct rival *r)
{
    close(r->to); /* it reads that, and ends by itself: under MPS a signal may end programs of others */
    close(r->from);
    for (unsigned ms = 0; ms < RIVAL_ENDS_MS; ms++) {
        if (waitpid(r->pid, NULL, WNOHANG) != 0)
            return;
        sleep_ns(XS_NS_PER_MS);
    }
    kill(r->pid, SIGKILL);
    waitpid(r->pid, NULL, 0);
}

static void be_rival(int ordinal)
{
    struct cuda_device d = {0};
    struct order o;
    int64_t answer;
    bool ready = false;

    while (read(STDIN_FILENO, &o, sizeof(o)) == sizeof(o)) {
        if (o.what == PREPARE && !cuDeviceGet(&d.id, ordinal) && !prepare(&d) && d.word && d.count)
            ready = true;
        switch (ready ? (int)o.what : -1) {
        case -1:
            answer = -ENODEV;
            break;
        case PREPARE:
            answer = 0;
            break;
        case LAUNCH:
            answer = launch_count(&d) ? 0 : -EIO;
            break;
        case PROGRESS:
            answer = (int64_t)atomic_load(&d.word[3]);
            break;
        case SLICE:
            answer = xs_rm_set_slices(d.address, o.us);
            break;
        default:
            answer = stop_count(&d) ? 0 : -EIO;
        }
        if (write(STDOUT_FILENO, &answer, sizeof(answer)) != sizeof(answer))
            break;
    }
    _exit(0);
}

/* The progress of both in a window with these slices. @return the reason against level 3, or NULL */
static const char *look(struct cuda_device *d, const struct rival *r, uint64_t own_us, uint64_t rival_us, uint64_t ret[2])
{
    int64_t before, after, set;
    uint64_t own;

    if (xs_rm_set_slices(d->address, own_us) < 0 || !order(r, SLICE, rival_us, &set) || set < 0)
        return "the driver does not let XSched set time slices";
    sleep_ns(WARM_NS);
    own = atomic_load(&d->word[3]);
    if (!order(r, PROGRESS, 0, &before))
        return "the second process is gone";
    sleep_ns(WINDOW_NS);
    ret[0] = atomic_load(&d->word[3]) - own;
    if (!order(r, PROGRESS, 0, &after))
        return "the second process is gone";
    ret[1] = (uint64_t)(after - before);
    return NULL;
}

/* Each has the short slice once, so that neither the order of the groups nor a faster process looks like an
 * effect. */
static const char *compare(struct cuda_device *d, const struct rival *r, uint64_t progress[3][2])
{
    const char *why = look(d, r, SHORT_US, LONG_US, progress[0]);

    if (!why)
        why = look(d, r, LONG_US, SHORT_US, progress[1]);
    if (!why)
        why = look(d, r, XS_RM_SLICE_DEFAULT, XS_RM_SLICE_DEFAULT, progress[2]);
    if (why)
        return why;
    if (!progress[0][1] || !progress[1][0])
        return "a process with the long time slice does not get on";
    if (progress[0][0] * RATIO > progress[0][1] || progress[1][1] * RATIO > progress[1][0])
        return "the driver takes time slices, and they have no effect";
    if (progress[2][0] > progress[2][1] * RATIO || progress[2][1] > progress[2][0] * RATIO)
        return "a time slice keeps its effect after the default is back";
    return NULL;
}

/* Level 3. @return the reason against it, or NULL */
static const char *slices(struct cuda_device *d, int ordinal, uint64_t progress[3][2])
{
    struct rival r;
    const char *why;
    bool stopped;

    if (!d->word)
        return "the device cannot see memory of the host";
    if (xs_rm_level() != 3)
        return *xs_rm_why() ? xs_rm_why() : "XSched sees no channel group of the driver";
    if (!start_rival(ordinal, &r))
        return "no second process starts";
    if (!obeys(&r, PREPARE))
        why = "a second process cannot use the device";
    else if (!launch_count(d) || !obeys(&r, LAUNCH))
        why = "no kernel runs";
    else
        why = compare(d, &r, progress);
    xs_rm_set_slices(d->address, XS_RM_SLICE_DEFAULT);
    stopped = stop_count(d);
    if ((!obeys(&r, STOP) || !stopped) && !why)
        why = "a kernel that shared the device does not come to its end";
    end_rival(&r);
    return why;
}

static void uuid_text(CUdevice id, int ordinal, char *ret, size_t size)
{
    unsigned char u[16];

    if (cuDeviceGetUuid(u, id) != XS_CU_SUCCESS) {
        snprintf(ret, size, "device-%d", ordinal);
        return;
    }
    snprintf(ret, size, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2],
             u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

static void probe(int ordinal)
{
    struct cuda_device d = {0};
    char uuid[64], name[128] = "";
    uint64_t progress[3][2] = {{0}}; /* of this process and the other: short and long, long and short, the driver's own */
    const char *no_gates, *no_slices = NULL, *broken;

    if (cuDeviceGet(&d.id, ordinal))
        return;
    uuid_text(d.id, ordinal, uuid, sizeof(uuid));
    if (cuDeviceGetName(name, sizeof(name) - 1, d.id) != XS_CU_SUCCESS)
        snprintf(name, sizeof(name), "device %d", ordinal);
    broken = prepare(&d);
    no_gates = broken ? broken : gates(&d);
    if (!broken)
        no_slices = slices(&d, ordinal, progress);
    /* level 3 without gates is level 3; a device that cannot even run a kernel has no level at all */
    printf("{\"device\":%d", ordinal);
    print_text("name", name);
    print_text("uuid", uuid);
    print_text("gates", no_gates ? no_gates : "work");
    print_text("slices", broken ? broken : no_slices ? no_slices : "work");
    printf(",\"progress\":[");
    for (size_t i = 0; i < 6; i++)
        printf("%s%llu", i ? "," : "", (unsigned long long)progress[i / 2][i % 2]);
    printf("],\"level\":%d}\n", broken ? 0 : !no_slices ? 3 : !no_gates ? 2 : 1);
    fflush(stdout);
    cuDevicePrimaryCtxReset_v2(d.id);
}

/* ---- sharing in space: `xsched run` reads NAME=VALUE lines ---- */

static const char *error_text(CUresult r)
{
    static const char *const k_mps[] = {
        "there is no connection to the MPS server", "a call to the MPS server failed",
        "the MPS server takes no new programs now",
        "MPS serves no more than 60 programs at one time", "the MPS server has no connections left",
        "the MPS server ended the program",
    };
    static char text[48];

    if (r >= XS_CU_MPS_FIRST && r <= XS_CU_MPS_LAST)
        return k_mps[r - XS_CU_MPS_FIRST];
    if (r == XS_CU_NO_DEVICE)
        return "the program would see no device";
    snprintf(text, sizeof(text), "the driver's error %d", r);
    return text;
}

/* A part of a device has an identity of its own beside that of its device. */
static bool is_part(const void *lib, CUdevice id)
{
    CUresult (*own)(unsigned char *, CUdevice);
    unsigned char part[16], whole[16];
    void *p = dlsym((void *)(uintptr_t)lib, "cuDeviceGetUuid_v2");

    memcpy(&own, &p, sizeof(own));
    return p && own(part, id) == XS_CU_SUCCESS && cuDeviceGetUuid(whole, id) == XS_CU_SUCCESS &&
           memcmp(part, whole, sizeof(whole)) != 0;
}

static void tell_devices(const void *lib, bool run, bool numbers)
{
    struct cuda_device d = {0};
    const char *broken = NULL;
    char uuid[64];
    int count = 0, mps = 0;
    CUresult r = cuInit(0);

    if (r == XS_CU_SUCCESS)
        r = cuDeviceGetCount(&count);
    if (r == XS_CU_SUCCESS)
        r = cuDeviceGet(&d.id, 0);
    if (r != XS_CU_SUCCESS) {
        printf("count=%d\nwhy=%s\n", count, error_text(r));
        return;
    }
    uuid_text(d.id, 0, uuid, sizeof(uuid));
    if (cuDeviceGetAttribute(&mps, XS_CU_ATTR_MPS, d.id) != XS_CU_SUCCESS)
        mps = 0;
    if (run)
        broken = prepare(&d);
    if (numbers)
        printf("first=%s\n", compare_first(address(d.id)));
    printf("count=%d\nuuid=%s\nmig=%d\nmps=%d\nwhy=%s\n", count, uuid, is_part(lib, d.id), mps, broken ? broken : "");
}

/* The probe does not need this. */
void xs_rm_group_made(void)
{
}

int main(int argc, char **argv)
{
    bool rival = argc == 3 && strcmp(argv[1], "rival") == 0;
    bool space = argc == 2 && strcmp(argv[1], "space") == 0, numbers = argc == 2 && strcmp(argv[1], "numbers") == 0;
    bool devices = numbers || (argc == 2 && strcmp(argv[1], "devices") == 0);
    int64_t device = 0;
    void *lib = open_vendor(&xs_platforms[XS_PLATFORM_CUDA]), *p;
    int count = 0;

    if (argc > 1 && !space && !devices && (!rival || xs_str_parse_i64(argv[2], &device) < 0 || device < 0 || device > 1000)) {
        fputs("usage: xsched-probe-cuda (`xsched doctor --probe` starts it)\n", stderr);
        return 64;
    }
    if (!lib) {
        if (isatty(STDOUT_FILENO)) /* doctor has its own words */
            fputs("xsched-probe-cuda: found no driver that loads\n", stderr);
        return 3;
    }
#define X(name, params)                                            \
    p = dlsym(lib, #name);                                         \
    if (!p)                                                        \
        return 3;                                                  \
    memcpy(&name, &p, sizeof(p));
    FUNCTIONS(X)
#undef X
    if (space || devices) {
        tell_devices(lib, space, numbers);
        fflush(stdout);
        _exit(0);
    }
    xs_rm_try_newer();
    signal(SIGPIPE, SIG_IGN);
    if (cuInit(0) || cuDeviceGetCount(&count))
        return 3;
    if (rival)
        be_rival((int)device);
    for (int i = 0; i < count; i++)
        probe(i);
    fflush(stdout);
    _exit(0); /* the driver may still wait for something */
}
