/* SPDX-License-Identifier: Apache-2.0 */
/* An object as the kernel maps one into each process (vdso(7)), with one function, for a getauxval of a test's own: our
 * code then reads that clock. */
#ifndef FAKE_KERNEL_OBJECT_H
#define FAKE_KERNEL_OBJECT_H

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

typedef void (*fake_kernel_clock)(clockid_t clock, struct timespec *ret);

/** From any thread: the threads that read a clock first do so at once.
 *
 * @return what getauxval(AT_SYSINFO_EHDR) is to answer */
static inline unsigned long fake_kernel_object(fake_kernel_clock clock)
{
    static struct {
        ElfW(Ehdr) head;
        ElfW(Phdr) segments[2];
        ElfW(Dyn) dynamic[4];
        ElfW(Sym) symbols[2];
        uint32_t hash[2];
        char names[32];
    } o;
    static atomic_bool taken, filled; /* by whoever came first */
    const uintptr_t base = (uintptr_t)&o;

    if (atomic_exchange(&taken, true)) {
        while (!atomic_load(&filled))
            ;
        return base;
    }
    strcpy(o.names + 1, "__vdso_clock_gettime");
    o.hash[1] = 2;                /* symbols */
    o.symbols[1].st_name = 1;
    o.symbols[1].st_info = STB_GLOBAL << 4 | STT_FUNC;
    o.symbols[1].st_shndx = 1;
    o.symbols[1].st_value = (uintptr_t)clock - base;
    o.dynamic[0] = (ElfW(Dyn)){DT_SYMTAB, {(uintptr_t)o.symbols - base}};
    o.dynamic[1] = (ElfW(Dyn)){DT_STRTAB, {(uintptr_t)o.names - base}};
    o.dynamic[2] = (ElfW(Dyn)){DT_HASH, {(uintptr_t)o.hash - base}};
    o.segments[0].p_type = PT_LOAD;
    o.segments[1].p_type = PT_DYNAMIC;
    o.segments[1].p_vaddr = (uintptr_t)o.dynamic - base;
    o.head.e_phoff = (uintptr_t)o.segments - base;
    o.head.e_phnum = 2;
    atomic_store(&filled, true);
    return base;
}

#endif
