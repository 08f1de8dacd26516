/* SPDX-License-Identifier: Apache-2.0 */
/* The transport by itself: paths, time limits, descriptors. */
#include "transport/socket.h"

#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char g_dir[64], g_path[96];

static int make_dir(void **state)
{
    (void)state;
    strcpy(g_dir, "/tmp/xs-socket-XXXXXX");
    assert_non_null(mkdtemp(g_dir));
    snprintf(g_path, sizeof(g_path), "%s/s", g_dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    unlink(g_path);
    return rmdir(g_dir);
}

static int count_fds(void)
{
    int n = 0;

    for (int fd = 0; fd < 200; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void paths_in_order(void **state)
{
    char path[XS_SOCKET_PATH_BYTES], user[64], longer[300];

    (void)state;
    snprintf(user, sizeof(user), "/run/user/%u/xsched/xserver.sock", (unsigned)getuid());
    unsetenv("XSCHED_SOCKET");
    setenv("XDG_RUNTIME_DIR", "/some/where", 1);
    assert_int_equal(xs_socket_path(0, path, sizeof(path)), 0);
    assert_string_equal(path, "/some/where/xsched/xserver.sock");
    assert_int_equal(xs_socket_path(1, path, sizeof(path)), 0);
    assert_string_equal(path, user);
    assert_int_equal(xs_socket_path(2, path, sizeof(path)), 0);
    assert_string_equal(path, "/run/xsched/xserver.sock");
    assert_int_equal(xs_socket_path(3, path, sizeof(path)), -ENOENT);
    unsetenv("XDG_RUNTIME_DIR"); /* no place of that name: the others move up */
    assert_int_equal(xs_socket_path(0, path, sizeof(path)), 0);
    assert_string_equal(path, user);
    assert_int_equal(xs_socket_path(2, path, sizeof(path)), -ENOENT);
    snprintf(user, sizeof(user), "/run/user/%u", (unsigned)getuid());
    setenv("XDG_RUNTIME_DIR", user, 1); /* not twice */
    assert_int_equal(xs_socket_path(2, path, sizeof(path)), -ENOENT);
    setenv("XDG_RUNTIME_DIR", "relative", 1);
    assert_int_equal(xs_socket_path(0, path, sizeof(path)), 0);
    assert_int_equal(path[0], '/');
    setenv("XSCHED_SOCKET", "/a/b", 1); /* this one only */
    assert_int_equal(xs_socket_path(0, path, sizeof(path)), 0);
    assert_string_equal(path, "/a/b");
    assert_int_equal(xs_socket_path(1, path, sizeof(path)), -ENOENT);
    memset(longer, 'x', sizeof(longer) - 1);
    longer[0] = '/';
    longer[sizeof(longer) - 1] = 0;
    setenv("XSCHED_SOCKET", longer, 1);
    assert_int_equal(xs_socket_path(0, path, sizeof(path)), -ENAMETOOLONG);
    unsetenv("XSCHED_SOCKET");
    unsetenv("XDG_RUNTIME_DIR");
    assert_int_equal(xs_socket_connect(longer, 1000000), -ENAMETOOLONG);
}

static void listen_connect_and_who(void **state)
{
    struct xs_socket_peer peer;
    struct stat st;
    int listener, second, fd, served;

    (void)state;
    assert_int_equal(xs_socket_connect(g_path, XS_NS_PER_S), -ENOENT);
    listener = xs_socket_listen(g_path, 0666, 4);
    assert_true(listener > 2);
    assert_int_equal(stat(g_path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0666);
    assert_int_equal(xs_socket_listen(g_path, 0666, 4), -EADDRINUSE);
    served = xs_socket_accept(listener, &peer); /* the second one's look whether we are there */
    assert_true(served >= 0);
    close(served);
    xs_fd_close(&peer.pidfd);
    assert_int_equal(xs_socket_accept(listener, &peer), -EAGAIN);
    fd = xs_socket_connect(g_path, XS_NS_PER_S);
    assert_true(fd > 2);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    errno = 77;
    served = xs_socket_accept(listener, &peer);
    assert_int_equal(errno, 77);
    assert_true(served > 2);
    assert_int_equal(peer.pid, getpid());
    assert_int_equal(peer.uid, getuid());
    assert_true(peer.pidfd > 2);
    assert_true(fcntl(peer.pidfd, F_GETFD) & FD_CLOEXEC);
    xs_fd_close(&peer.pidfd);
    close(served);
    close(fd);
    close(listener);
    assert_int_equal(xs_socket_connect(g_path, XS_NS_PER_S), -ECONNREFUSED);
    second = xs_socket_listen(g_path, 0600, 4); /* replaces what was left behind */
    assert_true(second >= 0);
    close(second);
    unlink(g_path);
    fd = open(g_path, O_CREAT | O_WRONLY, 0600); /* no socket: not ours to remove */
    close(fd);
    assert_int_equal(xs_socket_listen(g_path, 0666, 4), -EEXIST);
    assert_int_equal(access(g_path, F_OK), 0);
    unlink(g_path);
}

/* Nobody accepts: the wait for room has a limit. */
static void connect_gives_up(void **state)
{
    int listener = xs_socket_listen(g_path, 0666, 0), fds[8], n = 0, r;
    uint64_t began;

    (void)state;
    assert_true(listener >= 0);
    for (;;) {
        began = xs_now_ns();
        r = xs_socket_connect(g_path, 50 * XS_NS_PER_MS);
        if (r < 0 || n == 8)
            break;
        fds[n++] = r;
    }
    assert_int_equal(r, -EAGAIN);
    assert_true(xs_now_ns() - began >= 40 * XS_NS_PER_MS);
    while (n > 0)
        close(fds[--n]);
    close(listener);
    unlink(g_path);
}

static void messages_and_descriptors(void **state)
{
    int pair[2], got[XS_WIRE_MAX_FDS], before, send[XS_WIRE_MAX_FDS + 1], p[2];
    unsigned char packet[XS_WIRE_MAX_BYTES];
    static unsigned char huge[5000];
    unsigned n = 99;
    union xs_msg m, back;
    ssize_t bytes;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    for (unsigned i = 0; i < XS_ARRAY_LEN(send); i++)
        send[i] = p[1];
    before = count_fds();
    memset(&m, 0, sizeof(m));
    m.queue_remove.handle = 5;
    assert_int_equal(xs_socket_receive(pair[1], packet, got, 2, &n), -EAGAIN);
    assert_int_equal(xs_socket_send(pair[0], &m, XS_MSG_queue_remove, 9, send, 2), 0);
    bytes = xs_socket_receive(pair[1], packet, got, 2, &n);
    assert_int_equal(bytes, sizeof(struct xs_msg_queue_remove));
    assert_int_equal(n, 2);
    assert_int_equal(xs_wire_open(packet, (size_t)bytes, &back, NULL), 0);
    assert_int_equal(back.queue_remove.handle, 5);
    assert_int_equal(back.head.serial, 9);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(got[i] > 2);
        assert_true(fcntl(got[i], F_GETFD) & FD_CLOEXEC);
        assert_int_equal(write(got[i], "x", 1), 1);
        close(got[i]);
    }
    /* more than expected, more than allowed, and with a packet that is too long: none stays open */
    assert_int_equal(xs_socket_send(pair[0], &m, XS_MSG_queue_remove, 1, send, 5), 0);
    assert_true(xs_socket_receive(pair[1], packet, got, 1, &n) > 0);
    assert_int_equal(n, 1);
    close(got[0]);
    assert_int_equal(xs_socket_send(pair[0], &m, XS_MSG_queue_remove, 1, send, XS_WIRE_MAX_FDS + 1), -EINVAL);
    {
        union {
            struct cmsghdr align;
            char bytes[CMSG_SPACE(20 * sizeof(int))];
        } control = {.bytes = {0}};
        struct iovec iov = {huge, sizeof(huge)};
        struct msghdr h = {.msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof(control.bytes)};
        struct cmsghdr *c = CMSG_FIRSTHDR(&h);

        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(20 * sizeof(int));
        for (int i = 0; i < 20; i++)
            memcpy(CMSG_DATA(c) + (size_t)i * sizeof(int), &p[1], sizeof(int));
        assert_int_equal(sendmsg(pair[0], &h, 0), sizeof(huge));
        n = 99;
        assert_int_equal(xs_socket_receive(pair[1], packet, got, XS_WIRE_MAX_FDS, &n), -EMSGSIZE);
        assert_int_equal(n, XS_WIRE_MAX_FDS); /* the rest is closed; these are the caller's */
        while (n > 0)
            close(got[--n]);
    }
    assert_int_equal(count_fds(), before);
    /* a peer that does not read, and one that is gone */
    do
        bytes = xs_socket_send(pair[0], &m, XS_MSG_queue_remove, 1, NULL, 0);
    while (bytes == 0);
    assert_int_equal(bytes, -EAGAIN);
    close(pair[1]);
    bytes = xs_socket_send(pair[0], &m, XS_MSG_queue_remove, 1, NULL, 0);
    assert_true(bytes == -EPIPE || bytes == -ECONNRESET); /* and no SIGPIPE */
    close(pair[0]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    close(pair[0]);
    assert_int_equal(xs_socket_receive(pair[1], packet, got, 1, &n), 0);
    close(pair[1]);
    close(p[0]);
    close(p[1]);
}

/* A program that has closed 0..2: what comes in stays out of their place. */
static void low_numbers_stay_free(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    pid = fork();
    if (pid == 0) {
        struct xs_socket_peer peer = {.pidfd = -1};
        int listener, fd, served;

        close(0);
        close(1);
        close(2);
        listener = xs_socket_listen(g_path, 0666, 4);
        fd = xs_socket_connect(g_path, XS_NS_PER_S);
        served = xs_socket_accept(listener, &peer);
        _exit(listener > 2 && fd > 2 && served > 2 && (peer.pidfd == -1 || peer.pidfd > 2) &&
                      fcntl(0, F_GETFD) < 0 && fcntl(1, F_GETFD) < 0 && fcntl(2, F_GETFD) < 0
                  ? 0
                  : 1);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    unlink(g_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_in_order),        cmocka_unit_test(listen_connect_and_who),
        cmocka_unit_test(connect_gives_up),      cmocka_unit_test(messages_and_descriptors),
        cmocka_unit_test(low_numbers_stay_free),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
