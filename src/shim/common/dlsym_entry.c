/* SPDX-License-Identifier: Apache-2.0 */
/* dlsym(3) as programs find it in this process. A program has our handle in place of the vendor's library's (loader.c, or
 * by our SONAME). By that it would find functions that this library lacks, since we have those of all its releases, and
 * not find those of a newer one. So a name of the vendor's is looked up in the library itself as well: what that lacks is
 * not found, and what we lack is found there. A function of the library that we have, in a handle that is not ours, leads
 * to ours (XS_API_ANSWERS).
 *
 * As for dlopen, dlsym's result depends on its caller (RTLD_NEXT), so a jump leads to the real one; only the handle
 * changes. We find the real one without dlsym. Any name that is not the vendor's costs a few compares. Of several shims
 * each one looks at its own vendor's names, and jumps to the next one's. */
#include XS_SHIM_PLATFORM

#include "base/env.h"
#include "hal/common/next_symbol.h"
#include "hal/common/objects.h"
#include "shim/common/callers.h"
#include "shim/common/loader.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

typedef void *(*dlsym_fn)(void *handle, const char *name);

/* The code below calls it. It returns the function, or else jumps to the real dlsym with the handle. */
struct answer {
    void *handle, *function;
};
struct answer xs_dlsym_answer(void *handle, const char *name, const void *caller) XS_HIDDEN;
/* Any thread writes the same. */
extern void *xs_dlsym_real XS_HIDDEN;
void *xs_dlsym_real;

static dlsym_fn real_dlsym(void)
{
    void *p = __atomic_load_n(&xs_dlsym_real, __ATOMIC_ACQUIRE); /* pairs with itself */
    dlsym_fn fn;

    if (XS_UNLIKELY(!p)) {
        p = xs_symbol_next("dlsym");
        if (!p)                   /* this object is behind the C library */
            p = xs_symbol_of_loader("dlsym");
        __atomic_store_n(&xs_dlsym_real, p, __ATOMIC_RELEASE);
    }
    memcpy(&fn, &p, sizeof(fn));
    return fn;
}

/* Calls no function of the C library (next_symbol.h). A name of the vendor's goes on with a capital letter: cuInit and not
 * cublasCreate, clFinish and not clock. */
static bool begins(const char *name)
{
    static const char *const prefixes[] = {XS_API_NAMES_BEGIN};

    for (size_t i = 0; i < XS_ARRAY_LEN(prefixes); i++) {
        size_t n = 0;

        while (prefixes[i][n] && name[n] == prefixes[i][n])
            n++;
        if (!prefixes[i][n] && (name[n] < 'a' || name[n] > 'z'))
            return true;
    }
    return false;
}

/* Our own handle. NULL: this object came in a way that has none */
static void *own_handle(void)
{
    static _Atomic(void *) own;   /* any thread writes the same; stays open */
    void *handle = atomic_load_explicit(&own, memory_order_acquire);
    Dl_info info;

    if (XS_LIKELY(handle != NULL))
        return handle;
    if (dladdr((const void *)own_handle, &info) && info.dli_fname)
        handle = dlopen(info.dli_fname[0] == '/' ? info.dli_fname : XS_API_SONAME, RTLD_LAZY | RTLD_NOLOAD);
    if (handle)
        atomic_store_explicit(&own, handle, memory_order_release);
    return handle;
}

static bool is_in_this_object(const void *address)
{
    static _Atomic uintptr_t from, to; /* any thread writes the same; `to` first */
    uintptr_t begin = atomic_load_explicit(&from, memory_order_acquire), end;

    if (XS_UNLIKELY(!begin)) {
        if (!xs_object_range((const void *)own_handle, &begin, &end))
            return false;
        atomic_store_explicit(&to, end, memory_order_relaxed);
        atomic_store_explicit(&from, begin, memory_order_release);
    }
    end = atomic_load_explicit(&to, memory_order_relaxed);
    return (uintptr_t)address - begin < end - begin;
}

/* The copy of the vendor's library whose function this is; NULL: none. */
static void *copy_with(const void *address)
{
    char *path = address ? malloc(XS_PATH_MAX) : NULL; /* the caller's stack may be small */
    void *copy = NULL;

    if (path && xs_object_is_copy(address, xs_api_vendor.platform->vendor, path))
        copy = dlopen(path, RTLD_LAZY | RTLD_NOLOAD); /* stays open */
    free(path);
    return copy;
}

/* An address in the object that a handle stands for; NULL: unknown. */
static const void *place_of(void *handle)
{
#ifdef __GLIBC__
    struct link_map *map;

    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0)
        return map->l_ld;
#endif
    (void)handle;
    return NULL;
}

/* The library behind our functions in the scope of the object at this address. NULL: it needs none.
 * @param own  it has our handle: then it opened the library, by our name */
static void *library_of(const void *place, bool own)
{
    void *library = xs_callers_library(place);
    struct xs_vendor_caller of;
    bool sure;

    if (!library)
        library = xs_callers_given();
    if (library || !place || xs_env_get(xs_api_vendor.platform->lib)) /* the first call finds what the user names */
        return library;
    library = xs_vendor_of_caller(&xs_api_vendor, place, &of);
    if (!library && own && !of.absent)
        library = xs_vendor_named(&xs_api_vendor, place, XS_API_SONAME, false, &sure);
    xs_callers_give(library);
    return library;
}

/* Whether we stand in the vendor's place in the scope of this handle. */
static bool stands_in(dlsym_fn real, void *handle)
{
    return is_in_this_object(real(handle, xs_api_vendor.probe));
}

/* @param ret_function  what the program gets, instead of what the real one gives by the handle */
static void *handle_for(dlsym_fn real, void *handle, const char *name, const void *caller, void **ret_function)
{
    bool anywhere = handle == RTLD_DEFAULT || handle == RTLD_NEXT;
    void *own = own_handle(), *mine, *found, *library, *copy;

    if (!own || xs_object_is_copy(caller, xs_api_vendor.platform->vendor, NULL)) /* it asks for functions of its own */
        return handle;
    mine = real(own, name);
    if (!is_in_this_object(mine))
        mine = NULL;
    if (anywhere) {
        if (!mine)                /* the caller's place decides */
            return handle;
        library = library_of(caller, false);
    } else if (handle == own) {
        library = library_of(caller, true);
    } else {
        found = real(handle, name);
        if (XS_API_ANSWERS && mine && (copy = copy_with(found))) {
            if (!xs_callers_give(copy)) /* our handle stands for another copy */
                *ret_function = xs_copy_function(copy, mine, caller);
            return own;
        }
        if ((found && found != mine) || !stands_in(real, handle))
            return handle;
        library = library_of(place_of(handle), false);
    }
    if (!library)                 /* as without one: our functions answer with errors */
        return handle;
    if (mine)
        return real(library, name) ? handle : library; /* there the real one does not find it either, and says so */
    return real(library, name) ? library : handle;
}

struct answer xs_dlsym_answer(void *handle, const char *name, const void *caller)
{
    struct answer a = {handle, NULL};
    dlsym_fn real = real_dlsym();

    if (XS_UNLIKELY(name && begins(name)))
        a.handle = handle_for(real, handle, name, caller, &a.function);
    return a;
}

#ifdef XS_API_VERSION_NODES       /* as in loader.c */
#define EXPORTED(old)                                                                             \
    ".globl xs_dlsym_entry, xs_dlsym_entry_old\n.set xs_dlsym_entry_old, xs_dlsym_entry\n"        \
    ".symver xs_dlsym_entry, dlsym@@GLIBC_2.34\n.symver xs_dlsym_entry_old, dlsym@" old "\n"
#else
#define EXPORTED(old) ".globl dlsym\n.type dlsym,@function\n.set dlsym, xs_dlsym_entry\n"
#endif

#if defined(__x86_64__)

__asm__(".text\n.p2align 4\n.type xs_dlsym_entry,@function\n"
        "xs_dlsym_entry:\n"
        "\tpush %rdi\n\tpush %rsi\n\tsub $8, %rsp\n"
        "\tmov 24(%rsp), %rdx\n"
        "\tcall xs_dlsym_answer\n"
        "\tadd $8, %rsp\n\tpop %rsi\n\tpop %rdi\n"
        "\ttest %rdx, %rdx\n\tjnz 1f\n"
        "\tmov %rax, %rdi\n"
        "\tjmp *xs_dlsym_real(%rip)\n"
        "1:\tmov %rdx, %rax\n\tret\n"
        ".size xs_dlsym_entry, .-xs_dlsym_entry\n" EXPORTED("GLIBC_2.2.5"));

#elif defined(__aarch64__)

__asm__(".text\n.p2align 4\n.type xs_dlsym_entry,%function\n"
        "xs_dlsym_entry:\n"
        "\tstp x29, x30, [sp, #-32]!\n\tmov x29, sp\n"
        "\tstr x1, [sp, #16]\n"
        "\tmov x2, x30\n"
        "\tbl xs_dlsym_answer\n"
        "\tmov x9, x1\n"
        "\tldr x1, [sp, #16]\n"
        "\tldp x29, x30, [sp], #32\n"
        "\tcbnz x9, 1f\n"
        "\tadrp x16, xs_dlsym_real\n\tldr x16, [x16, :lo12:xs_dlsym_real]\n\tbr x16\n"
        "1:\tmov x0, x9\n\tret\n"
        ".size xs_dlsym_entry, .-xs_dlsym_entry\n" EXPORTED("GLIBC_2.17"));

#endif
