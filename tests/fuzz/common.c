/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

void fuzz_file(const uint8_t *data, size_t size, char ret_path[64], int *ret_fd)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(ret_path, 64, "/proc/self/fd/%d", fd);
    *ret_fd = fd;
}
