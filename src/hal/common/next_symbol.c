/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/common/next_symbol.h"

#include "base/mapped/mapped_symbol.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

struct symbol_search {
    bool (*visit)(struct symbol_search *s, const struct xs_mapped *o); /* true: that was the last one */
    const char *name;
    void *found;
    bool passed;
};

/* glibc's. Where there is none the program's tables lead to the same. */
#pragma weak _r_debug

static bool is_of_kernel(const char *name)
{
    static const char kernels[] = "linux-vdso";

    for (size_t i = 0; name && kernels[i]; i++)
        if (name[i] != kernels[i])
            return false;
    return name != NULL;
}

static struct xs_mapped mapped(ElfW(Addr) base, const ElfW(Dyn) *dyn, const char *name)
{
    return (struct xs_mapped){base, dyn, is_of_kernel(name)};
}

static int visit_phdr(struct dl_phdr_info *info, size_t size, void *data)
{
    struct symbol_search *s = data;
    const ElfW(Dyn) *dyn = NULL;
    struct xs_mapped o;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dyn = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    o = mapped(info->dlpi_addr, dyn, info->dlpi_name);
    return s->visit(s, &o);
}

/* By the tables of the program. NULL: it is not to be found */
static const struct r_debug *debuggers_list(void)
{
    const ElfW(Phdr) *phdr = (const ElfW(Phdr) *)getauxval(AT_PHDR); /* the program's */
    const struct r_debug *list = NULL;
    size_t count = getauxval(AT_PHNUM), self = count, dynamic = count;
    ElfW(Addr) base;

    for (size_t i = 0; phdr && i < count; i++) {
        self = phdr[i].p_type == PT_PHDR ? i : self;
        dynamic = phdr[i].p_type == PT_DYNAMIC ? i : dynamic;
    }
    if (!phdr || self == count || dynamic == count)
        return NULL;
    base = (ElfW(Addr))phdr - phdr[self].p_vaddr;
    for (const ElfW(Dyn) *d = (const ElfW(Dyn) *)(base + phdr[dynamic].p_vaddr); d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_DEBUG)
            list = (const struct r_debug *)d->d_un.d_ptr;
    return list;
}

/* The list that the dynamic linker keeps for debuggers. */
static const struct link_map *first_mapped(void)
{
    const struct r_debug *list = &_r_debug ? &_r_debug : debuggers_list();

    return list ? list->r_map : NULL;
}

/* Whether this object stands before the C library. Then it was there at the start of the program. Everything before
 * it as well as the objects in which it can find a function of the C library stay for the life of the process. So
 * it needs no lock to read the list. */
static bool is_early(const struct link_map *first)
{
    for (const struct link_map *m = first; m; m = m->l_next) {
        struct xs_mapped o = mapped(m->l_addr, m->l_ld, m->l_name);

        if (o.dyn == _DYNAMIC)    /* of <link.h>: this object's own */
            return true;
        if (xs_mapped_symbol(&o, "__errno_location"))
            return false;
    }
    return false;
}

static void *search_for(bool (*visit)(struct symbol_search *s, const struct xs_mapped *o), const char *name)
{
    struct symbol_search s = {visit, name, NULL, false};
    const struct link_map *m = first_mapped();
    bool last = !is_early(m);

    if (last)
        dl_iterate_phdr(visit_phdr, &s);
    for (; m && !last; m = m->l_next) {
        struct xs_mapped o = mapped(m->l_addr, m->l_ld, m->l_name);

        last = visit(&s, &o);
    }
    return s.found;
}

static bool visit_next(struct symbol_search *s, const struct xs_mapped *o)
{
    if (s->passed)
        s->found = xs_mapped_symbol(o, s->name);
    s->passed |= o->dyn == _DYNAMIC;
    return s->found != NULL;
}

void *xs_symbol_next(const char *name)
{
    return search_for(visit_next, name);
}

static bool visit_loader(struct symbol_search *s, const struct xs_mapped *o)
{
    if (xs_mapped_symbol(o, "dlinfo"))   /* libc.so.6, libdl.so.2 or musl; objects that hook dlsym or dlopen do not have it */
        s->found = xs_mapped_symbol(o, s->name);
    return s->found != NULL;
}

void *xs_symbol_of_loader(const char *name)
{
    return search_for(visit_loader, name);
}

void *xs_dlsym(void *handle, const char *name)
{
    static _Atomic(void *) found; /* any thread's answer is the same */
    void *p = atomic_load_explicit(&found, memory_order_relaxed); /* code, which does not change */
    void *(*fn)(void *, const char *);

    if (!p) {
        p = xs_symbol_of_loader("dlsym");
        if (!p)
            return NULL;
        atomic_store_explicit(&found, p, memory_order_relaxed);
    }
    memcpy(&fn, &p, sizeof(fn));
    return fn(handle, name);
}
