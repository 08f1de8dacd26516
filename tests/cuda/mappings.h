/* SPDX-License-Identifier: Apache-2.0 */
/* What of ours is in the address space of a small test program. */
#ifndef TESTS_CUDA_MAPPINGS_H
#define TESTS_CUDA_MAPPINGS_H

#include "wire/page.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/** Mappings of memory that we named. */
static inline int mappings_of_ours(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int n = 0;

    while (maps && fgets(line, sizeof(line), maps))
        n += strstr(line, "xsched-") != NULL;
    if (maps)
        fclose(maps);
    return n;
}

/** This process's own page; NULL: it has none. */
static inline struct xs_client_page *mappings_client_page(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    struct xs_client_page *found = NULL;
    unsigned long long from, offset;
    char line[512];

    /* the device's own view of a part of it is a mapping too, and may come first */
    while (maps && fgets(line, sizeof(line), maps))
        if (!found && strstr(line, "xsched-client") && sscanf(line, "%llx-%*x %*s %llx", &from, &offset) == 2 && offset == 0)
            found = (struct xs_client_page *)(uintptr_t)from;
    if (maps)
        fclose(maps);
    return found;
}

#endif
