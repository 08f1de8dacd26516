/* SPDX-License-Identifier: Apache-2.0 */
/* Which vendor libraries the loader finds here. A child loads them: their constructors and platforms are
 * other people's code, and may crash or hang. */
#include "launcher/doctor/doctor.h"

#include "base/env.h"
#include "base/platforms.h"
#include "launcher/preload.h"
#include "xsched/types.h"

#include <dlfcn.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define VENDOR_TIMEOUT_MS 20000 /* PoCL alone takes seconds on a machine that is very busy */

/* The few declarations of OpenCL that we need, since a machine may lack its headers. */
typedef int (*get_platforms_fn)(unsigned count, void **platforms, unsigned *ret_count);
typedef int (*get_info_fn)(void *platform, unsigned name, size_t size, void *value, size_t *ret_size);
#define PLATFORM_VERSION 0x0901u
#define PLATFORM_NAME    0x0902u

static json_t *opencl_platforms(void *lib)
{
    get_platforms_fn get_platforms = (get_platforms_fn)(uintptr_t)dlsym(lib, "clGetPlatformIDs");
    get_info_fn get_info = (get_info_fn)(uintptr_t)dlsym(lib, "clGetPlatformInfo");
    json_t *list = json_array();
    void *ids[16];
    unsigned count = 0;

    if (!get_platforms || !get_info || get_platforms(16, ids, &count) != 0)
        return list;
    for (unsigned i = 0; i < XS_MIN(count, 16u); i++) {
        char name[128] = "", version[128] = "", both[300];

        get_info(ids[i], PLATFORM_NAME, sizeof(name) - 1, name, NULL);
        get_info(ids[i], PLATFORM_VERSION, sizeof(version) - 1, version, NULL);
        snprintf(both, sizeof(both), "%s (%s)", name, version);
        json_array_append_new(list, xs_doctor_text(both));
    }
    return list;
}

/* How many devices the drivers have behind a loader of the library; the loader alone is no sign of one.
 * @return -1: the library is no such loader */
static json_int_t devices_behind(void *lib)
{
    int (*init)(uint32_t) = (int (*)(uint32_t))(uintptr_t)dlsym(lib, "zeInit");
    int (*drivers_of)(uint32_t *, void **) = (int (*)(uint32_t *, void **))(uintptr_t)dlsym(lib, "zeDriverGet");
    int (*devices_of)(void *, uint32_t *, void **) =
        (int (*)(void *, uint32_t *, void **))(uintptr_t)dlsym(lib, "zeDeviceGet");
    uint32_t n_drivers = 16, devices = 0;
    void *drivers[16];

    if (!init || !drivers_of || !devices_of)
        return -1;
    if (init(0) != 0 || drivers_of(&n_drivers, drivers) != 0)
        return 0;
    for (uint32_t i = 0; i < XS_MIN(n_drivers, 16u); i++) {
        uint32_t n = 0;

        if (devices_of(drivers[i], &n, NULL) == 0)
            devices += n;
    }
    return devices;
}

static void describe(const struct xs_platform *p, const char *name, json_t *ret)
{
    void *lib = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    struct link_map *map;
    char real[PATH_MAX];
    int (*cuda_version)(int *);
    json_int_t devices;
    int version = 0;

    json_object_set_new(ret, "platform", json_string(p->name));
    json_object_set_new(ret, "soname", xs_doctor_text(name));
    if (!lib) {
        json_object_set_new(ret, "found", json_false());
        return;
    }
    json_object_set_new(ret, "found", json_true());
    if (dlinfo(lib, RTLD_DI_LINKMAP, &map) == 0) {
        json_object_set_new(ret, "path", xs_doctor_text(map->l_name));
        if (realpath(map->l_name, real))
            json_object_set_new(ret, "file", xs_doctor_text(strrchr(real, '/') + 1));
    }
    if (p->number == kPlatformOpenCL)
        json_object_set_new(ret, "platforms", opencl_platforms(lib));
    devices = devices_behind(lib);
    if (devices >= 0)
        json_object_set_new(ret, "devices", json_integer(devices));
    if (p->number == kPlatformCUDA) {
        cuda_version = (int (*)(int *))(uintptr_t)dlsym(lib, "cuDriverGetVersion");
        if (cuda_version && cuda_version(&version) == 0)
            json_object_set_new(ret, "version", json_integer(version));
    }
}

static json_t *in_child(const struct xs_platform *p, const char *name)
{
    char text[4096];
    size_t used = 0;
    int channel[2];
    json_t *found = NULL;
    pid_t pid;

    if (pipe(channel) < 0)
        return NULL;
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        json_t *about = json_object();
        char *dump;

        close(channel[0]);
        xs_shims_unset(); /* the vendor's library alone */
        describe(p, name, about);
        dump = json_dumps(about, JSON_COMPACT);
        if (!dump || write(channel[1], dump, strlen(dump)) < 0)
            _exit(1);
        _exit(0);
    }
    close(channel[1]);
    while (pid > 0 && used < sizeof(text) - 1) {
        struct pollfd answer = {.fd = channel[0], .events = POLLIN};
        ssize_t n =
            poll(&answer, 1, VENDOR_TIMEOUT_MS) > 0 ? read(channel[0], text + used, sizeof(text) - 1 - used) : -1;

        if (n <= 0)
            break;
        used += (size_t)n;
    }
    text[used] = 0;
    close(channel[0]);
    if (pid > 0) {
        kill(pid, SIGKILL); /* done, or stuck */
        waitpid(pid, NULL, 0);
    }
    found = json_loads(text, 0, NULL);
    if (!found) {
        found = json_object();
        json_object_set_new(found, "platform", json_string(p->name));
        json_object_set_new(found, "soname", xs_doctor_text(name));
        json_object_set_new(found, "found", json_true());
        json_object_set_new(found, "broken", json_true());
    }
    return found;
}

/* By the first name that leads to one, else by the first name. @return NULL: the search failed */
static json_t *look_for(const struct xs_platform *p)
{
    const char *named = xs_env_get(p->lib);
    json_t *first, *next;
    char name[64] = "";

    xs_platform_soname(p, 0, name, sizeof(name));
    first = in_child(p, named ? named : name);
    if (named || !first || json_is_true(json_object_get(first, "found")))
        return first;
    for (size_t i = 1; xs_platform_soname(p, i, name, sizeof(name)); i++) {
        next = in_child(p, name);
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
