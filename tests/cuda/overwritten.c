/* SPDX-License-Identifier: Apache-2.0 */
/* A library that overwrites the first bytes of the driver's memory functions with a jump to its own, as UCX does. It knows
 * few instructions; where it cannot move one, it gives up. The functions work behind that, and are the shim's still. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define JUMP_BYTES 13u            /* to any address; UCX takes 5 where that reaches */

/* What UCX 1.22 overwrites. */
static const char *const k_names[] = {
    "cuMemAlloc", "cuMemAlloc_v2", "cuMemAllocManaged", "cuMemAllocPitch", "cuMemAllocPitch_v2", "cuMemMap",
    "cuModuleGetGlobal_v2", "cuMemAllocAsync", "cuMemAllocFromPoolAsync", "cuLibraryGetGlobal", "cuMemFree",
    "cuMemFree_v2", "cuMemFreeHost", "cuMemUnmap", "cuMemFreeAsync",
};
#define COUNT (sizeof(k_names) / sizeof(k_names[0]))

static unsigned char *s_moved[COUNT];   /* the instructions that stood there, and a jump back behind them */
static unsigned s_calls[COUNT];
static unsigned char *s_code;

static int fail(const char *what, const char *name)
{
    printf("FAILED: %s: %s\n", what, name);
    exit(1);
}

static unsigned char *room(size_t bytes)
{
    unsigned char *p = s_code;

    s_code += (bytes + 15) / 16 * 16;
    return p;
}

static unsigned char *jump_to(unsigned char *at, const void *to)
{
    memcpy(at, "\xff\x25\0\0\0\0", 6);   /* jmp *0(%rip) */
    memcpy(at + 6, &to, sizeof(to));
    return at + 14;
}

/* The length of an instruction of the kinds that UCX has known since 2021; 0: another. */
static size_t known(const unsigned char *p)
{
    if ((p[0] & 0xf8) == 0xb8)                                  /* mov $imm32, %reg */
        return 5;
    if ((p[0] & 0xf8) == 0x50)                                  /* push */
        return 1;
    if (p[0] == 0x41 && (p[1] & 0xf8) == 0x50)
        return 2;
    if (memcmp(p, "\x48\x89\xe5", 3) == 0)                      /* mov %rsp, %rbp */
        return 3;
    if (memcmp(p, "\x48\x83\xec", 3) == 0)                      /* sub $imm8, %rsp */
        return 4;
    return memcmp(p, "\x48\x81\xec", 3) == 0 ? 7 : 0;           /* sub $imm32, %rsp */
}

/* Code that counts the call and goes on to what was moved. */
static const void *counter(size_t i)
{
    unsigned char *start = room(64), *p = start;
    unsigned *count = &s_calls[i];

    memcpy(p, "\x49\xbb", 2);                                   /* movabs count, %r11 */
    memcpy(p + 2, &count, sizeof(count));
    memcpy(p + 10, "\x41\xff\x03", 3);                          /* incl (%r11) */
    jump_to(p + 13, s_moved[i]);
    return start;
}

static void overwrite(size_t i)
{
    unsigned char *entry = dlsym(RTLD_DEFAULT, k_names[i]), *moved = room(96), patch[JUMP_BYTES];
    size_t length = 0;
    uintptr_t page = (uintptr_t)entry & ~(uintptr_t)4095;
    const void *to;

    if (!entry)
        fail("not exported", k_names[i]);
    while (length < JUMP_BYTES) {
        size_t one = known(entry + length);

        if (!one)
            fail("an instruction that cannot be moved", k_names[i]);
        length += one;
    }
    s_moved[i] = moved;
    memcpy(moved, entry, length);
    jump_to(moved + length, entry + length);
    to = counter(i);
    memcpy(patch, "\x49\xbb", 2);                               /* movabs to, %r11; jmp *%r11 */
    memcpy(patch + 2, &to, sizeof(to));
    memcpy(patch + 10, "\x41\xff\xe3", 3);
    if (mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        fail("mprotect", k_names[i]);
    memcpy(entry, patch, sizeof(patch));
}

int main(void)
{
    int (*init)(unsigned), (*retain)(void **, int), (*current)(void *), (*alloc)(uint64_t *, size_t), (*release)(uint64_t);
    uint64_t memory;
    void *context;

    s_code = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (s_code == MAP_FAILED)
        fail("mmap", "");
    for (size_t i = 0; i < COUNT; i++)
        overwrite(i);
#define FIND(to, name) *(void **)&to = dlsym(RTLD_DEFAULT, name)
    FIND(init, "cuInit");
    FIND(retain, "cuDevicePrimaryCtxRetain");
    FIND(current, "cuCtxSetCurrent");
    FIND(alloc, "cuMemAlloc_v2");
    FIND(release, "cuMemFree_v2");
    for (int round = 1; round <= 2; round++) {
        if (init(0) || retain(&context, 0) || current(context) || alloc(&memory, 1 << 20) || release(memory))
            fail("the driver", "");
        if (alloc(&memory, (size_t)1 << 30) != 2)              /* XSCHED_MEM_LIMIT */
            fail("the shim's limit is gone", "");
    }
    if (s_calls[1] != 4 || s_calls[11] != 2)
        fail("calls past the library", "");
    printf("%zu functions overwritten\n", COUNT);
    return 0;
}
