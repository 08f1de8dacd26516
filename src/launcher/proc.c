/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/proc.h"

#include "base/platforms.h"
#include "base/str.h"
#include "query/stopped.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DELETED " (deleted)"

#define ICD "ICD" /* a vendor's part behind a loader */

/* Whether a file's name is BEFORE STEM.so... */
static bool is_called(const char *file, const char *before, const char *stem)
{
    size_t n = strlen(before), m = strlen(stem);

    return strncmp(file, before, n) == 0 && strncmp(file + n, stem, m) == 0 && strncmp(file + n + m, ".so", 3) == 0;
}

/* The kind of a file with this name. @return false: none of ours and no vendor's */
static bool classify(const char *file, enum xs_proc_kind *ret_kind, const char **ret_platform)
{
    *ret_platform = xs_proc_vendor_platform(file);
    *ret_kind = XS_LIB_VENDOR;
    if (*ret_platform)
        return true;
    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++) {
        bool shim = is_called(file, "libshim", xs_platforms[i].stem);

        if (shim || is_called(file, "libhal", xs_platforms[i].stem)) {
            *ret_kind = shim ? XS_LIB_SHIM : XS_LIB_OURS;
            *ret_platform = xs_platforms[i].name;
            return true;
        }
    }
    *ret_kind = XS_LIB_OURS;
    return is_called(file, "lib", "preempt");
}

const char *xs_proc_kind_name(enum xs_proc_kind kind)
{
    static const char *const names[] = {"shim", "xsched", "vendor"};

    return names[kind];
}

/* A file of a GPU's or another accelerator's driver. */
static void note_device(struct xs_proc *p, const char *path)
{
    static const char *const k_files[] = {"/dev/nvidia", "/dev/kfd", "/dev/dri/renderD", "/dev/accel/"};

    for (size_t i = 0; i < XS_ARRAY_LEN(k_files); i++) {
        if (strncmp(path, k_files[i], strlen(k_files[i])) != 0)
            continue;
        for (size_t k = 0; k < p->devices_count; k++)
            if (strcmp(p->devices[k], path) == 0)
                return;
        if (p->devices_count < XS_PROC_DEVICES_MAX &&
            xs_str_copy(p->devices[p->devices_count], sizeof(p->devices[0]), path))
            p->devices_count++;
        return;
    }
}

static void note_mapping(struct xs_proc *p, char *path)
{
    struct xs_proc_library *l = &p->libraries[p->library_count];
    size_t length = strlen(path);
    const char *base, *platform;
    enum xs_proc_kind kind;
    bool deleted = false;

    if (strncmp(path, "/memfd:xsched-client", 20) == 0)
        p->client_page = true;
    if (strncmp(path, "/memfd:xsched-server", 20) == 0)
        p->server_page = true;
    note_device(p, path);
    if (length > sizeof(DELETED) && strcmp(path + length - sizeof(DELETED) + 1, DELETED) == 0) {
        path[length - sizeof(DELETED) + 1] = 0;
        deleted = true;
    }
    base = strrchr(path, '/') + 1;
    if (!classify(base, &kind, &platform))
        return;
    for (size_t k = 0; k < p->library_count; k++) {
        if (strcmp(p->libraries[k].path, path) == 0)
            return;
    }
    if (p->library_count == XS_PROC_LIBRARIES_MAX)
        return;
    l->kind = kind;
    l->platform = platform;
    l->deleted = deleted;
    xs_str_copy(l->path, sizeof(l->path), path);
    p->library_count++;
}

static int note_object(struct xs_proc *p, const char *line, const char *path)
{
    struct xs_proc_object *o = p->object_count ? &p->objects[p->object_count - 1] : NULL;
    unsigned long long from, to;
    char rights[5] = "";

    /* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers */
    if (sscanf(line, "%llx-%llx %4s", &from, &to, rights) != 3)
        return 0;
    if (!o || strcmp(o->path, path) != 0) {
        struct xs_proc_object *grown = realloc(p->objects, (p->object_count + 1) * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        p->objects = grown;
        o = &grown[p->object_count];
        *o = (struct xs_proc_object){.from = from, .path = strdup(path)};
        if (!o->path)
            return -ENOMEM;
        p->object_count++;
    }
    o->to = to;
    o->code |= rights[2] == 'x';
    return 0;
}

static FILE *open_proc(pid_t pid, const char *name, int *ret_err)
{
    char path[64];
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    f = fopen(path, "re");
    *ret_err = f ? 0 : -errno;
    return f;
}

static int read_maps(struct xs_proc *p)
{
    char *line = NULL, *slash;
    size_t room = 0;
    int err;
    FILE *f = open_proc(p->pid, "maps", &err);

    if (!f)
        return err;
    while (err == 0 && getline(&line, &room, f) >= 0) {
        line[strcspn(line, "\n")] = 0;
        slash = strchr(line, '/');
        if (slash) {
            note_mapping(p, slash); /* without " (deleted)" then */
            err = note_object(p, line, slash);
        }
    }
    if (err == 0)
        err = ferror(f) ? -EACCES : 0; /* the kernel checks the rights at the read */
    free(line);
    fclose(f);
    return err;
}

/* NOLINTBEGIN(cert-err34-c): the kernel's own numbers */
static void read_status_line(struct xs_proc *p, const char *line)
{
    unsigned real, effective, saved;
    const char *at;
    int n;

    if (strncmp(line, "Name:\t", 6) == 0) {
        xs_str_copy(p->name, sizeof(p->name), line + 6);
    } else if (strncmp(line, "State:\t", 7) == 0) {
        xs_str_copy(p->state, sizeof(p->state), line + 7);
    } else if (sscanf(line, "Uid: %u %u %u", &real, &effective, &saved) == 3) {
        p->uid = real;
        p->effective_uid = effective;
        p->saved_uid = saved;
    } else if (strncmp(line, "NSpid:", 6) == 0) {
        for (at = line + 6;
             p->numbers_count < XS_PROC_DEPTH && sscanf(at, "%d%n", &p->numbers[p->numbers_count], &n) == 1;
             at += n)
            p->numbers_count++;
    } else if (strncmp(line, "Groups:", 7) == 0) {
        for (at = line + 7;
             p->groups_count < XS_PROC_GROUPS_MAX && sscanf(at, "%u%n", &p->groups[p->groups_count], &n) == 1;
             at += n)
            p->groups_count++;
    } else if (sscanf(line, "Gid: %u", &p->gid) != 1 && sscanf(line, "Tgid: %d", &p->pid) != 1 &&
               sscanf(line, "PPid: %d", &p->parent) != 1 && sscanf(line, "Threads: %d", &p->threads) != 1) {
        sscanf(line, "CapPrm: %" SCNx64, &p->capabilities);
    }
}
/* NOLINTEND(cert-err34-c) */

static int read_status(struct xs_proc *p)
{
    char line[256];
    int err;
    FILE *f = open_proc(p->pid, "status", &err);

    if (!f)
        return err;
    while (fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = 0;
        read_status_line(p, line);
    }
    fclose(f);
    return 0;
}

bool xs_proc_has_ended(const struct xs_proc *p)
{
    return p->state[0] == 'Z' || p->state[0] == 'X';
}

/* The flags in /proc/PID/stat say it. They stand behind the name, which may have any characters. */
static void read_kind(struct xs_proc *p)
{
    char text[512], *at;
    unsigned flags;
    int err;
    FILE *f = open_proc(p->pid, "stat", &err);

    if (!f)
        return;
    text[fread(text, 1, sizeof(text) - 1, f)] = 0;
    fclose(f);
    at = strrchr(text, ')');
    /* NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers */
    if (at && sscanf(at, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1)
        p->is_kernel = flags & 0x00200000; /* PF_KTHREAD */
}

/* What the kernel told the program at its start. */
static void read_auxiliary(struct xs_proc *p)
{
    ElfW(auxv_t) one;
    int err;
    FILE *f = open_proc(p->pid, "auxv", &err);

    while (f && fread(&one, sizeof(one), 1, f) == 1 && one.a_type != AT_NULL)
        if (one.a_type == AT_SECURE)
            p->is_secure = one.a_un.a_val != 0;
    if (f)
        fclose(f);
}

static bool other_link(const char *of, const char *name)
{
    char path[64], theirs[PATH_MAX], ours[PATH_MAX];
    ssize_t n, m;

    snprintf(path, sizeof(path), "/proc/%s/%s", of, name);
    n = readlink(path, theirs, sizeof(theirs));
    snprintf(path, sizeof(path), "/proc/self/%s", name);
    m = readlink(path, ours, sizeof(ours));
    return n > 0 && m > 0 && (n != m || memcmp(theirs, ours, (size_t)n) != 0);
}

static void read_root(struct xs_proc *p)
{
    char pid[16];

    snprintf(pid, sizeof(pid), "%d", (int)p->pid);
    p->elsewhere = other_link(pid, "ns/mnt") || other_link(pid, "root");
    if (p->elsewhere)
        snprintf(p->root, sizeof(p->root), "/proc/%d/root", (int)p->pid);
}

static int read_environ(struct xs_proc *p)
{
    size_t room = 0, used = 0, n, count = 0;
    char *grown;
    int err;
    FILE *f = open_proc(p->pid, "environ", &err);

    if (!f)
        return err;
    do {
        room += 1 << 16;
        grown = realloc(p->env_text, room + 1);
        if (!grown) {
            fclose(f);
            return -ENOMEM;
        }
        p->env_text = grown;
        n = fread(p->env_text + used, 1, room - used, f);
        used += n;
    } while (used == room);
    err = ferror(f) ? -EACCES : 0;
    fclose(f);
    p->env_text[used] = 0;
    for (size_t i = 0; i < used; i++)
        count += p->env_text[i] == 0;
    p->env = calloc(count + 2, sizeof(*p->env));
    if (!p->env)
        return -ENOMEM;
    for (char *e = p->env_text; e < p->env_text + used; e += strlen(e) + 1)
        p->env[p->env_count++] = e;
    return err;
}

static void read_descriptors(struct xs_proc *p)
{
    char path[64], link[64 + 256], to[PATH_MAX];
    DIR *dir;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)p->pid);
    dir = opendir(path);
    if (!dir)
        return;
    for (const struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        p->descriptors++;
        snprintf(link, sizeof(link), "%s/%s", path, e->d_name);
        n = readlink(link, to, sizeof(to) - 1);
        to[n > 0 ? n : 0] = 0;
        note_device(p, to);
    }
    closedir(dir);
}

int xs_proc_read(pid_t pid, struct xs_proc *ret)
{
    ssize_t n;
    int err;

    memset(ret, 0, sizeof(*ret));
    ret->pid = ret->asked = pid;
    err = read_status(ret);
    if (err < 0)
        return err;
    if (ret->pid != pid) { /* a thread's number: the rest is the process's */
        pid_t whole = ret->pid;

        memset(ret, 0, sizeof(*ret));
        ret->pid = whole;
        err = read_status(ret);
        ret->pid = whole;
        ret->asked = pid;
    }
    if (err < 0)
        return err;
    snprintf(ret->exe_link, sizeof(ret->exe_link), "/proc/%d/exe", (int)ret->pid);
    read_kind(ret);
    ret->is_frozen = xs_process_is_frozen(ret->pid);
    if (xs_proc_has_ended(ret) || ret->is_kernel)
        return 0;
    err = read_maps(ret);
    if (err == 0)
        err = read_environ(ret);
    if (err < 0) {
        xs_proc_free(ret);
        if (err != -EACCES && err != -EPERM)
            return err;
        ret->denied = err;
        return 0;
    }
    n = readlink(ret->exe_link, ret->exe, sizeof(ret->exe) - 1);
    ret->exe[n > 0 ? n : 0] = 0;
    read_auxiliary(ret);
    read_root(ret);
    read_descriptors(ret);
    return 0;
}

void xs_proc_free(struct xs_proc *p)
{
    for (size_t i = 0; i < p->object_count; i++)
        free(p->objects[i].path);
    free(p->objects);
    p->objects = NULL;
    p->object_count = 0;
    free(p->env);
    free(p->env_text);
    p->env = NULL;
    p->env_text = NULL;
    p->env_count = 0;
}

const char *xs_proc_env(const struct xs_proc *p, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < p->env_count; i++) {
        if (strncmp(p->env[i], name, n) == 0 && p->env[i][n] == '=')
            return p->env[i] + n + 1;
    }
    return NULL;
}

const char *xs_proc_preload(const struct xs_proc *p)
{
    const char *last = NULL;

    for (size_t i = 0; i < p->env_count; i++)
        if (strncmp(p->env[i], "LD_PRELOAD=", 11) == 0)
            last = p->env[i] + 11;
    return last;
}

const char *xs_proc_vendor_platform(const char *name)
{
    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++) {
        if (xs_platform_is_vendor(&xs_platforms[i], name))
            return xs_platforms[i].name;
    }
    return is_called(name, "lib", "pocl") ? ICD : NULL;
}

const struct xs_proc_object *xs_proc_object_at(const struct xs_proc *p, uint64_t address)
{
    for (size_t i = 0; i < p->object_count; i++)
        if (address >= p->objects[i].from && address < p->objects[i].to)
            return &p->objects[i];
    return NULL;
}

bool xs_proc_has(const struct xs_proc *p, enum xs_proc_kind kind, const char *platform)
{
    for (size_t i = 0; i < p->library_count; i++) {
        if (p->libraries[i].kind == kind &&
            (!platform || (p->libraries[i].platform && strcmp(p->libraries[i].platform, platform) == 0)))
            return true;
    }
    return false;
}
