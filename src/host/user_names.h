/* SPDX-License-Identifier: Apache-2.0 */
/* Users' names, from /etc/passwd alone: a directory service can take as long as it likes. Any thread. */
#ifndef XS_HOST_USER_NAMES_H
#define XS_HOST_USER_NAMES_H

#include "base/xs_base.h"

#define XS_USER_NAME_BYTES 33u

/** The number, where the file has no name for it. */
void xs_user_name(uint32_t uid, char ret[XS_USER_NAME_BYTES]);

#endif
