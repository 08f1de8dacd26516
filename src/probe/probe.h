/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of all platforms' probes: their waits and their output. */
#ifndef XS_PROBE_PROBE_H
#define XS_PROBE_PROBE_H

#include "base/clock.h"
#include "base/platforms.h"
#include "base/xs_base.h"

#include <dlfcn.h>
#include <stdio.h>

#define ENOUGH_NS (5 * XS_NS_PER_S)   /* for work of microseconds, on a busy device */
#define STILL_NS  (20 * XS_NS_PER_MS) /* work that stands still for so long does not run */

static inline void sleep_ns(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / XS_NS_PER_S), (long)(ns % XS_NS_PER_S)};

    nanosleep(&t, NULL);
}

/** The vendor's library: the user's path, else by its names. @return a handle for dlsym; NULL: there is
 *  none */
static inline void *open_vendor(const struct xs_platform *p)
{
    const char *path = xs_env_get(p->lib);
    void *lib = path ? dlopen(path, RTLD_NOW) : NULL;
    char name[64];

    for (size_t i = 0; !lib && xs_platform_soname(p, i, name, sizeof(name)); i++)
        lib = dlopen(name, RTLD_NOW);
    return lib;
}

/** Whether a word that the device writes gets that far within the time. */
static inline bool reaches_within(const _Atomic uint64_t *word, uint64_t value, uint64_t ns)
{
    uint64_t end = xs_now_ns() + ns;

    while (atomic_load(word) < value)
        if (xs_now_ns() > end)
            return false;
    return true;
}

/** The same in a time that is enough for all that goes on. */
static inline bool reaches(const _Atomic uint64_t *word, uint64_t value)
{
    return reaches_within(word, value, ENOUGH_NS);
}

/** One more pair of the line. Names come from the vendor; no character of theirs may end the text around
 *  them. */
static inline void print_text(const char *key, const char *text)
{
    printf(",\"%s\":\"", key);
    for (; *text; text++)
        putchar(*text >= 32 && *text < 127 && *text != '"' && *text != '\\' ? *text : '?');
    putchar('"');
}

#endif
