/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/elf.h"

#include "base/str.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OWN_MACHINE EM_RISCV
#else
#define OWN_MACHINE EM_NONE
#endif
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_DATA ELFDATA2LSB
#else
#define OWN_DATA ELFDATA2MSB
#endif

struct view {
    const unsigned char *data;
    size_t bytes;
};

static int view_open(const char *path, struct view *ret)
{
    struct stat st;
    void *data;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return -EINVAL;
    }
    if (st.st_size == 0) {
        close(fd);
        *ret = (struct view){NULL, 0};
        return 0;
    }
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (data == MAP_FAILED)
        return -errno;
    *ret = (struct view){data, (size_t)st.st_size};
    return 0;
}

static void view_close(struct view *v)
{
    if (v->data)
        munmap((void *)(uintptr_t)v->data, v->bytes);
}

/* NULL unless the whole range lies inside the file. */
static const void *at(const struct view *v, uint64_t offset, uint64_t bytes)
{
    return offset <= v->bytes && bytes <= v->bytes - offset ? v->data + offset : NULL;
}

/* The same for a structure, if it can lie at that place: a file can say any. */
static const void *struct_at(const struct view *v, uint64_t offset, uint64_t bytes)
{
    return offset % _Alignof(uint64_t) == 0 ? at(v, offset, bytes) : NULL;
}

static const char *text_at(const struct view *v, uint64_t offset)
{
    return offset < v->bytes && memchr(v->data + offset, 0, v->bytes - offset)
               ? (const char *)v->data + offset
               : NULL;
}

static const Elf64_Phdr *segment(const struct view *v, unsigned i)
{
    const Elf64_Ehdr *h = at(v, 0, sizeof(*h));

    return i < h->e_phnum && h->e_phentsize == sizeof(Elf64_Phdr)
               ? struct_at(v, h->e_phoff + (uint64_t)i * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr))
               : NULL;
}

/* Where an address of the loaded object lies in the file; UINT64_MAX if nowhere. */
static uint64_t to_offset(const struct view *v, uint64_t address)
{
    const Elf64_Phdr *p;

    for (unsigned i = 0; (p = segment(v, i)); i++) {
        if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz)
            return p->p_offset + (address - p->p_vaddr);
    }
    return UINT64_MAX;
}

static const Elf64_Dyn *dynamic(const struct view *v, size_t *ret_count)
{
    const Elf64_Phdr *p;

    for (unsigned i = 0; (p = segment(v, i)); i++) {
        if (p->p_type == PT_DYNAMIC) {
            *ret_count = p->p_filesz / sizeof(Elf64_Dyn);
            return struct_at(v, p->p_offset, p->p_filesz);
        }
    }
    return NULL;
}

static uint64_t dynamic_value(const Elf64_Dyn *d, size_t count, int64_t tag)
{
    for (size_t i = 0; i < count && d[i].d_tag != DT_NULL; i++) {
        if (d[i].d_tag == tag)
            return d[i].d_un.d_val;
    }
    return 0;
}

/* The section headers are the plain way to the number of dynamic symbols; stripped of those, an
 * object counts as having none. */
static int each_export(const struct view *v, int (*visit)(const char *name, uint64_t vaddr, void *ctx), void *ctx)
{
    const Elf64_Ehdr *h = at(v, 0, sizeof(*h));

    for (unsigned i = 0; h->e_shentsize == sizeof(Elf64_Shdr) && i < h->e_shnum; i++) {
        const Elf64_Shdr *s = struct_at(v, h->e_shoff + (uint64_t)i * sizeof(*s), sizeof(*s));
        const Elf64_Shdr *strings;
        const Elf64_Sym *symbols;

        if (!s || s->sh_type != SHT_DYNSYM || s->sh_link >= h->e_shnum)
            continue;
        strings = struct_at(v, h->e_shoff + (uint64_t)s->sh_link * sizeof(*s), sizeof(*s));
        symbols = struct_at(v, s->sh_offset, s->sh_size);
        if (!strings || !symbols)
            return -EBADMSG;
        for (size_t k = 1; k < s->sh_size / sizeof(*symbols); k++) {
            unsigned bind = ELF64_ST_BIND(symbols[k].st_info);
            const char *name = text_at(v, strings->sh_offset + symbols[k].st_name);
            int done;

            if (symbols[k].st_shndx == SHN_UNDEF || symbols[k].st_shndx == SHN_ABS || !name || !*name ||
                (bind != STB_GLOBAL && bind != STB_WEAK))
                continue;
            done = visit(name, symbols[k].st_value, ctx);
            if (done)
                return done;
        }
    }
    return 0;
}

static int count_one(const char *name, uint64_t vaddr, void *ctx)
{
    (void)name, (void)vaddr;
    ++*(size_t *)ctx;
    return 0;
}

static void read_dynamic(const struct view *v, struct xs_elf *ret)
{
    size_t count = 0;
    const Elf64_Dyn *d = dynamic(v, &count);
    uint64_t strings;

    if (!d)
        return;
    ret->has_dynamic = true;
    strings = to_offset(v, dynamic_value(d, count, DT_STRTAB));
    for (size_t i = 0; strings != UINT64_MAX && i < count && d[i].d_tag != DT_NULL; i++) {
        const char *text = text_at(v, strings + d[i].d_un.d_val);

        if (d[i].d_tag == DT_SONAME && text)
            xs_str_copy(ret->soname, sizeof(ret->soname), text);
        if (d[i].d_tag == DT_NEEDED && text && ret->needed_count < XS_ARRAY_LEN(ret->needed))
            xs_str_copy(ret->needed[ret->needed_count++], sizeof(ret->needed[0]), text);
    }
}

static bool is_native(const struct view *v)
{
    const Elf64_Ehdr *h = at(v, 0, sizeof(*h));

    return h && memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 &&
           h->e_ident[EI_DATA] == OWN_DATA && h->e_machine == OWN_MACHINE;
}

int xs_elf_read(const char *path, struct xs_elf *ret)
{
    struct view v = {0};
    const Elf32_Ehdr *h;
    const Elf64_Phdr *p;
    int err = view_open(path, &v);

    if (err < 0)
        return err;
    memset(ret, 0, sizeof(*ret));
    h = at(&v, 0, sizeof(*h));
    if (h && memcmp(h->e_ident, ELFMAG, SELFMAG) == 0) {
        ret->is_elf = true;
        ret->is_64 = h->e_ident[EI_CLASS] == ELFCLASS64;
        ret->foreign = !is_native(&v);
        for (unsigned i = 0; !ret->foreign && (p = segment(&v, i)); i++) {
            ret->has_interp |= p->p_type == PT_INTERP;
            if (p->p_type == PT_LOAD && p->p_offset == 0)
                ret->first_vaddr = p->p_vaddr;
        }
        if (!ret->foreign) {
            read_dynamic(&v, ret);
            each_export(&v, count_one, &ret->exports);
        }
    }
    view_close(&v);
    return 0;
}

int xs_elf_exports(const char *path, int (*visit)(const char *name, uint64_t vaddr, void *ctx), void *ctx)
{
    struct view v = {0};
    int err = view_open(path, &v);

    if (err < 0)
        return err;
    err = is_native(&v) ? each_export(&v, visit, ctx) : -ENOEXEC;
    view_close(&v);
    return err;
}

struct import_tables {
    uint64_t symbols, strings; /* offsets in the file */
};

static int each_import(const struct view *v, const struct import_tables *t, uint64_t offset, uint64_t bytes,
                       int (*visit)(const char *name, uint64_t vaddr, void *ctx), void *ctx)
{
    const Elf64_Rela *r = struct_at(v, offset, bytes);

    for (size_t i = 0; r && i < bytes / sizeof(*r); i++) {
        uint64_t symbol = ELF64_R_SYM(r[i].r_info), at = t->symbols + symbol * sizeof(Elf64_Sym);
        const Elf64_Sym *s = symbol ? struct_at(v, at, sizeof(*s)) : NULL;
        const char *name = s && s->st_shndx == SHN_UNDEF ? text_at(v, t->strings + s->st_name) : NULL;
        int done = name && *name ? visit(name, r[i].r_offset, ctx) : 0;

        if (done)
            return done;
    }
    return 0;
}

int xs_elf_imports(const char *path, int (*visit)(const char *name, uint64_t vaddr, void *ctx), void *ctx)
{
    static const int64_t tables[2][2] = {{DT_JMPREL, DT_PLTRELSZ}, {DT_RELA, DT_RELASZ}};
    struct import_tables t;
    const Elf64_Dyn *d;
    size_t count = 0;
    struct view v = {0};
    int err = view_open(path, &v);

    if (err < 0)
        return err;
    d = is_native(&v) ? dynamic(&v, &count) : NULL;
    err = d ? 0 : -ENOEXEC;
    if (d) {
        t.symbols = to_offset(&v, dynamic_value(d, count, DT_SYMTAB));
        t.strings = to_offset(&v, dynamic_value(d, count, DT_STRTAB));
        if (t.symbols == UINT64_MAX || t.strings == UINT64_MAX)
            err = -EBADMSG;
    }
    for (size_t i = 0; err == 0 && i < XS_ARRAY_LEN(tables); i++) {
        uint64_t vaddr = dynamic_value(d, count, tables[i][0]);

        if (vaddr && to_offset(&v, vaddr) != UINT64_MAX)
            err = each_import(&v, &t, to_offset(&v, vaddr), dynamic_value(d, count, tables[i][1]), visit, ctx);
    }
    view_close(&v);
    return err;
}

struct wanted {
    const char *name;
    uint64_t vaddr;
};

static int same_name(const char *name, uint64_t vaddr, void *ctx)
{
    struct wanted *w = ctx;

    w->vaddr = vaddr;
    return strcmp(name, w->name) == 0;
}

bool xs_elf_export(const char *path, const char *name, uint64_t *ret_vaddr)
{
    struct wanted w = {name, 0};

    if (xs_elf_exports(path, same_name, &w) != 1)
        return false;
    *ret_vaddr = w.vaddr;
    return true;
}

bool xs_elf_has_export(const char *path, const char *name)
{
    uint64_t unused;

    return xs_elf_export(path, name, &unused);
}
