/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_guard.h"

#include "base/fd.h"
#include "base/str.h"
#include "host/namespaces.h"
#include "host/operators.h"
#include "http/tcp_owner.h"
#include "transport/socket.h"
#include "transport/token.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Owner: the main thread writes it at start and at a reload. */
static char g_token[XS_TOKEN_BYTES];
/* Lock: the token. */
static pthread_mutex_t g_token_lock = PTHREAD_MUTEX_INITIALIZER;

void xs_guard_set_token(const char *token)
{
    pthread_mutex_lock(&g_token_lock);
    xs_str_copy(g_token, sizeof(g_token), token);
    pthread_mutex_unlock(&g_token_lock);
}

/* Compares in a time that does not show how much of it is right. */
static bool token_ok(const char *given)
{
    size_t length, given_length = strlen(given);
    unsigned char differs = 0;
    bool ok;

    pthread_mutex_lock(&g_token_lock);
    length = strlen(g_token);
    for (size_t i = 0; i < length; i++)
        differs |= (unsigned char)(g_token[i] ^ (i < given_length ? given[i] : 0));
    ok = length > 0 && length == given_length && differs == 0;
    pthread_mutex_unlock(&g_token_lock);
    return ok;
}

bool xs_guard_host_ok(const char *host, uint16_t port)
{
    static const char *const k_names[] = {"127.0.0.1", "localhost", "[::1]"};

    for (size_t i = 0; i < XS_ARRAY_LEN(k_names); i++) {
        size_t length = strlen(k_names[i]);
        char name[16];
        uint64_t number;

        if (strlen(host) < length)
            continue;
        memcpy(name, host, length);
        name[length] = 0;
        if (!xs_str_equal_nocase(name, k_names[i]))
            continue;
        if (host[length] == 0)
            return true;
        return host[length] == ':' && xs_str_parse_u64(host + length + 1, 10, &number) == 0 && number == port;
    }
    return false;
}

/* Our own page reads from its own origin. No other page gets here with that, since xs_guard_check also
 * checks the Host header. Our page changes nothing: browsers put an Origin header into every request
 * but GET. */
static bool from_a_page(const char *site, const char *method)
{
    bool reads = !strcmp(method, "GET") || !strcmp(method, "HEAD");

    return site && strcmp(site, "none") != 0 && !(reads && !strcmp(site, "same-origin"));
}

const char *xs_guard_check(struct MHD_Connection *connection, uint16_t port, const char *method)
{
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    const char *site = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Site");

    if (MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin"))
        return "xserver refuses a request with an Origin header";
    if (from_a_page(site, method))
        return "xserver refuses a request from a web page";
    if (port && (!host || !xs_guard_host_ok(host, port)))
        return "the Host header is none of 127.0.0.1, localhost and [::1]";
    return NULL;
}

/* The headers that curl and the libraries of Python and C++ send by themselves. Browsers add others
 * (Accept-Language, Referer, Cookie, Sec-Fetch-Mode, Upgrade-Insecure-Requests). So do proxies (Via,
 * X-Forwarded-For), and services that post to an address which a stranger gave them (X-Event,
 * X-Signature). */
static enum MHD_Result plain_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    static const char *const k_plain[] = {
        "Host",   "User-Agent",        "Accept",         "Accept-Encoding", "Connection", "Content-Length", "Content-Type",
        "Expect", "Transfer-Encoding", "Sec-Fetch-Site", /* from_a_page() judges this one */
    };
    bool *plain = cls, known = false;

    (void)kind;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_plain); i++)
        known |= xs_str_equal_nocase(name, k_plain[i]);
    /* every browser's begins so */
    if (!known || (xs_str_equal_nocase(name, "User-Agent") && value && !strncmp(value, "Mozilla/", 8)))
        *plain = false;
    return *plain ? MHD_YES : MHD_NO;
}

const char *xs_guard_check_change(struct MHD_Connection *connection, uint16_t port)
{
    bool plain = true;

    if (!port || MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "X-XSched") ||
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "X-XSched-Token"))
        return NULL;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, plain_header, &plain);
    return plain ? NULL : "a change needs the header 'X-XSched: 1', or the Unix socket";
}

bool xs_guard_find_owner(const char *table, uint32_t peer_ip, uint16_t peer_port, uint16_t own_port,
                         uint32_t *ret_uid)
{
    char want[2][64];
    const char *line = strchr(table, '\n'); /* behind the title */

    /* 01: established. After its owner has closed it, a socket is in another state and shows user 0. */
    snprintf(want[0], sizeof(want[0]), "%08X:%04X %08X:%04X 01 ", peer_ip, peer_port, htonl(INADDR_LOOPBACK),
             own_port);
    snprintf(want[1], sizeof(want[1]), "%08X:%04X 0000000000000000%08X%08X:%04X 01 ", peer_ip, peer_port,
             htonl(0xffff), htonl(INADDR_LOOPBACK), own_port);
    while (line) {
        const char *at = strchr(line + 1, ':'), *end = strchr(line + 1, '\n');
        unsigned uid;
        unsigned long inode;

        if (!at || !at[1])
            return false;
        at += 2; /* behind "N: " */
        /* a version 6 socket with a mapped address: skip its upper words */
        if (!strncmp(at, "0000000000000000FFFF0000", 24))
            at += 24;
        for (int i = 0; i < 2; i++) {
            if (strncmp(at, want[i], strlen(want[i])) != 0)
                continue;
            /* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers */
            if (sscanf(at + strlen(want[i]), "%*X:%*X %*X:%*X %*X %u %*d %lu", &uid, &inode) == 2 &&
                inode != 0) {
                *ret_uid = uid;
                return true;
            }
        }
        line = end;
    }
    return false;
}

static char *read_all(const char *path)
{
    size_t size = 0, room = 65536;
    char *text = malloc(room + 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    while (text && fd >= 0) {
        ssize_t n = read(fd, text + size, room - size);
        char *more;

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        size += (size_t)n;
        if (size < room)
            continue;
        room *= 2;
        more = room <= 64u << 20 ? realloc(text, room + 1) : NULL;
        if (!more)
            break;
        text = more;
    }
    if (fd >= 0)
        close(fd);
    if (text)
        text[size] = 0;
    return text;
}

static bool owner_of(const struct sockaddr_in *peer, uint16_t port, uint32_t *ret_uid)
{
    static const char *const k_tables[] = {"/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"};
    int r = xs_tcp_owner(peer, port, ret_uid);
    bool found = false;

    if (r != -ENOTSUP)
        return r == 0;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_tables) && !found; i++) {
        char *table = read_all(k_tables[i]);

        found =
            table && xs_guard_find_owner(table, peer->sin_addr.s_addr, ntohs(peer->sin_port), port, ret_uid);
        free(table);
    }
    return found;
}

void xs_guard_peer(struct MHD_Connection *connection, uint16_t port, struct xs_asker *ret)
{
    const union MHD_ConnectionInfo *info;
    struct xs_socket_peer peer;
    bool operates = false, hosts = true;

    *ret = (struct xs_asker){0};
    if (port) {
        info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        if (info && info->client_addr && info->client_addr->sa_family == AF_INET)
            ret->known =
                owner_of((const struct sockaddr_in *)(const void *)info->client_addr, port, &ret->uid);
        operates = ret->known && xs_operators_have_user(ret->uid);
    } else {
        info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        if (info && xs_socket_peer(info->connect_fd, &peer) == 0) {
            ret->known = true;
            ret->uid = peer.uid;
            ret->pid = peer.pid;
            operates = xs_operators_have_peer(info->connect_fd);
            if (ret->uid == 0 || operates) /* only for these, since the look takes a while */
                hosts = xs_namespaces_are_hosts(peer.pid, peer.pidfd);
            xs_fd_close(&peer.pidfd);
        }
    }
    operates = operates || ret->uid == 0;
    ret->all = ret->known && ((operates && hosts) || (ret->uid == (uint32_t)geteuid() && ret->uid != 0));
}

void xs_guard_asker(struct MHD_Connection *connection, uint16_t port, struct xs_asker *ret)
{
    const char *token = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "X-XSched-Token");

    xs_guard_peer(connection, port, ret);
    if (token && token_ok(token))
        ret->all = true;
}
