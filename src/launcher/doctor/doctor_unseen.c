/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a vendor's library that a process got and that the shim does not know (wire/unseen.h). Reads
 * them from the process's memory, without stopping it. */
#include "launcher/doctor/doctor.h"

#include "launcher/elf.h"
#include "launcher/proc.h"
#include "wire/unseen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The list of one mapped libpreempt. @return 0 or -errno: -ENOENT it keeps none, or one of unknown form */
static int read_list(const struct xs_proc *p, const struct xs_proc_object *o, struct xs_unseen *ret)
{
    char file[PATH_MAX + 64];
    struct xs_elf elf;
    uint64_t vaddr;
    ssize_t n;
    int mem;

    snprintf(file, sizeof(file), "/proc/%d/root%s", (int)p->pid, o->path);
    if (xs_elf_read(file, &elf) < 0 || !elf.is_elf || elf.foreign || !xs_elf_export(file, XS_UNSEEN_SYMBOL, &vaddr))
        return -ENOENT;
    snprintf(file, sizeof(file), "/proc/%d/mem", (int)p->pid);
    mem = open(file, O_RDONLY | O_CLOEXEC);
    if (mem < 0)
        return -errno;
    n = pread(mem, ret, sizeof(*ret), (off_t)(vaddr + o->from - elf.first_vaddr));
    close(mem);
    if (n != (ssize_t)sizeof(*ret))
        return -EPERM;
    return ret->version == XS_UNSEEN_VERSION && ret->bytes == sizeof(*ret) ? 0 : -ENOENT;
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
        const char *slash = strrchr(p->objects[i].path, '/');
        struct xs_unseen l;
        int r;

        if (!p->objects[i].code || !slash || strncmp(slash, "/libpreempt.so", 14) != 0)
            continue;
        r = read_list(p, &p->objects[i], &l);
        if (r == 0 && (atomic_load(&l.count[XS_UNSEEN_WORKS]) || atomic_load(&l.count[XS_UNSEEN_PASSES])))
            report(d, &l);
        else if (r < 0 && r != -ENOENT)
            xs_doctor_hint(d, "doctor cannot tell whether the program has functions that XSched does not know: the kernel "
                              "lets only root look (kernel.yama.ptrace_scope)");
    }
}
