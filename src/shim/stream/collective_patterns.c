/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/stream/collective_patterns.h"

#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/xs_base.h"

#include <fnmatch.h>
#include <string.h>

#define PATTERNS      64u
#define PATTERN_BYTES 128u

/* Lock 7: patterns, until they are read. The first thread that makes a kernel known holds it. */
static struct xs_lock g_lock;
/* Written once, under the lock; the thread stores g_n last, readers acquire it. */
static char g_patterns[PATTERNS][PATTERN_BYTES];
static _Atomic uint32_t g_n;         /* one more than there are; 0: not read yet */

static const char *const k_names[] = {
#define NAME(text) text,
#include "shim/stream/collective_patterns.def"
#undef NAME
};

static bool built_in(const char *name)
{
    for (; *name; name++)
        for (size_t i = 0; i < XS_ARRAY_LEN(k_names); i++)
            if (*name == *k_names[i] && strncmp(name, k_names[i], strlen(k_names[i])) == 0)
                return true;
    return false;
}

/* Names that have nothing in common. */
static bool matches_everything(const char *pattern)
{
    static const char *const other[] = {"_Z6vecAddPKfS0_Pfi", "triton_poi_fused_0", "k", "GEMM-128x64"};

    for (size_t i = 0; i < XS_ARRAY_LEN(other); i++)
        if (fnmatch(pattern, other[i], 0) != 0)
            return false;
    return true;
}

/* @return whether it is a pattern now; each cause has one line */
static bool take(char *ret, const char *text, size_t n)
{
    while (n && *text == ' ') {
        text++;
        n--;
    }
    while (n && text[n - 1] == ' ')
        n--;
    if (n == 0) {
        XS_WARN_ONCE("XSCHED_COLLECTIVES has an empty pattern, which has no effect");
        return false;
    }
    if (n >= PATTERN_BYTES) {
        XS_WARN_ONCE("XSCHED_COLLECTIVES: '%.40s...' is longer than %u characters; it has no effect",
                     text, PATTERN_BYTES - 1);
        return false;
    }
    memcpy(ret, text, n);
    ret[n] = 0;
    if (matches_everything(ret)) {
        XS_WARN_ONCE("XSCHED_COLLECTIVES: '%s' matches every kernel; it has no effect", ret);
        return false;
    }
    return true;
}

static uint32_t read_patterns(void)
{
    const char *list = xs_env_get(XS_ENV_XSCHED_COLLECTIVES);
    uint32_t n = 0;

    while (list) {
        const char *end = strchrnul(list, ',');

        if (n == PATTERNS) {
            XS_WARN_ONCE("XSCHED_COLLECTIVES has more than %u patterns; '%.40s' and later ones have no effect",
                         PATTERNS, list);
            break;
        }
        n += take(g_patterns[n], list, (size_t)(end - list));
        list = *end ? end + 1 : NULL;
    }
    return n;
}

static uint32_t patterns(void)
{
    uint32_t n = atomic_load_explicit(&g_n, memory_order_acquire); /* pairs with the store below */

    if (XS_LIKELY(n > 0))
        return n - 1;
    xs_lock_acquire(&g_lock);
    n = atomic_load_explicit(&g_n, memory_order_relaxed);
    if (n == 0) {
        n = read_patterns() + 1;
        atomic_store_explicit(&g_n, n, memory_order_release);
    }
    xs_lock_release(&g_lock);
    return n - 1;
}

bool xs_collective_is_name(const char *name)
{
    uint32_t n = patterns();

    for (uint32_t i = 0; i < n; i++)
        if (fnmatch(g_patterns[i], name, 0) == 0)
            return true;
    return built_in(name);
}
