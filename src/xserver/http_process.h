/* SPDX-License-Identifier: Apache-2.0 */
/* xsched-http, which answers HTTP in a process of its own: makes its listening sockets, starts it, and starts it again when it
 * has ended. Nothing waits for it: it asks over xserver's socket as others do. Main thread. */
#ifndef XS_XSERVER_HTTP_PROCESS_H
#define XS_XSERVER_HTTP_PROCESS_H

#include "config/options.h"

struct xs_http_process;

/** @param server_socket  that it asks
 *  @param unix_path  of HTTP's Unix socket; "" for none
 *  @return 0 or -errno with the reason in ret_error. Only logs a warning where another program has the default port, and
 *          where the program is not installed */
int xs_http_process_start(const struct xs_options *o, const char *server_socket, const char *unix_path,
                          struct xs_http_process **ret, char *ret_error, size_t error_size);
/** The port of TCP; 0: none. p: may be NULL. */
uint16_t xs_http_process_port(const struct xs_http_process *p);
/** It asks for its settings again. p: may be NULL. */
void xs_http_process_reload(struct xs_http_process *p);
/** Ends it, in a second at most. p: may be NULL. */
void xs_http_process_stop(struct xs_http_process *p);

#endif
