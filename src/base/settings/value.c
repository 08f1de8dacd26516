/* SPDX-License-Identifier: Apache-2.0 */
#include "base/settings/value.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct unit {
    const char *name;
    uint64_t ns;
} k_units[] = {{"ns", 1},
               {"us", XS_NS_PER_US},
               {"ms", XS_NS_PER_MS},
               {"s", XS_NS_PER_S},
               {"m", 60 * XS_NS_PER_S},
               {"min", 60 * XS_NS_PER_S},
               {"h", 3600 * XS_NS_PER_S}};

/* @return nanoseconds; 0: there is no such unit */
static uint64_t unit_ns(const char *name)
{
    for (size_t i = 0; i < XS_ARRAY_LEN(k_units); i++)
        if (xs_str_equal_nocase(k_units[i].name, name))
            return k_units[i].ns;
    return 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "1.5ms" in units of `unit`. A time with a unit of its own is positive, and a whole number of units. */
static int parse_time(const char *text, uint64_t unit, int64_t *ret)
{
    uint64_t whole = 0, part = 0, scale = 1, own, ns;

    if (xs_str_parse_i64(text, ret) == 0)
        return 0;
    if (!is_digit(*text))
        return -EINVAL;
    for (; is_digit(*text); text++)
        if (__builtin_mul_overflow(whole, 10u, &whole) || __builtin_add_overflow(whole, (uint64_t)(*text - '0'), &whole))
            return -EINVAL;
    if (*text == '.') {
        if (!is_digit(*++text))
            return -EINVAL;
        for (; is_digit(*text); text++) {
            if (scale == 1000000) /* so that an hour times the part has 64 bits */
                return -EINVAL;
            part = part * 10 + (uint64_t)(*text - '0');
            scale *= 10;
        }
    }
    while (*text == ' ')
        text++;
    own = unit_ns(text);
    if (!own || own * part % scale != 0 || __builtin_mul_overflow(whole, own, &ns) ||
        __builtin_add_overflow(ns, own * part / scale, &ns) || ns % unit != 0 || ns / unit > INT64_MAX)
        return -EINVAL;
    *ret = (int64_t)(ns / unit);
    return 0;
}

/* The i-th word of "A|B|C". @return NULL: there are not so many */
static const char *word(const char *words, int64_t i, size_t *ret_bytes)
{
    for (; i > 0 && *words; i--) {
        words = strchrnul(words, '|');
        words += *words == '|';
    }
    *ret_bytes = (size_t)(strchrnul(words, '|') - words);
    return *words ? words : NULL;
}

static int parse_choice(const char *words, const char *text, int64_t *ret)
{
    char one[32];

    for (int64_t i = 0;; i++) {
        size_t bytes;
        const char *at = word(words, i, &bytes);

        if (!at)
            return -EINVAL;
        if (bytes >= sizeof(one))
            continue;
        xs_str_copy(one, bytes + 1, at);
        if (xs_str_equal_nocase(one, text)) {
            *ret = i;
            return 0;
        }
    }
}

bool xs_value_has(const struct xs_value_type *t, int64_t number)
{
    return (number >= t->least && number <= t->most) || (t->none && number == -1);
}

int xs_value_parse(const struct xs_value_type *t, const char *text, struct xs_value *ret)
{
    struct xs_value v = {0};
    bool on = false;
    int r = 0;

    switch (t->kind) {
    case XS_VALUE_NUMBER:
    case XS_VALUE_TIME:
        if ((t->none && xs_str_equal_nocase(text, "NONE")) || (t->unlimited && xs_str_equal_nocase(text, "UNLIMITED"))) {
            v.number = -1;
            break;
        }
        r = t->kind == XS_VALUE_TIME ? parse_time(text, unit_ns(t->words), &v.number) : xs_str_parse_i64(text, &v.number);
        if (r == 0 && !xs_value_has(t, v.number))
            r = -ERANGE;
        break;
    case XS_VALUE_FLAG:
        r = xs_str_parse_bool(text, &on);
        v.number = on;
        break;
    case XS_VALUE_CHOICE:
        r = parse_choice(t->words, text, &v.number);
        break;
    case XS_VALUE_SIZE:
        r = xs_size_parse(text, &v.size);
        break;
    case XS_VALUE_TEXT:
        break;
    }
    if (r < 0)
        return -EINVAL;
    *ret = v;
    return 0;
}

const char *xs_value_word(const struct xs_value_type *t, int64_t number, char *ret, size_t size)
{
    size_t bytes;
    const char *at = word(t->words, number, &bytes);

    xs_str_copy(ret, XS_MIN(size, bytes + 1), at ? at : "");
    return ret;
}

/* "A, B or C" */
static void say_words(const char *words, char *ret, size_t size)
{
    size_t at = 0, bytes;
    const char *one;

    ret[0] = 0;
    for (int64_t i = 0; at < size && (one = word(words, i, &bytes)) != NULL; i++)
        at += (size_t)snprintf(ret + at, size - at, "%s%.*s", i == 0 ? "" : one[bytes] ? ", " : " or ", (int)bytes, one);
}

static void say_range(const struct xs_value_type *t, char *ret, size_t size)
{
    bool time = t->kind == XS_VALUE_TIME;
    const char *what = time ? "time" : "number", *unit = time ? t->words : "", *blank = time ? " " : "";
    size_t at;

    if (t->most == INT64_MAX)
        snprintf(ret, size, "a %s of at least %lld%s%s", what, (long long)t->least, blank, unit);
    else
        snprintf(ret, size, "a %s from %lld to %lld%s%s", what, (long long)t->least, (long long)t->most, blank, unit);
    at = strlen(ret);
    if (time)
        snprintf(ret + at, size - at, ", such as 5%s%s", strcmp(unit, "s") == 0 ? "m" : strcmp(unit, "ms") == 0 ? "s" : "ms",
                 t->none ? ", or NONE" : t->unlimited ? ", or UNLIMITED" : "");
}

const char *xs_value_error(const struct xs_value_type *t, const char *text, char *ret, size_t size)
{
    char takes[XS_VALUE_ERROR_BYTES - 64] = "";

    switch (t->kind) {
    case XS_VALUE_NUMBER:
    case XS_VALUE_TIME:
        say_range(t, takes, sizeof(takes));
        break;
    case XS_VALUE_FLAG:
        snprintf(ret, size, "'%.40s' is neither ON nor OFF", text);
        return ret;
    case XS_VALUE_CHOICE:
        say_words(t->words, takes, sizeof(takes));
        break;
    case XS_VALUE_SIZE:
        xs_str_copy(takes, sizeof(takes), "an amount such as 8G or 512M, or percent such as 50%");
        break;
    case XS_VALUE_TEXT:
        xs_str_copy(takes, sizeof(takes), t->words);
        break;
    }
    snprintf(ret, size, "'%.40s' is not %s", text, takes);
    return ret;
}

const char *xs_value_type_text(const struct xs_value_type *t, char *ret, size_t size)
{
    const char *unit = t->kind == XS_VALUE_TIME ? t->words : "", *more = t->none ? "|NONE" : t->unlimited ? "|UNLIMITED" : "";

    switch (t->kind) {
    case XS_VALUE_NUMBER:
    case XS_VALUE_TIME:
        if (t->most < INT64_MAX)
            snprintf(ret, size, "%lld..%lld%s%s", (long long)t->least, (long long)t->most, unit, more);
        else
            snprintf(ret, size, "%s%s", unit[0] ? unit : "count", more);
        break;
    case XS_VALUE_FLAG:
        xs_str_copy(ret, size, "ON|OFF");
        break;
    case XS_VALUE_SIZE:
        xs_str_copy(ret, size, "8G|50%");
        break;
    case XS_VALUE_CHOICE:
    case XS_VALUE_TEXT:
        xs_str_copy(ret, size, t->words);
        break;
    }
    return ret;
}
