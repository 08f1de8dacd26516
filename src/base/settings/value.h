/* SPDX-License-Identifier: Apache-2.0 */
/* What a setting takes, and the one reader of its text. The rows of env.def, hints.def and tune.def, of xserver's
 * options.def and of run_options.def have such a type: (NUMBER, 0, 100), (CHOICE, "time|space"), (FLAG). */
#ifndef XS_VALUE_H
#define XS_VALUE_H

#include "base/size.h"

enum xs_value_kind {
    XS_VALUE_TEXT,                /* anything */
    XS_VALUE_NUMBER,              /* whole, decimal or 0x... */
    XS_VALUE_TIME,                /* a number of the unit, or one with a unit of its own: "5ms", "1.5 s" */
    XS_VALUE_FLAG,                /* ON, 1, TRUE, YES or OFF, 0, FALSE, NO */
    XS_VALUE_CHOICE,              /* one of the words */
    XS_VALUE_SIZE,                /* xs_size_parse */
};

struct xs_value_type {
    enum xs_value_kind kind;
    bool none, unlimited;         /* NUMBER, TIME: NONE and -1, or UNLIMITED, is a value too, and reads as -1 */
    int64_t least, most;          /* NUMBER, TIME */
    const char *words;            /* CHOICE: "A|B|C"; TEXT: what it is, for users; TIME: its unit */
};

/** The type of a row, where `type` is the row's column: XS_TYPE type. A column in parentheses passes through any
 *  number of macros. A time has a unit, "us", "ms" or "s", which a number alone has. */
#define XS_TYPE(kind, ...)                       {XS_TYPE_##kind(__VA_ARGS__)}
#define XS_TYPE_TEXT(...)                        .kind = XS_VALUE_TEXT, .words = "" __VA_ARGS__ /* what it is, or nothing */
#define XS_TYPE_NUMBER(least_, most_)            .kind = XS_VALUE_NUMBER, .least = least_, .most = most_
#define XS_TYPE_TIME(unit, least_, most_)        .kind = XS_VALUE_TIME, .words = unit, .least = least_, .most = most_
#define XS_TYPE_TIME_OR_NONE(unit, least_, most_) XS_TYPE_TIME(unit, least_, most_), .none = true
#define XS_TYPE_TIME_OR_UNLIMITED(unit, least_, most_) XS_TYPE_TIME(unit, least_, most_), .unlimited = true
#define XS_TYPE_FLAG()                           .kind = XS_VALUE_FLAG
#define XS_TYPE_CHOICE(words_)                   .kind = XS_VALUE_CHOICE, .words = words_
#define XS_TYPE_SIZE()                           .kind = XS_VALUE_SIZE

/** The least and the largest number of such a column: XS_TYPE_LEAST type. */
#define XS_TYPE_LEAST(kind, ...)                 XS_LEAST_##kind(__VA_ARGS__)
#define XS_TYPE_MOST(kind, ...)                  XS_MOST_##kind(__VA_ARGS__)
#define XS_LEAST_NUMBER(least, most)             least
#define XS_LEAST_TIME(unit, least, most)         least
#define XS_LEAST_TIME_OR_NONE(unit, least, most) (-1)
#define XS_MOST_NUMBER(least, most)              most
#define XS_MOST_TIME(unit, least, most)          most
#define XS_MOST_TIME_OR_NONE(unit, least, most)  most

struct xs_value {
    int64_t number;               /* NUMBER, TIME: in the unit of the type; FLAG: 0 or 1; CHOICE: place of the word */
    struct xs_size size;          /* SIZE */
};

/** Reads a text of that type. Any case, any thread; no allocation. @return 0 or -EINVAL */
int xs_value_parse(const struct xs_value_type *t, const char *text, struct xs_value *ret);
/** Whether a number that came otherwise than as a text is a value of the type. */
bool xs_value_has(const struct xs_value_type *t, int64_t number);
/** The word of a choice. Cuts what does not fit. @return ret */
const char *xs_value_word(const struct xs_value_type *t, int64_t number, char *ret, size_t size);

#define XS_VALUE_ERROR_BYTES 192
/** Why xs_value_parse() does not take a text: what came, what the type takes, and an example where that says more:
 *  "'x' is not a time from 1 to 1000 ms, such as 5ms". @return ret */
const char *xs_value_error(const struct xs_value_type *t, const char *text, char *ret, size_t size);
/** The type for tables and help: "-256..255", "ON|OFF", "us". @return ret */
const char *xs_value_type_text(const struct xs_value_type *t, char *ret, size_t size);

#endif
