/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded, as libfaketime: the program's clock is OTHER_CLOCK_AHEAD seconds ahead and goes at OTHER_CLOCK_RATE percent
 * of the kernel's speed, and its sleeps last accordingly. */
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OURS __attribute__((visibility("default")))

static int64_t setting(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoll(text, NULL, 10) : otherwise;
}

static int64_t longer(int64_t ns)
{
    return ns * 100 / setting("OTHER_CLOCK_RATE", 100);
}

OURS int clock_gettime(clockid_t clock, struct timespec *ts)
{
    static int64_t began_ns;
    int r = (int)syscall(SYS_clock_gettime, clock, ts);
    int64_t ns = ts->tv_sec * 1000000000ll + ts->tv_nsec;

    if (clock != CLOCK_MONOTONIC)
        return r;
    if (!began_ns)
        began_ns = ns;
    ns = began_ns + (ns - began_ns) * setting("OTHER_CLOCK_RATE", 100) / 100 + setting("OTHER_CLOCK_AHEAD", 0) * 1000000000ll;
    ts->tv_sec = ns / 1000000000ll;
    ts->tv_nsec = ns % 1000000000ll;
    return r;
}

OURS int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *ts, const sigset_t *mask)
{
    int64_t ns = ts ? longer(ts->tv_sec * 1000000000ll + ts->tv_nsec) : 0;
    struct timespec copy = {ns / 1000000000ll, ns % 1000000000ll};

    return (int)syscall(SYS_ppoll, fds, n, ts ? &copy : NULL, mask, 8);
}

OURS int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    struct timespec ts = {timeout_ms / 1000, timeout_ms % 1000 * 1000000l};

    return ppoll(fds, n, timeout_ms < 0 ? NULL : &ts, NULL);
}
