/* SPDX-License-Identifier: Apache-2.0 */
/* The Unix socket between a process and xserver: SOCK_SEQPACKET, one message a packet, descriptors
 * beside it. These functions do not log or allocate, and block no longer than they say. Every
 * descriptor is CLOEXEC and above 2. Signals do not interrupt a call half way. errno stays. Any
 * thread; two threads may use one socket at a time, packets stay whole. */
#ifndef XS_SOCKET_H
#define XS_SOCKET_H

#include "wire/wire.h"

#include <sys/types.h>

/** The longest path of a socket, with its ending zero. */
#define XS_SOCKET_PATH_BYTES 108u

/** Where an xserver may be, in the order in which programs look:
 *
 *      XSCHED_SOCKET; where that exists, nothing else
 *      $XDG_RUNTIME_DIR/xsched/xserver.sock
 *      /run/user/UID/xsched/xserver.sock, unless that is the same
 *      /run/xsched/xserver.sock
 *  @param index  0, 1, ... until -ENOENT
 *  @return 0, -ENOENT (no more places), -ENAMETOOLONG (this one cannot be a socket; go on) */
int xs_socket_path(unsigned index, char *ret_path, size_t size);

/** Another process, for the same question. */
struct xs_socket_seeker {
    const char *own;     /* its XSCHED_SOCKET; NULL: none */
    const char *runtime; /* its XDG_RUNTIME_DIR; NULL: none */
    uid_t uid;           /* its real one */
};
int xs_socket_path_of(const struct xs_socket_seeker *who, unsigned index, char *ret_path, size_t size);

/** Connects; waits at most timeout_ns for place in the listener's queue. The result never blocks.
 *  @return descriptor, or -errno: -ENOENT and -ECONNREFUSED when no server listens, -EAGAIN when the
 *          time is up */
int xs_socket_connect(const char *path, uint64_t timeout_ns);

/** How many connections may wait on a socket until xserver takes them. Without place there, a connect
 *  that does not block fails at once (EAGAIN). */
#define XS_SOCKET_BACKLOG 1024

/** Listens. Replaces a socket file on which no server listens any more.
 *  @param mode  of the file; credentials identify the programs that connect, so 0666 is usual
 *  @return descriptor (non-blocking) or -errno; -EADDRINUSE when a server answers there, -EEXIST when
 *          something else than a socket is there */
int xs_socket_listen(const char *path, mode_t mode, int backlog);

/** The process at the other end, as this process sees it. */
struct xs_socket_peer {
    int32_t pid; /* 0: not visible from this PID namespace */
    uint32_t uid, gid;
    int pidfd; /* readable when the process has ended; -1: not available */
};

/** Takes one connection. The result never blocks.
 *  @return descriptor, or -errno: -EAGAIN none waits, -EMFILE and -ENFILE no descriptors */
int xs_socket_accept(int listener, struct xs_socket_peer *ret_peer);
/** The same facts for any connected Unix socket. @return 0 or -errno */
int xs_socket_peer(int fd, struct xs_socket_peer *ret_peer);

/** Seals and sends one message. Never blocks, never raises SIGPIPE.
 *  @param fds  at most XS_WIRE_MAX_FDS descriptors that go with it; they stay open here
 *  @return 0, or -errno: -EAGAIN the peer does not read, -EPIPE and -ECONNRESET it is gone */
int xs_socket_send(int fd, union xs_msg *m, enum xs_msg_id id, uint32_t serial, const int *fds,
                   unsigned n_fds);

/** The most descriptors that one packet can bring (SCM_MAX_FD of the kernel). */
#define XS_SOCKET_MAX_FDS 253u

/** Takes one packet without checking it (xs_wire_open does that). Never blocks, provided that max_fds
 *  is XS_SOCKET_MAX_FDS or the caller trusts the peer: closing a descriptor that another process made
 *  can block.
 *  @param packet  XS_WIRE_MAX_BYTES
 *  @param ret_fds  space for max_fds; closes the others
 *  @param ret_n_fds  set in any case; the caller closes those descriptors, also where the result is 0
 *      or -EMSGSIZE
 *  @return bytes, 0 when the peer is gone, or -errno: -EAGAIN no packet there, -EMSGSIZE longer than
 *          any packet may be (dropped) */
ssize_t xs_socket_receive(int fd, void *packet, int *ret_fds, unsigned max_fds, unsigned *ret_n_fds);

#endif
