/* SPDX-License-Identifier: Apache-2.0 */
#include "query/listening.h"

#include "base/str.h"
#include "transport/http_socket.h"

#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define ACCEPTS 0x10000u /* __SO_ACCEPTCON of the kernel: somebody listens */

/* A line of the list with a name in the file system. The name may have spaces; it ends the line.
 * @return NULL: another line */
static const char *listener(const char *line, unsigned type)
{
    unsigned flags, kind;
    int at = 0;

    /* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers */
    if (sscanf(line, "%*s %*x %*x %x %x %*x %*u %n", &flags, &kind, &at) < 2 || !at)
        return NULL;
    return flags & ACCEPTS && kind == type && line[at] == '/' ? line + at : NULL;
}

/* Whether a server of HTTP listens beside the socket, as it does for an xserver. */
static bool has_http(FILE *f, const char *socket_path)
{
    char line[512], http[PATH_MAX];
    bool found = false;

    if (!xs_http_socket(socket_path, http, sizeof(http)))
        return false;
    rewind(f);
    while (!found && fgets(line, sizeof(line), f)) {
        const char *path;

        line[strcspn(line, "\n")] = 0;
        path = listener(line, SOCK_STREAM);
        found = path && strcmp(path, http) == 0;
    }
    return found;
}

/* By the file, or else by the name of a folder that belongs to one user. */
static void find_owner(struct xs_listening *l)
{
    static const char *const k_folders[] = {"/run/user/", "/tmp/xsched-"};
    struct stat st;

    l->uid_known = stat(l->path, &st) == 0 && S_ISSOCK(st.st_mode);
    l->uid = l->uid_known ? st.st_uid : 0;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_folders) && !l->uid_known; i++) {
        size_t n = strlen(k_folders[i]);
        char digits[16];
        uint64_t uid;

        if (strncmp(l->path, k_folders[i], n) != 0)
            continue;
        snprintf(digits, sizeof(digits), "%.*s", (int)XS_MIN(strcspn(l->path + n, "/"), sizeof(digits) - 1),
                 l->path + n);
        l->uid_known = xs_str_parse_u64(digits, 10, &uid) == 0 && uid <= UINT32_MAX;
        l->uid = l->uid_known ? (uid_t)uid : 0;
    }
}

/* By its usual name, or by the file that xserver locks beside its socket. */
static bool is_xservers(const char *path)
{
    const char *slash = strrchr(path, '/');
    char lock[XS_SOCKET_PATH_BYTES + 8];

    snprintf(lock, sizeof(lock), "%s.lock", path);
    return (slash && strcmp(slash, "/xserver.sock") == 0) || access(lock, F_OK) == 0;
}

size_t xs_listening(const char *proc_net_unix, struct xs_listening ret[XS_LISTENING_MAX])
{
    FILE *f = fopen(proc_net_unix ? proc_net_unix : "/proc/net/unix", "re");
    char line[512];
    size_t n = 0, kept = 0;

    while (f && n < XS_LISTENING_MAX && fgets(line, sizeof(line), f)) {
        const char *path;

        line[strcspn(line, "\n")] = 0;
        path = listener(line, SOCK_SEQPACKET);
        if (path && xs_str_copy(ret[n].path, sizeof(ret[n].path), path))
            n++;
    }
    for (size_t i = 0; i < n; i++) {
        if (!is_xservers(ret[i].path) && !has_http(f, ret[i].path))
            continue; /* another program's */
        ret[kept] = ret[i];
        find_owner(&ret[kept++]);
    }
    if (f)
        fclose(f);
    return kept;
}

const struct xs_listening *xs_listening_of_others(const struct xs_listening *list, size_t n, const char *own,
                                                  uid_t uid)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].path, own) != 0 && !(list[i].uid_known && list[i].uid == uid))
            return &list[i];
    return NULL;
}

/* By /etc/passwd alone: a directory service may take its time to answer, and `xsched run` asks, too. */
void xs_user_text(uid_t uid, char *ret, size_t size)
{
    FILE *f = fopen("/etc/passwd", "re");
    const struct passwd *entry = NULL;

    while (f && (entry = fgetpwent(f)) && entry->pw_uid != uid)
        ;
    if (entry)
        snprintf(ret, size, "user %s", entry->pw_name);
    else
        snprintf(ret, size, "user %u", (unsigned)uid);
    if (f)
        fclose(f);
}

void xs_listening_user(const struct xs_listening *l, char *ret, size_t size)
{
    if (l->uid_known)
        xs_user_text(l->uid, ret, size);
    else
        snprintf(ret, size, "another user");
}
