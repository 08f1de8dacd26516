/* SPDX-License-Identifier: Apache-2.0 */
/* How entries begin whose first bytes another library overwrites. It moves what stood there to a place of its own, from
 * where it goes on here: so there stand instructions that any mover knows, that mean the same everywhere and that change
 * nothing a caller relies on, as many as the longest jump takes. */
#ifndef XS_SHIM_STREAM_ENTRY_H
#define XS_SHIM_STREAM_ENTRY_H

#include "shim/stream/stream_table.h"

/* XS_OVERWRITTEN_<symbol> is "~, 1" if others overwrite that function. */
#define XS_OVERWRITTEN(symbol) XS_SECOND_OR(0, XS_OVERWRITTEN_##symbol)

/* XS_IF(0 or 1)(then)(otherwise) */
#define XS_IF(number)        XS_IF_(number)
#define XS_IF_(number)       XS_IF_##number
#define XS_IF_0(...)         XS_IF_NOT
#define XS_IF_NOT(...)       __VA_ARGS__
#define XS_IF_1(...)         __VA_ARGS__ XS_IF_NOTHING
#define XS_IF_NOTHING(...)

#if defined(__x86_64__)
/* 15 bytes: a jump takes 5, or up to 13 to where 32 bits do not reach */
#define XS_MOVABLE_START "\tmov $0, %eax\n\tmov $0, %eax\n\tmov $0, %eax\n"
#define XS_JUMP(to)      "\tjmp " to "\n"
#elif defined(__aarch64__)
#define XS_MOVABLE_START "\tmov w16, #0\n\tmov w16, #0\n\tmov w16, #0\n\tmov w16, #0\n"
#define XS_JUMP(to)      "\tb " to "\n"
#endif

/** In the code of an entry. */
#define XS_START(symbol) XS_IF(XS_OVERWRITTEN(symbol))(XS_MOVABLE_START)("")

/** Behind the prototype of an entry in C: the compiled function has another name, and XS_ENTRY the symbol. */
#define XS_COMPILED_AS(symbol) XS_IF(XS_OVERWRITTEN(symbol))(__asm__("xs_compiled_" #symbol))()
#define XS_ENTRY(symbol)                                                                          \
    XS_IF(XS_OVERWRITTEN(symbol))                                                                 \
    (__asm__(".text\n.p2align 4\n.globl " #symbol "\n.type " #symbol ",%function\n" #symbol ":\n" XS_MOVABLE_START \
             XS_JUMP("xs_compiled_" #symbol) ".size " #symbol ", .-" #symbol "\n");)()

#endif
