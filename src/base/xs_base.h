/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes and small helpers for every file; nothing here does I/O. */
#ifndef XS_BASE_H
#define XS_BASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XS_LIKELY(x)    __builtin_expect(!!(x), 1)
#define XS_UNLIKELY(x)  __builtin_expect(!!(x), 0)
#define XS_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define XS_CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
#define XS_CACHE_LINE   64
#define XS_EXPORT       __attribute__((visibility("default")))
#define XS_HIDDEN       __attribute__((visibility("hidden")))
#define XS_PRINTF(f, a) __attribute__((format(printf, f, a)))

#define XS_NS_PER_US 1000ull
#define XS_NS_PER_MS 1000000ull
#define XS_NS_PER_S  1000000000ull

/* Each evaluates an argument twice: no calls in them. */
#define XS_MIN(a, b) ((a) < (b) ? (a) : (b))
#define XS_MAX(a, b) ((a) > (b) ? (a) : (b))

static inline void xs_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
