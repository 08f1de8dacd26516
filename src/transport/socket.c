/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket.h"

#include "base/env.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef AT_SECURE
#define AT_SECURE 23
#endif

_Static_assert(XS_SOCKET_PATH_BYTES == sizeof(((struct sockaddr_un *)0)->sun_path), "as the kernel's");

int xs_socket_path_of(const struct xs_socket_seeker *who, unsigned index, char *ret_path, size_t size)
{
    static const char k_name[] = "xsched/xserver.sock";
    char path[XS_SOCKET_PATH_BYTES + 32], user[32];
    int n;

    snprintf(user, sizeof(user), "/run/user/%lu", (unsigned long)who->uid);
    if (who->own) {
        if (index > 0)
            return -ENOENT;
        n = snprintf(path, sizeof(path), "%s", who->own);
    } else {
        /* skips the places that do not exist for this user */
        if (!who->runtime || who->runtime[0] != '/' || !strcmp(who->runtime, user))
            index++;
        if (index == 0)
            n = snprintf(path, sizeof(path), "%s/%s", who->runtime, k_name);
        else if (index == 1)
            n = snprintf(path, sizeof(path), "%s/%s", user, k_name);
        else if (index == 2)
            n = snprintf(path, sizeof(path), "/run/%s", k_name);
        else
            return -ENOENT;
    }
    if (n < 0 || (size_t)n >= size || (size_t)n >= XS_SOCKET_PATH_BYTES)
        return -ENAMETOOLONG;
    memcpy(ret_path, path, (size_t)n + 1);
    return 0;
}

int xs_socket_path(unsigned index, char *ret_path, size_t size)
{
    const struct xs_socket_seeker self = {.own = xs_env_get(XS_ENV_XSCHED_SOCKET),
                                          .runtime = getauxval(AT_SECURE) ? NULL : getenv("XDG_RUNTIME_DIR"),
                                          .uid = getuid()};

    return xs_socket_path_of(&self, index, ret_path, size);
}

static int address(const char *path, struct sockaddr_un *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->sun_family = AF_UNIX;
    return xs_str_copy(ret->sun_path, sizeof(ret->sun_path), path) ? 0 : -ENAMETOOLONG;
}

static int new_socket(int flags)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);

    return fd < 0 ? -errno : xs_fd_raise(fd);
}

static int connect_fd(int fd, const struct sockaddr_un *to, uint64_t timeout_ns)
{
    struct timeval tv = {.tv_sec = (time_t)(timeout_ns / XS_NS_PER_S),
                         .tv_usec = (suseconds_t)(timeout_ns % XS_NS_PER_S / XS_NS_PER_US)};

    if (tv.tv_sec == 0 && tv.tv_usec == 0)
        tv.tv_usec = 1; /* 0 would mean for ever */
    /* a non-blocking Unix socket fails at once on a full queue; a send timeout bounds a blocking
     * connect instead */
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) < 0)
        return -errno;
    while (connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0)
        if (errno != EINTR)
            return -errno;
    if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
        return -errno;
    return 0;
}

int xs_socket_connect(const char *path, uint64_t timeout_ns)
{
    struct sockaddr_un to;
    int saved = errno, r = address(path, &to), fd;

    if (r < 0)
        return r;
    fd = new_socket(0);
    if (fd >= 0) {
        r = connect_fd(fd, &to, timeout_ns);
        if (r < 0) {
            close(fd);
            fd = r;
        }
    }
    errno = saved;
    return fd;
}

/* Opening a socket's file fails with ENXIO and nothing else does so (stat() has another symbol on
 * each C library). */
static bool is_socket(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
    return fd < 0 && errno == ENXIO;
}

static int bind_fd(int fd, const struct sockaddr_un *at)
{
    int other;

    if (bind(fd, (const struct sockaddr *)at, sizeof(*at)) == 0)
        return 0;
    if (errno != EADDRINUSE)
        return -errno;
    other = xs_socket_connect(at->sun_path, 100 * XS_NS_PER_MS);
    if (other >= 0)
        close(other);
    if (other == -ECONNREFUSED && !is_socket(at->sun_path))
        return -EEXIST;
    if (other != -ECONNREFUSED) /* a server answers */
        return other == -ENOENT ? -EAGAIN : -EADDRINUSE;
    if (unlink(at->sun_path) < 0 && errno != ENOENT)
        return -errno;
    return bind(fd, (const struct sockaddr *)at, sizeof(*at)) < 0 ? -errno : 0;
}

int xs_socket_listen(const char *path, mode_t mode, int backlog)
{
    struct sockaddr_un at;
    int saved = errno, r = address(path, &at), fd;

    if (r < 0)
        return r;
    fd = new_socket(SOCK_NONBLOCK);
    if (fd < 0)
        r = fd;
    if (r == 0)
        r = bind_fd(fd, &at);
    if (r == 0 && (chmod(path, mode) < 0 || listen(fd, backlog) < 0)) {
        r = -errno;
        unlink(path);
    }
    if (r < 0 && fd >= 0)
        close(fd);
    errno = saved;
    return r < 0 ? r : fd;
}

/* Another process may have taken the number in the credentials since. If the connection is still up
 * after pidfd_open, the number was not free meanwhile. */
static int pidfd_by_number(int fd, int32_t pid)
{
    struct pollfd p = {.fd = fd, .events = 0};
    int pidfd;

    if (pid <= 0)
        return -1;
    pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return -1;
    if (xs_sys_poll(&p, 1, 0) != 0) {
        close(pidfd);
        return -1;
    }
    return xs_fd_raise(pidfd);
}

int xs_socket_peer(int fd, struct xs_socket_peer *ret_peer)
{
    struct ucred cred;
    socklen_t size = sizeof(cred), size_fd = sizeof(int);
    struct xs_socket_peer peer;
    int saved = errno, pidfd = -1;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0) {
        int r = -errno;

        errno = saved;
        return r;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size_fd) == 0)
        pidfd = xs_fd_raise(pidfd);
    else
        pidfd = pidfd_by_number(fd, cred.pid);
    if (pidfd >= 0)
        fcntl(pidfd, F_SETFD, FD_CLOEXEC);
    peer = (struct xs_socket_peer){.pid = cred.pid,
                                   .uid = cred.uid,
                                   .gid = cred.gid,
                                   .pidfd = pidfd < 0 ? -1 : pidfd};
    *ret_peer = peer;
    errno = saved;
    return 0;
}

int xs_socket_accept(int listener, struct xs_socket_peer *ret_peer)
{
    int saved = errno, fd, r;

    do
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    fd = fd < 0 ? -errno : xs_fd_raise(fd);
    if (fd >= 0) {
        r = xs_socket_peer(fd, ret_peer);
        if (r < 0) {
            close(fd);
            fd = r;
        }
    }
    errno = saved;
    return fd;
}

/* Space for all that one packet can carry. The kernel closes descriptors that find no space, in the
 * thread that receives, and closing one can take as long as its maker likes. */
union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(XS_SOCKET_MAX_FDS * sizeof(int))];
};

int xs_socket_send(int fd, union xs_msg *m, enum xs_msg_id id, uint32_t serial, const int *fds,
                   unsigned n_fds)
{
    struct iovec iov = {.iov_base = m, .iov_len = xs_wire_seal(m, id, serial)};
    struct msghdr h;
    union control control;
    int saved = errno, r = 0;
    ssize_t n;

    if (n_fds > XS_WIRE_MAX_FDS)
        return -EINVAL;
    memset(&h, 0, sizeof(h));
    h.msg_iov = &iov;
    h.msg_iovlen = 1;
    if (n_fds > 0) {
        struct cmsghdr *c = &control.align; /* the first and only one */

        memset(&control, 0, sizeof(control));
        h.msg_control = control.bytes;
        h.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
    }
    do
        n = sendmsg(fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        r = -errno;
    errno = saved;
    return r;
}

/* Takes the descriptors out of the control data; keeps at most max. There is one control message at
 * most, since the socket asks for no other kind (CMSG_NXTHDR is a function that musl lacks). */
static unsigned take_fds(struct msghdr *h, int *fds, unsigned max)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(h);
    unsigned kept = 0;
    size_t count;

    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
        return 0;
    count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
        int fd;

        memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
        fd = xs_fd_raise(fd);
        if (fd < 0)
            continue;
        if (kept < max)
            fds[kept++] = fd;
        else
            close(fd);
    }
    return kept;
}

ssize_t xs_socket_receive(int fd, void *packet, int *ret_fds, unsigned max_fds, unsigned *ret_n_fds)
{
    struct iovec iov = {.iov_base = packet, .iov_len = XS_WIRE_MAX_BYTES};
    struct msghdr h;
    union control control;
    int saved = errno;
    ssize_t n;

    do {
        memset(&h, 0, sizeof(h));
        h.msg_iov = &iov;
        h.msg_iovlen = 1;
        h.msg_control = control.bytes;
        h.msg_controllen = sizeof(control.bytes);
        n = recvmsg(fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        n = -errno;
        *ret_n_fds = 0;
    } else {
        *ret_n_fds = take_fds(&h, ret_fds, max_fds);
        if (h.msg_flags & MSG_TRUNC)
            n = -EMSGSIZE;
    }
    errno = saved;
    return n;
}
