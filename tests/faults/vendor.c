/* SPDX-License-Identifier: Apache-2.0 */
/* The nth call of XSched's own into the vendor's library fails. What our objects find with dlsym are small pieces of
 * code that ask here, and then jump to the vendor's function with every argument where it was. */
#define _GNU_SOURCE
#include "libfault.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool fault_vendor_on;

#ifdef __x86_64__
#define PIECES 3072

static struct {
    void *real;
    const char *name;
} g_pieces[PIECES];
static _Atomic int g_used;
static _Atomic long g_calls;
static _Atomic bool g_lost;
static long g_at;
static int g_value;
static bool g_may_be_lost;
static const char *g_of_shim;
static _Atomic(void *) g_lose;    /* the fake's own */

/* Where to go, and if that is NULL what to answer. */
struct verdict {
    void *to;
    uint64_t value;
};
struct verdict fault_vendor_decide(uint64_t piece) __attribute__((visibility("hidden")));

static uint64_t answer(const char *name)
{
    /* those that return an object say NULL */
    return strncmp(name, "clCreate", 8) == 0 || strncmp(name, "clGetExtension", 14) == 0 ? 0 : (uint64_t)(int64_t)g_value;
}

struct verdict fault_vendor_decide(uint64_t piece)
{
    long n = atomic_fetch_add(&g_calls, 1) + 1;
    void (*lose)(void);
    void *p;

    if (n != g_at && !atomic_load(&g_lost)) {
        fault_count(n, NULL);
        return (struct verdict){g_pieces[piece].real, 0};
    }
    if (n == g_at)
        fault_count(n, g_pieces[piece].name);
    if (n == g_at && g_may_be_lost) {
        atomic_store(&g_lost, true);
        p = atomic_load(&g_lose);
        memcpy(&lose, &p, sizeof(lose));
        if (lose)
            lose();
    }
    return (struct verdict){NULL, answer(g_pieces[piece].name)};
}

__asm__(".text\n"
        ".balign 16\n"
        "fault_vendor_pieces:\n"
        ".set piece, 0\n"
        ".rept 3072\n"
        ".balign 16\n"
        "pushq $piece\n"
        "jmp fault_vendor_common\n"
        ".set piece, piece + 1\n"
        ".endr\n"
        "fault_vendor_common:\n"
        "push %rdi\n push %rsi\n push %rdx\n push %rcx\n push %r8\n push %r9\n"
        "sub $128, %rsp\n"
        "movups %xmm0, (%rsp)\n movups %xmm1, 16(%rsp)\n movups %xmm2, 32(%rsp)\n movups %xmm3, 48(%rsp)\n"
        "movups %xmm4, 64(%rsp)\n movups %xmm5, 80(%rsp)\n movups %xmm6, 96(%rsp)\n movups %xmm7, 112(%rsp)\n"
        "mov 176(%rsp), %rdi\n"
        "call fault_vendor_decide\n"
        "mov %rax, %r11\n"
        "mov %rdx, %r10\n"
        "movups (%rsp), %xmm0\n movups 16(%rsp), %xmm1\n movups 32(%rsp), %xmm2\n movups 48(%rsp), %xmm3\n"
        "movups 64(%rsp), %xmm4\n movups 80(%rsp), %xmm5\n movups 96(%rsp), %xmm6\n movups 112(%rsp), %xmm7\n"
        "add $128, %rsp\n"
        "pop %r9\n pop %r8\n pop %rcx\n pop %rdx\n pop %rsi\n pop %rdi\n"
        "add $8, %rsp\n"
        "test %r11, %r11\n"
        "jz 1f\n"
        "jmp *%r11\n"
        "1: mov %r10, %rax\n"
        "ret\n");
extern char fault_vendor_pieces[] __attribute__((visibility("hidden")));

void fault_vendor_begin(void)
{
    const char *at = getenv("FAULT_VENDOR_AT"), *value = getenv("FAULT_VENDOR_VALUE");

    fault_vendor_on = at != NULL;
    g_at = at ? atol(at) : 0;
    g_value = value ? atoi(value) : 999;
    g_may_be_lost = getenv("FAULT_VENDOR_LOST") != NULL;
    g_of_shim = getenv("FAULT_VENDOR_SHIM");
}

static bool named(const char *list, const char *name)
{
    for (; list && *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == strlen(name) && strncmp(list, name, strlen(name)) == 0)
            return true;
    return false;
}

void *fault_vendor_wrap(void *function, const char *name, const char *object, void *(*find)(void *, const char *))
{
    const char *base = strrchr(object, '/');
    bool vendor = strncmp(name, "cu", 2) == 0 || strncmp(name, "hip", 3) == 0 || strncmp(name, "cl", 2) == 0 ||
                  strncmp(name, "ze", 2) == 0;
    void *(*open_file)(const char *, int);
    void *file, *p;
    Dl_info of;
    int piece;

    base = base ? base + 1 : object;
    if (!vendor || (strncmp(base, "libhal", 6) != 0 && !named(g_of_shim, name)))
        return function;
    if (g_may_be_lost && !atomic_load(&g_lose) && dladdr(function, &of) && of.dli_fname) {
        /* the C library's: the shim's would answer with the shim */
        p = find(RTLD_NEXT, "dlopen");
        memcpy(&open_file, &p, sizeof(open_file));
        file = open_file(of.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        if (file)
            atomic_store(&g_lose, find(file, "fake_lose_device"));
        if (!atomic_load(&g_lose)) {
            fprintf(stderr, "no fake_lose_device in %s\n", of.dli_fname);
            _exit(99);
        }
    }
    piece = atomic_fetch_add(&g_used, 1);
    if (piece >= PIECES)
        return function;
    g_pieces[piece].real = function;
    g_pieces[piece].name = strdup(name);
    return fault_vendor_pieces + 16 * (uintptr_t)piece;
}
#else
void fault_vendor_begin(void)
{
}

void *fault_vendor_wrap(void *function, const char *name, const char *object, void *(*find)(void *, const char *))
{
    (void)name, (void)object, (void)find;
    return function;
}
#endif
