/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses requests that two programs could read differently: they could disagree on its end or its target. */
#ifndef XS_HTTP_FRAMING_H
#define XS_HTTP_FRAMING_H

#include "base/xs_base.h"

#include <microhttpd.h>

/** Judges the header of a request, before its body: one Host, one length, no length beside chunks, no
 *  other coding, names of token characters, no NUL.
 *  @param version  "HTTP/1.1"
 *  @return NULL, or the reason why not: the answer is status 400 and the end of the connection */
const char *xs_framing_check(struct MHD_Connection *connection, const char *version);
/** Judges the target of a request as it came: libmicrohttpd cuts it at a NUL.
 *  @param target  in libmicrohttpd's buffer, see MHD_OPTION_URI_LOG_CALLBACK
 *  @return whether there is a NUL in it, as a byte or as %00 */
bool xs_framing_has_nul(const char *target);

#endif
