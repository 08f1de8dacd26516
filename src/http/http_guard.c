/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_guard.h"

#include "base/fd.h"
#include "base/str.h"
#include "host/namespaces.h"
#include "host/operators.h"
#include "http/tcp_owner.h"
#include "transport/socket.h"
#include "transport/token.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
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

/* Owner: the thread that starts the listeners, before they run. */
static char g_no_token[400] = XS_GUARD_NO_TOKEN;

void xs_guard_set_unix_path(const char *path)
{
    snprintf(g_no_token, sizeof(g_no_token),
             XS_GUARD_NO_TOKEN ", or HTTP on the Unix socket (curl --unix-socket %.107s ...)", path);
}

const char *xs_guard_check_change(struct MHD_Connection *connection, uint16_t port)
{
    const char *token;

    if (!port)
        return NULL;
    token = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "X-XSched-Token");
    if (!token)
        return g_no_token;
    return token_ok(token) ? NULL : "the token in X-XSched-Token is not that of xserver's configuration";
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
            ret->known = xs_tcp_owner((const struct sockaddr_in *)(const void *)info->client_addr, port, &ret->uid) == 0;
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
