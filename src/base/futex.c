/* SPDX-License-Identifier: Apache-2.0 */
#include "base/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int xs_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    struct timespec ts, *tsp = NULL;
    int saved = errno, r;

    if (timeout_ns != UINT64_MAX) {
        ts.tv_sec = (time_t)(timeout_ns / 1000000000ull);
        ts.tv_nsec = (long)(timeout_ns % 1000000000ull);
        tsp = &ts;
    }
    r = (int)syscall(SYS_futex, word, FUTEX_WAIT, expected, tsp, NULL, 0);
    if (r < 0)
        r = -errno;
    errno = saved;
    return r;
}

int xs_futex_wake(_Atomic uint32_t *word, int count)
{
    int saved = errno;
    int r = (int)syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);

    if (r < 0)
        r = -errno;
    errno = saved;
    return r;
}

void xs_futex_pause(uint64_t ns)
{
    static _Atomic uint32_t never; /* no thread wakes it */

    xs_futex_wait(&never, 0, ns);
}
