/* SPDX-License-Identifier: Apache-2.0 */
/* For whom a process counts where users have shares. Any thread. */
#ifndef XS_HOST_USER_KEY_H
#define XS_HOST_USER_KEY_H

#include "base/xs_base.h"

/** The key of its user: the owner of the range of a subordinate number.
 *  @param by_pod  each pod (or container) of a user counts by itself
 *  @param ret_inside  it is in one, and counts so */
uint64_t xs_user_key(bool by_pod, uint32_t uid, int32_t pid, bool *ret_inside);

#endif
