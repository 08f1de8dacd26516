/* SPDX-License-Identifier: Apache-2.0 */
/* Policies from shared objects: only host programs load them, preloaded libraries never do. */
#ifndef XS_SCHED_POLICY_LOAD_H
#define XS_SCHED_POLICY_LOAD_H

#include "policy/policies.h"

struct xs_policy_module;

/** Loads the policy that a shared object exports as xsched_policy_entry. Its code runs with the rights
 *  of this process: load only an object that its owner trusts.
 *  @param path  with a slash in it; dlopen uses no search path then
 *  @return 0, or with a text in error: -ENOENT (dlopen fails), -ENOEXEC (no entry), -EPROTO (another
 *          ABI), -EINVAL (something is missing in it), -ENOMEM */
int xs_policy_load(const char *path, struct xs_policy_module **ret, char *error, size_t error_bytes);
/** Whether users mean a shared object by it: it has a slash, or .so at its end. */
bool xs_policy_is_path(const char *text);
/** The policy that a user names: a built-in one, or that of a shared object.
 *  @param ret_module  the object's; NULL: a built-in one
 *  @return NULL with a text in error */
const struct xs_policy_ops *xs_policy_find(const char *text, struct xs_policy_module **ret_module,
                                           char *error, size_t error_bytes);
/** Names the flags in which the policy's xsched/policy.h differs from this program's. First those that
 *  the policy cannot set: they count as not set. Then those that this program does not know.
 *  @return false: there are none; ret_text stays as it is */
bool xs_policy_module_differs(const struct xs_policy_module *m, char *ret_text, size_t size);
/** Valid until xs_policy_unload. */
const struct xs_policy_ops *xs_policy_module_ops(const struct xs_policy_module *m);
/** No scheduler may be using it any more. NULL is harmless. */
void xs_policy_unload(struct xs_policy_module *m);

#endif
