/* SPDX-License-Identifier: Apache-2.0 */
/* dlopen(3) as programs find it in this process. By the SONAME of the shim they get us anyway, if the library is there.
 * By a path, or by another of the vendor's names, they would get the vendor's library itself and bypass us. So dlopen of
 * a file that is this library returns us (XS_API_ANSWERS, decision 0017), after it has opened the file as the program
 * wished. So the process has mapped that copy. Our handle stands for one copy. For others the program gets a handle of
 * their own (dlsym_entry.c).
 *
 * dlopen's result depends on its caller (RPATH, $ORIGIN, the namespace), and it knows its caller by the
 * return address. So a jump leads to the real one, with nothing of ours on the stack; only the name of the
 * file may have changed. */
#include "shim/common/loader.h"

#include XS_SHIM_PLATFORM

#include "base/env.h"
#include "base/log.h"
#include "hal/common/needs.h"
#include "hal/common/next_symbol.h"
#include "hal/common/objects.h"
#include "shim/common/callers.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef RTLD_DEEPBIND              /* not in every C library */
#define DEEP RTLD_DEEPBIND
#else
#define DEEP 0
#endif

typedef void *(*dlopen_fn)(const char *file, int mode);

/* The code below calls it, and jumps to the result. Any thread writes the same. */
const char *xs_loader_file(const char *file, int mode, const void *caller) XS_HIDDEN;
void xs_loader_namespace(const char *file) XS_HIDDEN;
extern void *xs_loader_dlopen XS_HIDDEN, *xs_loader_dlmopen XS_HIDDEN;
void *xs_loader_dlopen, *xs_loader_dlmopen;

static void *nothing(void)
{
    return NULL;
}

static void *next(const char *symbol)
{
    void *p = xs_symbol_next(symbol);

    if (!p)                       /* this object is behind the C library */
        p = xs_symbol_of_loader(symbol);
    return p ? p : (void *)nothing;
}

static void *base_of(const void *address)
{
    Dl_info info;

    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* libcuda.so, libcuda.so.1, libcuda.so.580.159.04, in any folder. For any other name this calls no function of the C
 * library (next_symbol.h). */
static bool fits(const char *file)
{
    const char *stem = xs_api_vendor.platform->vendor, *name = file;
    size_t same = 0;

    for (const char *c = file; c && *c; c++)
        if (*c == '/')
            name = c + 1;
    while (name && stem[same] && name[same] == stem[same])
        same++;
    return name && !stem[same] && xs_object_name_fits(name, stem);
}

/* Our own look for the library, here and in the libhal. */
static bool ours(const void *caller)
{
    const void *base = base_of(caller);

    return base && (base == base_of((const void *)xs_loader_file) ||
                    base == base_of((const void *)&xs_api_vendor));
}

/* If a program names a file by its path, that file is the vendor's library, and not another of ours. It stays
 * open, and visible to all if the program wanted that, for the functions that the shim does not know. */
static void *open_path(const char *file, int mode)
{
    dlopen_fn real;
    void *handle, *probe;

    memcpy(&real, &xs_loader_dlopen, sizeof(real));
    handle = real(file, RTLD_LAZY | (mode & (RTLD_NOLOAD | RTLD_GLOBAL)));
    if (!handle)
        return NULL;              /* the program gets this error from its own call */
    probe = xs_dlsym(handle, xs_api_vendor.probe);
    if (probe && !xs_object_is_ours(probe))
        return handle;
    dlclose(handle);
    return NULL;
}

/* As the program's own call would: for functions that we lack. */
static void make_visible(void *library)
{
    char *path = malloc(XS_PATH_MAX); /* the caller's stack may be small */
    dlopen_fn real;

    memcpy(&real, &xs_loader_dlopen, sizeof(real));
    if (path) {
        xs_vendor_path(&xs_api_vendor, library, path, XS_PATH_MAX);
        real(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL); /* stays open */
    }
    free(path);
}

/* A text for the real dlopen, which runs when we have returned. Never freed: a few names in a process.
 * @return NULL: no memory */
static const char *kept(const char *text)
{
    static _Atomic(char *) texts[8]; /* any thread fills free ones, and never changes them */
    size_t n = strlen(text) + 1;
    char *copy = NULL;

    for (size_t i = 0; i < XS_ARRAY_LEN(texts); i++) {
        char *known = atomic_load(&texts[i]);

        if (!known && (copy = copy ? copy : malloc(n))) {
            memcpy(copy, text, n);
            if (atomic_compare_exchange_strong(&texts[i], &known, copy))
                return copy;
        }
        if (known && strcmp(known, text) == 0) {
            free(copy);
            return known;
        }
    }
    if (!copy && (copy = malloc(n)))
        memcpy(copy, text, n);
    return copy;
}

/* What the program opens instead where this machine lacks the library. No file has this name, so its call fails, and
 * dlerror says why. */
static const char *absent_name(const char *file)
{
    const char *name;
    char text[128];

    snprintf(text, sizeof(text), "%s (not on this machine)", file);
    name = kept(text);
    return name ? name : "(not on this machine)";
}

/* The file behind a name, since the name may be ours. */
static const char *path_of(void *library, const char *file)
{
    char *path = malloc(XS_PATH_MAX); /* the caller's stack may be small */
    const char *name = NULL;

    if (path) {
        xs_vendor_path(&xs_api_vendor, library, path, XS_PATH_MAX);
        name = kept(path);
    }
    free(path);
    return name ? name : file;
}

/* @return the file that the program gets: ours; its own, where its own call decides */
static const char *find(const char *file, int mode, const void *caller)
{
    bool by_path = strchr(file, '/') != NULL, disabled = xs_env_bool(XS_ENV_XSCHED_DISABLE, false);
    const char *self;
    void *handle;
    Dl_info info;
    bool sure;

    if (!XS_API_ANSWERS && (by_path || strcmp(file, XS_API_SONAME) != 0))
        return file;              /* its own loader takes us as a layer */
    if (by_path)
        handle = disabled ? NULL : open_path(file, mode);
    else if (XS_API_OWN_NAME && xs_env_get(xs_api_vendor.platform->lib))
        handle = NULL;            /* the user names the file behind our name */
    else if (!(handle = xs_vendor_named(&xs_api_vendor, caller, file, (mode & RTLD_NOLOAD) != 0, &sure)))
        return sure ? absent_name(file) : file;
    if (disabled || (by_path && !handle))
        return file;
    if (handle && !by_path && (mode & RTLD_GLOBAL))
        make_visible(handle);
    if (!xs_callers_give(handle)) /* our handle stands for another copy */
        return by_path ? file : path_of(handle, file);
    if (!dladdr((const void *)xs_loader_file, &info))
        return file;
    self = info.dli_fname[0] == '/' ? info.dli_fname : XS_API_SONAME;
    XS_INFO(XS_API_NAME ": the program opens %s; %s answers", file, info.dli_fname);
    return self;
}

/* The program opens something else, which may bring another copy of the library. */
static void other(const char *file, int mode)
{
    if (!file || (mode & RTLD_NOLOAD))
        return;
    if (XS_UNLIKELY(mode & (DEEP | RTLD_GLOBAL)))
        xs_needs_opened(file, (mode & DEEP) != 0, (mode & RTLD_GLOBAL) != 0);
    if (XS_UNLIKELY(mode & DEEP))
        xs_loader_deep(file);
    if (XS_API_MULTI)
        xs_callers_load();
}

const char *xs_loader_file(const char *file, int mode, const void *caller)
{
    if (XS_UNLIKELY(!__atomic_load_n(&xs_loader_dlopen, __ATOMIC_ACQUIRE))) /* pairs with itself */
        __atomic_store_n(&xs_loader_dlopen, next("dlopen"), __ATOMIC_RELEASE);
    if (XS_LIKELY(!fits(file))) {
        other(file, mode);
        return file;
    }
    if (ours(caller))
        return file;
    if (XS_API_MULTI)
        xs_callers_load();
    if (strchr(file, '$'))
        return file;              /* relative to the caller: only the real one can tell; dlsym_entry.c sees the calls */
    return find(file, mode, caller);
}

#if XS_API_ANSWERS
/* A namespace has copies of its own of all libraries; ours are for the program's. */
void xs_loader_namespace(const char *file)
{
    if (XS_UNLIKELY(!__atomic_load_n(&xs_loader_dlmopen, __ATOMIC_ACQUIRE))) /* as above */
        __atomic_store_n(&xs_loader_dlmopen, next("dlmopen"), __ATOMIC_RELEASE);
    if (fits(file))
        xs_loader_note(XS_LOADER_NAMESPACE, file);
}
#endif

/* An object with versions answers only for the versions that it has: those of the C libraries until 2.33, and
 * since. */
#ifdef XS_API_VERSION_NODES
#if defined(__x86_64__)
#define OLD_DLOPEN  "GLIBC_2.2.5"
#define OLD_DLMOPEN "GLIBC_2.3.4"
#else
#define OLD_DLOPEN  "GLIBC_2.17"
#define OLD_DLMOPEN "GLIBC_2.17"
#endif
#define EXPORTED(name, entry, old)                                                                \
    ".globl " entry ", " entry "_old\n.set " entry "_old, " entry "\n"                            \
    ".symver " entry ", " name "@@GLIBC_2.34\n.symver " entry "_old, " name "@" old "\n"
#else
#define EXPORTED(name, entry, old) ".globl " name "\n.type " name ",@function\n.set " name ", " entry "\n"
#endif

#if defined(__x86_64__)

__asm__(".text\n.p2align 4\n.type xs_loader_dlopen_entry,@function\n"
        "xs_loader_dlopen_entry:\n"
        "\tpush %rdi\n\tpush %rsi\n\tsub $8, %rsp\n"
        "\tmov 24(%rsp), %rdx\n"
        "\tcall xs_loader_file\n"
        "\tadd $8, %rsp\n\tpop %rsi\n\tpop %rdi\n"
        "\tmov %rax, %rdi\n"
        "\tjmp *xs_loader_dlopen(%rip)\n"
        ".size xs_loader_dlopen_entry, .-xs_loader_dlopen_entry\n"
        EXPORTED("dlopen", "xs_loader_dlopen_entry", OLD_DLOPEN));
#if XS_API_ANSWERS
__asm__(".text\n.p2align 4\n.type xs_loader_dlmopen_entry,@function\n"
        "xs_loader_dlmopen_entry:\n"
        "\tpush %rdi\n\tpush %rsi\n\tpush %rdx\n"
        "\tmov %rsi, %rdi\n"
        "\tcall xs_loader_namespace\n"
        "\tpop %rdx\n\tpop %rsi\n\tpop %rdi\n"
        "\tjmp *xs_loader_dlmopen(%rip)\n"
        ".size xs_loader_dlmopen_entry, .-xs_loader_dlmopen_entry\n"
        EXPORTED("dlmopen", "xs_loader_dlmopen_entry", OLD_DLMOPEN));
#endif

#elif defined(__aarch64__)

__asm__(".text\n.p2align 4\n.type xs_loader_dlopen_entry,%function\n"
        "xs_loader_dlopen_entry:\n"
        "\tstp x29, x30, [sp, #-32]!\n\tmov x29, sp\n"
        "\tstr x1, [sp, #16]\n"
        "\tmov x2, x30\n"
        "\tbl xs_loader_file\n"
        "\tldr x1, [sp, #16]\n"
        "\tldp x29, x30, [sp], #32\n"
        "\tadrp x16, xs_loader_dlopen\n\tldr x16, [x16, :lo12:xs_loader_dlopen]\n\tbr x16\n"
        ".size xs_loader_dlopen_entry, .-xs_loader_dlopen_entry\n"
        EXPORTED("dlopen", "xs_loader_dlopen_entry", OLD_DLOPEN));
#if XS_API_ANSWERS
__asm__(".text\n.p2align 4\n.type xs_loader_dlmopen_entry,%function\n"
        "xs_loader_dlmopen_entry:\n"
        "\tstp x29, x30, [sp, #-48]!\n\tmov x29, sp\n"
        "\tstp x0, x1, [sp, #16]\n\tstr x2, [sp, #32]\n"
        "\tmov x0, x1\n"
        "\tbl xs_loader_namespace\n"
        "\tldp x0, x1, [sp, #16]\n\tldr x2, [sp, #32]\n"
        "\tldp x29, x30, [sp], #48\n"
        "\tadrp x16, xs_loader_dlmopen\n\tldr x16, [x16, :lo12:xs_loader_dlmopen]\n\tbr x16\n"
        ".size xs_loader_dlmopen_entry, .-xs_loader_dlmopen_entry\n"
        EXPORTED("dlmopen", "xs_loader_dlmopen_entry", OLD_DLMOPEN));
#endif

#endif
