/* SPDX-License-Identifier: Apache-2.0 */
/* An auditing object of glibc's dynamic linker (rtld-audit(7), LD_AUDIT): which object asks for a GPU library, by which name,
 * with which flags, and which of its functions it looks up by name. A preloaded dlopen would not see those that are called
 * from objects with RTLD_DEEPBIND; here each binding of dlopen leads past us.
 *
 * WAYS_RECORD=FILE: lines of PID, what, name, flags, object:
 *   search  somebody wants the object NAME (DT_NEEDED or dlopen)
 *   dlopen  the call, with its flags
 *   dlsym   a function that somebody looked up by name; in place of the flags, 1 when it is not the GPU library's own
 *   bound   likewise, a function that the object is linked with
 *   mapped  the CUDA runtime or ours came into the program
 * x86_64. Nothing here may call into the audited program's C library: this namespace has its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

void *(*ways_real_dlopen)(const char *name, int flags);
void ways_dlopen_entry(void);
void ways_note_dlopen(const char *name, int flags, void *caller);

static const char *const g_stems[] = {"libcuda.so", "libcuda-", "libnvidia-ml.so", "libamdhip64", "libhsa-runtime64"};

static bool is_gpu_library(const char *name)
{
    const char *base = name ? strrchr(name, '/') : NULL;

    base = base ? base + 1 : name;
    for (size_t i = 0; base && i < sizeof(g_stems) / sizeof(g_stems[0]); i++)
        if (strncmp(base, g_stems[i], strlen(g_stems[i])) == 0)
            return true;
    return false;
}

static void note(const char *what, const char *name, int flags, const char *object)
{
    const char *file = getenv("WAYS_RECORD");
    char line[8192], program[4096] = "";
    int n, fd;

    if (!*object && readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
        abort();
    n = snprintf(line, sizeof(line), "%d\t%s\t%s\t%d\t%s\n", (int)getpid(), what, name, flags, *object ? object : program);
    fd = file ? open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;

    if (fd >= 0 && n > 0 && n < (int)sizeof(line) && write(fd, line, (size_t)n) != n)
        abort();
    if (fd >= 0)
        close(fd);
}

/* The dynamic linker takes the caller's place in memory as the one whose run path and namespace hold: so nothing may stand
 * between it and its caller but a jump. */
__asm__(".text\n.globl ways_dlopen_entry\n.type ways_dlopen_entry, @function\n"
        "ways_dlopen_entry:\n"
        "    push %rdi\n    push %rsi\n    sub $8, %rsp\n"
        "    mov 24(%rsp), %rdx\n"
        "    call ways_note_dlopen@PLT\n"
        "    add $8, %rsp\n    pop %rsi\n    pop %rdi\n"
        "    mov ways_real_dlopen@GOTPCREL(%rip), %rax\n    mov (%rax), %rax\n"
        "    jmp *%rax\n");

void ways_note_dlopen(const char *name, int flags, void *caller)
{
    Dl_info at; /* of any namespace */

    if (is_gpu_library(name) && dladdr(caller, &at))
        note("dlopen", name, flags, at.dli_fname);
}

EXPORT unsigned la_version(unsigned version)
{
    return version;
}

EXPORT char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag)
{
    if (flag == LA_SER_ORIG && is_gpu_library(name))
        note("search", name, 0, ((struct link_map *)*cookie)->l_name);
    return (char *)(uintptr_t)name;
}

EXPORT unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie)
{
    (void)id;
    if (strstr(map->l_name, "/libcudart.so") || strstr(map->l_name, "/libshim"))
        note("mapped", map->l_name, 0, "");
    *cookie = (uintptr_t)map;
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

EXPORT uintptr_t la_symbind64(Elf64_Sym *sym, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags, const char *name)
{
    const struct link_map *target = (const struct link_map *)*to, *source = (const struct link_map *)*from;

    (void)index;
    if (strcmp(name, "dlopen") == 0 && strstr(target->l_name, "libc.so.6")) {
        *(void **)&ways_real_dlopen = (void *)(uintptr_t)sym->st_value;
        return (uintptr_t)ways_dlopen_entry;
    }
    if (source != target && (is_gpu_library(target->l_name) || strstr(target->l_name, "/libshim")))
        note(*flags & LA_SYMB_DLSYM ? "dlsym" : "bound", name, !is_gpu_library(target->l_name), source->l_name);
    *flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
    return (uintptr_t)sym->st_value;
}
