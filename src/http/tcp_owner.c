/* SPDX-License-Identifier: Apache-2.0 */
#include "http/tcp_owner.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ESTABLISHED 1 /* TCP_ESTABLISHED, of the kernel's states */

static bool g_usable; /* xs_tcp_owner_init sets it, before the threads start */

/* @return 0 or -errno; -ENOENT: there is no such socket, or the kernel has no such table */
static int ask(const struct inet_diag_sockid *id, struct inet_diag_msg *ret)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } request = {
        .head = {.nlmsg_len = sizeof(request), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .body = {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = UINT32_MAX, .id = *id},
    };
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    struct timeval patience = {.tv_sec = 1};
    union {
        struct nlmsghdr head;
        char bytes[1024];
    } answer = {{0}};
    int r = -EPROTO, fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    ssize_t n;

    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    n = sendto(fd, &request, sizeof(request), 0, (struct sockaddr *)&kernel, sizeof(kernel));
    if (n == (ssize_t)sizeof(request))
        n = recv(fd, &answer, sizeof(answer), 0);
    if (n < 0) {
        r = -errno;
    } else if (answer.head.nlmsg_type == NLMSG_ERROR && n >= (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr))) {
        r = ((struct nlmsgerr *)NLMSG_DATA(&answer.head))->error;
    } else if (answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY && n >= (ssize_t)NLMSG_LENGTH(sizeof(*ret))) {
        memcpy(ret, NLMSG_DATA(&answer.head), sizeof(*ret));
        r = 0;
    }
    close(fd);
    return r;
}

void xs_tcp_owner_init(uint16_t port)
{
    struct inet_diag_sockid id = {
        .idiag_sport = htons(port),
        .idiag_src = {htonl(INADDR_LOOPBACK)},
        .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE},
    };
    struct inet_diag_msg found;

    g_usable = ask(&id, &found) == 0;
}

int xs_tcp_owner(const struct sockaddr_in *peer, uint16_t port, uint32_t *ret_uid)
{
    struct inet_diag_sockid id = {
        .idiag_sport = peer->sin_port,
        .idiag_dport = htons(port),
        .idiag_src = {peer->sin_addr.s_addr},
        .idiag_dst = {htonl(INADDR_LOOPBACK)},
        .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE},
    };
    struct inet_diag_msg found = {0};
    int r;

    if (!g_usable)
        return -ENOTSUP;
    r = ask(&id, &found);
    if (r < 0)
        return r == -ENOENT ? r : -ENOTSUP;
    /* after its owner has closed it, a socket is in another state and shows user 0 */
    if (found.idiag_state != ESTABLISHED || found.idiag_inode == 0 || found.id.idiag_dport != htons(port))
        return -ENOENT;
    *ret_uid = found.idiag_uid;
    return 0;
}
