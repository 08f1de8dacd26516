/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/http_socket.h"

#include <stdio.h>
#include <string.h>

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n >= m && !strcmp(name + n - m, end);
}

bool xs_http_socket(const char *server_socket, char *ret, size_t size)
{
    const char *name = name_of(server_socket);
    int folder = (int)(name - server_socket), stem = (int)strlen(name), n;

    if (!strcmp(name, "xserver.sock"))
        n = snprintf(ret, size, "%.*shttp.sock", folder, server_socket);
    else if (ends_in(name, ".sock"))
        n = snprintf(ret, size, "%.*s%.*s.http.sock", folder, server_socket, stem - 5, name);
    else
        n = snprintf(ret, size, "%s.http", server_socket);
    if (n < 0 || (size_t)n >= size)
        ret[0] = 0;
    return ret[0] != 0;
}

bool xs_http_socket_reserved(const char *server_socket)
{
    const char *name = name_of(server_socket);

    return !strcmp(name, "http.sock") || ends_in(name, ".http.sock") || ends_in(name, ".http");
}
