/* SPDX-License-Identifier: Apache-2.0 */
/* Shared objects that must be refused: BAD says what is wrong. Those from SMALL on are right, but of another header. */
#include <xsched/policy.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT const struct xs_policy_ops *xsched_policy_entry(void);
EXPORT const struct xs_policy_ops *another_entry(void);

#define NO_ENTRY  1
#define NOTHING   2
#define OLD_ABI   3
#define TOO_SMALL 4
#define NO_NAME   5
#define NO_DECIDE 6
#define BUILT_IN  7
#define TYPED     8
#define SCOPE     9
#define SMALL     10 /* before there were flags */
#define NO_KNOWN  11 /* before there was flags_known */
#define FEWER     12 /* of a header without the last flags */
#define MORE      13 /* of a later header */
#define NO_UID    14 /* before processes had a uid, which it does not read */

static void decide(struct xs_policy_view *v)
{
    for (size_t i = 0; i < v->n; i++)
        v->entities[i]->run = true;
}

static const struct xs_policy_ops ops = {
    .abi = BAD == OLD_ABI ? 0 : XS_POLICY_ABI,
    .size = BAD == TOO_SMALL ? 16
            : BAD == SMALL   ? offsetof(struct xs_policy_ops, flags)
            : BAD == NO_KNOWN ? offsetof(struct xs_policy_ops, flags_known)
                             : sizeof(struct xs_policy_ops),
    .type = BAD == TYPED ? 3 : 0,
    .name = BAD == NO_NAME ? "" : BAD == BUILT_IN ? "hpf" : "ALL",
    .title = "everything",
    .scope = BAD == SCOPE ? (enum xs_policy_scope)7 : XS_SCOPE_DEVICE,
    .decide = BAD == NO_DECIDE ? 0 : decide,
    .flags = BAD == MORE ? 1u << 30 | XS_POLICY_BY_RANK : XS_POLICY_BY_RANK,
    .flags_known = BAD == FEWER ? XS_POLICY_USES_SERVICE | XS_POLICY_BY_RANK
                   : BAD == NO_UID ? XS_POLICY_FLAGS_KNOWN & ~XS_POLICY_READS_UID
                   : BAD == MORE ? 1u << 30 | XS_POLICY_FLAGS_KNOWN
                                 : XS_POLICY_FLAGS_KNOWN,
};

#if BAD == NO_ENTRY
const struct xs_policy_ops *another_entry(void)
#else
const struct xs_policy_ops *xsched_policy_entry(void)
#endif
{
    return BAD == NOTHING ? 0 : &ops;
}
