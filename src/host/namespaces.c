/* SPDX-License-Identifier: Apache-2.0 */
#include "host/namespaces.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOUNTS_BYTES 65536u /* the root is among the first; a process can have as many mounts as it likes */

/* @param pid  0: this process. @return the text as far as this process can read it; "" when it cannot */
static void read_of(int32_t pid, const char *what, char *ret, size_t size)
{
    char path[64];
    size_t n = 0;
    ssize_t got = 0;
    int fd;

    if (pid)
        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
    else
        snprintf(path, sizeof(path), "/proc/self/%s", what);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && n < size - 1 && (got = read(fd, ret + n, size - 1 - n)) > 0)
        n += (size_t)got;
    if (fd >= 0)
        close(fd);
    ret[n] = 0;
}

bool xs_namespaces_pid_parse(const char *status)
{
    const char *at = strstr(status, "\nNSpid:");
    unsigned numbers = 0;

    if (!at)
        return false;
    for (at += strlen("\nNSpid:"); *at && *at != '\n'; at++)
        numbers += isdigit((unsigned char)*at) && !isdigit((unsigned char)at[1]);
    return numbers == 1;
}

/* A line: number, parent's number, device, root of the mount, mount point. A mount at /NAME has the
 * root as parent; the line of the root itself may come after thousands of others. */
uint32_t xs_namespaces_root_parse(const char *mountinfo)
{
    uint32_t parent_of_top = 0;

    for (const char *line = mountinfo; line; line = strchr(line, '\n')) {
        unsigned long number, parent;
        char *at;

        line += *line == '\n';
        number = strtoul(line, &at, 10);
        parent = strtoul(at, &at, 10);
        for (int skipped = 0; skipped < 3; skipped++) { /* the device, the root of the mount */
            at += strspn(at, " ");
            at += skipped < 2 ? strcspn(at, " \n") : 0;
        }
        if (!strncmp(at, "/ ", 2))
            return (uint32_t)number;
        if (!parent_of_top && *at == '/' && at[1 + strcspn(at + 1, "/ \n")] == ' ')
            parent_of_top = (uint32_t)parent;
    }
    return parent_of_top;
}

static uint32_t root_of(int32_t pid, char *text)
{
    read_of(pid, "mountinfo", text, MOUNTS_BYTES);
    return xs_namespaces_root_parse(text);
}

static bool same_mounts(int32_t pid, char *text)
{
    uint32_t root = root_of(pid, text);

    return root && (root == root_of(1, text) || root == root_of(0, text));
}

static bool same_users(int32_t pid)
{
    char its[512], own[512];

    read_of(pid, "uid_map", its, sizeof(its));
    read_of(0, "uid_map", own, sizeof(own));
    return its[0] && !strcmp(its, own);
}

static bool same_pids(int32_t pid, char *text)
{
    read_of(pid, "status", text, MOUNTS_BYTES);
    return xs_namespaces_pid_parse(text);
}

static bool is_alive(int pidfd)
{
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};

    return pidfd < 0 || poll(&ended, 1, 0) == 0;
}

bool xs_namespaces_are_hosts(int32_t pid, int pidfd)
{
    int saved = errno;
    char *text = pid > 0 ? malloc(MOUNTS_BYTES) : NULL;
    /* at the end: it shows that the files were that process's */
    bool hosts = text && same_pids(pid, text) && same_users(pid) && same_mounts(pid, text) && is_alive(pidfd);

    free(text);
    errno = saved;
    return hosts;
}
