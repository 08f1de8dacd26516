/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mapped/mapped_symbol.h"

#include <elf.h>
#include <sys/auxv.h>

/* The tables of one object's symbols. */
struct symbols {
    const ElfW(Sym) *all;
    const char *names;
    const uint32_t *gnu;          /* DT_GNU_HASH; NULL: none */
    const uint32_t *sysv;         /* DT_HASH; NULL: none */
};

static const void *at(const struct xs_mapped *o, const ElfW(Dyn) *d)
{
    return o->as_in_file ? (const void *)(o->base + d->d_un.d_ptr) : xs_mapped_at(o->base, d);
}

static bool symbols_of(const struct xs_mapped *o, struct symbols *ret)
{
    *ret = (struct symbols){NULL, NULL, NULL, NULL};
    for (const ElfW(Dyn) *d = o->dyn; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            ret->all = at(o, d);
        else if (d->d_tag == DT_STRTAB)
            ret->names = at(o, d);
        else if (d->d_tag == DT_GNU_HASH)
            ret->gnu = at(o, d);
        else if (d->d_tag == DT_HASH)
            ret->sysv = at(o, d);
    }
    return ret->all && ret->names && (ret->gnu || ret->sysv);
}

/* Not strcmp, which may be a sanitizer's. */
static bool equal(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static bool is_it(const struct symbols *s, uint32_t i, const char *name)
{
    const ElfW(Sym) *sym = &s->all[i];
    unsigned bind = sym->st_info >> 4, type = sym->st_info & 0xf;

    return sym->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_NOTYPE) &&
           (bind == STB_GLOBAL || bind == STB_WEAK) && equal(s->names + sym->st_name, name);
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

void *xs_mapped_symbol(const struct xs_mapped *o, const char *name)
{
    const ElfW(Sym) *sym;
    struct symbols s;

    if (!symbols_of(o, &s))
        return NULL;
    sym = s.gnu ? by_gnu_hash(&s, name) : by_sysv_hash(&s, name);
    return sym ? (void *)(o->base + sym->st_value) : NULL;
}

bool xs_mapped_kernel(struct xs_mapped *ret)
{
    const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);
    const ElfW(Phdr) *phdr = head ? (const ElfW(Phdr) *)((const char *)head + head->e_phoff) : NULL;
    const ElfW(Phdr) *load = NULL, *dynamic = NULL;

    for (int i = 0; head && i < head->e_phnum; i++) {
        load = !load && phdr[i].p_type == PT_LOAD ? &phdr[i] : load;
        dynamic = phdr[i].p_type == PT_DYNAMIC ? &phdr[i] : dynamic;
    }
    if (!load || !dynamic)
        return false;
    ret->base = (ElfW(Addr))head + load->p_offset - load->p_vaddr;
    ret->dyn = (const ElfW(Dyn) *)(ret->base + dynamic->p_vaddr);
    ret->as_in_file = true;
    return true;
}
