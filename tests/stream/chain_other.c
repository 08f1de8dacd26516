/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody else's ioctl, preloaded before or behind ours: counts what comes, answers for descriptor 1000 + PLACE as an emulator
 * does, and passes the rest on. */
#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>

#define JOIN(a, b) a##b
#define NAME(place) JOIN(chain_count_, place)
#define SHOWN __attribute__((visibility("default")))

extern SHOWN int NAME(PLACE);
SHOWN int NAME(PLACE);
SHOWN int ioctl(int fd, unsigned long request, ...);

static int (*s_next)(int, unsigned long, ...);

/* Not in a call: dlsym waits for the lock that dlopen has. */
__attribute__((constructor)) static void find(void)
{
    void *found = dlsym(RTLD_NEXT, "ioctl");

    memcpy(&s_next, &found, sizeof(s_next));
}

SHOWN int ioctl(int fd, unsigned long request, ...)
{
    void *arg;
    va_list ap;

    va_start(ap, request);
    arg = va_arg(ap, void *);
    va_end(ap);
    __atomic_fetch_add(&NAME(PLACE), 1, __ATOMIC_RELAXED);
    if (fd == 1000 + PLACE) {
        *(unsigned long *)arg = request;
        return 40 + PLACE;
    }
    return s_next(fd, request, arg);
}
