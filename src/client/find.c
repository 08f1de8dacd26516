/* SPDX-License-Identifier: Apache-2.0 */
#include "client/find.h"

#include "base/env.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static bool own_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && access(path, W_OK) == 0;
}

bool xs_runtime_folder(char *ret, size_t size)
{
    const char *xdg = getenv("XDG_RUNTIME_DIR");
    char run[64];

    if (xdg && xdg[0] == '/' && own_folder(xdg) && (size_t)snprintf(ret, size, "%s/xsched", xdg) < size)
        return true;
    snprintf(run, sizeof(run), "/run/user/%u", (unsigned)geteuid());
    if (own_folder(run))
        snprintf(ret, size, "%s/xsched", run);
    else
        snprintf(ret, size, "/tmp/xsched-%u", (unsigned)geteuid());
    return false;
}

static void add(struct xs_socket_places *l, const char *why, bool agents_look, const char *folder, const char *name)
{
    struct xs_socket_place *p = &l->items[l->count];

    if ((size_t)snprintf(p->path, sizeof(p->path), "%s%s%s", folder, *name ? "/" : "", name) >= sizeof(p->path))
        return;
    for (size_t i = 0; i < l->count; i++) {
        if (strcmp(l->items[i].path, p->path) == 0)
            return;
    }
    p->why = why;
    p->agents_look = agents_look;
    l->count++;
}

void xs_socket_places(struct xs_socket_places *ret)
{
    const char *named = xs_env_get(XS_ENV_XSCHED_SOCKET), *xdg = getenv("XDG_RUNTIME_DIR");
    char folder[PATH_MAX];

    memset(ret, 0, sizeof(*ret));
    if (named) {
        add(ret, "XSCHED_SOCKET", true, named, "");
        return;
    }
    if (xdg && xdg[0] == '/' && (size_t)snprintf(folder, sizeof(folder), "%s/xsched", xdg) < sizeof(folder))
        add(ret, "XDG_RUNTIME_DIR", true, folder, XS_SOCKET_NAME);
    add(ret, "the system's", true, "/run/xsched", XS_SOCKET_NAME);
    snprintf(folder, sizeof(folder), "/run/user/%u/xsched", (unsigned)geteuid());
    add(ret, "this user's", false, folder, XS_SOCKET_NAME);
    snprintf(folder, sizeof(folder), "/tmp/xsched-%u", (unsigned)geteuid());
    add(ret, "this user's", false, folder, XS_SOCKET_NAME);
}

/* Anybody may make a folder in /tmp: it counts only when it is ours and nobody else writes there. */
static bool believable(const char *path)
{
    char folder[PATH_MAX];
    struct stat st;
    char *slash;

    if (strncmp(path, "/tmp/xsched-", 12) != 0)
        return true;
    xs_str_copy(folder, sizeof(folder), path);
    slash = strrchr(folder, '/');
    *slash = 0;
    return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022);
}

int xs_socket_probe(const char *path, pid_t *ret_pid, uid_t *ret_uid)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct ucred peer = {0, (uid_t)-1, (gid_t)-1};
    socklen_t length = sizeof(peer);
    struct stat st;
    int fd, err = 0;

    if (!xs_str_copy(a.sun_path, sizeof(a.sun_path), path))
        return -ENAMETOOLONG;
    if (stat(path, &st) < 0)
        return -errno;
    if (!believable(path))
        return -EPERM;
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
        err = -errno;
    else
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    close(fd);
    if (err)
        return err;
    if (ret_pid)
        *ret_pid = peer.pid;
    if (ret_uid)
        *ret_uid = peer.uid;
    return 0;
}

int xs_socket_first(const struct xs_socket_places *places)
{
    for (size_t i = 0; i < places->count; i++) {
        int err = xs_socket_probe(places->items[i].path, NULL, NULL);

        if (err == 0 || err == -EAGAIN) /* a full queue of connections: it is there, and busy */
            return (int)i;
    }
    return -ENOENT;
}
