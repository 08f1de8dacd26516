/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/program.h"

#include "base/str.h"
#include "launcher/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static int check_file(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return errno == EACCES ? -EACCES : -ENOENT;
    if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
        return -EACCES;
    return 0;
}

int xs_program_find(const char *name, char *ret_path, size_t size)
{
    const char *path = getenv("PATH"), *next;
    int best = -ENOENT;

    if (!*name)
        return -ENOENT;
    if (strchr(name, '/')) {
        best = check_file(name);
        if (best == 0 && !xs_str_copy(ret_path, size, name))
            return -ENOENT;
        return best;
    }
    if (!path)
        path = "/bin:/usr/bin"; /* execvp then uses this */
    for (; path; path = next ? next + 1 : NULL) {
        char candidate[PATH_MAX];
        int length, err;

        next = strchr(path, ':');
        length = (int)(next ? next - path : (ptrdiff_t)strlen(path));
        if ((size_t)snprintf(candidate, sizeof(candidate), "%.*s%s%s", length, path, length ? "/" : "",
                             name) >= sizeof(candidate))
            continue;
        err = check_file(candidate);
        if (err == 0 && xs_str_copy(ret_path, size, candidate))
            return 0;
        if (err == -EACCES)
            best = -EACCES;
    }
    return best;
}

/* The interpreter of a "#!" line. */
static bool script_interpreter(const char *path, char *ret, size_t size)
{
    char head[PATH_MAX];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);
    char *p = head + 2;

    if (fd >= 0)
        close(fd);
    if (n < 3 || head[0] != '#' || head[1] != '!')
        return false;
    head[n] = 0;
    p += strspn(p, " \t");
    p[strcspn(p, " \t\r\n")] = 0;
    return *p && xs_str_copy(ret, size, p);
}

static bool is_privileged(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return false;
    if ((st.st_mode & S_ISUID) && st.st_uid != geteuid())
        return true;
    if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getegid())
        return true;
    return geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

enum xs_program_issue xs_program_check(const char *path, char *ret_path, size_t size)
{
    char file[PATH_MAX];
    struct xs_elf elf;

    if (!xs_str_copy(file, sizeof(file), path))
        return XS_PROGRAM_FINE;
    for (int depth = 0; depth < 4 && script_interpreter(file, file, sizeof(file)); depth++)
        ;
    if (ret_path)
        xs_str_copy(ret_path, size, file);
    if (is_privileged(file))
        return XS_PROGRAM_PRIVILEGED;
    if (xs_elf_read(file, &elf) < 0 || !elf.is_elf)
        return XS_PROGRAM_FINE; /* not readable, or binfmt_misc starts it: nothing known against it */
    if (elf.foreign)
        return XS_PROGRAM_FOREIGN;
    return elf.has_interp ? XS_PROGRAM_FINE : XS_PROGRAM_STATIC;
}

const char *xs_program_issue_text(enum xs_program_issue issue)
{
    switch (issue) {
    case XS_PROGRAM_STATIC:
        return "statically linked, so it loads no shim";
    case XS_PROGRAM_FOREIGN:
        return "32-bit or made for another machine, and the shims are not";
    case XS_PROGRAM_PRIVILEGED:
        return "set-user-id, set-group-id or has file capabilities, so the loader ignores the shims";
    case XS_PROGRAM_FINE:
        break;
    }
    return "fine";
}
