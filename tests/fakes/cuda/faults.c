/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that fail on request. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char function[64];
    unsigned left;                /* calls until the one that fails */
    CUresult with;
    uint64_t calls;               /* of functions that may fail */
} g_fault;

/* For tests: the nth call of the function from now on fails, once; 0: none. An empty name means any function that may
 * fail. FAKE_CUDA_FAIL=FUNCTION:N:ERROR does the same from the start. @return how many calls there were so far */
uint64_t fake_cuda_fail_call(const char *function, unsigned nth, int with) __attribute__((visibility("default")));
uint64_t fake_cuda_fail_call(const char *function, unsigned nth, int with)
{
    uint64_t calls;

    pthread_mutex_lock(&g_lock);
    snprintf(g_fault.function, sizeof(g_fault.function), "%s", function);
    g_fault.left = nth;
    g_fault.with = with;
    calls = g_fault.calls;
    pthread_mutex_unlock(&g_lock);
    return calls;
}

static void read_wish(void)
{
    const char *wish = getenv("FAKE_CUDA_FAIL");
    char function[64] = "";
    unsigned nth = 0;
    int with = XS_CU_OUT_OF_MEMORY;

    if (wish && sscanf(wish, "%63[^:]:%u:%d", function, &nth, &with) >= 2)
        fake_cuda_fail_call(function, nth, with);
}

bool fake_fails(const char *function, CUresult *ret)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    bool fails;

    pthread_once(&once, read_wish);
    pthread_mutex_lock(&g_lock);
    g_fault.calls++;
    fails = g_fault.left && (!g_fault.function[0] || strcmp(g_fault.function, function) == 0) && --g_fault.left == 0;
    *ret = g_fault.with;
    pthread_mutex_unlock(&g_lock);
    return fails;
}
