/* SPDX-License-Identifier: Apache-2.0 */
/* dlopen(3) as programs find it in this process. By the name libcuda.so.1 they get us anyway, since that is our own; by
 * a path, or by another of the driver's names, they would get the driver itself and pass us by. So a file that is the
 * driver is answered with ourselves (decision 0017), once it was opened as the program wished: whose functions the
 * program gets then is decided as always, and that copy is now mapped.
 *
 * What dlopen does depends on who calls it (RPATH, $ORIGIN, the namespace), and it knows its caller by the return
 * address. So the real one is reached by a jump, with nothing of ours on the stack; all that may have changed is
 * the name of the file. */
#include "shim/cuda/loader.h"

#include "base/env.h"
#include "base/log.h"
#include "hal/common/objects.h"
#include "shim/stream/stream_table.h"

#include <dlfcn.h>
#include <string.h>

#define NAME "libcuda.so"

typedef void *(*dlopen_fn)(const char *file, int mode);

/* Called from the code below; what it jumps to. Any thread writes the same. */
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
    void *p = dlsym(RTLD_NEXT, symbol);

    return p ? p : (void *)nothing;
}

static void *base_of(const void *address)
{
    Dl_info info;

    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* libcuda.so, libcuda.so.1, libcuda.so.580.159.04, in any folder */
static bool fits(const char *file)
{
    const char *slash = file ? strrchr(file, '/') : NULL, *name = slash ? slash + 1 : file;

    return name && strncmp(name, NAME, sizeof(NAME) - 1) == 0 &&
           (name[sizeof(NAME) - 1] == 0 || name[sizeof(NAME) - 1] == '.');
}

/* Our own look for the driver, here and in libhalcuda. */
static bool ours(const void *caller)
{
    const void *base = base_of(caller);

    return base && (base == base_of((const void *)xs_loader_file) ||
                    base == base_of((const void *)xsched_priv_cuda_bind));
}

/* A file that a program names by its path is the driver, and not another of ours. It stays open. */
static bool is_driver(const char *file, int mode)
{
    dlopen_fn real;
    void *handle, *probe;

    memcpy(&real, &xs_loader_dlopen, sizeof(real));
    handle = real(file, RTLD_LAZY | RTLD_LOCAL | (mode & RTLD_NOLOAD));
    if (!handle)
        return false;             /* the program gets this error from its own call */
    probe = dlsym(handle, xsched_priv_cuda_vendor.probe);
    if (probe && !xs_object_is_ours(probe))
        return true;
    dlclose(handle);
    return false;
}

const char *xs_loader_file(const char *file, int mode, const void *caller)
{
    Dl_info info;

    if (XS_UNLIKELY(!__atomic_load_n(&xs_loader_dlopen, __ATOMIC_ACQUIRE))) /* pairs with itself */
        __atomic_store_n(&xs_loader_dlopen, next("dlopen"), __ATOMIC_RELEASE);
    if (XS_LIKELY(!fits(file)) || ours(caller) || xs_env_bool(XS_ENV_XSCHED_DISABLE, false))
        return file;
    if (strchr(file, '$')) {
        xs_loader_note(XS_LOADER_ORIGIN, file); /* relative to who calls: only the real one can tell */
        return file;
    }
    if ((strchr(file, '/') && !is_driver(file, mode)) || !dladdr((const void *)xs_loader_file, &info))
        return file;
    XS_INFO("CUDA: %s is asked for; %s answers", file, info.dli_fname);
    return info.dli_fname[0] == '/' ? info.dli_fname : NAME ".1";
}

/* A namespace has copies of its own of all libraries; ours are for the program's. */
void xs_loader_namespace(const char *file)
{
    if (XS_UNLIKELY(!__atomic_load_n(&xs_loader_dlmopen, __ATOMIC_ACQUIRE))) /* as above */
        __atomic_store_n(&xs_loader_dlmopen, next("dlmopen"), __ATOMIC_RELEASE);
    if (fits(file))
        xs_loader_note(XS_LOADER_NAMESPACE, file);
}

#if defined(__x86_64__)

__asm__(".text\n.p2align 4\n.globl dlopen\n.type dlopen,@function\n"
        "dlopen:\n"
        "\tpush %rdi\n\tpush %rsi\n\tsub $8, %rsp\n"
        "\tmov 24(%rsp), %rdx\n"
        "\tcall xs_loader_file\n"
        "\tadd $8, %rsp\n\tpop %rsi\n\tpop %rdi\n"
        "\tmov %rax, %rdi\n"
        "\tjmp *xs_loader_dlopen(%rip)\n"
        ".size dlopen, .-dlopen\n"
        ".p2align 4\n.globl dlmopen\n.type dlmopen,@function\n"
        "dlmopen:\n"
        "\tpush %rdi\n\tpush %rsi\n\tpush %rdx\n"
        "\tmov %rsi, %rdi\n"
        "\tcall xs_loader_namespace\n"
        "\tpop %rdx\n\tpop %rsi\n\tpop %rdi\n"
        "\tjmp *xs_loader_dlmopen(%rip)\n"
        ".size dlmopen, .-dlmopen\n");

#elif defined(__aarch64__)

__asm__(".text\n.p2align 4\n.globl dlopen\n.type dlopen,%function\n"
        "dlopen:\n"
        "\tstp x29, x30, [sp, #-32]!\n\tmov x29, sp\n"
        "\tstr x1, [sp, #16]\n"
        "\tmov x2, x30\n"
        "\tbl xs_loader_file\n"
        "\tldr x1, [sp, #16]\n"
        "\tldp x29, x30, [sp], #32\n"
        "\tadrp x16, xs_loader_dlopen\n\tldr x16, [x16, :lo12:xs_loader_dlopen]\n\tbr x16\n"
        ".size dlopen, .-dlopen\n"
        ".p2align 4\n.globl dlmopen\n.type dlmopen,%function\n"
        "dlmopen:\n"
        "\tstp x29, x30, [sp, #-48]!\n\tmov x29, sp\n"
        "\tstp x0, x1, [sp, #16]\n\tstr x2, [sp, #32]\n"
        "\tmov x0, x1\n"
        "\tbl xs_loader_namespace\n"
        "\tldp x0, x1, [sp, #16]\n\tldr x2, [sp, #32]\n"
        "\tldp x29, x30, [sp], #48\n"
        "\tadrp x16, xs_loader_dlmopen\n\tldr x16, [x16, :lo12:xs_loader_dlmopen]\n\tbr x16\n"
        ".size dlmopen, .-dlmopen\n");

#endif
