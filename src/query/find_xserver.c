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

static void add(struct xs_places *to, const char *root, const char *path, uid_t owner, bool agents_look)
{
    struct xs_place *p = &to->items[to->count];

    if ((size_t)snprintf(p->path, sizeof(p->path), "%s%s", root, path) >= sizeof(p->path))
        return;
    p->outside = strlen(root);
    p->owner = owner;
    p->agents_look = agents_look;
    to->count++;
}

void xs_places_of(const struct xs_socket_seeker *who, const char *root, struct xs_places *ret)
{
    char path[XS_SOCKET_PATH_BYTES];
    int err;

    memset(ret, 0, sizeof(*ret));
    for (unsigned i = 0; ret->count < XS_PLACES_MAX - 1; i++) {
        err = xs_socket_path_of(who, i, path, sizeof(path));
        if (err == -ENOENT)
            break;
        if (err == 0)
            add(ret, root, path, who->uid, true);
    }
}

void xs_places_get(struct xs_places *ret)
{
    const struct xs_socket_seeker self = {.own = xs_env_get(XS_ENV_XSCHED_SOCKET),
                                          .runtime = getenv("XDG_RUNTIME_DIR"),
                                          .uid = getuid()};
    char path[XS_SOCKET_PATH_BYTES];

    xs_places_of(&self, "", ret);
    if (self.own)
        return;
    snprintf(path, sizeof(path), "/tmp/xsched-%u/xserver.sock", (unsigned)geteuid());
    add(ret, "", path, geteuid(), false);
}

const char *xs_place_name(const struct xs_place *p)
{
    return p->path + p->outside;
}

/* Any user may make the folder /tmp/xsched-UID: it counts only if it is its user's and nobody else may write there. */
static bool believable(const struct xs_place *p)
{
    const char *name = xs_place_name(p);
    char folder[PATH_MAX];
    struct stat st;

    if (strncmp(name, "/tmp/xsched-", 12) != 0 || name[12 + strspn(name + 12, "0123456789")] != '/')
        return true;
    xs_str_copy(folder, sizeof(folder), p->path);
    *strrchr(folder, '/') = 0;
    return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == p->owner && !(st.st_mode & 022);
}

int xs_place_probe_of(const struct xs_place *p, pid_t *ret_pid, uid_t *ret_uid)
{
    struct xs_socket_peer peer = {.pidfd = -1};
    struct stat st;
    int fd;

    if (stat(p->path, &st) < 0)
        return errno == ENOTDIR ? -ENOENT : -errno;
    if (!believable(p))
        return -EPERM;
    fd = xs_socket_connect(p->path, PROBE_TIMEOUT_NS);
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

int xs_place_probe(const char *path, pid_t *ret_pid, uid_t *ret_uid)
{
    struct xs_place p = {.owner = geteuid()};

    if (!xs_str_copy(p.path, sizeof(p.path), path))
        return -ENAMETOOLONG;
    return xs_place_probe_of(&p, ret_pid, ret_uid);
}

const char *xs_place_text(int err)
{
    switch (err) {
    case 0:
        return "an xserver answers";
    case -EAGAIN:
        return "a server is there, and too busy to answer";
    case -ENOENT:
        return "nothing is there";
    case -ECONNREFUSED:
        return "nobody listens any more";
    case -EACCES:
        return "something is there that this user may not reach";
    case -EPERM:
        return "another user made that folder, or may write there";
    case -EPROTOTYPE:
    case -ENOTSOCK:
        return "something else than xserver's socket is there";
    default:
        return strerror(-err);
    }
}

bool xs_place_is_up(int err)
{
    return err == 0 || err == -EAGAIN; /* a full queue of connections: it is there, and busy */
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
        if (xs_place_is_up(xs_place_probe_of(&places->items[i], NULL, NULL)))
            return (int)i;
    }
    return -ENOENT;
}

int xs_places_first_denied(const struct xs_places *places)
{
    for (size_t i = 0; i < places->count; i++) {
        if (xs_place_probe_of(&places->items[i], NULL, NULL) == -EACCES)
            return (int)i;
    }
    return -ENOENT;
}
