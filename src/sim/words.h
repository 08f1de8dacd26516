/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of words and key=value pairs, the form of scenarios and traces. */
#ifndef XS_SIM_WORDS_H
#define XS_SIM_WORDS_H

#include "base/xs_base.h"

#define XS_WORDS_MAX   32
#define XS_NAME_BYTES  32
#define XS_ERROR_BYTES 160

enum xs_key_kind {
    XS_KEY_I32,
    XS_KEY_I64,
    XS_KEY_U64,
    XS_KEY_US,      /* written in microseconds (fractions allowed), kept in nanoseconds, uint64_t */
    XS_KEY_MS,      /* likewise milliseconds */
    XS_KEY_BOOL,    /* on or off; bool */
    XS_KEY_NAME,    /* char[XS_NAME_BYTES] */
    XS_KEY_ENUM,    /* one of `names`; int */
};

struct xs_key {
    const char *name;
    enum xs_key_kind kind;
    size_t offset;
    int64_t lo, hi;               /* legal range of numbers, in the unit of the text */
    const char *const *names;     /* ends with NULL */
};

/** Splits at blanks, in place; drops the text behind a #.
 *  @return the number of words, or -1 when there are more than XS_WORDS_MAX */
int xs_words_split(char *line, char *words[XS_WORDS_MAX]);

/** Sets the field that a word key=value names. @return 0 or -EINVAL with a text in error */
int xs_words_set(const struct xs_key *keys, size_t n, void *object, const char *word,
                 char error[XS_ERROR_BYTES]);

/** A time with fractions: "12.5" with unit_ns 1000 is 12500. @return 0 or -EINVAL */
int xs_words_time(const char *text, uint64_t unit_ns, uint64_t *ret_ns);

#endif
