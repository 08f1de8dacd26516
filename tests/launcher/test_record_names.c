/* SPDX-License-Identifier: Apache-2.0 */
/* A recording names each program once: a viewer keeps the first name that it reads. */
#include "launcher/record/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char names[256];

static void write_name(FILE *f, int64_t pid, const char *command)
{
    size_t used = strlen(names);

    (void)f;
    snprintf(names + used, sizeof(names) - used, "%d=%s;", (int)pid, command);
}

static void write_end(FILE *f, uint64_t at_ns, uint64_t lost)
{
    (void)f;
    (void)at_ns;
    (void)lost;
}

static const struct record_writer k_writer = {.process = write_name, .end = write_end};

static void answer(struct record *r, const char *text)
{
    json_t *o = json_loads(text, 0, NULL);

    assert_non_null(o);
    record_snapshot(r, o, 1, false);
    json_decref(o);
}

static void a_short_name_waits_for_the_command_line(void **state)
{
    struct record r = {.to = &k_writer};
    json_t *clients;

    (void)state;
    answer(&r, "{\"processes\": [{\"pid\": 7, \"cmdline\": \"[python3]\"}, {\"pid\": 8, \"cmdline\": \"[held]\"}]}");
    assert_string_equal(names, "");
    answer(&r, "{\"processes\": [{\"pid\": 7, \"cmdline\": \"serve.py --port 1\"}, {\"pid\": 8, \"cmdline\": \"[held]\"}]}");
    assert_string_equal(names, "7=serve.py --port 1;");
    clients = json_loads("{\"clients\": [{\"pid\": 7, \"cmdline\": \"another\"}, {\"pid\": 9, \"cmdline\": \"unseen\"}],"
                         " \"ended\": [{\"pid\": 8, \"cmdline\": \"[held]\"}]}", 0, NULL);
    record_names(&r, clients);
    assert_string_equal(names, "7=serve.py --port 1;8=[held];");
    json_decref(clients);
    record_end(&r, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_short_name_waits_for_the_command_line)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
