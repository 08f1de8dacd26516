/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/common/filter.h"

#include <dlfcn.h>
#include <string.h>

/* Calls visit for each item. @return true when visit did */
static bool each_item(const char *list, bool (*visit)(const char *item, size_t n, const void *ctx),
                      const void *ctx)
{
    while (list && *list) {
        size_t n = (size_t)(strchrnul(list, ',') - list);
        const char *item = list;
        size_t left = n;

        while (left && *item == ' ') {
            item++;
            left--;
        }
        while (left && item[left - 1] == ' ')
            left--;
        if (left && visit(item, left, ctx))
            return true;
        list += n + (list[n] == ',');
    }
    return false;
}

static bool is_function(const char *item, size_t n, const void *ctx)
{
    const char *function = ctx;

    if (item[n - 1] == '*')
        return strncmp(item, function, n - 1) == 0;
    return strlen(function) == n && memcmp(item, function, n) == 0;
}

static bool is_library(const char *item, size_t n, const void *ctx)
{
    (void)n;
    (void)ctx;
    return item[0] == '@';
}

static bool is_this_library(const char *item, size_t n, const void *ctx)
{
    return item[0] == '@' && n > 1 && strncmp(item + 1, ctx, n - 1) == 0;
}

bool xs_filter_function(const char *list, const char *function)
{
    return each_item(list, is_function, function);
}

bool xs_filter_has_libraries(const char *list)
{
    return each_item(list, is_library, NULL);
}

bool xs_filter_caller(const char *list, const void *address)
{
    /* The last verdicts by page of the address, verdict in bit 0 (a page holds code of one object only). Any
     * thread writes any slot; a lost update costs one more look-up. If another object comes to the address of
     * an unloaded one, it keeps the old verdict. */
    static _Atomic uintptr_t seen[64];
    uintptr_t page = (uintptr_t)address & ~(uintptr_t)4095;
    _Atomic uintptr_t *slot = &seen[(page >> 12) % XS_ARRAY_LEN(seen)];
    uintptr_t known = atomic_load_explicit(slot, memory_order_relaxed);
    bool verdict = false;
    Dl_info info;

    if (page && (known & ~(uintptr_t)4095) == page)
        return known & 1;
    if (address && dladdr(address, &info) && info.dli_fname) {
        const char *base = strrchr(info.dli_fname, '/');

        verdict = each_item(list, is_this_library, base ? base + 1 : info.dli_fname);
    }
    atomic_store_explicit(slot, page | verdict, memory_order_relaxed);
    return verdict;
}
