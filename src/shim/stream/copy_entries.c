/* SPDX-License-Identifier: Apache-2.0 */
/* Entries that mean one copy of the library, whoever calls them. A program that has handles of several copies gets the
 * functions of the first one that it opened from us as always, and those of others from here: the caller's address does
 * not say by which handle it got a function. Each entry notes its copy for this thread (xs_callers_forced), and jumps to
 * the row's own entry, which reads that first. */
#include "shim/stream/stream_table.h"

#if XS_API_MULTI && defined(__x86_64__)

#define ENTRY_BYTES 16

/* r11: the row */
#define COMMON(number, forced)                                                                    \
    ".type xs_copy_common_" number ",@function\nxs_copy_common_" number ":\n"                       \
    "\tpop %r11\n"                                                                                \
    "\tmov xs_callers_forced@gottpoff(%rip), %r10\n\tmovb $" forced ", %fs:(%r10)\n"               \
    "\tlea xs_row_entries(%rip), %r10\n\tjmp *(%r10,%r11,8)\n"                                     \
    ".size xs_copy_common_" number ", .-xs_copy_common_" number "\n"
#define ENTRY(number) "\t.p2align 4\n\tpush $xs_copy_row\n\tjmp xs_copy_common_" number "\n\t.set xs_copy_row, xs_copy_row+1\n"

#elif XS_API_MULTI && defined(__aarch64__)

#define ENTRY_BYTES 8

/* x17: the row */
#define COMMON(number, forced)                                                                    \
    ".type xs_copy_common_" number ",%function\nxs_copy_common_" number ":\n"                       \
    "\tadrp x16, xs_row_entries\n\tadd x16, x16, :lo12:xs_row_entries\n\tldr x16, [x16, x17, lsl #3]\n" \
    "\tmrs x17, tpidr_el0\n"                                                                      \
    "\tadrp x9, :gottprel:xs_callers_forced\n\tldr x9, [x9, :gottprel_lo12:xs_callers_forced]\n"   \
    "\tmov w10, #" forced "\n\tstrb w10, [x17, x9]\n\tbr x16\n"                                     \
    ".size xs_copy_common_" number ", .-xs_copy_common_" number "\n"
#define ENTRY(number) "\tmov w17, #xs_copy_row\n\tb xs_copy_common_" number "\n\t.set xs_copy_row, xs_copy_row+1\n"

#endif

#ifdef ENTRY_BYTES

#define BEGIN(number, forced)                                                                     \
    __asm__(".text\n" COMMON(number, forced)                                                      \
            ".p2align 4\n.globl xs_copy_entries_" number "\n.hidden xs_copy_entries_" number "\n"  \
            "xs_copy_entries_" number ":\n\t.set xs_copy_row, 0\n");

BEGIN("0", "1")
#define XS_ROW_ANY(kind, symbol, name, version, streams) __asm__(ENTRY("0"));
#include "shim/common/each_row.def"
BEGIN("1", "2")
#define XS_ROW_ANY(kind, symbol, name, version, streams) __asm__(ENTRY("1"));
#include "shim/common/each_row.def"
BEGIN("2", "3")
#define XS_ROW_ANY(kind, symbol, name, version, streams) __asm__(ENTRY("2"));
#include "shim/common/each_row.def"
BEGIN("3", "4")
#define XS_ROW_ANY(kind, symbol, name, version, streams) __asm__(ENTRY("3"));
#include "shim/common/each_row.def"

extern const char xs_copy_entries_0[] XS_HIDDEN, xs_copy_entries_1[] XS_HIDDEN, xs_copy_entries_2[] XS_HIDDEN,
    xs_copy_entries_3[] XS_HIDDEN;

void *xs_api_copy_entry(void *library, enum xs_row row)
{
    static const char *const entries[] = {xs_copy_entries_0, xs_copy_entries_1, xs_copy_entries_2, xs_copy_entries_3};
    unsigned number = xs_callers_number(library);

    return number < XS_ARRAY_LEN(entries) ? (void *)(uintptr_t)(entries[number] + (size_t)row * ENTRY_BYTES) : NULL;
}

void *xs_copy_function(void *library, void *ours, const void *caller)
{
    if (xs_api_mode_now() == XS_SHIM_UNBOUND && !xs_api_start(caller))
        return NULL;
    for (int row = 0; row < ROW_COUNT; row++)
        if (xs_row_entries[row] == ours)
            return xs_api_copy_entry(library, (enum xs_row)row);
    return NULL;
}

#else

void *xs_api_copy_entry(void *library, enum xs_row row)
{
    (void)library, (void)row;
    return NULL;
}

void *xs_copy_function(void *library, void *ours, const void *caller)
{
    (void)library, (void)ours, (void)caller;
    return NULL;
}

#endif
