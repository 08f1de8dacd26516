/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/common/objects.h"

#include "base/mapped/mapped_symbol.h"
#include "base/str.h"
#include "hal/common/mapped.h"
#include "hal/common/note.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool note_is_ours(const char *note, size_t size)
{
    size_t at = 0;

    while (at + sizeof(ElfW(Nhdr)) <= size) {
        ElfW(Nhdr) h;
        size_t owner = at + sizeof(h), desc;

        memcpy(&h, note + at, sizeof(h));
        desc = owner + ((h.n_namesz + 3u) & ~3u);
        if (desc < owner || desc > size)
            return false;
        if (h.n_namesz == sizeof(XS_NOTE_OWNER) && memcmp(note + owner, XS_NOTE_OWNER, h.n_namesz) == 0)
            return true;
        at = desc + ((h.n_descsz + 3u) & ~3u);
        if (at < desc)
            return false;
    }
    return false;
}

bool xs_mapped_is_ours(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type == PT_NOTE && p->p_memsz < 65536 &&
            note_is_ours((const char *)(info->dlpi_addr + p->p_vaddr), p->p_memsz))
            return true;
    }
    return false;
}

bool xs_mapped_holds(const struct dl_phdr_info *info, uintptr_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type == PT_LOAD && address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
            return true;
    }
    return false;
}

/* STEM.so, STEM.so.1, STEM-1a2b3c4d.so.1.0 (as wheels rename what they carry) */
bool xs_object_name_fits(const char *name, const char *stem)
{
    size_t n = strlen(stem);

    if (strncmp(name, stem, n) != 0)
        return false;
    name += n;
    if (*name == '-')
        while (*name && *name != '.')
            name++;
    return strncmp(name, ".so", 3) == 0 && (name[3] == 0 || name[3] == '.');
}

bool xs_mapped_dynamic(const struct dl_phdr_info *info, const ElfW(Dyn) **ret_dynamic, const char **ret_strings)
{
    const ElfW(Dyn) *dyn = NULL;

    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dyn = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (const ElfW(Dyn) *d = dyn; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag != DT_STRTAB)
            continue;
        *ret_dynamic = dyn;
        *ret_strings = xs_mapped_at(info->dlpi_addr, d);
        return true;
    }
    return false;
}

/* The text of the first dynamic entry of a kind (DT_SONAME, DT_RPATH, DT_RUNPATH, DT_NEEDED) that fits. */
static const char *mapped_text(const struct dl_phdr_info *info, ElfW(Sxword) tag, const char *stem)
{
    const ElfW(Dyn) *d;
    const char *strings;

    if (!xs_mapped_dynamic(info, &d, &strings))
        return NULL;
    for (; d->d_tag != DT_NULL; d++)
        if (d->d_tag == tag && (!stem || xs_object_name_fits(strings + d->d_un.d_val, stem)))
            return strings + d->d_un.d_val;
    return NULL;
}

void xs_mapped_range(const struct dl_phdr_info *info, uintptr_t *ret_from, uintptr_t *ret_to)
{
    *ret_from = UINTPTR_MAX;
    *ret_to = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type == PT_LOAD) {
            *ret_from = XS_MIN(*ret_from, info->dlpi_addr + p->p_vaddr);
            *ret_to = XS_MAX(*ret_to, info->dlpi_addr + p->p_vaddr + p->p_memsz);
        }
    }
}

struct of_search {
    uintptr_t address;
    const char *stem;
    struct xs_object *ret;
};

static int visit_of(struct dl_phdr_info *info, size_t size, void *data)
{
    struct of_search *s = data;

    (void)size;
    if (!xs_mapped_holds(info, s->address))
        return 0;
    s->ret->found = true;
    xs_mapped_range(info, &s->ret->from, &s->ret->to);
    xs_str_copy(s->ret->path, sizeof(s->ret->path), info->dlpi_name ? info->dlpi_name : "");
    s->ret->rpath = mapped_text(info, DT_RPATH, NULL);
    s->ret->runpath = mapped_text(info, DT_RUNPATH, NULL);
    s->ret->needed = mapped_text(info, DT_NEEDED, s->stem);
    return 1;
}

void xs_object_of(const void *address, const char *stem, struct xs_object *ret_object)
{
    struct of_search s = {(uintptr_t)address, stem, ret_object};

    ret_object->found = false;
    ret_object->from = ret_object->to = 0;
    ret_object->path[0] = 0;
    ret_object->rpath = ret_object->runpath = ret_object->needed = NULL;
    if (address)
        dl_iterate_phdr(visit_of, &s);
}

struct find_search {
    const char *stem;
    char (*paths)[XS_PATH_MAX];
    size_t max, count;
};

static int visit_find(struct dl_phdr_info *info, size_t size, void *data)
{
    struct find_search *s = data;
    const char *path = info->dlpi_name, *base, *soname;

    (void)size;
    if (!path || !path[0])
        return 0;
    base = strrchr(path, '/');
    base = base ? base + 1 : path;
    soname = mapped_text(info, DT_SONAME, NULL);
    if (!xs_object_name_fits(base, s->stem) && !(soname && xs_object_name_fits(soname, s->stem)))
        return 0;
    if (xs_mapped_is_ours(info))
        return 0;
    if (s->count < s->max)
        xs_str_copy(s->paths[s->count], XS_PATH_MAX, path);
    s->count++;
    return 0;
}

size_t xs_object_find(const char *stem, char (*ret_paths)[XS_PATH_MAX], size_t max)
{
    struct find_search s = {stem, ret_paths, max, 0};

    dl_iterate_phdr(visit_find, &s);
    return s.count;
}

struct named_search {
    const char *name;
    char *path;
};

static int visit_named(struct dl_phdr_info *info, size_t size, void *data)
{
    struct named_search *s = data;
    const char *path = info->dlpi_name, *base, *soname;

    (void)size;
    if (!path || !path[0])
        return 0;
    base = strrchr(path, '/');
    soname = mapped_text(info, DT_SONAME, NULL);
    if ((strcmp(base ? base + 1 : path, s->name) != 0 && (!soname || strcmp(soname, s->name) != 0)) ||
        xs_mapped_is_ours(info))
        return 0;
    return xs_str_copy(s->path, XS_PATH_MAX, path);
}

bool xs_object_named(const char *name, char ret_path[XS_PATH_MAX])
{
    struct named_search s = {name, ret_path};

    return dl_iterate_phdr(visit_named, &s) != 0;
}

struct copy_search {
    uintptr_t address;
    const char *stem;
    char *path;
    bool copy;
};

static int visit_copy(struct dl_phdr_info *info, size_t size, void *data)
{
    struct copy_search *s = data;
    const char *slash, *soname, *path = info->dlpi_name ? info->dlpi_name : "";

    (void)size;
    if (!xs_mapped_holds(info, s->address))
        return 0;
    slash = strrchr(path, '/');
    soname = mapped_text(info, DT_SONAME, NULL);
    s->copy = (xs_object_name_fits(slash ? slash + 1 : path, s->stem) || (soname && xs_object_name_fits(soname, s->stem))) &&
              !xs_mapped_is_ours(info) && (!s->path || xs_str_copy(s->path, XS_PATH_MAX, path));
    return 1;
}

bool xs_object_is_copy(const void *address, const char *stem, char *ret_path)
{
    struct copy_search s = {(uintptr_t)address, stem, ret_path, false};

    dl_iterate_phdr(visit_copy, &s);
    return s.copy;
}

struct range_search {
    uintptr_t address, *from, *to;
};

static int visit_range(struct dl_phdr_info *info, size_t size, void *data)
{
    struct range_search *s = data;

    (void)size;
    if (!xs_mapped_holds(info, s->address))
        return 0;
    xs_mapped_range(info, s->from, s->to);
    return 1;
}

bool xs_object_range(const void *address, uintptr_t *ret_from, uintptr_t *ret_to)
{
    struct range_search s = {(uintptr_t)address, ret_from, ret_to};

    return dl_iterate_phdr(visit_range, &s) != 0;
}

struct ours_search {
    uintptr_t address;
    bool ours;
};

static int visit_ours(struct dl_phdr_info *info, size_t size, void *data)
{
    struct ours_search *s = data;

    (void)size;
    if (!xs_mapped_holds(info, s->address))
        return 0;
    s->ours = xs_mapped_is_ours(info);
    return 1;
}

bool xs_object_is_ours(const void *address)
{
    struct ours_search s = {(uintptr_t)address, false};

    dl_iterate_phdr(visit_ours, &s);
    return s.ours;
}

struct counts {
    uint64_t loaded, unloaded;
};

static int visit_count(struct dl_phdr_info *info, size_t size, void *data)
{
    struct counts *c = data;

    if (size < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
        return 1;
    c->loaded = info->dlpi_adds;
    c->unloaded = info->dlpi_subs;
    return 1;
}

uint64_t xs_object_count(uint64_t *ret_unloaded)
{
    struct counts c = {0, 0};

    dl_iterate_phdr(visit_count, &c);
    if (ret_unloaded)
        *ret_unloaded = c.unloaded;
    return c.loaded;
}

_Atomic uint32_t xs_object_looks_failed;

bool xs_object_look_failed(void)
{
    /* the last three: a folder, a device, a file of a kind that no library is */
    static const int absent[] = {ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG, EISDIR, ENXIO, ENODEV};

    for (size_t i = 0; i < XS_ARRAY_LEN(absent); i++)
        if (errno == absent[i])
            return false;
    atomic_fetch_add(&xs_object_looks_failed, 1);
    return false;
}

static bool read_at(int fd, void *ret, size_t size, off_t at)
{
    ssize_t n = pread(fd, ret, size, at);

    return n == (ssize_t)size || (n < 0 && xs_object_look_failed());
}

/* @return whether this process can load the file */
static bool look_at_file(const char *path, bool *ret_ours)
{
#if defined(__x86_64__)
    const ElfW(Half) machine = EM_X86_64;
#elif defined(__aarch64__)
    const ElfW(Half) machine = EM_AARCH64;
#else
    const ElfW(Half) machine = EM_NONE; /* any: dlopen judges */
#endif
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* it may be no file at all */
    bool usable = false;
    ElfW(Ehdr) e;

    *ret_ours = false;
    if (fd < 0)
        return xs_object_look_failed();
    if (read_at(fd, &e, sizeof(e), 0) && memcmp(e.e_ident, ELFMAG, SELFMAG) == 0 &&
        e.e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) && e.e_type == ET_DYN &&
        (machine == EM_NONE || e.e_machine == machine) && e.e_phentsize == sizeof(ElfW(Phdr))) {
        usable = true;
        for (int i = 0; i < e.e_phnum; i++) {
            char note[1024];
            ElfW(Phdr) p;
            ssize_t n;

            if (!read_at(fd, &p, sizeof(p), (off_t)(e.e_phoff + (size_t)i * sizeof(p))))
                break;
            if (p.p_type != PT_NOTE)
                continue;
            n = pread(fd, note, XS_MIN(sizeof(note), p.p_filesz), (off_t)p.p_offset);
            *ret_ours |= n > 0 && note_is_ours(note, (size_t)n);
        }
    }
    close(fd);
    return usable;
}

bool xs_object_usable_file(const char *path)
{
    bool ours;

    return look_at_file(path, &ours) && !ours;
}

bool xs_object_is_file_of_ours(const char *path)
{
    bool ours;

    return look_at_file(path, &ours) && ours;
}

bool xs_object_same_file(const char *a, const char *b)
{
    char ra[XS_PATH_MAX], rb[XS_PATH_MAX];

    return strcmp(a, b) == 0 || (realpath(a, ra) && realpath(b, rb) && strcmp(ra, rb) == 0);
}

/* The place in the file of what lies at an address. @return -1: in no part of the file */
static off_t file_offset(int fd, const ElfW(Ehdr) *e, ElfW(Addr) address)
{
    for (int i = 0; i < e->e_phnum; i++) {
        ElfW(Phdr) p;

        if (!read_at(fd, &p, sizeof(p), (off_t)(e->e_phoff + (size_t)i * sizeof(p))))
            return -1;
        if (p.p_type == PT_LOAD && address - p.p_vaddr < p.p_filesz)
            return (off_t)(p.p_offset + (address - p.p_vaddr));
    }
    return -1;
}

/* @return the number of entries read */
static size_t file_dynamic(int fd, const ElfW(Ehdr) *e, ElfW(Dyn) *ret, size_t most)
{
    for (int i = 0; i < e->e_phnum; i++) {
        ElfW(Phdr) p;
        ssize_t n;

        if (!read_at(fd, &p, sizeof(p), (off_t)(e->e_phoff + (size_t)i * sizeof(p))))
            return 0;
        if (p.p_type != PT_DYNAMIC)
            continue;
        n = pread(fd, ret, XS_MIN(p.p_filesz, most * sizeof(*ret)), (off_t)p.p_offset);
        return n > 0 ? (size_t)n / sizeof(*ret) : 0;
    }
    return 0;
}

bool xs_object_file_text(const char *path, int64_t tag, const char *stem, char *ret, size_t size)
{
    int fd = xs_object_usable_file(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ElfW(Addr) strings = 0;
    ElfW(Dyn) dynamic[512];
    bool found = false;
    size_t count = 0;
    ElfW(Ehdr) e;
    off_t at;

    if (fd >= 0 && read_at(fd, &e, sizeof(e), 0))
        count = file_dynamic(fd, &e, dynamic, XS_ARRAY_LEN(dynamic));
    for (size_t i = 0; i < count; i++)
        if (dynamic[i].d_tag == DT_STRTAB)
            strings = dynamic[i].d_un.d_ptr;
    at = strings ? file_offset(fd, &e, strings) : -1;
    for (size_t i = 0; i < count && at >= 0 && !found && dynamic[i].d_tag != DT_NULL; i++) {
        ssize_t n;

        if (dynamic[i].d_tag != tag)
            continue;
        n = pread(fd, ret, size, at + (off_t)dynamic[i].d_un.d_val);
        found = n > 0 && memchr(ret, 0, (size_t)n) && (!stem || xs_object_name_fits(ret, stem));
    }
    if (fd >= 0)
        close(fd);
    return found;
}

/* ld.so.cache since glibc 2.2: this header (behind an older table, or alone), the entries, and
 * texts whose offsets count from the header. */
struct cache_header {
    char magic[20];               /* "glibc-ld.so.cache1.1" */
    uint32_t count, text_size;
    uint8_t flags, padding[3];
    uint32_t extension, unused[3];
};

struct cache_entry {
    int32_t flags;
    uint32_t key, value, os_version;
    uint64_t hwcap;
};

#define CACHE_MAGIC "glibc-ld.so.cache1.1"
#define CACHE_OLD   "ld.so-1.7.0"

static const char *cache_text(const char *base, size_t size, uint32_t offset)
{
    return offset < size && memchr(base + offset, 0, size - offset) ? base + offset : NULL;
}

static bool cache_look(const char *map, size_t size, const char *name, size_t skip, char *ret_path)
{
    struct cache_header h;
    size_t start = 0;

    if (size > 16 && memcmp(map, CACHE_OLD, sizeof(CACHE_OLD) - 1) == 0) {
        uint32_t old_count;

        memcpy(&old_count, map + 12, sizeof(old_count));
        start = (16 + (size_t)old_count * 12 + 7) & ~(size_t)7;
    }
    if (start > size || size - start < sizeof(h))
        return false;
    map += start;
    size -= start;
    memcpy(&h, map, sizeof(h));
    if (memcmp(h.magic, CACHE_MAGIC, sizeof(h.magic)) != 0 ||
        h.count > (size - sizeof(h)) / sizeof(struct cache_entry))
        return false;
    for (uint32_t i = 0; i < h.count; i++) {
        struct cache_entry e;
        const char *key, *value;

        memcpy(&e, map + sizeof(h) + (size_t)i * sizeof(e), sizeof(e));
        key = cache_text(map, size, e.key);
        value = cache_text(map, size, e.value);
        if (!key || !value || strcmp(key, name) != 0 || value[0] != '/' || !xs_object_usable_file(value))
            continue;
        if (skip > 0) {
            skip--;
            continue;
        }
        return xs_str_copy(ret_path, XS_PATH_MAX, value);
    }
    return false;
}

bool xs_object_in_cache(const char *name, size_t skip, char ret_path[XS_PATH_MAX])
{
    int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
    bool found = false;
    off_t size;
    void *map;

    if (fd < 0)
        return xs_object_look_failed();
    size = lseek(fd, 0, SEEK_END);
    map = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (map == MAP_FAILED && size)
        xs_object_look_failed();
    close(fd);
    if (map == MAP_FAILED)
        return false;
    found = cache_look(map, (size_t)size, name, skip, ret_path);
    munmap(map, (size_t)size);
    return found;
}
