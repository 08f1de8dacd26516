/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/program.h"

#include "base/str.h"
#include "launcher/commands.h"
#include "launcher/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
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

int xs_program_absent(const char *name, char *ret_why, size_t size)
{
    char path[PATH_MAX], interpreter[PATH_MAX];
    int err = xs_program_find(name, path, sizeof(path));

    if (err == 0 && script_interpreter(path, interpreter, sizeof(interpreter)) &&
        check_file(interpreter) == -ENOENT) {
        snprintf(ret_why, size, "%s: its interpreter is not there", path);
        return XS_EXIT_NOT_FOUND;
    }
    if (err < 0)
        snprintf(ret_why, size, "%s: %s", name, err == -ENOENT ? "not found" : strerror(-err));
    return err == 0 ? 0 : err == -ENOENT ? XS_EXIT_NOT_FOUND : XS_EXIT_NOT_EXECUTABLE;
}

/* Whether the kernel gives the program other rights than ours, so that the dynamic linker ignores LD_PRELOAD. */
static bool is_privileged(const char *path)
{
    struct statvfs fs;
    struct stat st;

    if (stat(path, &st) < 0 || (statvfs(path, &fs) == 0 && fs.f_flag & ST_NOSUID))
        return false;
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) {
        if ((st.st_mode & S_ISUID) && st.st_uid != geteuid())
            return true;
        if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getegid())
            return true;
    }
    /* without new privileges, too, the linker drops LD_PRELOAD for these */
    return geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

/* ld.so, a program of its own that is no static one: it runs the program that its arguments name. musl's is its C library. */
static bool is_dynamic_linker(const char *path, const struct xs_elf *elf)
{
    return !elf->has_interp && elf->has_dynamic && xs_elf_has_export(path, "__tls_get_addr");
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
    return elf.has_interp || is_dynamic_linker(file, &elf) ? XS_PROGRAM_FINE : XS_PROGRAM_STATIC;
}

/* The program among the arguments of ld.so. @return NULL: it runs none (--list, --help) */
static const char *linkers_program(char *const *argv)
{
    static const char *const k_with_value[] = {
        "--library-path", "--inhibit-rpath",        "--preload",          "--audit",
        "--argv0",        "--glibc-hwcaps-prepend", "--glibc-hwcaps-mask"};

    for (argv++; *argv && strncmp(*argv, "--", 2) == 0; argv++) {
        bool value = false;

        if (strcmp(*argv, "--") == 0)
            return argv[1];
        if (strcmp(*argv, "--list") == 0 || strcmp(*argv, "--verify") == 0)
            return NULL;
        for (size_t i = 0; i < XS_ARRAY_LEN(k_with_value); i++)
            value |= strcmp(*argv, k_with_value[i]) == 0;
        if (value && !*++argv)
            return NULL;
    }
    return *argv;
}

enum xs_program_issue xs_program_check_command(char *const *argv, const char *path, char *ret_path,
                                               size_t size)
{
    enum xs_program_issue issue = xs_program_check(path, ret_path, size);
    const char *program;
    struct xs_elf elf;

    if (issue != XS_PROGRAM_FINE || xs_elf_read(path, &elf) < 0 || elf.foreign ||
        !is_dynamic_linker(path, &elf))
        return issue;
    program = linkers_program(argv);
    if (!program || xs_elf_read(program, &elf) < 0 || !elf.is_elf)
        return issue;
    xs_str_copy(ret_path, size, program); /* the rights of its file do not count there */
    if (elf.foreign)
        return XS_PROGRAM_FOREIGN;
    return elf.has_interp || is_dynamic_linker(program, &elf) ? XS_PROGRAM_FINE : XS_PROGRAM_STATIC;
}

enum xs_program_issue xs_program_check_running(const char *exe, bool secure)
{
    struct xs_elf elf;

    if (xs_elf_read(exe, &elf) < 0 || !elf.is_elf)
        return secure ? XS_PROGRAM_PRIVILEGED : XS_PROGRAM_FINE;
    if (elf.foreign)
        return XS_PROGRAM_FOREIGN;
    if (!elf.has_interp && !is_dynamic_linker(exe, &elf))
        return XS_PROGRAM_STATIC;
    return secure ? XS_PROGRAM_PRIVILEGED : XS_PROGRAM_FINE;
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
