/* SPDX-License-Identifier: Apache-2.0 */
/* A program that gets at the driver in one of many ways: program WAY [FILE]. Launches six kernels and prints how many
 * commands libpreempt has counted, or that it is not there. */
#include <dlfcn.h>
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
    const char *way = argc > 1 ? argv[1] : "", *file = argc > 2 ? argv[2] : "libcuda.so.1", *arg = argc > 3 ? argv[3] : NULL;
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
