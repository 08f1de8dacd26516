/* SPDX-License-Identifier: Apache-2.0 */
/* Which hints the policy in force reads. The others have no effect, and a user should hear of that. */
#ifndef XS_QUERY_POLICY_IN_FORCE_H
#define XS_QUERY_POLICY_IN_FORCE_H

#include "policy/policies.h"

struct xs_policy_in_force {
    char name[32];
    uint32_t reads; /* XS_POLICY_READS_* */
};

/** Asks xserver over its own socket, not over HTTP: that could start xsched-http.
 *  @return false: no answer, or one without the list of hints (a server of another build, a loaded policy) */
bool xs_policy_in_force_ask(const char *server_socket, struct xs_policy_in_force *ret);
/** From the text of xserver's answer to GET /policy. @return false: it has no list of hints */
bool xs_policy_in_force_parse(const char *answer, struct xs_policy_in_force *ret);

/** The line for users, if the policy reads none of the wanted hints (XS_POLICY_READS_*).
 *  @param what  the hint as the user gave it, "--utilization"
 *  @param change  the command that changes the policy, without the policy's name, "xcli policy"
 *  @return whether there is something to say */
bool xs_policy_in_force_unread(const struct xs_policy_in_force *p, uint32_t wanted, const char *what, const char *change,
                               char *ret, size_t size);

#endif
