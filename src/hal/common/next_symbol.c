/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/common/next_symbol.h"

#include <elf.h>
#include <link.h>
#include <string.h>

/* The tables of one object's symbols. */
struct symbols {
    const ElfW(Sym) *all;
    const char *names;
    const uint32_t *gnu;          /* DT_GNU_HASH; NULL: none */
    const uint32_t *sysv;         /* DT_HASH; NULL: none */
};

/* glibc relocates these addresses in place, musl leaves the offsets. */
static const void *at(const struct dl_phdr_info *info, const ElfW(Dyn) *d)
{
    uintptr_t p = d->d_un.d_ptr;

    return (const void *)(p < info->dlpi_addr ? info->dlpi_addr + p : p);
}

static bool symbols_of(const struct dl_phdr_info *info, struct symbols *ret)
{
    const ElfW(Dyn) *dyn = NULL;

    memset(ret, 0, sizeof(*ret));
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dyn = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (const ElfW(Dyn) *d = dyn; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            ret->all = at(info, d);
        else if (d->d_tag == DT_STRTAB)
            ret->names = at(info, d);
        else if (d->d_tag == DT_GNU_HASH)
            ret->gnu = at(info, d);
        else if (d->d_tag == DT_HASH)
            ret->sysv = at(info, d);
    }
    return ret->all && ret->names && (ret->gnu || ret->sysv);
}

static bool is_it(const struct symbols *s, uint32_t i, const char *name)
{
    const ElfW(Sym) *sym = &s->all[i];
    unsigned bind = sym->st_info >> 4;

    return sym->st_shndx != SHN_UNDEF && (sym->st_info & 0xf) == STT_FUNC && (bind == STB_GLOBAL || bind == STB_WEAK) &&
           strcmp(s->names + sym->st_name, name) == 0;
}

static const ElfW(Sym) *by_gnu_hash(const struct symbols *s, const char *name)
{
    const uint32_t *h = s->gnu, buckets = h[0], first = h[1];
    const uint32_t *bucket = h + 4 + (size_t)h[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t)), *chain = bucket + buckets;
    uint32_t hash = 5381, i;

    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    if (!buckets || (i = bucket[hash % buckets]) < first)
        return NULL;
    for (;; i++) {
        if ((chain[i - first] | 1) == (hash | 1) && is_it(s, i, name))
            return &s->all[i];
        if (chain[i - first] & 1)
            return NULL;
    }
}

static const ElfW(Sym) *by_sysv_hash(const struct symbols *s, const char *name)
{
    for (uint32_t i = 1; i < s->sysv[1]; i++) /* once a process: the buckets are not worth it */
        if (is_it(s, i, name))
            return &s->all[i];
    return NULL;
}

struct next_search {
    uintptr_t after;
    const char *name;
    void *found;
    bool passed;
    bool any;                     /* also in those before it */
};

static bool contains(const struct dl_phdr_info *info, uintptr_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type == PT_LOAD && address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
            return true;
    }
    return false;
}

static int visit_next(struct dl_phdr_info *info, size_t size, void *data)
{
    struct next_search *n = data;
    const ElfW(Sym) *sym;
    struct symbols s;

    (void)size;
    if (!n->passed) {
        n->passed = contains(info, n->after);
        if (n->passed || !n->any)
            return 0;
    }
    if (!symbols_of(info, &s))
        return 0;
    sym = s.gnu ? by_gnu_hash(&s, n->name) : by_sysv_hash(&s, n->name);
    if (!sym)
        return 0;
    n->found = (void *)(info->dlpi_addr + sym->st_value);
    return 1;
}

void *xs_symbol_next(const void *after, const char *name)
{
    struct next_search n = {(uintptr_t)after, name, NULL, false, false};

    dl_iterate_phdr(visit_next, &n);
    return n.found;
}

void *xs_symbol_other(const void *self, const char *name)
{
    struct next_search n = {(uintptr_t)self, name, NULL, false, true};

    dl_iterate_phdr(visit_next, &n);
    return n.found;
}
