/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include "base/str.h"
#include "base/sys.h"
#include "base/xs_base.h"

#include <errno.h>
#include <string.h>

/* The next word of a line, cut out. @return whether there is one */
static bool word(const char **at, char *ret, size_t size)
{
    size_t n = 0;

    while (**at == ' ' || **at == '\t')
        ++*at;
    for (; (unsigned char)**at > ' ' && n + 1 < size; ++*at)
        ret[n++] = **at;
    ret[n] = 0;
    return n && (unsigned char)**at <= ' ';
}

int64_t xs_clock_offset_of(const char *text)
{
    const char *at = text;
    int64_t s, ns;
    char one[24];

    while (word(&at, one, sizeof(one)) && strcmp(one, "monotonic") != 0) {
        while (*at && *at != '\n')
            at++;
        at += *at == '\n';
    }
    if (!word(&at, one, sizeof(one)) || xs_str_parse_i64(one, &s) < 0 || !word(&at, one, sizeof(one)) ||
        xs_str_parse_i64(one, &ns) < 0 || __builtin_mul_overflow(s, (int64_t)XS_NS_PER_S, &s) ||
        __builtin_add_overflow(s, ns, &s))
        return 0;
    return s;
}

int64_t xs_clock_offset_ns(void)
{
    int saved = errno, fd = xs_sys_open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC, 0);
    char text[256];
    long n = fd < 0 ? -1 : xs_sys_read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        (void)xs_sys_close(fd);
    errno = saved;
    if (n <= 0)
        return 0;
    text[n] = 0;
    return xs_clock_offset_of(text);
}
