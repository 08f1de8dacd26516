/* SPDX-License-Identifier: Apache-2.0 */
/* gcc's runtime of the address sanitizer is a shared object. Where another one stands before it, as each preloaded
 * object does, it ends the program, since that object could have the functions that the runtime must have first. We
 * have dlopen, dlsym and ioctl, each of which goes on to the runtime's. To put the runtime into LD_PRELOAD before us
 * would bring it into each child of the program. So we answer when it asks for options.
 *
 * Nothing here may call the C library: the runtime asks before it is up. */
#include "hal/common/next_symbol.h"

#include <string.h>

XS_EXPORT const char *__asan_default_options(void);

XS_EXPORT const char *__asan_default_options(void)
{
    static const char ours[] = "verify_asan_link_order=0:";
    static char text[1024];       /* the runtime asks once, before other threads are there */
    void *found = xs_symbol_next("__asan_default_options");
    const char *theirs = "", *(*next)(void);
    size_t n = 0;

    memcpy(&next, &found, sizeof(next));
    if (next)
        theirs = next();
    for (const char *c = ours; *c; c++)
        text[n++] = *c;
    for (const char *c = theirs; c && *c; c++) {
        if (n + 1 == sizeof(text))
            return theirs;        /* too long: the program ends, and its message says why */
        text[n++] = *c;
    }
    text[n] = 0;
    return text;
}
