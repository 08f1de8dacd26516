/* SPDX-License-Identifier: Apache-2.0 */
/* dlsym(3) as programs find it in this process. A program that opened the runtime by its path has our handle
 * (loader.c), by which it would not find the further functions of a newer runtime. So this looks a name that
 * we do not have up in the runtime.
 *
 * As for dlopen, dlsym's result depends on its caller (RTLD_NEXT), so a jump leads to the real one. We find
 * the real one without dlsym, and any handle but ours costs two compares. */
#include "hal/common/next_symbol.h"
#include "shim/stream/stream_table.h"

#include <dlfcn.h>
#include <string.h>

typedef void *(*dlsym_fn)(void *handle, const char *name);

/* The code below calls it, and jumps to the result. Any thread writes the same. */
void *xs_dlsym_handle(void *handle, const char *name, const void *caller) XS_HIDDEN;
extern void *xs_dlsym_real XS_HIDDEN;
void *xs_dlsym_real;

static _Atomic(void *) g_self;    /* our handle, once a program may have it; any thread writes the same */

void xs_api_handle_given(const char *file)
{
    void *self;

    if (atomic_load_explicit(&g_self, memory_order_acquire))
        return;
    self = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    if (self)                     /* stays open */
        atomic_store_explicit(&g_self, self, memory_order_release); /* pairs with the loads */
}

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

void *xs_dlsym_handle(void *handle, const char *name, const void *caller)
{
    dlsym_fn real = real_dlsym();
    void *library;

    if (XS_LIKELY(!handle || handle != atomic_load_explicit(&g_self, memory_order_acquire)))
        return handle;
    if (real(handle, name))
        return handle;
    library = xs_api_caller_library(caller);
    return library && real(library, name) ? library : handle;
}

#if defined(__x86_64__)

__asm__(".text\n.p2align 4\n.globl xs_dlsym_entry\n.type xs_dlsym_entry,@function\n"
        "xs_dlsym_entry:\n"
        "\tpush %rdi\n\tpush %rsi\n\tsub $8, %rsp\n"
        "\tmov 24(%rsp), %rdx\n"
        "\tcall xs_dlsym_handle\n"
        "\tadd $8, %rsp\n\tpop %rsi\n\tpop %rdi\n"
        "\tmov %rax, %rdi\n"
        "\tjmp *xs_dlsym_real(%rip)\n"
        ".size xs_dlsym_entry, .-xs_dlsym_entry\n"
        ".globl xs_dlsym_entry_old\n.set xs_dlsym_entry_old, xs_dlsym_entry\n"
        ".symver xs_dlsym_entry, dlsym@@GLIBC_2.34\n.symver xs_dlsym_entry_old, dlsym@GLIBC_2.2.5\n");

#elif defined(__aarch64__)

__asm__(".text\n.p2align 4\n.globl xs_dlsym_entry\n.type xs_dlsym_entry,%function\n"
        "xs_dlsym_entry:\n"
        "\tstp x29, x30, [sp, #-32]!\n\tmov x29, sp\n"
        "\tstr x1, [sp, #16]\n"
        "\tmov x2, x30\n"
        "\tbl xs_dlsym_handle\n"
        "\tldr x1, [sp, #16]\n"
        "\tldp x29, x30, [sp], #32\n"
        "\tadrp x16, xs_dlsym_real\n\tldr x16, [x16, :lo12:xs_dlsym_real]\n\tbr x16\n"
        ".size xs_dlsym_entry, .-xs_dlsym_entry\n"
        ".globl xs_dlsym_entry_old\n.set xs_dlsym_entry_old, xs_dlsym_entry\n"
        ".symver xs_dlsym_entry, dlsym@@GLIBC_2.34\n.symver xs_dlsym_entry_old, dlsym@GLIBC_2.17\n");

#endif
