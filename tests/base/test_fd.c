/* SPDX-License-Identifier: Apache-2.0 */
/* Memory files under a limit of the size of files, of which exceeding ends a process that does not expect it. */
#include "base/fd.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SIZE (1u << 20)

/* @return what a process with this limit gets: 0, or the error; -1: a signal ended it */
static int memfd_with_limit(rlim_t bytes)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        const struct rlimit limit = {bytes, bytes};
        int fd;

        if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
            _exit(255);
        fd = xs_fd_memfd("test", SIZE);
        _exit(fd < 0 ? -fd : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_limit_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(memfd_with_limit(0), EFBIG);
    assert_int_equal(memfd_with_limit(SIZE - 1), EFBIG);
    assert_int_equal(memfd_with_limit(SIZE), 0);
    assert_int_equal(memfd_with_limit(RLIM_INFINITY), 0);
}

static void it_is_sealed(void **state)
{
    int fd = xs_fd_memfd("test", SIZE);
    void *map;

    (void)state;
    assert_true(fd > 2);
    assert_int_equal(xs_fd_map_sealed(fd, SIZE, 1, &map), 0);
    assert_int_equal(xs_fd_map_sealed(fd, SIZE / 2, 1, &map), -EMSGSIZE);
    assert_true(ftruncate(fd, 0) < 0);
    xs_fd_close(&fd);
    assert_int_equal(fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_limit_is_an_error), cmocka_unit_test(it_is_sealed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
