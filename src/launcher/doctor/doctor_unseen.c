/* SPDX-License-Identifier: Apache-2.0 */
/* What libpreempt keeps for doctor in the process's memory: functions of a vendor's library that it got and that the shim
 * does not know (wire/unseen.h), and the shims that saw a call (wire/shims_begun.h). Reads without stopping the process. */
#include "launcher/doctor/doctor.h"

#include "launcher/elf.h"
#include "launcher/proc.h"
#include "wire/shims_begun.h"
#include "wire/unseen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_libpreempt(const struct xs_proc_object *o)
{
    const char *slash = strrchr(o->path, '/');

    return o->code && slash && strncmp(slash, "/libpreempt.so", 14) == 0;
}

/* What one mapped libpreempt keeps under an exported name.
 * @return 0 or -errno: -ENOENT it has no such thing; -EACCES, -EPERM no right to look */
static int read_memory(const struct xs_proc *p, const struct xs_proc_object *o, const char *symbol, void *ret,
                       size_t size)
{
    char file[PATH_MAX + 64];
    struct xs_elf elf;
    uint64_t vaddr;
    ssize_t n;
    int mem;

    snprintf(file, sizeof(file), "/proc/%d/root%s", (int)p->pid, o->path);
    if (xs_elf_read(file, &elf) < 0 || !elf.is_elf || elf.foreign || !xs_elf_export(file, symbol, &vaddr))
        return -ENOENT;
    snprintf(file, sizeof(file), "/proc/%d/mem", (int)p->pid);
    mem = open(file, O_RDONLY | O_CLOEXEC);
    if (mem < 0)
        return -errno;
    n = pread(mem, ret, size, (off_t)(vaddr + o->from - elf.first_vaddr));
    close(mem);
    return n == (ssize_t)size ? 0 : -EPERM;
}

int xs_doctor_begun(const struct xs_proc *p, const struct xs_platform *platform)
{
    int known = -ENOENT, r;
    struct xs_shims_begun b;

    for (size_t i = 0; i < p->object_count; i++) {
        if (!is_libpreempt(&p->objects[i]))
            continue;
        r = read_memory(p, &p->objects[i], XS_SHIMS_BEGUN_SYMBOL, &b, sizeof(b));
        if (r < 0)
            return r;
        if (b.version != XS_SHIMS_BEGUN_VERSION || b.bytes != sizeof(b))
            return -ENOENT;
        if (b.begun[platform->number & 255])
            return 1;
        known = 0;
    }
    return known;
}

/* @return a new list of the names; copies the first of them */
static json_t *names(const struct xs_unseen *l, enum xs_unseen_kind kind, char ret_first[XS_UNSEEN_BYTES])
{
    json_t *list = json_array();

    ret_first[0] = 0;
    for (size_t i = 0; i < XS_UNSEEN_NAMES; i++) {
        char name[XS_UNSEEN_BYTES];

        memcpy(name, l->names[kind][i], sizeof(name));
        name[sizeof(name) - 1] = 0;
        if (!name[0])
            continue;             /* unused, or a thread writes it now */
        json_array_append_new(list, xs_doctor_text(name));
        if (!ret_first[0])
            memcpy(ret_first, name, sizeof(name));
    }
    return list;
}

static void report(struct xs_doctor *d, const struct xs_unseen *l)
{
    unsigned works = atomic_load(&l->count[XS_UNSEEN_WORKS]), passes = atomic_load(&l->count[XS_UNSEEN_PASSES]);
    char first[XS_UNSEEN_BYTES];
    json_t *o = json_object();

    json_object_set_new(o, "passes", names(l, XS_UNSEEN_PASSES, first));
    if (passes)
        xs_doctor_hint(d, "the program got %u functions that XSched does not know (%s and others): they pass unseen",
                       passes, first);
    json_object_set_new(o, "works", names(l, XS_UNSEEN_WORKS, first));
    if (works)
        xs_doctor_problem(d, "newer_functions", "Install an XSched that knows them.",
                          "the program got %u functions for work or captures that are newer than XSched (%s and "
                          "others): XSched does not schedule their work, and the process works at level 1", works, first);
    json_object_set_new(d->facts, "functions not known", o);
}

void xs_doctor_unseen(struct xs_doctor *d, const struct xs_proc *p)
{
    for (size_t i = 0; i < p->object_count; i++) {
        struct xs_unseen l;
        int r;

        if (!is_libpreempt(&p->objects[i]))
            continue;
        r = read_memory(p, &p->objects[i], XS_UNSEEN_SYMBOL, &l, sizeof(l));
        if (r == 0 && l.version == XS_UNSEEN_VERSION && l.bytes == sizeof(l) &&
            (atomic_load(&l.count[XS_UNSEEN_WORKS]) || atomic_load(&l.count[XS_UNSEEN_PASSES])))
            report(d, &l);
        else if (r < 0 && r != -ENOENT)
            xs_doctor_hint(d, "doctor cannot tell whether the program has functions that XSched does not know: the kernel "
                              "lets only root look (kernel.yama.ptrace_scope)");
    }
}
