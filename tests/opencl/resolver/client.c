/* SPDX-License-Identifier: Apache-2.0 */
/* Reaches OpenCL in the ways that programs do and prints what answered. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int (*ids_fn)(unsigned, void *, unsigned *);

int clGetPlatformIDs(unsigned count, void *platforms, unsigned *ret_count);

static int ask(ids_fn ids)
{
    unsigned count = 0;
    int err;

    if (!ids) {
        printf("no function\n");
        return 1;
    }
    err = ids(0, NULL, &count);
    printf("%d platforms, %d\n", (int)count, err);
    return 0;
}

static int ask_handle(void *handle)
{
    if (!handle) {
        printf("not opened: %s\n", dlerror());
        return 1;
    }
    return ask((ids_fn)dlsym(handle, "clGetPlatformIDs"));
}

/* Bound to a preloaded object while the program is loaded, whatever the library has. */
extern int clFinish(void *queue) __attribute__((weak));
extern void *clCreateBuffer(void *, unsigned long, unsigned long, void *, int *) __attribute__((weak));
extern void *clGetExtensionFunctionAddress(const char *) __attribute__((weak));
extern void *clSVMAlloc(void *, unsigned long, unsigned long, unsigned) __attribute__((weak));

/* What a library that has nothing else answers. */
static int lacking(void)
{
    void *h = dlopen("libOpenCL.so.1", RTLD_NOW), *m;
    int err = 1;

    printf("found %d: ", h && dlsym(h, "clFinish") != NULL);
    if (!clFinish || !clCreateBuffer || !clGetExtensionFunctionAddress || !clSVMAlloc) {
        printf("not linked\n");
        return 0;
    }
    printf("clFinish %d", clFinish(NULL));
    m = clCreateBuffer(NULL, 0, 4, NULL, &err);
    printf(", clCreateBuffer %d %d", m != NULL, err);
    printf(" %d", clCreateBuffer(NULL, 0, 4, NULL, NULL) != NULL);
    printf(", extension %d", clGetExtensionFunctionAddress("clEnqueueMemcpyINTEL") != NULL);
    printf(", clSVMAlloc %d\n", clSVMAlloc(NULL, 0, 4, 0) != NULL);
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

#ifdef LINKED
    if (strcmp(how, "linked") == 0)
        return ask(clGetPlatformIDs);
#endif
    if (strcmp(how, "open") == 0)
        return ask_handle(dlopen(argc > 2 ? argv[2] : "libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL));
    if (strcmp(how, "twice") == 0) {
        ask_handle(dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL));
        return ask_handle(dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL));
    }
    if (strcmp(how, "default") == 0) {
        ask((ids_fn)dlsym(RTLD_DEFAULT, "clGetPlatformIDs"));
        return ask((ids_fn)dlsym(RTLD_DEFAULT, "clGetPlatformIDs"));
    }
    if (strcmp(how, "next") == 0) {
        ids_fn next = (ids_fn)dlsym(RTLD_NEXT, "clGetPlatformIDs");

        return next ? ask(next) : ask_handle(dlopen("libOpenCL.so.1", RTLD_NOW));
    }
    if (strcmp(how, "plugin") == 0 && argc > 2) {
        void *h = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
        int (*plugin)(void) = h ? (int (*)(void))dlsym(h, "plugin_ask") : NULL;

        if (!plugin) {
            printf("no plugin: %s\n", dlerror());
            return 1;
        }
        printf("plugin: %d platforms\n", plugin());
        return 0;
    }
    if (strcmp(how, "lacking") == 0)
        return lacking();
    if (strcmp(how, "mapped") == 0) { /* these are loaded before the first call */
        for (int i = 2; i < argc; i++)
            if (!dlopen(argv[i], RTLD_NOW | RTLD_LOCAL))
                printf("not opened: %s\n", dlerror());
#ifdef LINKED
        return ask(clGetPlatformIDs);
#else
        return ask_handle(dlopen("libOpenCL.so.1", RTLD_NOW));
#endif
    }
    return 2;
}
