/* SPDX-License-Identifier: Apache-2.0 */
/* xcli as a user runs it. */
#include "raw.h"

#include "base/clock.h"
#include "query/http_client.h"
#include "xcli/text_table.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct raw_server g_server;
static char g_output[1 << 16];

static int start(void **state)
{
    (void)state;
    raw_server_start(&g_server, NULL);
    setenv("XSCHED_SOCKET", g_server.socket, 1);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    return raw_server_stop(&g_server);
}

/* @return exit status; both outputs are in g_output */
static int xcli(const char *format, ...) XS_PRINTF(1, 2);

static int xcli(const char *format, ...)
{
    char args[512], command[1024];
    va_list ap;
    size_t n;
    FILE *f;
    int status;

    va_start(ap, format);
    vsnprintf(args, sizeof(args), format, ap);
    va_end(ap);
    snprintf(command, sizeof(command), "%s %s 2>&1 </dev/null", XCLI_PATH, args);
    f = popen(command, "r");
    assert_non_null(f);
    n = fread(g_output, 1, sizeof(g_output) - 1, f);
    g_output[n] = 0;
    status = pclose(f);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void wrong_use_is_64(void **state)
{
    static const char *const k_args[] = {
        "",
        "frobnicate",
        "--bogus list",
        "-p 0 list",
        "-p 65536 list",
        "list --bogus",
        "list surplus",
        "config",
        "config -x 1",
        "config -x nonsense -l 1",
        "config -x 1 -l 4",
        "config -x 1 -t 0",
        "policy -s",
        "policy -n HPF",
        "policy -s -n NONE",
        "policy NONE",
        "policy HPF CFS",
        "hint",
        "hint -p 1",
        "hint -x 1",
        "hint -x 1 -p 256",
        "hint -x 1 -p -257",
        "hint -x 1 --pid 1 -p 1",
        "hint -x 1 -u 101",
        "hint -t 99",
        "hint -x 1 -t 500",
        "hint -x 1 -p 1 -u 1",
        "hint -x 1 -p 1 --lax-priority 3",
        "suspend",
        "suspend --pid 0",
        "suspend 0",
        "suspend 1 2",
        "suspend 1 --for 0s",
        "suspend 1 --for 3parsecs",
        "resume 1 --for 1s",
        "list --user nobody-has-this-name",
        "top -f 0",
        "top -f abc",
    };

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_args); i++) {
        int status = xcli("%s", k_args[i]);

        if (status != 64)
            fail_msg("xcli %s: %d, %s", k_args[i], status, g_output);
        assert_true(strlen(g_output) > 0);
    }
    assert_int_equal(xcli("--help"), 0);
    assert_int_equal(xcli("list --help"), 0);
    assert_int_equal(xcli("--version"), 0);
}

static void absent_server_is_2(void **state)
{
    static const char *const k_args[] = {"list",        "--json list", "top -n 1",         "policy -q",
                                         "hint -t 500", "status",      "config -x 1 -l 1", "suspend --pid 1"};

    (void)state;
    setenv("XSCHED_SOCKET", "/nonexistent/xserver.sock", 1);
    for (size_t i = 0; i < XS_ARRAY_LEN(k_args); i++) {
        assert_int_equal(xcli("%s", k_args[i]), 2);
        assert_non_null(strstr(g_output, "no xserver answers"));
        assert_non_null(
            strstr(g_output, "/nonexistent/xserver.sock: nothing is there")); /* the name that users know */
        assert_non_null(strstr(g_output, "`xsched run` starts one"));
    }
    setenv("XSCHED_SOCKET", g_server.socket, 1);
    assert_int_equal(xcli("-p 1 list"), 2);
    assert_int_equal(xcli("--socket /nonexistent/s list"), 2);
}

/* A token is a line of a request, and nobody who happens to listen gets it. */
static void tokens_are_kept(void **state)
{
    char path[128], long_token[401], args[512];

    (void)state;
    memset(long_token, 'x', 400);
    long_token[400] = 0;
    snprintf(args, sizeof(args), "--token %s list", long_token);
    assert_int_equal(xcli("%s", args), 64);
    assert_non_null(strstr(g_output, "at most 255"));
    assert_int_equal(xcli("%s", "--token \"$(printf 'a\\r\\nX-B: c')\" list"), 64);
    assert_non_null(strstr(g_output, "printable"));
    assert_int_equal(xcli("%s", "--token '' list"), 64);

    snprintf(path, sizeof(path), "%s/token", g_server.dir);
    snprintf(args, sizeof(args), "umask 077; echo abc >%s", path);
    assert_int_equal(system(args), 0);
    assert_int_equal(xcli("--token-file %s list", path), 0);
    assert_int_equal(chmod(path, 0604), 0);
    assert_int_equal(xcli("--token-file %s list", path), 64);
    assert_non_null(strstr(g_output, "other users may open it"));
    assert_int_equal(xcli("--token-file /nonexistent/x list"), 64);
    assert_int_equal(unlink(path), 0);

    unsetenv("XSCHED_SOCKET");
    setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
    if (xcli("--token abc list") == 2) /* this machine has no server */
        assert_non_null(strstr(g_output, "127.0.0.1:50000: no request"));
    unsetenv("XDG_RUNTIME_DIR");
    setenv("XSCHED_SOCKET", g_server.socket, 1);
}

static void refusal_is_1(void **state)
{
    (void)state;
    assert_int_equal(xcli("hint -x 0x1234 -p 1"), 1);
    assert_non_null(strstr(g_output, "there is no queue 0x1234: `xcli list` shows those that are"));
    assert_int_equal(xcli("hint --pid 1 -p 1"), 1);
    assert_int_equal(xcli("config -x 1234 -l 1"), 1);
    assert_int_equal(xcli("suspend --pid 1"), 1);
}

static void output_that_is_not_written_is_74(void **state)
{
    (void)state;
    assert_int_equal(xcli("status >/dev/null"), 0);
    assert_int_equal(xcli("status >/dev/full"), 74);
    assert_int_equal(xcli("--socket /nonexistent/s list >/dev/full"), 2);
}

/* A server that is there and not for this user is no absent one. */
static void no_permission_is_told(void **state)
{
    struct xs_http_target target;
    char dir[64] = "/tmp/xcli-test-XXXXXX", path[96], error[256] = "";
    struct xs_http_answer answer;
    int status;
    pid_t pid;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/http.sock", dir);
    target = (struct xs_http_target){.unix_path = path};
    assert_int_equal(xs_http_ask(&target, "GET", "/", NULL, &answer, error, sizeof(error)), -ECONNREFUSED);
    assert_int_equal(chmod(dir, 0), 0);
    pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && setuid(65534) < 0) /* to root nothing is closed */
            _exit(2);
        if (xs_http_ask(&target, "GET", "/", NULL, &answer, error, sizeof(error)) != -EACCES)
            _exit(3);
        _exit(!strcmp(error, "Permission denied") ? 0 : 4);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(rmdir(dir), 0);
}

/* A program that is alone and waits for each command is never seen with work; it has run all the same. */
static void list_knows_that_a_lone_program_ran(void **state)
{
    struct raw_client c;

    (void)state;
    raw_join(&c, g_server.socket);
    raw_add(&c, 0, 1ull << 32 | 0xffffbeef, 0);
    assert_int_equal(xcli("list"), 0);
    assert_non_null(strstr(g_output, "PERMITTED%"));
    assert_non_null(strstr(g_output, " CPU:beef          -"));
    usleep(20000);
    atomic_store(&c.page->cells[0].est_completed_ns, 10 * XS_NS_PER_MS);
    assert_int_equal(xcli("list"), 0);
    assert_non_null(strstr(g_output, " CPU:beef        100"));
    raw_leave(&c);
    for (int i = 0; i < 1000 && raw_status(&g_server, "clients"); i++)
        usleep(5000);
}

static void list_shows_what_is_in_force(void **state)
{
    struct raw_client c;
    char handle[32], pid[32];
    json_t *json;

    (void)state;
    assert_int_equal(xcli("list"), 0);
    assert_non_null(strstr(g_output, "XQUEUE"));
    raw_join(&c, g_server.socket);
    raw_add(&c, 0, 1ull << 32 | 0xffffbeef, 17);
    raw_submit(&c, 0);
    snprintf(handle, sizeof(handle), "0x%" PRIx64, raw_handle(&c, 0));
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    assert_int_equal(xcli("list"), 0);
    assert_non_null(strstr(g_output, handle));
    assert_non_null(strstr(g_output, pid));
    assert_non_null(strstr(g_output, "CPU:beef"));
    assert_non_null(strstr(g_output, " 17 "));
    assert_non_null(strstr(g_output, " running "));
    assert_non_null(strstr(g_output, "MEMORY/LIMIT"));
    atomic_store(&c.page->h.memory_used, 512ull << 20);
    atomic_store(&c.page->h.memory_limit, 2ull << 30);
    assert_int_equal(xcli("list"), 0);
    assert_non_null(strstr(g_output, " 0.5/2.0G "));
    atomic_store(&c.page->h.memory_used, 3ull << 19);
    atomic_store(&c.page->h.memory_limit, 8ull << 20);
    assert_int_equal(xcli("list"), 0);
    assert_non_null(strstr(g_output, " 1.5/8.0M "));
    assert_int_equal(xcli("list --user %d --device beef", (int)getuid()), 0);
    assert_non_null(strstr(g_output, handle));
    assert_int_equal(xcli("list --user 4294967294"), 0);
    assert_null(strstr(g_output, handle));
    assert_int_equal(xcli("list --device 0000:3b:00.0"), 0);
    assert_null(strstr(g_output, handle));
    assert_int_equal(xcli("top --once -f 50 --device beef"), 0);
    assert_non_null(strstr(g_output, pid));
    assert_int_equal(xcli("top --once -f 50 --device 0000:3b:00.0"), 0);
    assert_null(strstr(g_output, pid));
    assert_int_equal(xcli("list"), 0);
    assert_non_null(strstr(g_output, "test_xcli"));
    assert_int_equal(xcli("list --json"), 0);
    json = json_loads(g_output, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(json, "xqueues")), 1);
    json_decref(json);
    assert_int_equal(xcli("top -n 2 -f 50"), 0);
    assert_non_null(strstr(g_output, "1 programs, 1 queues: 1 running, 0 waiting"));
    raw_leave(&c);
    for (int i = 0; i < 1000 && raw_status(&g_server, "clients"); i++)
        usleep(5000);
    assert_int_equal(xcli("list --ended"), 0);
    assert_non_null(strstr(g_output, pid));
}

static void changes_are_in_force(void **state)
{
    struct raw_client c;
    union xs_msg m;

    (void)state;
    raw_connect(&c, g_server.socket);
    c.prefix = 0x1234abcd; /* with a letter: without one and without 0x, a handle is decimal */
    raw_hello_fill(&c, &m);
    assert_int_equal(raw_hello(&c, &m, (int[]){c.page_fd, c.bell}, 2), 0);
    raw_add(&c, 0, 1, 0);
    assert_int_equal(xcli("hint -x %" PRIx64 " -p 33", raw_handle(&c, 0)), 0);
    assert_non_null(strstr(g_output, "33"));
    assert_int_equal(raw_receive(&c, &m, 5000), XS_MSG_queue_hints);
    assert_int_equal(m.queue_hints.priority, 33);
    assert_int_equal(xcli("hint --pid %d -p -5", (int)getpid()), 0);
    assert_int_equal(raw_receive(&c, &m, 5000), XS_MSG_queue_hints);
    assert_int_equal(m.queue_hints.priority, -5);
    assert_int_equal(xcli("hint -x 0x%" PRIx64 " -d 1234", raw_handle(&c, 0)), 0);
    assert_int_equal(raw_receive(&c, &m, 5000), XS_MSG_queue_hints);
    assert_int_equal(m.queue_hints.deadline_us, 1234);
    assert_int_equal(xcli("hint -x 0x%" PRIx64 " -l 77 --lax-priority 1 --critical-priority 2",
                          raw_handle(&c, 0)),
                     0);
    assert_int_equal(raw_receive(&c, &m, 5000), XS_MSG_queue_hints);
    assert_int_equal(m.queue_hints.laxity_us, 77);
    assert_int_equal(m.queue_hints.critical_priority, 2);
    assert_int_equal(xcli("hint -x 0x%" PRIx64 " -u 40", raw_handle(&c, 0)), 0);
    assert_int_equal(raw_receive(&c, &m, 5000), XS_MSG_queue_hints);
    assert_int_equal(m.queue_hints.utilization, 40);
    assert_int_equal(xcli("config -x 0x%" PRIx64 " -l 2 -t 32 -b 4", raw_handle(&c, 0)), 0);
    assert_int_equal(raw_receive(&c, &m, 5000), XS_MSG_queue_config);
    assert_int_equal(m.queue_config.level, 2);
    assert_int_equal(m.queue_config.threshold, 32);
    assert_int_equal(m.queue_config.batch_size, 4);
    assert_int_equal(xcli("hint -t 700"), 0);
    assert_int_equal(raw_status(&g_server, "timeslice_us"), 700);
    assert_int_equal(xcli("hint -t unlimited"), 0);
    assert_int_equal(xcli("hint -k 3"), 0);
    assert_int_equal(raw_status(&g_server, "k"), 3);
    assert_int_equal(xcli("policy -s -n hpf"), 0);
    assert_int_equal(xcli("policy -q"), 0);
    assert_non_null(strstr(g_output, "Current policy:\n  HPF\n"));
    assert_non_null(strstr(g_output, "  PUP   process utilization partition\n"));
    assert_int_equal(xcli("policy PUP"), 0);
    assert_int_equal(xcli("policy -q --json"), 0);
    assert_non_null(strstr(g_output, "\"PUP\""));
    assert_int_equal(xcli("policy hpf --json"), 0);
    assert_non_null(strstr(g_output, "\"info\""));
    assert_int_equal(xcli("status"), 0);
    assert_non_null(strstr(g_output, "policy_name      HPF"));
    assert_non_null(strstr(g_output, " decisions, mean "));

    /* words in the page */
    raw_submit(&c, 0);
    assert_true(raw_permitted(&c, 0));
    assert_int_equal(xcli("suspend --pid %d", (int)getpid()), 0);
    assert_true(raw_wait_permitted(&c, 0, false, 5000));
    assert_int_equal(xcli("list"), 0);
    assert_non_null(strstr(g_output, " suspended "));
    assert_int_equal(xcli("resume --pid %d", (int)getpid()), 0);
    assert_true(raw_wait_permitted(&c, 0, true, 5000));
    assert_int_equal(xcli("suspend %d --for 300ms --json", (int)getpid()), 0);
    assert_non_null(strstr(g_output, "\"info\""));
    assert_true(raw_wait_permitted(&c, 0, false, 5000));
    assert_true(raw_wait_permitted(&c, 0, true, 30000)); /* by itself */
    assert_int_equal(xcli("hint %d -p 12", (int)getpid()), 0);
    assert_non_null(strstr(g_output, "Priority of process"));
    assert_int_equal(xcli("hint -x 0x%" PRIx64 " -p -256", raw_handle(&c, 0)), 0);
    assert_true(raw_wait_permitted(&c, 0, false, 5000)); /* never runs */
    assert_int_equal(xcli("hint -x 0x%" PRIx64 " -p 0", raw_handle(&c, 0)), 0);
    assert_true(raw_wait_permitted(&c, 0, true, 5000));
    raw_leave(&c);
}

/* Where page and log are. */
static void page_and_log_are_found(void **state)
{
    char address[64], file[] = "/tmp/xcli-log-XXXXXX";
    const char *const args[] = {"--log-file", file, "--log-level", "INFO", NULL};
    struct raw_server logged;
    int fd = mkstemp(file);
    json_t *o;

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    snprintf(address, sizeof(address), "http://127.0.0.1:%d/\n", (int)raw_status(&g_server, "http_port"));
    assert_int_equal(xcli("web"), 0);
    assert_string_equal(g_output, address);
    assert_int_equal(xcli("--json web"), 0);
    o = json_loads(g_output, 0, NULL);
    assert_int_equal(strlen(json_string_value(json_object_get(o, "address"))), strlen(address) - 1);
    json_decref(o);
    raw_server_start(&logged, args);
    assert_int_equal(xcli("--socket %s logs --json", logged.socket), 0);
    o = json_loads(g_output, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(o, "log_file")), file);
    assert_int_equal(json_integer_value(json_object_get(o, "pid")), logged.pid);
    json_decref(o);
    assert_int_equal(xcli("--socket %s logs -n 1000", logged.socket), 0);
    assert_non_null(strstr(g_output, "[XSCHED INFO"));
    assert_int_equal(xcli("--socket %s logs -n 0", logged.socket), 0);
    assert_string_equal(g_output, "");
    assert_int_equal(raw_server_stop(&logged), 0);
    unlink(file);
}

static void tcp_works_too(void **state)
{
    (void)state;
    assert_int_equal(xcli("-p %d policy -q", (int)raw_status(&g_server, "http_port")), 0);
    assert_int_equal(xcli("-a localhost -p %d hint -t 900", (int)raw_status(&g_server, "http_port")), 0);
    assert_int_equal(raw_status(&g_server, "timeslice_us"), 900);
}

/* On a terminal of 20 columns, until q. */
static void top_runs_on_a_small_terminal(void **state)
{
    struct winsize size = {.ws_row = 6, .ws_col = 20};
    struct raw_client c;
    size_t used = 0;
    int master, status;
    bool quit = false;
    pid_t pid;

    (void)state;
    raw_join(&c, g_server.socket);
    raw_add(&c, 0, 1, 0);
    pid = forkpty(&master, NULL, NULL, &size);
    if (pid == 0) {
        setenv("TERM", "xterm", 1);
        execl(XCLI_PATH, "xcli", "top", "-f", "20", (char *)NULL);
        _exit(127);
    }
    for (;;) {
        struct pollfd p = {.fd = master, .events = POLLIN};
        ssize_t n;

        assert_int_equal(poll(&p, 1, 10000), 1);
        n = read(master, g_output + used, sizeof(g_output) - 1 - used);
        if (n <= 0)
            break; /* it ended */
        used += (size_t)n;
        g_output[used] = 0;
        if (!quit && strstr(g_output, "PID") && strstr(g_output, " idle")) {
            assert_int_equal(write(master, "q", 1), 1);
            quit = true;
        }
        assert_true(used < sizeof(g_output) / 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(quit);
    close(master);
    raw_leave(&c);
}

static void tables_fit(void **state)
{
    static const struct xs_column k_columns[] = {{"NAME", false, 1}, {"N", true, 3}, {"LONG", false, 2}};
    struct xs_table t;
    uint64_t began;

    (void)state;
    setlocale(LC_CTYPE, "C.UTF-8");
    xs_table_init(&t, k_columns, 3);
    xs_table_row(&t);
    xs_table_set(&t, 0, "%s", "b\xc3\xa4r");
    xs_table_set(&t, 1, "%d", 1234567);
    xs_table_set(&t, 2, "%s", "something that is long");
    for (size_t width = 1; width < 60; width++) {
        for (size_t r = 0; r < 2; r++) {
            char *line = xs_table_line(&t, r, width);
            size_t characters = 0;

            for (const char *at = line; *at; at++)
                characters += ((unsigned char)*at & 0xc0) != 0x80;
            assert_true(characters <= width);
            if (r == 1 && width >= 4)
                assert_memory_equal(line, "b\xc3\xa4r", 4);
            if (r == 1 && width >= 35)
                assert_string_equal(line, "b\xc3\xa4r  1234567 something that is long");
            free(line);
        }
    }
    began = xs_now_ns(); /* no terminal, no bound: that takes no longer */
    free(xs_table_line(&t, 1, SIZE_MAX / 4));
    assert_true(xs_now_ns() - began < 2 * XS_NS_PER_S);
    xs_table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_use_is_64),
        cmocka_unit_test(absent_server_is_2),
        cmocka_unit_test(tokens_are_kept),
        cmocka_unit_test(refusal_is_1),
        cmocka_unit_test(output_that_is_not_written_is_74),
        cmocka_unit_test(no_permission_is_told),
        cmocka_unit_test(list_shows_what_is_in_force),
        cmocka_unit_test(list_knows_that_a_lone_program_ran),
        cmocka_unit_test(changes_are_in_force),
        cmocka_unit_test(page_and_log_are_found),
        cmocka_unit_test(tcp_works_too),
        cmocka_unit_test(top_runs_on_a_small_terminal),
        cmocka_unit_test(tables_fit),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
