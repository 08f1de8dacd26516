/* SPDX-License-Identifier: Apache-2.0 */
/* The server is awake when a program comes that comes regularly and that others are held for, and only then. */
#include "raw.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define ROUNDS 80
#define LEARNS 20 /* rounds that are not counted */

/* How often the server was awake when the urgent program came, of ROUNDS - LEARNS. */
static int awake(const char *const *args, bool low_works, bool regular)
{
    struct raw_server s;
    struct raw_client low = {0}, high = {0};
    int n = 0;

    raw_server_start(&s, args);
    raw_join(&low, s.socket);
    raw_join(&high, s.socket);
    raw_add(&low, 0, 1, 0);
    raw_add(&high, 0, 1, 10);
    raw_settle(&low);
    raw_settle(&high);
    if (low_works)
        raw_submit(&low, 0);
    srand(1);
    for (int i = 0; i < ROUNDS; i++) {
        usleep((useconds_t)(regular ? 6000 + rand() % 3000 : rand() % 6 ? 1200 : 20000));
        n += i >= LEARNS && !atomic_load(&high.server->h.asleep);
        raw_submit(&high, 0);
        if (low_works)
            assert_true(raw_wait_permitted(&low, 0, false, 2000));
        usleep(1000);
        raw_complete(&high, 0);
        if (low_works)
            assert_true(raw_wait_permitted(&low, 0, true, 2000));
    }
    raw_server_stop(&s);
    raw_leave(&low);
    raw_leave(&high);
    return n;
}

#define WITH(...) ((const char *const[]){__VA_ARGS__, NULL})

static void regular_ones_are_expected(void **state)
{
    (void)state;
    /* this machine may be busy: a window may be slept through */
    assert_in_range(awake(WITH("--tune=ahead-cpus=1", "--spin-cpu=60"), true, true), (ROUNDS - LEARNS) * 2 / 3, ROUNDS);
}

static void others_are_not(void **state)
{
    (void)state;
    /* by chance: it was awake still, or a window of one that came later than expected is open */
    assert_in_range(awake(WITH("--tune=ahead-cpus=0", "--spin-cpu=60"), true, true), 0, (ROUNDS - LEARNS) / 6);
    assert_in_range(awake(WITH("--tune=ahead-cpus=1", "--tune=spin-us=0"), true, true), 0, 0);
    assert_in_range(awake(WITH("--tune=ahead-cpus=1", "--spin-cpu=1"), true, true), 0, (ROUNDS - LEARNS) / 6);
    assert_in_range(awake(WITH("--tune=ahead-cpus=1", "--spin-cpu=60"), false, true), 0, 0);
    assert_in_range(awake(WITH("--tune=ahead-cpus=1", "--spin-cpu=20"), true, false), 0, (ROUNDS - LEARNS) / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(regular_ones_are_expected), cmocka_unit_test(others_are_not)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
