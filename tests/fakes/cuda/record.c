/* SPDX-License-Identifier: Apache-2.0 */
/* FAKE_CUDA_RECORD=FILE: a line for each way in which somebody comes to the driver: PID, function, and the object that
 * called it; of cuGetProcAddress also the name, the version and the flags. For tests/ways. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

void fake_record(const char *function, const char *name, int version, uint64_t flags, const void *caller)
{
    const char *file = getenv("FAKE_CUDA_RECORD");
    char line[1024];
    Dl_info info;
    int fd, n;

    if (!file)
        return;
    n = snprintf(line, sizeof(line), "%d\t%s\t%s\t%d\t%llu\t%s\n", getpid(), function, name, version, (unsigned long long)flags,
                 dladdr(caller, &info) && info.dli_fname ? info.dli_fname : "?");
    fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd >= 0 && n < (int)sizeof(line) && write(fd, line, (size_t)n) != n)
        abort();
    if (fd >= 0)
        close(fd);
}
