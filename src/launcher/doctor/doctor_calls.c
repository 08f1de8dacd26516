/* SPDX-License-Identifier: Apache-2.0 */
/* Which objects in a process call a vendor's library. Shows the objects that depend on one, which copy each
 * of them means, and where the addresses lead that the dynamic linker gave them. Reads those from the
 * process's memory, without stopping it. A function that the program got by dlsym does not appear here
 * (`xsched trace` sees it). */
#include "launcher/doctor/doctor.h"

#include "base/platforms.h"
#include "base/str.h"
#include "launcher/elf.h"
#include "launcher/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct caller {
    const struct xs_proc *p;
    const struct xs_proc_object *object;
    const char *platform;
    const struct xs_platform *row;
    char shim[PATH_MAX + 64]; /* the file, "" without a shim for the platform */
    int mem;                  /* /proc/PID/mem, or -1 */
    uint64_t bias;            /* mapped address less that in the file */
    bool unreadable;
    size_t seen, past, unknown; /* past: the shim has it and the call bypasses it; unknown: it has not */
    char first_past[96], first_unknown[96];
};

/* The file as the process sees it, which may be in a container. */
static void file_of(const struct xs_proc *p, const char *path, char *ret, size_t size)
{
    snprintf(ret, size, "/proc/%d/root%s", (int)p->pid, path);
}

static const struct xs_proc_library *library(const struct xs_proc *p, const char *path)
{
    for (size_t i = 0; i < p->library_count; i++)
        if (strcmp(p->libraries[i].path, path) == 0)
            return &p->libraries[i];
    return NULL;
}

static int look(const char *name, uint64_t vaddr, void *ctx)
{
    struct caller *c = ctx;
    const struct xs_proc_object *o;
    const struct xs_proc_library *l;
    uint64_t address;

    if (pread(c->mem, &address, sizeof(address), (off_t)(vaddr + c->bias)) != sizeof(address)) {
        c->unreadable = true;
        return 1;
    }
    o = xs_proc_object_at(c->p, address);
    l = o ? library(c->p, o->path) : NULL;
    if (!l || !l->platform || strcmp(l->platform, c->platform) != 0)
        return 0; /* another library's, or not bound yet */
    if (l->kind == XS_LIB_SHIM) {
        c->seen++;
    } else if (l->kind == XS_LIB_VENDOR && c->shim[0] && xs_elf_has_export(c->shim, name)) {
        if (!c->past++)
            xs_str_copy(c->first_past, sizeof(c->first_past), name);
    } else if (l->kind == XS_LIB_VENDOR) {
        if (!c->unknown++)
            xs_str_copy(c->first_unknown, sizeof(c->first_unknown), name);
    }
    return 0;
}

/* The mapped copy that the object means: the only one, one in its own folder, one of that SONAME or file
 * name.
 * @return NULL: none, or more than one fits */
static const char *copy_of(const struct caller *c, const char *needed)
{
    const char *only = NULL, *named = NULL, *slash = strrchr(c->object->path, '/');
    size_t folder = slash ? (size_t)(slash - c->object->path) + 1 : 0, copies = 0;

    for (size_t i = 0; i < c->p->library_count; i++) {
        const struct xs_proc_library *l = &c->p->libraries[i];
        char file[PATH_MAX + 64];
        struct xs_elf elf;

        if (l->kind != XS_LIB_VENDOR || strcmp(l->platform, c->platform) != 0)
            continue;
        if (strncmp(l->path, c->object->path, folder) == 0 && !strchr(l->path + folder, '/'))
            return l->path;
        only = copies++ ? NULL : l->path;
        file_of(c->p, l->path, file, sizeof(file));
        if (strcmp(strrchr(l->path, '/') + 1, needed) == 0 ||
            (xs_elf_read(file, &elf) == 0 && strcmp(elf.soname, needed) == 0))
            named = named ? named : l->path;
    }
    return only ? only : named;
}

static bool preloads(const struct caller *c)
{
    const char *preload = xs_proc_preload(c->p);

    return preload && strstr(preload, strrchr(c->shim, '/') + 1);
}

static void describe(struct xs_doctor *d, const struct caller *c, const char *needed, json_t *list)
{
    const char *copy = copy_of(c, needed);
    json_t *o = json_object();

    json_object_set_new(o, "object", xs_doctor_text(c->object->path));
    json_object_set_new(o, "platform", json_string(c->platform));
    json_object_set_new(o, "needs", xs_doctor_text(needed));
    json_object_set_new(o, "runtime", copy ? xs_doctor_text(copy) : json_null());
    if (!c->unreadable) {
        json_object_set_new(o, "through_shim", json_integer((json_int_t)c->seen));
        json_object_set_new(o, "direct", json_integer((json_int_t)c->past + (json_int_t)c->unknown));
    }
    json_array_append_new(list, o);
    if (!c->shim[0] || xs_doctor_is_layer(c->p, c->row))
        return;
    if (c->past)
        xs_doctor_problem(
            d, "calls_escape",
            preloads(c)
                ? "The program loaded it with RTLD_DEEPBIND, or from a file that is linked to the vendor's "
                  "library in another way (prelink, -Bsymbolic)."
                : "The program loaded the shim after it. Start the program with `xsched run`.",
            "%s calls %zu functions of %s past the shim (%s and others): XSched does not schedule them",
            c->object->path, c->past, c->platform, c->first_past);
    if (c->unknown && !xs_platform_shim_is_partial(c->row))
        xs_doctor_hint(d, "%s calls %zu functions of %s that the shim does not have (%s and others): they pass unseen",
                       c->object->path, c->unknown, c->platform, c->first_unknown);
}

/* @return whether it depends on a vendor's library */
static bool caller(struct xs_doctor *d, struct caller *c, json_t *list)
{
    char file[PATH_MAX + 64];
    const char *needed = NULL;
    struct xs_elf elf;

    file_of(c->p, c->object->path, file, sizeof(file));
    if (xs_elf_read(file, &elf) < 0 || !elf.is_elf || elf.foreign)
        return false;
    for (size_t i = 0; i < elf.needed_count && !needed; i++) {
        c->platform = xs_proc_vendor_platform(elf.needed[i]);
        if (c->platform)
            needed = elf.needed[i];
    }
    if (!needed)
        return false;
    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++)
        if (strcmp(xs_platforms[i].name, c->platform) == 0)
            c->row = &xs_platforms[i];
    for (size_t i = 0; i < c->p->library_count; i++) {
        const struct xs_proc_library *l = &c->p->libraries[i];

        if (l->kind == XS_LIB_SHIM && strcmp(l->platform, c->platform) == 0)
            file_of(c->p, l->path, c->shim, sizeof(c->shim));
    }
    c->bias = c->object->from - elf.first_vaddr;
    c->unreadable = c->mem < 0;
    if (c->mem >= 0)
        xs_elf_imports(file, look, c);
    describe(d, c, needed, list);
    return true;
}

void xs_doctor_calls(struct xs_doctor *d, const struct xs_proc *p)
{
    json_t *list = json_array();
    bool unreadable = false;
    char path[64];
    int mem;

    snprintf(path, sizeof(path), "/proc/%d/mem", (int)p->pid);
    mem = open(path, O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < p->object_count; i++) {
        struct caller c = {.p = p, .object = &p->objects[i], .mem = mem};

        if (p->objects[i].code && !library(p, p->objects[i].path) && caller(d, &c, list))
            unreadable |= c.unreadable;
    }
    if (mem >= 0)
        close(mem);
    if (unreadable)
        xs_doctor_hint(d, "doctor cannot tell whether calls bypass the shim: the kernel lets only root look "
                          "(kernel.yama.ptrace_scope)");
    if (json_array_size(list))
        json_object_set(d->facts, "callers", list);
    json_decref(list);
}
