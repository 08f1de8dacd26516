/* SPDX-License-Identifier: Apache-2.0 */
/* Where xserver may be, for a user's tools. */
#ifndef XS_QUERY_FIND_XSERVER_H
#define XS_QUERY_FIND_XSERVER_H

#include "base/xs_base.h"
#include "transport/socket.h"

#include <limits.h>
#include <sys/types.h>

#define XS_PLACES_MAX 6

struct xs_place {
    char path[PATH_MAX];
    size_t outside;   /* so many bytes at the path's beginning lead to the program's root folder from here */
    uid_t owner;      /* the user whose programs look there: a folder under /tmp must be his */
    bool agents_look; /* programs look here by themselves; else XSCHED_SOCKET must name it */
};

struct xs_places {
    size_t count;
    struct xs_place items[XS_PLACES_MAX];
};

/** The places in the order of the look: those of xs_socket_path, then /tmp/xsched-UID (where there is
 *  no runtime folder). */
void xs_places_get(struct xs_places *ret);

/** The places where another process looks.
 *  @param root  its root folder as this process sees it, "/proc/PID/root"; "": the same */
void xs_places_of(const struct xs_socket_seeker *who, const char *root, struct xs_places *ret);

/** The path as programs name it. */
const char *xs_place_name(const struct xs_place *p);

/** Whether a server listens. Does not trust other users' folders under /tmp.
 *  @param ret_pid  the server's process, 0 when unknown; may be NULL
 *  @param ret_uid  its user; may be NULL
 *  @return 0, or -errno: -ENOENT no socket, -ECONNREFUSED no server listens, -EACCES this user may not connect, -EPERM
 *          a folder of another user, or another of connect's */
int xs_place_probe(const char *path, pid_t *ret_pid, uid_t *ret_uid);
/** The same for a place of another user's programs. */
int xs_place_probe_of(const struct xs_place *p, pid_t *ret_pid, uid_t *ret_uid);

/** What a probe's result means, behind the path and a colon: "nobody listens". */
const char *xs_place_text(int err);

/** Whether a server is there by a probe's result: it answers, or is too busy to. */
bool xs_place_is_up(int err);

/** The first place that answers. @return its index in places, or -ENOENT */
int xs_places_first(const struct xs_places *places);

/** The first place where something is that this user may not reach. @return its index in places, or -ENOENT */
int xs_places_first_denied(const struct xs_places *places);

/** Tells the server there that this process becomes a program that may join later. @return 0 or -errno */
int xs_place_expect(const char *path);

/** This user's own runtime folder for xserver (not created): $XDG_RUNTIME_DIR/xsched,
 *  /run/user/UID/xsched, or /tmp/xsched-UID. The first that this user may write and where the path of the
 *  socket is not too long. @return whether agents look there by themselves */
bool xs_runtime_folder(char *ret, size_t size);

#endif
