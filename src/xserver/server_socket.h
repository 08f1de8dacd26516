/* SPDX-License-Identifier: Apache-2.0 */
/* The socket to which programs and tools connect: where it is, and that no other xserver has it. Main thread. */
#ifndef XS_XSERVER_SERVER_SOCKET_H
#define XS_XSERVER_SERVER_SOCKET_H

#include "transport/socket.h"

struct xs_server_socket {
    int fd, lock_fd; /* -1 before it is open */
    bool activated;  /* it is the service manager's */
    char path[XS_SOCKET_PATH_BYTES];
};

/** Takes the service manager's, or makes one.
 *  @param wanted  its path; "": XSCHED_SOCKET's, or the first place where programs look and this user may write
 *  @return 0 or -errno, where ret_error may have the reason */
int xs_server_socket_open(struct xs_server_socket *s, const char *wanted, char *ret_error, size_t error_size);
/** Nobody finds it any more, where this server made it. */
void xs_server_socket_unlink(const struct xs_server_socket *s);
/** Listens anew by the name that it had. @return false: it cannot, and the log says why */
bool xs_server_socket_renew(struct xs_server_socket *s);
void xs_server_socket_close(struct xs_server_socket *s);

#endif
