/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the xserver at a socket. Any thread; each question on its way has a connection of its own, which the next one
 * uses again. */
#ifndef XS_ASK_LINE_H
#define XS_ASK_LINE_H

#include "asks/request.h"

struct xs_line;

/** Connects with the first question. @param for_other  asks for the asker of each request (XS_ASK_FOR); else for this process
 *  @return NULL: out of memory */
struct xs_line *xs_line_new(const char *socket_path, bool for_other);
/** No thread asks any more. line: may be NULL. */
void xs_line_free(struct xs_line *line);

/** Asks and waits. On success the answer is in r, which the caller frees; on failure r is gone.
 *  @return 0, -ETIMEDOUT, -ENOMEM, -EBADMSG (something else than xserver is there), or another -errno: nobody is
 *          there, or it is ending */
int xs_line_ask(struct xs_line *line, struct xs_request *r, uint64_t timeout_ns);

#endif
