/* SPDX-License-Identifier: Apache-2.0 */
#include "base/size.h"

#include <errno.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The power of two of a unit; -1: it is none. Moves behind it. */
static int unit(const char **at)
{
    static const char k_units[] = "kKmMgGtT";
    const char *u;
    int shift = 0;

    while (**at == ' ')
        ++*at;
    u = **at ? strchr(k_units, **at) : NULL;
    if (u) {
        shift = 10 * ((int)(u - k_units) / 2 + 1);
        ++*at;
        if (**at == 'i' && (*at)[1] == 'B')
            ++*at;
    }
    if (**at == 'B')
        ++*at;
    return **at ? -1 : shift;
}

int xs_size_parse(const char *text, struct xs_size *ret)
{
    uint64_t whole = 0, part = 0, scale = 1, bytes, fraction;
    const char *at = text;
    int shift;

    if (!is_digit(*at))
        return -EINVAL;
    for (; is_digit(*at); at++) {
        if (whole > UINT64_MAX / 16)
            return -ERANGE;
        whole = whole * 10 + (uint64_t)(*at - '0');
    }
    if (*at == '%' && at[1] == 0) {
        if (whole < 1 || whole > 100)
            return -ERANGE;
        *ret = (struct xs_size){.percent = (unsigned)whole};
        return 0;
    }
    if (*at == '.') {
        if (!is_digit(*++at))
            return -EINVAL;
        for (; is_digit(*at); at++) {
            if (scale >= 1000000) /* more digits than an amount needs */
                continue;
            part = part * 10 + (uint64_t)(*at - '0');
            scale *= 10;
        }
    }
    shift = unit(&at);
    if (shift < 0)
        return -EINVAL;
    if (whole > UINT64_MAX >> 1 >> shift)
        return -ERANGE;
    fraction = (part << shift) / scale; /* part is below a million: no overflow up to 2^40 */
    bytes = (whole << shift) + fraction;
    if (bytes == 0)
        return -ERANGE;
    *ret = (struct xs_size){.bytes = bytes};
    return 0;
}
