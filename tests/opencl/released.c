/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads give back a reference each of one command queue, on the fake. While the first asks how many there
 * are, the second releases its own and makes a new queue, which gets the storage of what was known of the old one:
 * the new one stays scheduled. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *P;

static int (*g_release)(P);
static P (*g_find)(P);
static P (*g_create)(P, P, uint64_t, int *);
static void (**g_on_count)(P);
static P g_context, g_device, g_old, g_old_found, g_new, g_new_found;

static int get(void *ret, void *lib, const char *name)
{
    void *p = dlsym(lib, name);

    memcpy(ret, &p, sizeof(p));
    return p != NULL;
}

static void *second(void *none)
{
    int err;

    (void)none;
    g_release(g_old);
    g_new = g_create(g_context, g_device, 0, &err);
    g_new_found = g_find(g_new);
    return NULL;
}

static void on_count(P queue)
{
    pthread_t t;

    (void)queue;
    *g_on_count = NULL;
    if (pthread_create(&t, NULL, second, NULL) == 0)
        pthread_join(t, NULL);
}

int main(void)
{
    int (*platforms)(unsigned, P *, unsigned *), (*devices)(P, uint64_t, unsigned, P *, unsigned *);
    int (*retain)(P), err;
    P (*context)(const void *, unsigned, const P *, P, P, int *);
    void *all = dlopen("libOpenCL.so.1", RTLD_NOW), *fake = dlopen(getenv("FAKE"), RTLD_NOW);
    P platform;

    /* the former is the shim: its name */
    if (!all || !fake || !get(&platforms, all, "clGetPlatformIDs") || !get(&devices, all, "clGetDeviceIDs") ||
        !get(&context, all, "clCreateContext") || !get(&g_create, all, "clCreateCommandQueue") ||
        !get(&retain, all, "clRetainCommandQueue") || !get(&g_release, all, "clReleaseCommandQueue") ||
        !get(&g_find, all, "xsched_priv_ocl_find") || !get(&g_on_count, fake, "fake_opencl_on_count"))
        return 2;
    if (platforms(1, &platform, NULL) || devices(platform, UINT32_MAX, 1, &g_device, NULL))
        return 3;
    g_context = context(NULL, 1, &g_device, NULL, NULL, &err);
    g_old = g_create(g_context, g_device, 0, &err);
    g_old_found = g_find(g_old);
    retain(g_old);
    *g_on_count = on_count;
    g_release(g_old);
    if (!g_old_found || g_new_found != g_old_found) {
        printf("the new queue did not get the storage: nothing was tested\n");
        return 4;
    }
    if (g_find(g_new) != g_new_found) {
        printf("the new queue is not known any more\n");
        return 1;
    }
    return 0;
}
