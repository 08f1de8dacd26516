/* SPDX-License-Identifier: Apache-2.0 */
/* The load client's device: CUDA, through the driver's own interface, found at run time as programs do. */
#include "load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 256u

/* burn.ptx, ended by a zero */
__asm__(".section .rodata\n.global k_burn_ptx\nk_burn_ptx:\n.incbin \"" BURN_PTX "\"\n.byte 0\n.previous\n");
extern const char k_burn_ptx[];

typedef void *P;
typedef unsigned long long U;

static int (*Init)(unsigned), (*DeviceGet)(int *, int), (*PrimaryRetain)(P *, int), (*SetCurrent)(P);
static int (*DeviceGetCount)(int *), (*DeviceGetName)(char *, int, int), (*DeviceTotalMem)(size_t *, int);
static int (*DriverGetVersion)(int *);
static int (*DeviceGetAttribute)(int *, int, int), (*LoadData)(P *, const void *), (*GetFunction)(P *, P, const char *);
static int (*StreamCreate)(P *, unsigned, int), (*StreamSync)(P), (*EventCreate)(P *, unsigned), (*EventRecord)(P, P);
static int (*EventSync)(P), (*MemAlloc)(U *, size_t), (*CopyOut)(void *, U, size_t, P), (*CopyIn)(U, const void *, size_t, P);
static int (*HostRegister)(void *, size_t, unsigned), (*HostDevicePointer)(U *, void *, unsigned);
static int (*Launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, void **, void **);

static const struct { const char *name; void *fn; } k_names[] = {
    {"cuInit", &Init}, {"cuDeviceGet", &DeviceGet}, {"cuDeviceGetCount", &DeviceGetCount},
    {"cuDevicePrimaryCtxRetain", &PrimaryRetain},
    {"cuCtxSetCurrent", &SetCurrent}, {"cuDeviceGetName", &DeviceGetName}, {"cuDeviceTotalMem_v2", &DeviceTotalMem},
    {"cuDriverGetVersion", &DriverGetVersion}, {"cuDeviceGetAttribute", &DeviceGetAttribute},
    {"cuModuleLoadData", &LoadData}, {"cuModuleGetFunction", &GetFunction},
    {"cuStreamCreateWithPriority", &StreamCreate}, {"cuStreamSynchronize", &StreamSync},
    {"cuEventCreate", &EventCreate}, {"cuEventRecord", &EventRecord}, {"cuEventSynchronize", &EventSync},
    {"cuMemAlloc_v2", &MemAlloc}, {"cuMemcpyDtoHAsync_v2", &CopyOut}, {"cuMemcpyHtoDAsync_v2", &CopyIn},
    {"cuMemHostRegister_v2", &HostRegister}, {"cuMemHostGetDevicePointer_v2", &HostDevicePointer},
    {"cuLaunchKernel", &Launch},
};

struct device {
    int id;
    P context, burn;
    unsigned blocks;
};

struct load_queue {
    struct device *device;
    P stream, events[LOAD_SLOTS];
    U sum, started_dev;
    volatile uint32_t *started;
};

static struct device s_devices[LOAD_DEVICES];   /* opened when first used; by the main thread alone */
static int s_count;

static void check(int r, const char *what)
{
    if (r)
        load_die(what, r);
}

int load_open(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);

    if (!lib) {
        fprintf(stderr, "load: no CUDA driver: %s\n", dlerror());
        exit(77);
    }
    for (size_t i = 0; i < sizeof(k_names) / sizeof(k_names[0]); i++) {
        void *p = dlsym(lib, k_names[i].name);

        if (!p)
            load_die(k_names[i].name, -1);
        memcpy(k_names[i].fn, &p, sizeof(p));
    }
    check(Init(0), "cuInit");
    check(DeviceGetCount(&s_count), "cuDeviceGetCount");
    check(DeviceGet(&s_devices[0].id, 0), "cuDeviceGet");
    return s_count;
}

static struct device *device_of(int i)
{
    struct device *d = &s_devices[i];
    P module;
    int sms = 0;

    if (d->context)
        return d;
    check(DeviceGet(&d->id, i), "cuDeviceGet");
    check(PrimaryRetain(&d->context, d->id), "cuDevicePrimaryCtxRetain");
    load_thread(i);
    check(LoadData(&module, k_burn_ptx), "cuModuleLoadData");
    check(GetFunction(&d->burn, module, "burn"), "cuModuleGetFunction");
    DeviceGetAttribute(&sms, 16, d->id);   /* multiprocessors */
    d->blocks = (unsigned)(sms > 0 ? sms : 1) * 8;
    return d;
}

void load_about(const char **ret_name, const char **ret_driver, uint64_t *ret_bytes)
{
    static char name[128] = "CUDA device", driver[32];
    size_t bytes = 0;
    int version = 0;

    if (DeviceGetName(name, sizeof(name), s_devices[0].id))
        strcpy(name, "fake CUDA device");
    DriverGetVersion(&version);
    snprintf(driver, sizeof(driver), "CUDA %d.%d", version / 1000, version % 1000 / 10);
    *ret_name = name;
    *ret_driver = driver;
    *ret_bytes = DeviceTotalMem(&bytes, s_devices[0].id) ? 0 : bytes;
}

void load_thread(int device)
{
    check(SetCurrent(s_devices[device].context), "cuCtxSetCurrent");
}

struct load_queue *load_queue_new(int device, int priority)
{
    struct load_queue *q = calloc(1, sizeof(*q));
    static const U zero;
    void *page = NULL;

    q->device = device_of(device);
    load_thread(device);
    check(StreamCreate(&q->stream, 1, -priority), "cuStreamCreateWithPriority");
    for (int i = 0; i < LOAD_SLOTS; i++)
        check(EventCreate(&q->events[i], 2), "cuEventCreate");
    check(MemAlloc(&q->sum, 8), "cuMemAlloc");
    check(CopyIn(q->sum, &zero, 8, q->stream), "cuMemcpyHtoDAsync");
    if (posix_memalign(&page, 4096, 4096))
        load_die("memory", 12);
    memset(page, 0, 4096);
    check(HostRegister(page, 4096, 2), "cuMemHostRegister");
    check(HostDevicePointer(&q->started_dev, page, 0), "cuMemHostGetDevicePointer");
    q->started = page;
    load_finish(q);
    return q;
}

void load_launch(struct load_queue *q, uint64_t rounds, unsigned width_percent, uint32_t stamp)
{
    U started = stamp ? q->started_dev : 0;
    unsigned blocks = q->device->blocks * width_percent / 100;
    void *args[] = {&rounds, &started, &stamp, &q->sum};

    check(Launch(q->device->burn, blocks ? blocks : 1, 1, 1, THREADS, 1, 1, 0, q->stream, args, NULL), "cuLaunchKernel");
}

uint32_t load_started(struct load_queue *q)
{
    return *q->started;
}

void load_mark(struct load_queue *q, unsigned slot)
{
    check(EventRecord(q->events[slot], q->stream), "cuEventRecord");
}

void load_wait(struct load_queue *q, unsigned slot)
{
    check(EventSync(q->events[slot]), "cuEventSynchronize");
}

void load_finish(struct load_queue *q)
{
    check(StreamSync(q->stream), "cuStreamSynchronize");
}

uint64_t load_sum(struct load_queue *q)
{
    U v = 0;

    check(CopyOut(&v, q->sum, 8, q->stream), "cuMemcpyDtoHAsync");
    load_finish(q);
    return v;
}

int load_may_spin(void)
{
    for (int i = 0; i < s_count && i < LOAD_DEVICES; i++)
        if (s_devices[i].blocks > 8)
            return 1;
    return 0;                          /* the fake driver's device is a thread of this processor */
}
