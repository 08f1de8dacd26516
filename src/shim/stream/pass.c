/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of PASS rows: a jump through a slot. Until the shim knows the real library, while the user wants a
 * trace, and if there are several real libraries, the slot leads to code of ours. That keeps every argument,
 * asks xs_api_pass_slow for the address, and jumps there. Functions that the library lacks answer through
 * xs_api_absent. */
#include "shim/stream/prototypes.h"

/* The code below calls it. @param saved  the first six arguments, in the order of SAVED */
void *xs_api_pass_slow(void **slot, const void *caller, const void *const *saved) XS_HIDDEN;

#if defined(__x86_64__)
#define SAVED(number) (6 - (number)) /* pushed one after another */
#else
#define SAVED(number) ((number)-1)
#endif

/* The number of a row's argument that names an object of the library; 0: none. */
static const uint8_t k_object_number[] = {
#define XS_ROW_ANY(kind, symbol, name, version, streams) [ROW_##symbol] = XS_OBJECT_NUMBER(symbol),
#include "shim/common/each_row.def"
};

void *xs_api_pass_slow(void **slot, const void *caller, const void *const *saved)
{
    size_t row = (size_t)(slot - xs_api_slots);
    const void *object = k_object_number[row] ? saved[SAVED(k_object_number[row])] : NULL;

    if (xs_api_mode_now() == XS_SHIM_UNBOUND && !xs_api_start(caller))
        return xs_api_absent((enum xs_row)row, true);
    if (xs_shim_tracing)
        xs_trace_call(xs_row_info[row].symbol, XS_HOW_PASS, 0, 0, false, 0);
    return xs_api_runtime_with(xs_api_runtime_of(caller), NULL, object)->real[row];
}

#if defined(__x86_64__)

__asm__(".text\n"
        ".type xs_api_pass_first,@function\n"
        "xs_api_pass_first:\n" /* r11: the slot */
        "\tpush %rdi\n\tpush %rsi\n\tpush %rdx\n\tpush %rcx\n\tpush %r8\n\tpush %r9\n"
        "\tsub $136, %rsp\n"
        "\tmovups %xmm0, (%rsp)\n\tmovups %xmm1, 16(%rsp)\n\tmovups %xmm2, 32(%rsp)\n\tmovups %xmm3, 48(%rsp)\n"
        "\tmovups %xmm4, 64(%rsp)\n\tmovups %xmm5, 80(%rsp)\n\tmovups %xmm6, 96(%rsp)\n\tmovups %xmm7, 112(%rsp)\n"
        "\tmov %r11, %rdi\n\tmov 184(%rsp), %rsi\n\tlea 136(%rsp), %rdx\n"
        "\tcall xs_api_pass_slow\n"
        "\tmov %rax, %r11\n"
        "\tmovups (%rsp), %xmm0\n\tmovups 16(%rsp), %xmm1\n\tmovups 32(%rsp), %xmm2\n\tmovups 48(%rsp), %xmm3\n"
        "\tmovups 64(%rsp), %xmm4\n\tmovups 80(%rsp), %xmm5\n\tmovups 96(%rsp), %xmm6\n\tmovups 112(%rsp), %xmm7\n"
        "\tadd $136, %rsp\n"
        "\tpop %r9\n\tpop %r8\n\tpop %rcx\n\tpop %rdx\n\tpop %rsi\n\tpop %rdi\n"
        "\tjmp *%r11\n"
        ".size xs_api_pass_first, .-xs_api_pass_first\n");

#define ENTRY(symbol)                                                                             \
    __asm__(".text\n.p2align 4\n.globl " #symbol "\n.type " #symbol ",@function\n" #symbol ":\n"  \
            XS_START(symbol)                                                                      \
            "\tjmp *.Lslot_" #symbol "(%rip)\n"                                                   \
            ".Lfirst_" #symbol ":\n"                                                              \
            "\tlea .Lslot_" #symbol "(%rip), %r11\n"                                              \
            "\tjmp xs_api_pass_first\n"                                                           \
            ".size " #symbol ", .-" #symbol "\n");

#elif defined(__aarch64__)

__asm__(".text\n"
        ".type xs_api_pass_first,%function\n"
        "xs_api_pass_first:\n" /* x17: the slot */
        "\tstp x29, x30, [sp, #-208]!\n\tmov x29, sp\n"
        "\tstp x0, x1, [sp, #16]\n\tstp x2, x3, [sp, #32]\n\tstp x4, x5, [sp, #48]\n\tstp x6, x7, [sp, #64]\n"
        "\tstp q0, q1, [sp, #80]\n\tstp q2, q3, [sp, #112]\n\tstp q4, q5, [sp, #144]\n\tstp q6, q7, [sp, #176]\n"
        "\tmov x0, x17\n\tmov x1, x30\n\tadd x2, sp, #16\n"
        "\tbl xs_api_pass_slow\n"
        "\tmov x17, x0\n"
        "\tldp q0, q1, [sp, #80]\n\tldp q2, q3, [sp, #112]\n\tldp q4, q5, [sp, #144]\n\tldp q6, q7, [sp, #176]\n"
        "\tldp x0, x1, [sp, #16]\n\tldp x2, x3, [sp, #32]\n\tldp x4, x5, [sp, #48]\n\tldp x6, x7, [sp, #64]\n"
        "\tldp x29, x30, [sp], #208\n"
        "\tbr x17\n"
        ".size xs_api_pass_first, .-xs_api_pass_first\n");

#define ENTRY(symbol)                                                                             \
    __asm__(".text\n.p2align 4\n.globl " #symbol "\n.type " #symbol ",%function\n" #symbol ":\n"  \
            XS_START(symbol)                                                                      \
            "\tadrp x17, .Lslot_" #symbol "\n\tldr x16, [x17, :lo12:.Lslot_" #symbol "]\n\tbr x16\n" \
            ".Lfirst_" #symbol ":\n"                                                              \
            "\tadrp x17, .Lslot_" #symbol "\n\tadd x17, x17, :lo12:.Lslot_" #symbol "\n"          \
            "\tb xs_api_pass_first\n"                                                             \
            ".size " #symbol ", .-" #symbol "\n");

#endif

#define XS_ROW(kind, symbol, name, version, streams, params, args, stream, key)
#define XS_ROW_PASS(symbol, name, version, streams) ENTRY(symbol)
#include "shim/common/each_row.def"

/* The slots and the entries' addresses, in the order of the rows. */
__asm__(".section .data.xs_api_slots,\"aw\"\n.p2align 3\n.globl xs_api_slots\n.hidden xs_api_slots\n"
        "xs_api_slots:\n");
#define XS_ROW(kind, symbol, name, version, streams, params, args, stream, key) __asm__("\t.quad 0\n");
#define XS_ROW_PASS(symbol, name, version, streams) __asm__(".Lslot_" #symbol ": .quad .Lfirst_" #symbol "\n");
#define XS_ROW_OWN(symbol, name, version, streams) __asm__("\t.quad 0\n");
#include "shim/common/each_row.def"
__asm__(".section .data.rel.ro.xs_row_entries,\"aw\"\n.p2align 3\n.globl xs_row_entries\n"
        ".hidden xs_row_entries\nxs_row_entries:\n");
#define XS_ROW(kind, symbol, name, version, streams, params, args, stream, key) __asm__("\t.quad " #symbol "\n");
#define XS_ROW_PASS(symbol, name, version, streams) __asm__("\t.quad " #symbol "\n");
#define XS_ROW_OWN(symbol, name, version, streams) __asm__("\t.quad " #symbol "\n");
#include "shim/common/each_row.def"
__asm__(".text\n");
