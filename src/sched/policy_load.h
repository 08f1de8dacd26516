/* SPDX-License-Identifier: Apache-2.0 */
/* Policies from shared objects: host programs only, never what is loaded into other programs. */
#ifndef XS_SCHED_POLICY_LOAD_H
#define XS_SCHED_POLICY_LOAD_H

#include "policy/policies.h"

struct xs_policy_module;

/** Loads the policy that a shared object exports as xsched_policy_entry. Its code runs with the
 *  rights of this process: load only what its owner trusts.
 *  @param path  with a slash in it; no search path is used
 *  @return 0, or with a text in error: -ENOENT (cannot be loaded), -ENOEXEC (no entry),
 *          -EPROTO (another ABI), -EINVAL (something is missing in it), -ENOMEM */
int xs_policy_load(const char *path, struct xs_policy_module **ret, char *error, size_t error_bytes);
/** What the policy and this program cannot tell each other, since the policy was built against another xsched/policy.h:
 *  flags that it cannot set, which count as not set, and flags that this program does not know.
 *  @return false: nothing; ret_text stays as it is */
bool xs_policy_module_differs(const struct xs_policy_module *m, char *ret_text, size_t size);
/** Valid until the module is unloaded. */
const struct xs_policy_ops *xs_policy_module_ops(const struct xs_policy_module *m);
/** No scheduler may be using it any more. NULL is harmless. */
void xs_policy_unload(struct xs_policy_module *m);

#endif
