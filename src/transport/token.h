/* SPDX-License-Identifier: Apache-2.0 */
/* The text by which a request over HTTP may change everything. */
#ifndef XS_TOKEN_H
#define XS_TOKEN_H

#include "base/xs_base.h"

#define XS_TOKEN_BYTES 256 /* with its end */

/** A token becomes a line of a request: 1 to 255 printable characters of ASCII, without a space at
 *  either end.
 *  @return NULL, or the reason why it is wrong, for users */
const char *xs_token_wrong(const char *token);
/** Reads the only line of a file. The file must be regular, owned by root or this user, not open to
 *  others for anything and to its group for writing.
 *  @param ret  XS_TOKEN_BYTES, written on success
 *  @param ret_error  the reason, for users, with the path
 *  @return 0 or -EINVAL */
int xs_token_read(const char *path, char *ret, char *ret_error, size_t error_size);

#endif
