/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include "base/mapped/mapped_symbol.h"
#include "base/str.h"
#include "base/sys.h"
#include "base/xs_base.h"

#include <errno.h>
#include <string.h>

/* Not by syscall(), which may be another object's as well. */
static void by_system_call(clockid_t clock, struct timespec *ret)
{
#if defined(__x86_64__)
    long r;

    __asm__ volatile("syscall" : "=a"(r) : "a"(SYS_clock_gettime), "D"(clock), "S"(ret) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long r __asm__("x0") = clock;
    register long second __asm__("x1") = (long)ret;
    register long number __asm__("x8") = SYS_clock_gettime;

    __asm__ volatile("svc #0" : "+r"(r) : "r"(second), "r"(number) : "memory");
#else
    long r = syscall(SYS_clock_gettime, clock, ret);
#endif
    (void)r;
}

static void find_and_read(clockid_t clock, struct timespec *ret)
{
    static const char *const names[] = {"__vdso_clock_gettime", "__kernel_clock_gettime"}; /* by the architecture */
    xs_clock_fn fn = by_system_call;
    struct xs_mapped kernel;
    void *found = NULL;

    if (xs_mapped_kernel(&kernel))
        for (size_t i = 0; !found && i < XS_ARRAY_LEN(names); i++)
            found = xs_mapped_symbol(&kernel, names[i]);
    if (found)
        memcpy(&fn, &found, sizeof(fn));
    __atomic_store_n(&xs_clock_read, fn, __ATOMIC_RELAXED); /* code, which does not change */
    fn(clock, ret);
}

xs_clock_fn xs_clock_read = find_and_read;

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
