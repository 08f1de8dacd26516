/* SPDX-License-Identifier: Apache-2.0 */
/* Shims that a vendor's loader takes as a layer or as a driver. */
#include "launcher/doctor/doctor.h"

#include "base/str.h"
#include "launcher/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether a file of the process has this text: a loader that reads a variable has its name. */
static bool file_has(const struct xs_proc *p, const char *path, const char *text)
{
    char file[PATH_MAX + 64];
    struct stat st;
    bool found = false;
    void *data;
    int fd;

    snprintf(file, sizeof(file), "/proc/%d/root%s", (int)p->pid, path);
    fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data != MAP_FAILED) {
            found = memmem(data, (size_t)st.st_size, text, strlen(text)) != NULL;
            munmap(data, (size_t)st.st_size);
        }
    }
    close(fd);
    return found;
}

static const struct xs_proc_library *library_of(const struct xs_proc *p, enum xs_proc_kind kind,
                                                const char *platform)
{
    for (size_t i = 0; i < p->library_count; i++)
        if (p->libraries[i].kind == kind && p->libraries[i].platform &&
            strcmp(p->libraries[i].platform, platform) == 0)
            return &p->libraries[i];
    return NULL;
}

/* A driver of ours under the loader: libxsched-ze_intel_gpu.so for one. */
static bool has_our_driver(const struct xs_proc *p, const struct xs_platform *platform)
{
    char ours[64];
    size_t n = (size_t)snprintf(ours, sizeof(ours), "libxsched-%s_", platform->calls);

    for (size_t i = 0; i < p->object_count; i++) {
        const char *slash = strrchr(p->objects[i].path, '/');

        if (slash && strncmp(slash + 1, ours, n) == 0)
            return true;
    }
    return false;
}

bool xs_doctor_is_layer(const struct xs_proc *p, const struct xs_platform *platform)
{
    const struct xs_proc_library *shim = library_of(p, XS_LIB_SHIM, platform->name),
                                 *loader = library_of(p, XS_LIB_VENDOR, platform->name);
    const char *preload = xs_proc_preload(p), *name, *value;
    char variable[64];

    if (!xs_platform_is_preloaded(platform))
        return shim != NULL; /* nothing else brings it */
    if (has_our_driver(p, platform))
        return true;
    if (!shim || !strstr(platform->layers, "{shim}"))
        return false;
    name = strrchr(shim->path, '/') + 1;
    if (!preload || !strstr(preload, name))
        return true; /* the loader alone can have brought it */
    snprintf(variable, sizeof(variable), "%.*s", (int)strcspn(platform->layers, ",=!?>"), platform->layers);
    value = xs_proc_env(p, variable);
    return value && strstr(value, name) && loader && file_has(p, loader->path, variable);
}

/* Vulkan's loader opens a driver when the program makes an instance. */
static bool has_vulkan_driver(const struct xs_proc *p)
{
    static const char *const k_drivers[] = {"/libvulkan_", "/libGLX_nvidia.so", "/libnvidia-glcore.so",
                                            "/libamdvlk",  "/libVkICD",         "/libvk_"};

    for (size_t i = 0; i < p->object_count; i++)
        for (size_t k = 0; k < XS_ARRAY_LEN(k_drivers); k++) {
            const char *slash = strrchr(p->objects[i].path, '/');

            if (slash && strncmp(slash, k_drivers[k], strlen(k_drivers[k])) == 0)
                return true;
        }
    return false;
}

/* A file of vkconfig, by which a user replaces the folders of layers for all programs. */
static bool has_override(const struct xs_proc *p, char *ret, size_t size)
{
    static const char *const k_folders[] = {"/etc", "/usr/local/share", "/usr/share"};
    const char *home = xs_proc_env(p, "HOME"), *data = xs_proc_env(p, "XDG_DATA_HOME");
    char folders[XS_ARRAY_LEN(k_folders) + 2][PATH_MAX];
    size_t n = 0;

    for (; n < XS_ARRAY_LEN(k_folders); n++)
        snprintf(folders[n], sizeof(folders[0]), "%s", k_folders[n]);
    if (home)
        snprintf(folders[n++], sizeof(folders[0]), "%s/.local/share", home);
    if (data)
        snprintf(folders[n++], sizeof(folders[0]), "%s", data);
    for (size_t i = 0; i < n; i++) {
        if ((size_t)snprintf(ret, size, "%s/vulkan/implicit_layer.d/VkLayer_override.json", folders[i]) <
                size &&
            file_has(p, ret, "\"override_paths\""))
            return true;
    }
    return false;
}

/* What our variables say, if they say it: the layer's name among those to enable. */
static bool is_asked_for(const struct xs_proc *p)
{
    static const char *const k_names[] = {"VK_INSTANCE_LAYERS", "VK_LOADER_LAYERS_ENABLE"};

    for (size_t i = 0; i < XS_ARRAY_LEN(k_names); i++) {
        const char *value = xs_proc_env(p, k_names[i]);

        if (value && strstr(value, "XSCHED"))
            return true;
    }
    return false;
}

void xs_doctor_layer(struct xs_doctor *d, const struct xs_proc *p)
{
    const struct xs_platform *vulkan = NULL;
    const struct xs_proc_library *loader;
    const char *path = xs_proc_env(p, "VK_LAYER_PATH"), *add = xs_proc_env(p, "VK_ADD_LAYER_PATH");
    char file[PATH_MAX];

    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++)
        if (!xs_platform_is_preloaded(&xs_platforms[i]))
            vulkan = &xs_platforms[i];
    loader = vulkan ? library_of(p, XS_LIB_VENDOR, vulkan->name) : NULL;
    if (!loader || library_of(p, XS_LIB_SHIM, vulkan->name) || !has_vulkan_driver(p))
        return;
    if (!is_asked_for(p))
        xs_doctor_problem(d, "layer_missing", "Start it with `xsched run -- PROGRAM`.",
                          "the program uses Vulkan, and its environment does not name the layer of XSched");
    else if (path && !(add && strstr(path, add)))
        xs_doctor_problem(d, "layer_missing",
                          "Unset VK_LAYER_PATH, or put the folder of VK_ADD_LAYER_PATH into it.",
                          "the program uses Vulkan without the layer of XSched: VK_LAYER_PATH is set "
                          "(\"%s\"), and Vulkan's "
                          "loader then ignores VK_ADD_LAYER_PATH",
                          path);
    else if (has_override(p, file, sizeof(file)))
        xs_doctor_problem(
            d, "layer_missing",
            "Take the override away (vkconfig), or add the folder of VK_ADD_LAYER_PATH to its paths.",
            "the program uses Vulkan without the layer of XSched: %s has override_paths, and Vulkan's loader "
            "then "
            "ignores VK_ADD_LAYER_PATH",
            file);
    else if (!file_has(p, loader->path, "VK_ADD_LAYER_PATH"))
        xs_doctor_problem(
            d, "layer_missing",
            "A loader of version 1.3.207 or newer knows it; with this one set VK_LAYER_PATH to the "
            "folder of XSched's layer.",
            "the program uses Vulkan without the layer of XSched: its loader, %s, does not know "
            "VK_ADD_LAYER_PATH",
            loader->path);
    else
        xs_doctor_problem(d, "layer_missing", "VK_LOADER_DEBUG=layer makes the loader say why.",
                          "the program uses Vulkan without the layer of XSched, which its environment names");
}
