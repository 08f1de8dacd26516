/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/server_socket.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "transport/http_socket.h"
#include "xserver/activation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LOCK_TRIES    100
#define LOCK_PAUSE_US 10000

/* Where to listen by default. @return 0 or -errno */
static int default_socket(char *ret_path)
{
    unsigned index = 0;
    char path[XS_SOCKET_PATH_BYTES], dir[XS_SOCKET_PATH_BYTES];

    if (geteuid() == 0 && !xs_env_get(XS_ENV_XSCHED_SOCKET)) {
        xs_str_copy(ret_path, XS_SOCKET_PATH_BYTES, "/run/xsched/xserver.sock");
        return 0;
    }
    /* the first place where a program would look and this user may write */
    for (int r; (r = xs_socket_path(index, path, sizeof(path))) != -ENOENT; index++) {
        if (r < 0)
            continue;
        xs_str_copy(dir, sizeof(dir), path);
        for (int up = 0; up < 2 && strrchr(dir, '/') > dir; up++) {
            *strrchr(dir, '/') = 0;
            if (access(dir, W_OK) == 0) {
                xs_str_copy(ret_path, XS_SOCKET_PATH_BYTES, path);
                return 0;
            }
        }
    }
    return -ENOENT;
}

/* Of the socket that xserver chooses itself. The folder of one that somebody names must be there: a mistyped name would make
 * another folder, with a server that no program finds. */
static int make_folder(const char *socket_path)
{
    char dir[XS_SOCKET_PATH_BYTES];

    xs_str_copy(dir, sizeof(dir), socket_path);
    if (!strrchr(dir, '/') || strrchr(dir, '/') == dir)
        return 0;
    *strrchr(dir, '/') = 0;
    return mkdir(dir, geteuid() == 0 ? 0755 : 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* One server a socket: the holder of the lock may replace a socket file that an earlier server left.
 * The kernel may keep the lock of a killed server a little longer than the process exists. So this
 * waits for the lock while no server answers on the socket. */
static int take_lock(struct xs_server_socket *s, char *ret_error, size_t error_size)
{
    char path[XS_SOCKET_PATH_BYTES + 8];
    struct stat st;

    snprintf(path, sizeof(path), "%s.lock", s->path);
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->lock_fd < 0) {
        int r = -errno;

        if (r == -EACCES && lstat(path, &st) == 0 && S_ISREG(st.st_mode)) /* it stays when its server ends */
            snprintf(ret_error, error_size,
                     "cannot listen on %s: an xserver of user %u left %s (%s); remove that file if none of his is at work there",
                     s->path, (unsigned)st.st_uid, path, strerror(-r));
        else if (r == -EACCES)
            snprintf(ret_error, error_size, "cannot listen on %s: this user may not write into its folder", s->path);
        return r;
    }
    for (int i = 0; flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0; i++) {
        int other;

        if (errno != EWOULDBLOCK)
            return -errno;
        other = xs_socket_connect(s->path, 100 * XS_NS_PER_MS);
        if (other >= 0)
            close(other);
        if (other >= 0 || i == LOCK_TRIES)
            return -EADDRINUSE;
        usleep(LOCK_PAUSE_US);
    }
    return 0;
}

int xs_server_socket_open(struct xs_server_socket *s, const char *wanted, char *ret_error, size_t error_size)
{
    bool named = wanted[0] || xs_env_get(XS_ENV_XSCHED_SOCKET);
    int r = 0, fd = xs_activation_socket();
    struct stat st;

    ret_error[0] = 0;
    if (fd >= 0) {
        socklen_t size = sizeof(struct sockaddr_un);
        struct sockaddr_un at = {0};

        s->activated = true;
        if (getsockname(fd, (struct sockaddr *)&at, &size) == 0)
            xs_str_copy(s->path, sizeof(s->path), at.sun_path);
        s->fd = fd;
        return 0;
    }
    if (fd != -ENOENT) {
        snprintf(ret_error, error_size,
                 "the descriptor that the service manager passed is no listening "
                 "SOCK_SEQPACKET Unix socket");
        return fd;
    }
    if (wanted[0]) {
        if (!xs_str_copy(s->path, sizeof(s->path), wanted)) {
            snprintf(ret_error, error_size, "socket: the path is longer than %u bytes",
                     XS_SOCKET_PATH_BYTES - 1);
            return -ENAMETOOLONG;
        }
    } else if ((r = default_socket(s->path)) < 0) {
        snprintf(ret_error, error_size,
                 "no folder for the socket: set XDG_RUNTIME_DIR, or give --socket PATH, and XSCHED_SOCKET=PATH to programs. "
                 "`xsched run` needs neither: it starts an xserver in /tmp/xsched-%u",
                 (unsigned)geteuid());
        return r;
    }
    if (xs_http_socket_reserved(s->path)) {
        snprintf(ret_error, error_size, "socket: %s is the name of an HTTP socket", s->path);
        return -EINVAL;
    }
    if (lstat(s->path, &st) == 0 && !S_ISSOCK(st.st_mode)) {
        snprintf(ret_error, error_size, "socket: %s is there and is no socket", s->path);
        return -EEXIST;
    }
    if (!named)
        r = make_folder(s->path);
    if (r == 0)
        r = take_lock(s, ret_error, error_size);
    if (r == 0) {
        fd = xs_socket_listen(s->path, 0666, XS_SOCKET_BACKLOG);
        r = fd < 0 ? fd : 0;
    }
    if (r == -EADDRINUSE)
        snprintf(ret_error, error_size, "another xserver listens on %s", s->path);
    else if (r == -ENOENT && named)
        snprintf(ret_error, error_size,
                 "cannot listen on %s: its folder is not there; make it, or mend the name", s->path);
    else if (r < 0 && !ret_error[0])
        snprintf(ret_error, error_size, "cannot listen on %s: %s", s->path, strerror(-r));
    s->fd = r < 0 ? -1 : fd;
    return r;
}

void xs_server_socket_unlink(const struct xs_server_socket *s)
{
    if (s->fd >= 0 && !s->activated && s->path[0] && s->lock_fd >= 0)
        unlink(s->path);
}

bool xs_server_socket_renew(struct xs_server_socket *s)
{
    int fd = xs_socket_listen(s->path, 0666, XS_SOCKET_BACKLOG);

    if (fd < 0) {
        XS_ERRO("cannot listen on %s again: %s", s->path, strerror(-fd));
        return false;
    }
    close(s->fd);
    s->fd = fd;
    return true;
}

void xs_server_socket_close(struct xs_server_socket *s)
{
    xs_fd_close(&s->fd);
    /* the lock file stays: removing it would let two servers each lock a file of that name */
    xs_fd_close(&s->lock_fd);
}
