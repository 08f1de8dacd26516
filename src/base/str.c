/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <errno.h>

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool xs_str_equal_nocase(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return lower(*a) == lower(*b);
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = lower(c);
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return 99;
}

int xs_str_parse_u64(const char *text, int base, uint64_t *ret_value)
{
    uint64_t v = 0;

    if (!text)
        return -EINVAL;
    if (base == 16 && text[0] == '0' && lower(text[1]) == 'x')
        text += 2;
    if (!*text)
        return -EINVAL;
    for (; *text; text++) {
        int d = digit(*text);

        if (d >= base)
            return -EINVAL;
        if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
            __builtin_add_overflow(v, (uint64_t)d, &v))
            return -ERANGE;
    }
    *ret_value = v;
    return 0;
}

int xs_str_parse_i64(const char *text, int64_t *ret_value)
{
    bool negative;
    uint64_t v;
    int r;

    if (!text)
        return -EINVAL;
    negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    r = xs_str_parse_u64(text, text[0] == '0' && lower(text[1]) == 'x' ? 16 : 10, &v);
    if (r < 0)
        return r;
    if (v > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return -ERANGE;
    *ret_value = negative ? (int64_t)(0 - v) : (int64_t)v;
    return 0;
}

int xs_str_parse_bool(const char *text, bool *ret_value)
{
    static const char *const yes[] = {"ON", "1", "TRUE", "YES"};
    static const char *const no[] = {"OFF", "0", "FALSE", "NO"};

    if (!text)
        return -EINVAL;
    for (int i = 0; i < 4; i++) {
        if (xs_str_equal_nocase(text, yes[i])) {
            *ret_value = true;
            return 0;
        }
        if (xs_str_equal_nocase(text, no[i])) {
            *ret_value = false;
            return 0;
        }
    }
    return -EINVAL;
}

bool xs_str_copy(char *dst, size_t size, const char *src)
{
    size_t i = 0;

    if (size == 0)
        return false;
    for (; src[i] && i + 1 < size; i++)
        dst[i] = src[i];
    dst[i] = 0;
    return src[i] == 0;
}
