/* SPDX-License-Identifier: Apache-2.0 */
/* One fuzzer a parser: fuzz_NAME.c holds LLVMFuzzerTestOneInput, corpus/NAME its first inputs. Built
 * twice: with libFuzzer (preset fuzz, `make fuzz`), and with replay.c in every other build, where
 * ctest runs the corpora and a few thousand changed inputs. */
#ifndef XS_TESTS_FUZZ_H
#define XS_TESTS_FUZZ_H

#include "base/xs_base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** What replay.c prints besides the number of inputs: messages, decisions, ...; any thread. */
extern _Atomic uint64_t fuzz_steps;
extern const char *const fuzz_steps_name;

/** A property that does not hold ends the fuzzer like a crash. */
#define FUZZ_CHECK(condition)                                                                                \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                          \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/** The rest of an input. What it lacks reads as zero. */
struct fuzz_in {
    const uint8_t *at;
    size_t left;
};

static inline void fuzz_take(struct fuzz_in *in, void *to, size_t bytes)
{
    size_t n = XS_MIN(bytes, in->left);

    memset(to, 0, bytes);
    if (n)
        memcpy(to, in->at, n);
    in->at += n;
    in->left -= n;
}

static inline uint8_t fuzz_u8(struct fuzz_in *in)
{
    uint8_t v;

    fuzz_take(in, &v, sizeof(v));
    return v;
}

static inline uint32_t fuzz_u32(struct fuzz_in *in)
{
    uint32_t v;

    fuzz_take(in, &v, sizeof(v));
    return v;
}

static inline uint64_t fuzz_u64(struct fuzz_in *in)
{
    uint64_t v;

    fuzz_take(in, &v, sizeof(v));
    return v;
}

/** A number that is often small, often at an edge, seldom any. */
static inline uint64_t fuzz_number(struct fuzz_in *in)
{
    static const uint64_t k_edges[] = {0,          1,         UINT64_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1,
                                       UINT32_MAX, INT32_MAX, 1000000000, 65536,     16384};
    uint8_t how = fuzz_u8(in);

    if (how < 160)
        return how;
    if (how < 200)
        return k_edges[how % XS_ARRAY_LEN(k_edges)];
    if (how < 230)
        return fuzz_u32(in);
    return fuzz_u64(in);
}

/** The input as text, ended by a zero; the caller frees it. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    FUZZ_CHECK(text != NULL);
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    return text;
}

/** A path that opens the input as a file; *ret_fd is the caller's. */
void fuzz_file(const uint8_t *data, size_t size, char ret_path[64], int *ret_fd);

#endif
