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
    unsigned long long from;
    char line[512];

    while (maps && fgets(line, sizeof(line), maps))
        if (!found && strstr(line, "xsched-client") && sscanf(line, "%llx-", &from) == 1)
            found = (struct xs_client_page *)(uintptr_t)from;
    if (maps)
        fclose(maps);
    return found;
}

#endif
