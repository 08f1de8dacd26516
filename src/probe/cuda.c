/* SPDX-License-Identifier: Apache-2.0 */
/* What an NVIDIA GPU and its driver really do, tried on work of our own: gates in a stream (level 2), and a running
 * kernel stopped by switching the channels of its group off (level 3). Judged by what the work does, never by status
 * codes alone. One JSON line a device; whoever starts this ends it when it takes too long, since what it tries may hang.
 *
 * Takes each GPU for about 0.1 s while it runs; stops nobody else's work. */
#include "base/pci.h"
#include "hal/cuda/cuda_abi.h"
#include "hal/cuda/rm/rm.h"
#include "probe/probe.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* add: one more at a word. count: counts there for so many nanoseconds. */
static const char k_ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry add(.param .u64 at) {\n"
    "  .reg .b64 %d<4>;\n"
    "  ld.param.u64 %d1, [at];\n  ld.volatile.global.u64 %d2, [%d1];\n  add.u64 %d2, %d2, 1;\n"
    "  st.volatile.global.u64 [%d1], %d2;\n  ret;\n}\n"
    ".visible .entry count(.param .u64 ns, .param .u64 at) {\n"
    "  .reg .pred %p;\n  .reg .b64 %d<7>;\n"
    "  ld.param.u64 %d1, [ns];\n  ld.param.u64 %d2, [at];\n  mov.u64 %d3, %globaltimer;\n  mov.u64 %d6, 0;\n"
    "L1:\n  add.u64 %d6, %d6, 1;\n  st.volatile.global.u64 [%d2], %d6;\n  mov.u64 %d4, %globaltimer;\n"
    "  sub.u64 %d5, %d4, %d3;\n  setp.lt.u64 %p, %d5, %d1;\n  @%p bra L1;\n  ret;\n}\n";

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

#define SPIN_NS (300 * XS_NS_PER_MS)

struct cuda_device {
    CUdevice id;
    uint32_t address;
    CUstream gated, other;
    void *add, *count;
    _Atomic uint64_t *word;       /* 0: the gate; 1, 2: what kernels count */
    CUdeviceptr at;
};

static bool launch_add(struct cuda_device *d, CUstream s, unsigned word)
{
    CUdeviceptr at = d->at + word * 8;
    void *params[] = {&at};

    return cuLaunchKernel(d->add, 1, 1, 1, 1, 1, 1, 0, s, params, NULL) == XS_CU_SUCCESS;
}

static const char *prepare(struct cuda_device *d)
{
    int domain = 0, bus = 0, slot = 0;
    CUcontext ctx;
    void *module, *page;

    cuDeviceGetAttribute(&domain, XS_CU_ATTR_PCI_DOMAIN, d->id);
    cuDeviceGetAttribute(&bus, XS_CU_ATTR_PCI_BUS, d->id);
    cuDeviceGetAttribute(&slot, XS_CU_ATTR_PCI_DEVICE, d->id);
    d->address = xs_pci_number((uint32_t)domain, (uint32_t)bus, (uint32_t)slot, 0);
    if (cuDevicePrimaryCtxRetain(&ctx, d->id) || cuCtxSetCurrent(ctx))
        return "no context can be made";
    if (cuModuleLoadData(&module, k_ptx) || cuModuleGetFunction(&d->add, module, "add"))
        return "no kernel can be loaded";
    if (cuModuleGetFunction(&d->count, module, "count"))
        d->count = NULL;
    if (cuStreamCreate(&d->gated, 1) || cuStreamCreate(&d->other, 1))
        return "no stream can be made";
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

/* Level 2. @return why not, or NULL */
static const char *gates(struct cuda_device *d)
{
    if (!d->word)
        return "the device cannot see memory of the host";
    if (cuStreamWaitValue64_v2(d->gated, d->at, 7, XS_CU_WAIT_GEQ))
        return "the driver takes no wait for a value";
    if (!launch_add(d, d->gated, 2) || !launch_add(d, d->other, 1))
        return "no kernel can be launched";
    if (!reaches(&d->word[1], 2))
        return "another stream stands behind the gate too";
    sleep_ns(STILL_NS);
    if (atomic_load(&d->word[2]) != 0)
        return "work passes a closed gate";
    atomic_store(&d->word[0], 7);
    return reaches(&d->word[2], 1) ? NULL : "an opened gate stays closed";
}

/* Level 3. @return why not, or NULL */
static const char *channels(struct cuda_device *d)
{
    uint64_t ns = SPIN_NS, before, after, end;
    CUdeviceptr at = d->at + 24;
    void *params[] = {&ns, &at};

    if (!d->word)
        return "the device cannot see memory of the host";
    if (xs_rm_level() != 3)
        return *xs_rm_why() ? xs_rm_why() : "no channel group of the driver is seen";
    if (!d->count || cuLaunchKernel(d->count, 1, 1, 1, 1, 1, 1, 0, d->gated, params, NULL))
        return "no kernel can be launched";
    if (!reaches(&d->word[3], 1))
        return "no kernel runs";
    if (xs_rm_disable(d->address, true) < 0)
        return "the driver does not let channels be switched off";
    sleep_ns(2 * XS_NS_PER_MS);
    before = atomic_load(&d->word[3]);
    sleep_ns(STILL_NS);
    after = atomic_load(&d->word[3]);
    if (xs_rm_disable(d->address, false) < 0)
        return "the driver does not let channels be switched on again";
    if (before != after)
        return "a running kernel goes on although its channels are off";
    end = xs_now_ns() + ENOUGH_NS;
    while (cuStreamQuery(d->gated) == XS_CU_NOT_READY)
        if (xs_now_ns() > end)
            return "a stopped kernel does not go on";
    if (cuStreamQuery(d->gated) != XS_CU_SUCCESS || atomic_load(&d->word[3]) <= after)
        return "a stopped kernel is lost";
    if (xs_rm_set_slices(d->address, 2000) < 0 || xs_rm_set_slices(d->address, XS_RM_SLICE_DEFAULT) < 0)
        return "the driver does not let time slices be set";
    return NULL;
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
    const char *no_gates, *no_channels = NULL, *broken;

    if (cuDeviceGet(&d.id, ordinal))
        return;
    uuid_text(d.id, ordinal, uuid, sizeof(uuid));
    if (cuDeviceGetName(name, sizeof(name) - 1, d.id) != XS_CU_SUCCESS)
        snprintf(name, sizeof(name), "device %d", ordinal);
    broken = prepare(&d);
    no_gates = broken ? broken : gates(&d);
    if (!broken)
        no_channels = channels(&d);
    /* level 3 without gates is level 3; what cannot even run a kernel has no level at all */
    printf("{\"device\":%d", ordinal);
    print_text("name", name);
    print_text("uuid", uuid);
    print_text("gates", no_gates ? no_gates : "work");
    print_text("channels", broken ? broken : no_channels ? no_channels : "work");
    printf(",\"level\":%d}\n", broken ? 0 : !no_channels ? 3 : !no_gates ? 2 : 1);
    fflush(stdout);
    cuDevicePrimaryCtxReset_v2(d.id);
}

/* Of no interest here. */
void xs_rm_group_made(void)
{
}

int main(void)
{
    void *lib = open_vendor(&xs_platforms[XS_PLATFORM_CUDA]), *p;
    int count = 0;

    if (!lib)
        return 3;
#define X(name, params)                                            \
    p = dlsym(lib, #name);                                         \
    if (!p)                                                        \
        return 3;                                                  \
    memcpy(&name, &p, sizeof(p));
    FUNCTIONS(X)
#undef X
    if (cuInit(0) || cuDeviceGetCount(&count))
        return 3;
    for (int i = 0; i < count; i++)
        probe(i);
    fflush(stdout);
    _exit(0); /* whatever the driver would still wait for */
}
