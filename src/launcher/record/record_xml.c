/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/record/record_picture.h"

/* The next character of UTF-8 text. @return its bytes; *ret_c: 0xfffd where they are none */
static unsigned next_char(const char *text, uint32_t *ret_c)
{
    const unsigned char *t = (const unsigned char *)text;
    unsigned n = t[0] < 0x80 ? 1 : t[0] >= 0xf0 && t[0] < 0xf5 ? 4 : t[0] >= 0xe0 ? 3 : 2;
    static const uint32_t k_least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t c = n == 1 ? t[0] : t[0] & (0x7fu >> n);

    *ret_c = 0xfffd;
    if ((t[0] >= 0x80 && t[0] < 0xc2) || t[0] >= 0xf5)
        return 1;
    for (unsigned i = 1; i < n; i++) {
        if ((t[i] & 0xc0) != 0x80)
            return i; /* cut off */
        c = c << 6 | (t[i] & 0x3f);
    }
    if (c >= k_least[n] && c <= 0x10ffff && !(c >= 0xd800 && c < 0xe000))
        *ret_c = c;
    return n;
}

/* XML has no place for these, or they would turn the text behind them around. */
static bool forbidden(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c & 0xfffe) == 0xfffe || c == 0x200e || c == 0x200f ||
           c == 0x61c || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfffd;
}

static unsigned columns(uint32_t c)
{
    return c >= 0x1100 ? 2 : 1;
}

static void put(FILE *f, const char *text, unsigned n, uint32_t c)
{
    if (forbidden(c))
        fputs("\xef\xbf\xbd", f);
    else if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'')
        fprintf(f, "&#%u;", (unsigned)c);
    else
        fwrite(text, 1, n, f);
}

static unsigned width_of(const char *text)
{
    unsigned all = 0;
    uint32_t c;

    for (; *text && all < 1u << 20; all += columns(c))
        text += next_char(text, &c);
    return all;
}

void picture_text(FILE *f, const char *text, unsigned width)
{
    bool whole = width_of(text) <= width;
    unsigned used = whole ? 0 : 3;
    uint32_t c;

    while (*text) {
        unsigned n = next_char(text, &c);

        used += columns(c);
        if (used > width)
            break;
        put(f, text, n, c);
        text += n;
    }
    if (!whole)
        fputs("...", f);
}
