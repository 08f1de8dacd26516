/* SPDX-License-Identifier: Apache-2.0 */
/* What small test programs say when something is not so, and how they find the vendor's functions. */
#ifndef TESTS_STREAM_CHECK_H
#define TESTS_STREAM_CHECK_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRUE(what)                                                        \
    do {                                                                  \
        if (!(what)) {                                                    \
            printf("FAILED line %d: %s\n", __LINE__, #what);              \
            fflush(stdout);                                               \
            _Exit(1);                                                     \
        }                                                                 \
    } while (0)

/* A limit for what never comes; generous, since the machine may be busy. */
#define UNTIL(what)                                                       \
    do {                                                                  \
        int left_ = 40000;                                                \
        while (!(what) && --left_)                                        \
            usleep(1000);                                                 \
        TRUE(left_ && #what);                                             \
    } while (0)

/** A function of a library, which must have it. @param fn  address of the pointer to it */
static inline void get(void *lib, void *fn, const char *name)
{
    void *p = dlsym(lib, name);

    TRUE(p != NULL);
    memcpy(fn, &p, sizeof(p));
}

#endif
