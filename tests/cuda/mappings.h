/* SPDX-License-Identifier: Apache-2.0 */
/* What of ours is in the address space of a small test program. */
#ifndef TESTS_CUDA_MAPPINGS_H
#define TESTS_CUDA_MAPPINGS_H

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

#endif
