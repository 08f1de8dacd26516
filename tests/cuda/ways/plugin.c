/* SPDX-License-Identifier: Apache-2.0 */
/* An extension that is linked with the driver, as Triton's are. */
#include "ways.h"

#define X(name, params) int name params;
WAYS(X)
#undef X

__attribute__((visibility("default"))) int linked(const char *unused);

int linked(const char *unused)
{
    struct ways_driver d = {
#define X(name, params) .name = name,
        WAYS(X)
#undef X
    };

    (void)unused;
    return ways_work(&d, 6);
}
