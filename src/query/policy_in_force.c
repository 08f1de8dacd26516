/* SPDX-License-Identifier: Apache-2.0 */
#include "query/policy_in_force.h"

#include "transport/http_socket.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_BYTES 4096u
#define TIMEOUT_S    1

/* The text after `before` and up to `end`. In JSON a quote inside a text has a backslash before it, so that no name of a
 * policy looks like a member. */
static bool member(const char *answer, const char *before, char end, char *ret, size_t size)
{
    const char *at = strstr(answer, before), *last = at ? strchr(at + strlen(before), end) : NULL;
    size_t n;

    if (!last)
        return false;
    at += strlen(before);
    n = (size_t)(last - at);
    if (n >= size)
        return false;
    memcpy(ret, at, n);
    ret[n] = 0;
    return true;
}

bool xs_policy_in_force_parse(const char *answer, struct xs_policy_in_force *ret)
{
    char reads[256], quoted[64];
    const char *name;
    uint32_t flag;

    if (!member(answer, "\"name\":\"", '"', ret->name, sizeof(ret->name)) ||
        !member(answer, "\"reads\":[", ']', reads, sizeof(reads)))
        return false;
    ret->reads = 0;
    for (size_t i = 0; xs_policy_hint(i, &name, &flag); i++) {
        snprintf(quoted, sizeof(quoted), "\"%s\"", name);
        if (strstr(reads, quoted))
            ret->reads |= flag;
    }
    return true;
}

static int connect_to(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = TIMEOUT_S};
    int fd;

    if (strlen(path) >= sizeof(a.sun_path))
        return -ENAMETOOLONG;
    strcpy(a.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
        close(fd);
        return -ECONNREFUSED;
    }
    return fd;
}

bool xs_policy_in_force_ask(const char *server_socket, unsigned wait_ms, struct xs_policy_in_force *ret)
{
    static const char request[] = "GET /policy HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    char path[PATH_MAX + 16], answer[ANSWER_BYTES];
    size_t used = 0;
    ssize_t n = 0;
    int fd;

    if (!xs_http_socket(server_socket, path, sizeof(path)))
        return false;
    while ((fd = connect_to(path)) < 0) {
        if (fd != -ECONNREFUSED || wait_ms == 0)
            return false;
        usleep(1000);
        wait_ms--;
    }
    if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) == (ssize_t)sizeof(request) - 1) {
        while (used < sizeof(answer) - 1 && (n = recv(fd, answer + used, sizeof(answer) - 1 - used, 0)) > 0)
            used += (size_t)n;
    }
    close(fd);
    answer[used] = 0;
    return strncmp(answer, "HTTP/1.1 200 ", 13) == 0 && xs_policy_in_force_parse(answer, ret);
}

bool xs_policy_in_force_unread(const struct xs_policy_in_force *p, uint32_t wanted, const char *what, const char *change,
                               char *ret, size_t size)
{
    /* for one share, prefer a policy that reads it of the program to one that reads it of each queue */
    uint32_t program = wanted & XS_POLICY_READS_PROCESS_UTILIZATION;
    const struct xs_policy_ops *better = xs_policy_that_reads(program ? program : wanted);

    if (p->reads & wanted || !better)
        return false;
    snprintf(ret, size, "%s has no effect under the policy %s: `%s %s` changes to one that goes by it", what, p->name, change,
             better->name);
    return true;
}
