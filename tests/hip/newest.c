/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is linked with a function of a runtime to come. Prints what it gives, and how many of three launches
 * XSched scheduled. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

int hipInit(unsigned flags);
int hipModuleLoadData(void **mod, const void *image);
int hipModuleGetFunction(void **f, void *mod, const char *name);
int hipStreamCreateWithFlags(void **s, unsigned flags);
int hipStreamSynchronize(void *s);
int hipModuleLaunchKernel(void *f, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, unsigned shared, void *s,
                          void **params, void **extra);
int hipNewerThanUs(int x);

int main(void)
{
    void *mod, *f, *s, *p = dlsym(RTLD_DEFAULT, "xsched_priv_scheduled_count");
    uint64_t (*count)(void);
    int r = hipInit(0) || hipModuleLoadData(&mod, "code") || hipModuleGetFunction(&f, mod, "nop") ||
            hipStreamCreateWithFlags(&s, 1);

    for (int i = 0; i < 3 && !r; i++)
        r = hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL);
    memcpy(&count, &p, sizeof(count));
    printf("%d %d\n", r || hipStreamSynchronize(s), hipNewerThanUs(41));
    printf("scheduled %d\n", p ? (int)count() : 0);
    return r;
}
