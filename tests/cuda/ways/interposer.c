/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody else's interposer, preloaded beside us: counts launches and hands them on. */
#include <dlfcn.h>

#include "ways.h"

__attribute__((visibility("default"))) int interposed_launches;
__attribute__((visibility("default"))) int cuLaunchKernel(ways_p f, unsigned a, unsigned b, unsigned c, unsigned d,
                                                          unsigned e, unsigned g, unsigned h, ways_p s, ways_p *p,
                                                          ways_p *x);

int cuLaunchKernel(ways_p f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned h, ways_p s,
                   ways_p *p, ways_p *x)
{
    int (*next)(ways_p, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, ways_p, ways_p *, ways_p *);
    void *found = dlsym(RTLD_NEXT, "cuLaunchKernel");

    memcpy(&next, &found, sizeof(found));
    interposed_launches++;
    return next ? next(f, a, b, c, d, e, g, h, s, p, x) : 999;
}
