/* SPDX-License-Identifier: Apache-2.0 */
/* Which vendor libraries the loader finds here, and how many devices they have: a library alone is no sign of one. */
#include "launcher/doctor/doctor.h"

#include "base/env.h"
#include "base/platforms.h"
#include "xsched/types.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 64u

/* What a platform's own functions say. The few declarations of each that we need, since a machine may lack its headers. */
struct devices_found {
    json_t *answer; /* about the library, for what has no other place */
    json_t *names;  /* of the devices */
    json_int_t devices, cpus;
    int error;      /* of the vendor's first call; 0: none */
    bool no_driver; /* that error means that there is no device, and nothing else */
};

static void add(struct devices_found *f, const char *name, bool cpu)
{
    f->devices++;
    f->cpus += cpu;
    if (*name)
        json_array_append_new(f->names, xs_doctor_text(name));
}

#define FUNCTION(type, name) __typeof__(type) name = (__typeof__(type))(uintptr_t)dlsym(lib, #name)

static bool ask_cu(void *lib, struct devices_found *f)
{
    FUNCTION(int (*)(unsigned), cuInit);
    FUNCTION(int (*)(int *), cuDeviceGetCount);
    FUNCTION(int (*)(char *, int, int), cuDeviceGetName);
    FUNCTION(int (*)(int *), cuDriverGetVersion);
    int count = 0, version = 0;

    if (!cuInit || !cuDeviceGetCount || !cuDeviceGetName)
        return false;
    if (cuDriverGetVersion && cuDriverGetVersion(&version) == 0)
        json_object_set_new(f->answer, "version", json_integer(version));
    setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1); /* asking starts no MPS server */
    f->error = cuInit(0);
    f->no_driver = f->error == 100; /* CUDA_ERROR_NO_DEVICE */
    if (f->error || cuDeviceGetCount(&count) != 0)
        return true;
    for (int i = 0; i < count; i++) {
        char name[256] = "";

        if (cuDeviceGetName(name, sizeof(name) - 1, i) != 0)
            name[0] = 0;
        add(f, name, false);
    }
    return true;
}

static bool ask_hip(void *lib, struct devices_found *f)
{
    FUNCTION(int (*)(int *), hipGetDeviceCount);
    FUNCTION(int (*)(char *, int, int), hipDeviceGetName);
    int count = 0;

    if (!hipGetDeviceCount)
        return false;
    f->error = hipGetDeviceCount(&count);
    f->no_driver = true; /* the runtime has no other answer where it finds no device it knows */
    for (int i = 0; !f->error && i < count; i++) {
        char name[256] = "";

        if (!hipDeviceGetName || hipDeviceGetName(name, sizeof(name) - 1, i) != 0)
            name[0] = 0;
        add(f, name, false);
    }
    return true;
}

#define CL_DEVICE_TYPE_ALL  0xFFFFFFFFul
#define CL_DEVICE_TYPE_CPU  2u
#define CL_DEVICE_TYPE      0x1000u
#define CL_DEVICE_NAME      0x102Bu
#define CL_PLATFORM_VERSION 0x0901u
#define CL_PLATFORM_NAME    0x0902u

static bool ask_cl(void *lib, struct devices_found *f)
{
    FUNCTION(int (*)(unsigned, void **, unsigned *), clGetPlatformIDs);
    FUNCTION(int (*)(void *, unsigned, size_t, void *, size_t *), clGetPlatformInfo);
    FUNCTION(int (*)(void *, unsigned long, unsigned, void **, unsigned *), clGetDeviceIDs);
    FUNCTION(int (*)(void *, unsigned, size_t, void *, size_t *), clGetDeviceInfo);
    void *ids[16], *devices[DEVICES_MAX];
    json_t *list;
    unsigned count = 0;

    if (!clGetPlatformIDs || !clGetPlatformInfo || !clGetDeviceIDs || !clGetDeviceInfo)
        return false;
    list = json_array();
    json_object_set_new(f->answer, "platforms", list);
    if (clGetPlatformIDs(16, ids, &count) != 0)
        return true;
    for (unsigned i = 0; i < XS_MIN(count, 16u); i++) {
        char name[128] = "", version[128] = "", both[300];
        unsigned n = 0;

        clGetPlatformInfo(ids[i], CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
        clGetPlatformInfo(ids[i], CL_PLATFORM_VERSION, sizeof(version) - 1, version, NULL);
        snprintf(both, sizeof(both), "%s (%s)", name, version);
        json_array_append_new(list, xs_doctor_text(both));
        if (clGetDeviceIDs(ids[i], CL_DEVICE_TYPE_ALL, DEVICES_MAX, devices, &n) != 0)
            continue;
        for (unsigned k = 0; k < XS_MIN(n, DEVICES_MAX); k++) {
            uint64_t type = 0;
            char device[256] = "";

            clGetDeviceInfo(devices[k], CL_DEVICE_TYPE, sizeof(type), &type, NULL);
            clGetDeviceInfo(devices[k], CL_DEVICE_NAME, sizeof(device) - 1, device, NULL);
            add(f, device, type & CL_DEVICE_TYPE_CPU);
        }
    }
    return true;
}

static bool ask_ze(void *lib, struct devices_found *f)
{
    FUNCTION(int (*)(uint32_t), zeInit);
    FUNCTION(int (*)(uint32_t *, void **), zeDriverGet);
    FUNCTION(int (*)(void *, uint32_t *, void **), zeDeviceGet);
    uint32_t n_drivers = 16;
    void *drivers[16];

    if (!zeInit || !zeDriverGet || !zeDeviceGet)
        return false;
    f->error = zeInit(0);
    f->no_driver = true;
    if (f->error || zeDriverGet(&n_drivers, drivers) != 0)
        return true;
    for (uint32_t i = 0; i < XS_MIN(n_drivers, 16u); i++) {
        uint32_t n = 0;

        if (zeDeviceGet(drivers[i], &n, NULL) == 0)
            f->devices += n;
    }
    return true;
}

struct vk_instance_info {
    int type;
    const void *next;
    uint32_t flags;
    const void *application;
    uint32_t n_layers;
    const char *const *layers;
    uint32_t n_extensions;
    const char *const *extensions;
};

struct vk_properties {
    uint32_t api, driver, vendor, device, type;
    char name[256];
    char rest[2048]; /* more than the structure has: limits, sparse properties */
};

static bool ask_vk(void *lib, struct devices_found *f)
{
    FUNCTION(void *(*)(void *, const char *), vkGetInstanceProcAddr);
    const struct vk_instance_info info = {.type = 1}; /* VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO */
    int (*create)(const void *, const void *, void **);
    int (*enumerate)(void *, uint32_t *, void **);
    void (*describe)(void *, struct vk_properties *);
    void *instance = NULL, *devices[DEVICES_MAX];
    uint32_t n = DEVICES_MAX;

    if (!vkGetInstanceProcAddr)
        return false;
    create = (int (*)(const void *, const void *, void **))(
        uintptr_t)vkGetInstanceProcAddr(NULL, "vkCreateInstance");
    if (!create || create(&info, NULL, &instance) != 0) {
        f->no_driver = true; /* the loader has no driver: VK_ERROR_INCOMPATIBLE_DRIVER */
        return true;
    }
    enumerate = (int (*)(void *, uint32_t *, void **))(
        uintptr_t)vkGetInstanceProcAddr(instance, "vkEnumeratePhysicalDevices");
    describe = (void (*)(void *, struct vk_properties *))(
        uintptr_t)vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceProperties");
    if (!enumerate || !describe || enumerate(instance, &n, devices) < 0)
        return true;
    for (uint32_t i = 0; i < n; i++) {
        struct vk_properties p;

        memset(&p, 0, sizeof(p));
        describe(devices[i], &p);
        p.name[sizeof(p.name) - 1] = 0;
        add(f, p.name, p.type == 4); /* VK_PHYSICAL_DEVICE_TYPE_CPU */
    }
    return true;
}

/* By the functions that the library has. A runtime over another one is linked with that: then dlsym finds both, so it comes
 * first. Of a library without any of these, nothing is known but that it is there. */
static void ask(void *lib, json_t *ret)
{
    static bool (*const asks[])(void *, struct devices_found *) = {ask_hip, ask_cu, ask_cl, ask_ze, ask_vk};
    struct devices_found f = {.answer = ret, .names = json_array()};
    bool asked = false;

    for (size_t i = 0; i < XS_ARRAY_LEN(asks) && !asked; i++)
        asked = asks[i](lib, &f);
    if (asked) {
        json_object_set_new(ret, "devices", json_integer(f.devices));
        json_object_set_new(ret, "cpus", json_integer(f.cpus));
        json_object_set(ret, "device_names", f.names);
    }
    if (f.error)
        json_object_set_new(ret, "error", json_integer(f.error));
    if (f.error && !f.no_driver)
        json_object_set_new(ret, "fails", json_true());
    json_decref(f.names);
}

struct library_wish {
    const struct xs_platform *p;
    const char *name;
};

static void describe(void *ctx, json_t *ret)
{
    const struct library_wish *w = ctx;
    void *lib = dlopen(w->name, RTLD_LAZY | RTLD_LOCAL);
    struct link_map *map;
    char real[PATH_MAX];

    json_object_set_new(ret, "platform", json_string(w->p->name));
    json_object_set_new(ret, "soname", xs_doctor_text(w->name));
    json_object_set_new(ret, "found", json_boolean(lib != NULL));
    if (!lib)
        return;
    if (dlinfo(lib, RTLD_DI_LINKMAP, &map) == 0) {
        json_object_set_new(ret, "path", xs_doctor_text(map->l_name));
        if (realpath(map->l_name, real))
            json_object_set_new(ret, "file", xs_doctor_text(strrchr(real, '/') + 1));
    }
    ask(lib, ret);
}

static json_t *try(const struct xs_platform *p, const char *name)
{
    struct library_wish w = {p, name};
    char end[128];
    json_t *found = xs_doctor_in_child(describe, &w, end, sizeof(end));

    if (found)
        return found;
    found = json_object();
    json_object_set_new(found, "platform", json_string(p->name));
    json_object_set_new(found, "soname", xs_doctor_text(name));
    json_object_set_new(found, "found", json_true());
    json_object_set_new(found, "broken", json_string(end));
    return found;
}

/* By the first name that leads to one, else by the first name. @return NULL: the search failed */
static json_t *look_for(const struct xs_platform *p)
{
    const char *named = xs_env_get(p->lib);
    json_t *first, *next;
    char name[64] = "";

    xs_platform_soname(p, 0, name, sizeof(name));
    first = try(p, named ? named : name);
    if (named || !first || json_is_true(json_object_get(first, "found")))
        return first;
    for (size_t i = 1; xs_platform_soname(p, i, name, sizeof(name)); i++) {
        next = try(p, name);
        if (json_is_true(json_object_get(next, "found"))) {
            json_decref(first);
            return next;
        }
        json_decref(next);
    }
    return first;
}

json_t *xs_doctor_vendors(void)
{
    json_t *list = json_array();

    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++) {
        json_t *one = look_for(&xs_platforms[i]);

        if (one)
            json_array_append_new(list, one);
    }
    return list;
}
