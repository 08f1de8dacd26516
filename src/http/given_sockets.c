/* SPDX-License-Identifier: Apache-2.0 */
#include "http/given_sockets.h"

#include "base/str.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_FD 3

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_un un;
};

static const char *take(int fd, int *ret_tcp, int *ret_unix)
{
    union address at = {0};
    socklen_t size = sizeof(at), int_size = sizeof(int);
    int type = 0, listens = 0, flags = fcntl(fd, F_GETFL), *to;

    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &int_size) < 0 || type != SOCK_STREAM ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &int_size) < 0 || !listens ||
        getsockname(fd, &at.any, &size) < 0 || flags < 0)
        return "the unit gives something else than listening stream sockets";
    if (at.any.sa_family == AF_INET && at.in.sin_addr.s_addr != htonl(INADDR_LOOPBACK))
        return "the unit listens on another address than 127.0.0.1: xsched-http answers this host alone";
    to = at.any.sa_family == AF_INET ? ret_tcp : at.any.sa_family == AF_UNIX ? ret_unix : NULL;
    if (!to || *to >= 0)
        return "the unit gives more than one socket on 127.0.0.1 and one Unix socket";
    if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return "the unit's sockets do not work";
    *to = fd;
    return NULL;
}

const char *xs_given_sockets(int *ret_tcp, int *ret_unix)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS"), *wrong = NULL;
    uint64_t pid_number, count;

    if (!pid || !fds || xs_str_parse_u64(pid, 10, &pid_number) < 0 || pid_number != (uint64_t)getpid() ||
        xs_str_parse_u64(fds, 10, &count) < 0 || count == 0)
        return "xserver or a systemd unit starts this program, and gives it its sockets";
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (count > 2)
        return "the unit gives more than one socket on 127.0.0.1 and one Unix socket";
    for (int i = 0; i < (int)count && !wrong; i++)
        wrong = take(FIRST_FD + i, ret_tcp, ret_unix);
    return wrong;
}
