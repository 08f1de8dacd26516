/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons for users: why a queue waits. */
#ifndef XS_SCHED_WHY_H
#define XS_SCHED_WHY_H

#include <stddef.h>
#include <stdint.h>

enum xs_why {
#define XS_WHY(name, code, words) XS_WHY_##name,
#include "sched/reasons.def"
#undef XS_WHY
    XS_WHYS
};

/** What the words of a reason name; 0, NULL or UINT64_MAX: not known, or not for the reader. */
struct xs_why_names {
    int32_t pid;
    const char *user;
    uint64_t within_ns;            /* from now */
};

/** "" for a queue that runs by the policy; "other" for what this version does not know. */
const char *xs_why_code(unsigned why);
/** One sentence without a stop. @param own  the words of a policy from a shared object, for OTHER; "" or NULL: none */
void xs_why_text(unsigned why, const struct xs_why_names *names, const char *own, char *ret, size_t size);

#endif
