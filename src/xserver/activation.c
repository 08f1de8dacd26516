/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/activation.h"

#include "base/str.h"
#include "base/xs_base.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_FD 3

static int check(int fd)
{
    int type, listening;
    socklen_t size = sizeof(int);
    struct sockaddr_un at = {0};
    socklen_t at_size = sizeof(at);

    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &at_size) < 0)
        return -EINVAL;
    return type == SOCK_SEQPACKET && listening && at.sun_family == AF_UNIX ? 0 : -EINVAL;
}

int xs_activation_socket(void)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    uint64_t pid_number = 0, count = 0;
    int flags;

    if (!pid || !fds || xs_str_parse_u64(pid, 10, &pid_number) < 0 || pid_number != (uint64_t)getpid())
        return -ENOENT;
    if (xs_str_parse_u64(fds, 10, &count) < 0)
        return -EINVAL;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (count == 0)
        return -ENOENT;
    if (count != 1 || check(FIRST_FD) < 0)
        return -EINVAL;
    flags = fcntl(FIRST_FD, F_GETFL);
    if (flags < 0 || fcntl(FIRST_FD, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC) < 0)
        return -EINVAL;
    return FIRST_FD;
}

void xs_activation_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t length = path ? strlen(path) : 0;
    int fd;

    if (length < 2 || length >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(to.sun_path, path, length);
    if (path[0] == '@')
        to.sun_path[0] = 0; /* an abstract name */
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(fd);
}

static uint64_t watchdog_period_ns(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    uint64_t period_us = 0, pid_number = 0;

    if (!usec || xs_str_parse_u64(usec, 10, &period_us) < 0 || period_us > UINT64_MAX / XS_NS_PER_US)
        return 0;
    if (pid && (xs_str_parse_u64(pid, 10, &pid_number) < 0 || pid_number != (uint64_t)getpid()))
        return 0;
    return period_us * XS_NS_PER_US / 2;
}

void xs_watchdog_init(struct xs_watchdog *w)
{
    w->period_ns = watchdog_period_ns();
    w->next_ns = 0;
}

uint64_t xs_watchdog_look(struct xs_watchdog *w, uint64_t now_ns)
{
    if (!w->period_ns)
        return UINT64_MAX;
    if (now_ns >= w->next_ns) {
        xs_activation_notify("WATCHDOG=1");
        w->next_ns = now_ns + w->period_ns;
    }
    return w->next_ns;
}
