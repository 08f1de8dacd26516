/* SPDX-License-Identifier: Apache-2.0 */
#include "host/operators.h"

#include "base/str.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/socket.h>

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

#define GROUPS_MAX 4096

/* The group, or -1. The main thread writes it, threads of HTTP read it; one value by itself. */
static _Atomic int64_t g_group = -1;

int xs_operators_find(const char *group, int64_t *ret)
{
    uint64_t number;
    struct group *entry;

    if (!group[0]) {
        *ret = -1;
        return 0;
    }
    if (xs_str_parse_u64(group, 10, &number) < 0 || number >= UINT32_MAX) {
        entry = getgrnam(group); /* only the main thread comes here */
        if (!entry)
            return -ENOENT;
        number = entry->gr_gid;
    }
    *ret = (int64_t)number;
    return 0;
}

void xs_operators_set(int64_t group)
{
    atomic_store_explicit(&g_group, group, memory_order_relaxed);
}

int64_t xs_operators_group(void)
{
    return atomic_load_explicit(&g_group, memory_order_relaxed);
}

static bool among(const gid_t *groups, int n, int64_t group)
{
    for (int i = 0; i < n; i++)
        if ((int64_t)groups[i] == group)
            return true;
    return false;
}

bool xs_operators_have_peer(int fd)
{
    int64_t group = atomic_load_explicit(&g_group, memory_order_relaxed);
    struct ucred cred;
    socklen_t size = sizeof(cred);
    gid_t *groups;
    bool found;

    if (group < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
        return false;
    if ((int64_t)cred.gid == group)
        return true;
    size = GROUPS_MAX * sizeof(*groups);
    groups = malloc(size);
    found = groups && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) == 0 &&
            among(groups, (int)(size / sizeof(*groups)), group);
    free(groups);
    return found;
}

bool xs_operators_have_user(uint32_t uid)
{
    int64_t group = atomic_load_explicit(&g_group, memory_order_relaxed);
    struct passwd entry, *found = NULL;
    char text[4096];
    gid_t *groups;
    int n = GROUPS_MAX;
    bool member = false;

    if (group < 0 || getpwuid_r(uid, &entry, text, sizeof(text), &found) != 0 || !found)
        return false;
    groups = malloc((size_t)n * sizeof(*groups));
    if (groups && getgrouplist(entry.pw_name, entry.pw_gid, groups, &n) >= 0)
        member = among(groups, n, group);
    free(groups);
    return member;
}
