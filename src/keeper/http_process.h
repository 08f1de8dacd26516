/* SPDX-License-Identifier: Apache-2.0 */
/* xsched-http, which answers HTTP in a process of its own: makes its listening sockets, starts it, and starts it again when it
 * has ended. Nothing waits for it: it asks over xserver's socket as others do. Main thread. */
#ifndef XS_KEEPER_HTTP_PROCESS_H
#define XS_KEEPER_HTTP_PROCESS_H

#include "base/xs_base.h"

struct xs_http_process;

struct xs_http_wanted {
    const char *server_socket; /* that it asks */
    const char *unix_path;     /* of HTTP's Unix socket; "" for none */
    uint16_t port;             /* of TCP; 0: any */
    bool port_is_named;        /* somebody wants this one; else it does without where another program has it */
    const char *log_level;     /* "": as XLOG_LEVEL says */
};

/** @return 0 or -errno with the reason in ret_error. Only logs a warning where another program has a port that nobody named,
 *          and where xsched-http is not installed */
int xs_http_process_start(const struct xs_http_wanted *wanted, struct xs_http_process **ret, char *ret_error, size_t error_size);
/** The port of TCP; 0: none. p: may be NULL. */
uint16_t xs_http_process_port(const struct xs_http_process *p);
/** It asks for its settings again. p: may be NULL. */
void xs_http_process_reload(struct xs_http_process *p);
/** Ends it, in a second at most. p: may be NULL. */
void xs_http_process_stop(struct xs_http_process *p);

#endif
