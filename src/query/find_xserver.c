/* SPDX-License-Identifier: Apache-2.0 */
#include "query/find_xserver.h"

#include "base/env.h"
#include "base/str.h"
#include "transport/socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBE_TIMEOUT_NS (200 * XS_NS_PER_MS)

static bool own_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && access(path, W_OK) == 0;
}

/* Programs look in no place whose name is longer, see xs_socket_path. */
static bool has_room_for_socket(const char *runtime)
{
    return strlen(runtime) + sizeof("/xsched/xserver.sock") <= XS_SOCKET_PATH_BYTES;
}

bool xs_runtime_folder(char *ret, size_t size)
{
    const char *xdg = getenv("XDG_RUNTIME_DIR");
    char run[64];

    if (xdg && xdg[0] == '/' && has_room_for_socket(xdg) && own_folder(xdg) &&
        (size_t)snprintf(ret, size, "%s/xsched", xdg) < size)
        return true;
    snprintf(run, sizeof(run), "/run/user/%u", (unsigned)geteuid());
    if (own_folder(run)) {
        snprintf(ret, size, "%s/xsched", run);
        return true;
    }
    snprintf(ret, size, "/tmp/xsched-%u", (unsigned)geteuid());
    return false;
}

void xs_places_get(struct xs_places *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (unsigned i = 0; ret->count < XS_PLACES_MAX - 1; i++) {
        struct xs_place *p = &ret->items[ret->count];
        int err = xs_socket_path(i, p->path, sizeof(p->path));

        if (err == -ENOENT)
            break;
        if (err == 0) {
            p->agents_look = true;
            ret->count++;
        }
    }
    if (!xs_env_get(XS_ENV_XSCHED_SOCKET)) {
        snprintf(ret->items[ret->count].path, PATH_MAX, "/tmp/xsched-%u/xserver.sock", (unsigned)geteuid());
        ret->items[ret->count++].agents_look = false;
    }
}

/* Any user may make a folder in /tmp: it counts only if it is ours and no other user may write there. */
static bool believable(const char *path)
{
    char folder[PATH_MAX];
    struct stat st;

    if (strncmp(path, "/tmp/xsched-", 12) != 0 || !strchr(path + 12, '/'))
        return true;
    xs_str_copy(folder, sizeof(folder), path);
    *strrchr(folder, '/') = 0;
    return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022);
}

int xs_place_probe(const char *path, pid_t *ret_pid, uid_t *ret_uid)
{
    struct xs_socket_peer peer = {.pidfd = -1};
    struct stat st;
    int fd;

    if (stat(path, &st) < 0)
        return -errno;
    if (!believable(path))
        return -EPERM;
    fd = xs_socket_connect(path, PROBE_TIMEOUT_NS);
    if (fd < 0)
        return fd;
    if (xs_socket_peer(fd, &peer) == 0 && peer.pidfd >= 0)
        close(peer.pidfd);
    close(fd);
    if (ret_pid)
        *ret_pid = peer.pid;
    if (ret_uid)
        *ret_uid = peer.uid;
    return 0;
}

int xs_place_expect(const char *path)
{
    union xs_msg m = {0};
    int fd = xs_socket_connect(path, PROBE_TIMEOUT_NS), err;

    if (fd < 0)
        return fd;
    err = xs_socket_send(fd, &m, XS_MSG_expect, 1, NULL, 0);
    close(fd);
    return err;
}

int xs_places_first(const struct xs_places *places)
{
    for (size_t i = 0; i < places->count; i++) {
        int err = xs_place_probe(places->items[i].path, NULL, NULL);

        if (err == 0 || err == -EAGAIN) /* a full queue of connections: it is there, and busy */
            return (int)i;
    }
    return -ENOENT;
}
