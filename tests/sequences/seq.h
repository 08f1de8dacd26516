/* SPDX-License-Identifier: Apache-2.0 */
/* What the random programs of every platform share: seq_PLATFORM LIBRARY FIRST COUNT STEPS
 *
 * Seed FIRST and the COUNT - 1 after it are each one program of about STEPS calls. One line a seed: the digest of
 * every result code and of everything that the device computed, read when its queue was waited for. The program
 * knows nothing of XSched: run.py compares its lines with and without.
 *
 * The functions are those of the platform's table. What the fake library implements is called by hand, with what
 * belongs to it; every other row answers with an error there or does nothing on its stream, which its weak symbol in
 * LIBRARY tells (or seq_is_weak), and is called with arguments made up from its prototype. The last lines count the
 * rows that were called, and name the others. */
#ifndef XS_TESTS_SEQ_H
#define XS_TESTS_SEQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEQ_ARGS 16

struct seq_row {
    const char *symbol, *params; /* params: NULL where the table has no prototype */
    const char *result;          /* its type; NULL: an error code */
};

/* ---- given by the platform ---- */
extern const struct seq_row seq_rows[];
extern const unsigned seq_row_count;
extern void *seq_fn[];
extern unsigned long seq_called[];
/** The name under which programs open the library. */
extern const char *const seq_library;
/** Where programs get a function that they must ask for (extensions), after seq_start; NULL: by the symbol. */
extern void *(*const seq_find)(unsigned row);
/** Whether the library does no better for a row than an error; NULL: its symbols in LIBRARY are weak where that is so. */
extern bool (*const seq_is_weak)(unsigned row);
/** Once, with seq_fn set as far as the library exports: ready for programs. */
void seq_start(void);
/** One program: calls until seq_steps reaches `until`. */
void seq_program(unsigned long until);
/** What a parameter of this type and name is given, in `slots` places (1, or more for a struct by value).
 *  @return false: nothing special, a small number, or memory for a pointer */
bool seq_argument(const char *parameter, uintptr_t *ret, unsigned *ret_slots);

/* ---- given to the platform ---- */
extern unsigned long seq_steps;
extern const char *seq_real;            /* the file of the library itself */
extern bool seq_verbose;
/** Zero, and never written: what is called with it does nothing. */
extern uint64_t seq_scratch[8192];

void seq_note(const void *data, size_t bytes);
unsigned seq_chance(unsigned n);
/** The result of a call by hand goes into the digest. */
int seq_noted(unsigned row, int r);
void seq_must(int r, const char *what);
/** Calls one of the rows that are called by prototype, if there are any. */
void seq_by_prototype(void);

#define FN(symbol, ret, types) ((ret(*) types)seq_fn[ROW_##symbol])
/* A call by hand. CALL_TIMED: its result depends on time, and does not go into the digest. */
#define CALL(symbol, types, ...) seq_noted(ROW_##symbol, FN(symbol, int, types)(__VA_ARGS__))
#define CALL_TIMED(symbol, types, ...)                                                                       \
    (seq_called[ROW_##symbol]++, seq_steps++, FN(symbol, int, types)(__VA_ARGS__))
/* The same of other results: only that there was one. */
#define CALL_AS(ret, symbol, types, ...)                                                                     \
    (seq_called[ROW_##symbol]++, seq_steps++, FN(symbol, ret, types)(__VA_ARGS__))
#define OK(call) seq_must(call, #call)

#endif
