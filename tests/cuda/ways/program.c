/* SPDX-License-Identifier: Apache-2.0 */
/* A program that gets at the driver in one of many ways: program WAY [FILE]. Launches six kernels and prints how many
 * commands libpreempt has counted, or that it is not there. */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ways.h"

#ifdef __GLIBC__ /* others have neither namespaces nor RTLD_DEEPBIND */
#include <sys/ioctl.h>

#include "nvrm/nvrm_layout.h"
#else
#define RTLD_DEEPBIND 0
#define dlmopen(namespace, file, mode) dlopen(file, mode)
#endif

static int fail(const char *what)
{
    printf("FAILED: %s\n", what);
    return 1;
}

/* By the names of a handle, or of what is linked. */
static int work(void *from)
{
    struct ways_driver d;

    return ways_bind(&d, from, dlsym) && ways_work(&d, 6) ? 0 : fail("work");
}

#ifdef __GLIBC__
static int visit(struct dl_phdr_info *info, size_t size, void *path)
{
    const char *base = strrchr(info->dlpi_name, '/');

    (void)size;
    if (!base || strncmp(base + 1, WAYS_LIBRARY ".so", sizeof(WAYS_LIBRARY ".so") - 1) != 0)
        return 0;
    snprintf(path, 4096, "%s", info->dlpi_name);
    return 1;
}

/* As Triton for ROCm: the path that is mapped, then what GetProcAddress gives by a handle of that. */
static void *s_give;

static void *given(void *from, const char *name)
{
    int (*give)(const char *, void **, int, uint64_t, void *);
    void *fn = NULL;

    (void)from;
    memcpy(&give, &s_give, sizeof(give));
    return give(name, &fn, 60200, 0, NULL) == 0 ? fn : NULL;
}

static int mapped(bool by_give)
{
    char path[4096] = "";
    struct ways_driver d;
    void *lib;

    if (!dl_iterate_phdr(visit, path))
        return fail("nothing is mapped");
    lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    s_give = lib ? dlsym(lib, "hipGetProcAddress") : NULL;
    if (!lib || !by_give)
        return lib ? work(lib) : fail(dlerror());
    return s_give && ways_bind(&d, lib, given) && ways_work(&d, 6) ? 0 : fail("given");
}
#else
static int mapped(bool by_give)
{
    (void)by_give;
    return 1;
}
#endif

static void counted(void)
{
    void *p = dlsym(RTLD_DEFAULT, "xsched_priv_scheduled_count");
    uint64_t (*count)(void);

    memcpy(&count, &p, sizeof(p));
    if (p)
        printf("scheduled %d\n", (int)count());
    else
        printf("no XSched\n");
}

static int plugin(const char *file, const char *entry, const char *arg, int flags)
{
    void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL | flags), *p;
    int (*run)(const char *);

    if (!lib)
        return fail(dlerror());
    p = dlsym(lib, entry);
    memcpy(&run, &p, sizeof(p));
    return run(arg) ? 0 : fail("plugin");
}

#ifdef __GLIBC__
/* What the driver asks of its kernel part when a context is made; descriptor 1000 is kernel.c's. */
static void make_group(void)
{
    struct xs_nvrm_group_params params = {.engine = XS_NVRM_ENGINE_FIRST_COMPUTE};
    struct xs_nvrm_alloc client = {.object = 7, .object_class = XS_NVRM_CLASS_CLIENT};
    struct xs_nvrm_alloc group = {.client = 7, .parent = 7, .object = 8, .object_class = XS_NVRM_CLASS_GROUP,
                                  .params = (uint64_t)(uintptr_t)&params, .params_bytes = sizeof(params)};

    ioctl(1000, XS_NVRM_IOC_ALLOC, &client);
    ioctl(1000, XS_NVRM_IOC_ALLOC, &group);
}
#else
static void make_group(void)
{
}
#endif

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "", *arg = argc > 3 ? argv[3] : NULL;
    const char *file = argc > 2 ? argv[2] : WAYS_LIBRARY ".so.1";
    void *lib;
    int r = 1;

    if (strcmp(way, "open") == 0 || strcmp(way, "global") == 0 || strcmp(way, "deep") == 0) {
        lib = dlopen(file, RTLD_NOW | (strcmp(way, "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL) |
                               (strcmp(way, "deep") == 0 ? RTLD_DEEPBIND : 0));
        r = lib ? work(lib) : fail(dlerror());
    } else if (strcmp(way, "loaded") == 0) {     /* only if it is loaded: first it is not, then it is */
        lib = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
        if (lib)
            printf("there before anybody loaded it\n");
        lib = dlopen(file, RTLD_NOW);
        r = lib && dlopen(file, RTLD_NOW | RTLD_NOLOAD) == lib ? work(lib) : fail("not loaded");
    } else if (strcmp(way, "namespace") == 0) {
        lib = dlmopen(LM_ID_NEWLM, file, RTLD_NOW | RTLD_LOCAL);
        r = lib ? work(lib) : fail(dlerror());
    } else if (strcmp(way, "default") == 0) {    /* the one that somebody made global */
        r = dlopen(file, RTLD_NOW | RTLD_GLOBAL) ? work(RTLD_DEFAULT) : fail(dlerror());
    } else if (strcmp(way, "mapped") == 0 || strcmp(way, "given") == 0) { /* arg: what maps it */
        r = dlopen(file, RTLD_NOW | RTLD_LOCAL) ? mapped(way[0] == 'g') : fail(dlerror());
    } else if (strcmp(way, "newer") == 0) {      /* a function that no table knows, by the handle of a path */
        lib = dlopen(file, RTLD_NOW);
        r = lib && dlsym(lib, arg) && !dlsym(lib, "hipNoSuchFunction") && dlerror() ? work(lib) : fail("newer");
    } else if (strcmp(way, "plugin") == 0) {
        r = plugin(file, "linked", NULL, 0);
    } else if (strcmp(way, "plugin_deep") == 0) {
        r = plugin(file, "linked", NULL, RTLD_DEEPBIND);
    } else if (strcmp(way, "opens") == 0) {
        r = plugin(file, "opens", arg, 0);
    } else if (strcmp(way, "opens_deep") == 0) { /* its dlopen is libc's */
        r = plugin(file, "opens", arg, RTLD_DEEPBIND);
    } else if (strcmp(way, "other") == 0) {      /* no driver at all: what a name means here is as always */
        lib = dlopen(file, RTLD_NOW);
        printf("%s\n", lib ? "found" : "not found");
        return 0;
    }
    if (r == 0 && getenv("WAYS_GROUP"))
        make_group();
    if (r == 0)
        counted();
    return r;
}
