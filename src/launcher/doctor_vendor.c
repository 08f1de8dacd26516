/* SPDX-License-Identifier: Apache-2.0 */
/* Which vendor libraries the loader finds here. They are loaded in a child: their constructors and
 * platforms are other people's code, and may crash or hang. */
#include "launcher/doctor.h"

#include "base/str.h"

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

static const struct {
    const char *platform, *soname, *variable;
} libraries[] = {
    {"OpenCL", "libOpenCL.so.1", "XSCHED_OPENCL_LIB"},
    {"CUDA", "libcuda.so.1", "XSCHED_CUDA_LIB"},
    {"HIP", "libamdhip64.so", "XSCHED_HIP_LIB"},
    {"LevelZero", "libze_loader.so.1", "XSCHED_LEVELZERO_LIB"},
};

/* The few declarations of OpenCL that are needed, since its headers need not be installed. */
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

static void describe(size_t i, const char *name, json_t *ret)
{
    void *lib = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    struct link_map *map;
    char real[PATH_MAX];
    int (*cuda_version)(int *);
    int version = 0;

    json_object_set_new(ret, "platform", json_string(libraries[i].platform));
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
    if (strcmp(libraries[i].platform, "OpenCL") == 0)
        json_object_set_new(ret, "platforms", opencl_platforms(lib));
    if (strcmp(libraries[i].platform, "CUDA") == 0) {
        cuda_version = (int (*)(int *))(uintptr_t)dlsym(lib, "cuDriverGetVersion");
        if (cuda_version && cuda_version(&version) == 0)
            json_object_set_new(ret, "version", json_integer(version));
    }
}

static json_t *in_child(size_t i, const char *name)
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
        describe(i, name, about);
        dump = json_dumps(about, JSON_COMPACT);
        if (!dump || write(channel[1], dump, strlen(dump)) < 0)
            _exit(1);
        _exit(0);
    }
    close(channel[1]);
    while (pid > 0 && used < sizeof(text) - 1) {
        struct pollfd p = {.fd = channel[0], .events = POLLIN};
        ssize_t n =
            poll(&p, 1, VENDOR_TIMEOUT_MS) > 0 ? read(channel[0], text + used, sizeof(text) - 1 - used) : -1;

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
        json_object_set_new(found, "platform", json_string(libraries[i].platform));
        json_object_set_new(found, "soname", xs_doctor_text(name));
        json_object_set_new(found, "found", json_true());
        json_object_set_new(found, "broken", json_true());
    }
    return found;
}

json_t *xs_doctor_vendors(void)
{
    json_t *list = json_array();

    unsetenv("OPENCL_LAYERS"); /* the vendor's library alone */
    for (size_t i = 0; i < XS_ARRAY_LEN(libraries); i++) {
        const char *named = getenv(libraries[i].variable);
        json_t *one = in_child(i, named && *named ? named : libraries[i].soname);

        /* HIP's plain name comes with the development package only */
        if (one && i == 2 && !(named && *named)) {
            static const char *const versions[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                                   "libamdhip64.so.5"};

            for (size_t k = 0; k < XS_ARRAY_LEN(versions) && json_is_false(json_object_get(one, "found"));
                 k++) {
                json_decref(one);
                one = in_child(i, versions[k]);
            }
        }
        if (one)
            json_array_append_new(list, one);
    }
    return list;
}
