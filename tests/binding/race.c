/* SPDX-License-Identifier: Apache-2.0 */
/* What needs which library, read while other threads load and unload objects: race COPY CALLER OTHERS...
 *
 * CALLER stays and needs COPY. The OTHERS need other copies, and come and go. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/common/needs.h"
#include "hal/common/vendor.h"

#define READERS 3
#define ROUNDS  3000

static const struct xs_vendor k_vendor = {.platform = &xs_platforms[XS_PLATFORM_HIP], .probe = "hipGetDeviceCount"};
static const char *s_copy;
static void *s_caller;
static _Atomic bool s_ended;
static _Atomic int s_wrong, s_right, s_seen;
static char **s_others;
static int s_count;

static void *reader(void *unused)
{
    (void)unused;
    while (!atomic_load(&s_ended)) {
        struct xs_needs *n = xs_needs_read("libamdhip64", s_caller);
        struct xs_vendor_caller of;

        if (n && n->need_count > 1)
            atomic_fetch_add(&s_seen, 1);
        free(n);
        if (!n)                   /* it changed each time that it was read */
            continue;
        if (xs_vendor_of_caller(&k_vendor, s_caller, &of) && strcmp(of.path, s_copy) == 0)
            atomic_fetch_add(&s_right, 1);
        else
            atomic_fetch_add(&s_wrong, 1);
    }
    return NULL;
}

static void *loader(void *unused)
{
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < s_count; i++) {
            void *lib = dlopen(s_others[i], RTLD_NOW);

            if (!lib) {
                printf("%s\n", dlerror());
                atomic_fetch_add(&s_wrong, 1);
                return NULL;
            }
            dlclose(lib);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t readers[READERS], loaders[2];
    void *lib = argc > 3 ? dlopen(argv[2], RTLD_NOW) : NULL;

    s_caller = lib ? dlsym(lib, "go") : NULL;
    if (!s_caller) {
        printf("no caller: %s\n", dlerror());
        return 1;
    }
    s_copy = argv[1];
    s_others = argv + 3;
    s_count = argc - 3;
    for (int i = 0; i < READERS; i++)
        pthread_create(&readers[i], NULL, reader, NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&loaders[i], NULL, loader, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(loaders[i], NULL);
    atomic_store(&s_ended, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    printf("%d right, %d wrong, %d with others there\n", s_right, s_wrong, s_seen);
    return s_wrong || !s_right || !s_seen;
}
