/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the program `operations` share. */
#ifndef TESTS_HIP_REAL_OPERATIONS_H
#define TESTS_HIP_REAL_OPERATIONS_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *P;
#define GRID uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t

struct dim3 {
    uint32_t x, y, z;
};

struct op {
    const char *title;
    int (*run)(void);             /* what it gave back; -2: not as it should be, -3: needs what is not there */
};

#define FLOATS     4096
#define TO_DEVICE  1
#define TO_HOST    2
#define ON_DEVICE  3
#define PER_THREAD ((P)(uintptr_t)2)

extern P s_hip, s_stream, s_urgent, s_a, s_b, s_c, s_work, s_spin;
extern float s_host[FLOATS];
extern uint64_t s_sum;            /* over what the operation left */
extern int s_major;               /* of ROCm */

#define TRY(call)         \
    do {                  \
        int r_ = call;    \
        if (r_)           \
            return r_;    \
    } while (0)

/** A function of a library; where it is not there, one that makes the line say so. */
uintptr_t fn(P lib, const char *name);
#define FN(lib, name, ...) ((int (*)(__VA_ARGS__))fn(lib, #name))
#define HIP(name, ...)     FN(s_hip, name, __VA_ARGS__)

/** Opens a library that is named as ROCm 6 names it, under the name that it has in the release that runs. */
P library(const char *name);

void sum_host(const void *data, size_t bytes);
int sum_device(P p, size_t bytes);
int fill(P p, unsigned seed);
void run(const struct op *ops, size_t n);

int op_start(void);
int op_priority(void);
int op_compile(void);
int op_load(void);

/** One of two programs that share a device; operations_pair.c. @return the exit status */
int pair_main(int argc, char **argv);

/** Runs the operations of one library. @return whether there is such a group; operations_libraries.c */
bool operations_of(const char *group);

#endif
