/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/why.h"

#include "base/xs_base.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *code, *words;
} k_whys[XS_WHYS] = {
#define XS_WHY(name, code, words) {code, words},
#include "sched/reasons.def"
#undef XS_WHY
};

const char *xs_why_code(unsigned why)
{
    return k_whys[why < XS_WHYS ? why : XS_WHY_OTHER].code;
}

static int put_name(char what, const struct xs_why_names *n, char *ret, size_t size)
{
    switch (what) {
    case 'p':
        return n->pid > 0 ? snprintf(ret, size, "process %" PRId32, n->pid) : snprintf(ret, size, "one that you cannot see");
    case 'u':
        return snprintf(ret, size, "%s%s", n->user ? "user " : "another user", n->user ? n->user : "");
    default:
        if (n->within_ns == UINT64_MAX)
            return 0;
        return snprintf(ret, size, ", for %.1f ms at most", (double)n->within_ns / XS_NS_PER_MS);
    }
}

void xs_why_text(unsigned why, const struct xs_why_names *names, const char *own, char *ret, size_t size)
{
    const char *words = k_whys[why < XS_WHYS ? why : XS_WHY_OTHER].words;
    size_t at = 0;

    if (why == XS_WHY_OTHER && own && *own) {
        snprintf(ret, size, "%s", own);
        return;
    }
    ret[0] = '\0';
    while (*words && at + 1 < size) {
        if (words[0] == '%' && words[1] && strchr("put", words[1])) {
            int n = put_name(words[1], names, ret + at, size - at);

            at += n > 0 ? (size_t)n : 0;
            words += 2;
            continue;
        }
        ret[at++] = *words++;
        ret[at] = '\0';
    }
}
