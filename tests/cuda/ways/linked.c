/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is linked with the driver. Prints as program.c does. */
#include <dlfcn.h>
#include <stdio.h>

#include "ways.h"

#define X(name, params) int name params;
WAYS(X)
#undef X

int main(void)
{
    struct ways_driver d = {
#define X(name, params) .name = name,
        WAYS(X)
#undef X
    };
    void *p = dlsym(RTLD_DEFAULT, "xsched_priv_scheduled_count"), *seen = dlsym(RTLD_DEFAULT, "interposed_launches");
    uint64_t (*count)(void);

    memcpy(&count, &p, sizeof(p));
    if (!ways_work(&d, 6)) {
        printf("FAILED: work\n");
        return 1;
    }
    if (seen)
        printf("interposed %d\n", *(int *)seen);
    if (p)
        printf("scheduled %d\n", (int)count());
    else
        printf("no XSched\n");
    return 0;
}
