/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and ending: options, configuration file, service manager, signals. */
#include "raw.h"

#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char g_dir[64], g_output[8192];

static int make_dir(void **state)
{
    (void)state;
    strcpy(g_dir, "/tmp/xserver-start-XXXXXX");
    assert_non_null(mkdtemp(g_dir));
    return 0;
}

static int remove_dir(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", g_dir);
    return system(command);
}

static const char *file(const char *name)
{
    static char paths[4][128];
    static unsigned at;
    char *path = paths[at++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", g_dir, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(file(name), "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* @return exit status of a run that ends by itself */
static int run(const char *args)
{
    char command[512];
    size_t n;
    FILE *f;
    int status;

    snprintf(command, sizeof(command), "timeout 20 %s --socket %s/run.sock --no-http %s 2>&1", XSERVER_PATH,
             g_dir, args);
    f = popen(command, "r");
    assert_non_null(f);
    n = fread(g_output, 1, sizeof(g_output) - 1, f);
    g_output[n] = 0;
    status = pclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Lines of --help that describe an option. */
static unsigned options_listed(const char *help)
{
    unsigned n = 0;

    for (const char *at = help; (at = strstr(at, "--")); at += 2)
        n += at >= help + 7 && (strncmp(at - 7, "\n      ", 7) == 0 || strncmp(at - 5, "  -", 3) == 0);
    return n;
}

static void wrong_options_are_64(void **state)
{
    static const char *const k_args[] = {
        "FOO", "HPF 65536", "HPF 1 2", "--bogus", "--k 0", "--spin-cpu 101", "--log-level LOUD", "--http maybe",
        "--timeslice-us 99", "--tune linger-us=-1", "--tune linger=1", "--tune k=2", "--tune linger-us", "--tune ="};

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_args); i++)
        if (run(k_args[i]) != 64)
            fail_msg("%s: %s", k_args[i], g_output);
    assert_int_equal(run("--help"), 0);
    assert_non_null(strstr(g_output, "--idle-exit"));
    assert_in_range(options_listed(g_output), 10, 15);
    assert_int_equal(run("--tune=help"), 0);
    assert_non_null(strstr(g_output, "linger-us=0..1000000"));
    assert_null(strstr(g_output, "max-clients"));
    assert_int_equal(run("--version"), 0);
    assert_non_null(strstr(g_output, "xserver (XSched)"));
}

static void wrong_files_name_the_line(void **state)
{
    static const struct {
        const char *text, *line, *what;
    } k_rows[] = {
        {"[scheduler]\npolicy = FOO\n", ":2:", "no such policy (HPF, "},
        {"[scheduler]\n# a comment\n\nlinger-us = many\n", ":4:", "linger-us"},
        {"[scheduler]\ncolour = red\n", ":2:", "no key 'colour'"},
        {"[nonsense]\npolicy = HPF\n", ":2:", "no section [nonsense]"},
        {"policy = HPF\n", ":1:", "'policy' stands before any [section]"},
        {"[scheduler]\nthis is nothing\n", ":2:", "no [section], 'key = value' or comment"},
        {"[scheduler\nk = 1", ":1:", "no [section], 'key = value' or comment"},
        {"[scheduler]\nk = 1\nk = 2\n", ":3:", "twice"},
        {"[http]\nport = 70000\n", ":2:", "port"},
        {"[limits]\nport = 1\n", ":2:", "no key 'port' in [limits]"},
        {"[http]\nhttp = perhaps\n", ":2:", "neither ON nor OFF"},
        /* right by themselves, and the host lacks what they name */
        {"[scheduler]\npriority-limits = *=300..400\n", ":2:", "priority-limits: '*=300..400': a range is"},
        {"[scheduler]\nuser-share-exempt = *=0..1\n", ":2:", "user-share-exempt: '*=0..1': it has a range"},
        {"[scheduler]\nuser-shares = root=0\n", ":2:", "user-shares: 'root=0': a weight is a whole number"},
        {"[scheduler]\nuser-shares = root=70 0=30\n", ":2:", "user-shares: '0=30': another rule names this user"},
        {"[scheduler]\nk = 2\npolicy = /nonexistent/policy.so\n", ":3:", "No such file or directory"},
    };
    char args[160];

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        char where[160];

        write_file("wrong.conf", k_rows[i].text);
        snprintf(args, sizeof(args), "--config %s", file("wrong.conf"));
        snprintf(where, sizeof(where), "%s%s", file("wrong.conf"), k_rows[i].line);
        if (run(args) != 78 || !strstr(g_output, where) || !strstr(g_output, k_rows[i].what))
            fail_msg("%s -> %s", k_rows[i].text, g_output);
    }
    assert_int_equal(run("--config /nonexistent/x.conf"), 78);
    snprintf(args, sizeof(args), "--config %s", g_dir); /* a folder */
    assert_int_equal(run(args), 78);
    assert_non_null(strstr(g_output, strerror(EISDIR)));
    /* overridden by the command line, and still wrong */
    write_file("wrong.conf", "[scheduler]\nk = none\n");
    snprintf(args, sizeof(args), "--k 3 --config %s", file("wrong.conf"));
    assert_int_equal(run(args), 78);
    /* overridden, and not looked for: the code of that policy does not run */
    write_file("wrong.conf", "[scheduler]\npolicy = /nonexistent/policy.so\n");
    snprintf(args, sizeof(args), "--policy HPF --idle-exit 1 --config %s", file("wrong.conf"));
    assert_int_equal(run(args), 0);
}

/* An account may be absent for a while, as where a directory service comes up later: a file that names one starts the server. On
 * a command line, and at a reload (below), somebody is there to read the error. */
static void names_that_nobody_has_are_warned_of(void **state)
{
    static const struct {
        const char *text, *option, *says;
    } k_rows[] = {
        {"[server]\noperator-group = nobody-has-this\n", "--operator-group=nobody-has-this",
         "operator-group: there is no group 'nobody-has-this'"},
        {"[scheduler]\npriority-limits = nobody-is-this=0..1 *=1..2\n", "--priority-limits=nobody-is-this=0..1",
         "priority-limits: 'nobody-is-this=0..1': there is no such user"},
        {"[scheduler]\nuser-share-exempt = @nobody-has-this\n", "--user-share-exempt=@nobody-has-this",
         "user-share-exempt: '@nobody-has-this': there is no such group"},
        {"[scheduler]\nuser-shares = nobody-is-this=70 root=30\n", "--user-shares=nobody-is-this=70",
         "user-shares: 'nobody-is-this=70': there is no such user"},
    };
    char config[128], args[160];
    const char *argv[] = {"--config", config, NULL};

    (void)state;
    snprintf(config, sizeof(config), "%s", file("absent.conf"));
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        struct raw_server s;

        write_file("absent.conf", k_rows[i].text);
        raw_server_start(&s, argv);
        raw_server_says(&s, k_rows[i].says);
        assert_int_equal(raw_server_stop(&s), 0);
        snprintf(args, sizeof(args), "%s --idle-exit 1", k_rows[i].option);
        assert_int_equal(run(args), 1);
        if (!strstr(g_output, k_rows[i].says))
            fail_msg("%s -> %s", args, g_output);
    }
}

static void file_command_line_and_reload(void **state)
{
    struct raw_server s;
    char config[128];
    const char *args[] = {"--config", config, "--k", "5", NULL};
    char *log;

    (void)state;
    snprintf(config, sizeof(config), "%s", file("good.conf"));
    write_file("good.conf",
               "; all of it\n[scheduler]\ntimeslice-us = 900\nk = 2\n[limits]\nmax-clients = 7\n");
    raw_server_start(&s, args);
    assert_int_equal(raw_status(&s, "timeslice_us"), 900);
    assert_int_equal(raw_status(&s, "k"), 5); /* the command line is stronger */
    write_file("good.conf", "[scheduler]\ntimeslice-us = 1200\nk = 3\nlinger-us = 7\n");
    kill(s.pid, SIGHUP);
    for (int i = 0; i < 1000 && raw_status(&s, "timeslice_us") != 1200; i++)
        usleep(5000);
    assert_int_equal(raw_status(&s, "timeslice_us"), 1200);
    assert_int_equal(raw_status(&s, "k"), 5);
    write_file("good.conf", "[scheduler]\ntimeslice-us = 1\n");
    kill(s.pid, SIGHUP);
    raw_server_says(&s, "good.conf:2:");
    assert_int_equal(raw_status(&s, "timeslice_us"), 1200); /* nothing was changed */
    log = raw_server_log(&s);
    assert_non_null(strstr(log, "linger-us has changed: that takes effect at the next start"));
    assert_non_null(strstr(log, "linger-us is a constant for developers now"));
    assert_non_null(strstr(log, "--tune linger-us=VALUE"));
    assert_null(strstr(log, "timeslice-us has changed"));
    free(log);
    assert_int_equal(raw_server_stop(&s), 0);
}

static void assert_policy(const struct raw_server *s, const char *name)
{
    json_t *json;

    assert_int_equal(raw_http(s, "GET", "/policy", NULL, &json), 200);
    assert_string_equal(json_string_value(json_object_get(json, "name")), name);
    json_decref(json);
}

/* Each value is right by itself, and the host lacks what one of them names. */
static void a_reload_takes_all_or_nothing(void **state)
{
    static const struct {
        const char *text, *why;
    } k_rows[] = {
        {"[scheduler]\ntimeslice-us = 777\npolicy = CFS\n[server]\noperator-group = nobody-has-this\n",
         "there is no group 'nobody-has-this'; all settings stay"},
        {"[scheduler]\ntimeslice-us = 777\npolicy = CFS\npriority-limits = *=300..400\n",
         "a range is LEAST..MOST, within -255..255; all settings stay"},
        {"[scheduler]\ntimeslice-us = 777\npolicy = CFS\nuser-share-exempt = nobody-is-this\n",
         "'nobody-is-this': there is no such user; all settings stay"},
        {"[scheduler]\ntimeslice-us = 777\npolicy = CFS\nuser-shares = root=70 0=30\n",
         "'0=30': another rule names this user; all settings stay"},
        {"[scheduler]\ntimeslice-us = 777\npolicy = /nonexistent.so\npriority-limits = *=0..1\n",
         "No such file or directory; all settings stay"},
    };
    struct raw_server s;
    char config[128];
    const char *args[] = {"--config", config, NULL};

    (void)state;
    snprintf(config, sizeof(config), "%s", file("whole.conf"));
    write_file("whole.conf", "[scheduler]\npolicy = UP\ntimeslice-us = 900\n");
    raw_server_start(&s, args);
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        write_file("whole.conf", k_rows[i].text);
        kill(s.pid, SIGHUP);
        raw_server_says(&s, k_rows[i].why);
        assert_int_equal(raw_status(&s, "timeslice_us"), 900);
        assert_policy(&s, "UP");
    }
    write_file("whole.conf", "[scheduler]\npolicy = CFS\ntimeslice-us = 777\n");
    kill(s.pid, SIGHUP);
    raw_server_says(&s, "configuration read again");
    assert_int_equal(raw_status(&s, "timeslice_us"), 777);
    assert_policy(&s, "CFS");
    assert_int_equal(raw_server_stop(&s), 0);
}

/* An option that went says what is there instead, and keeps nothing from starting. */
static void withdrawn_options_are_named(void **state)
{
    static const struct {
        const char *name, *instead;
    } k_rows[] = {
#define WITHDRAWN(field, name, instead) {name, instead},
#include "config/withdrawn.def"
#undef WITHDRAWN
    };
    char args[256], line[512];

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        const char *name = k_rows[i].name;

        snprintf(line, sizeof(line), "%s no longer exists and has no effect: %s\n", name, k_rows[i].instead);
        snprintf(args, sizeof(args), "--idle-exit 1 --%s=OFF", name);
        assert_int_equal(run(args), 0);
        assert_non_null(strstr(g_output, line));
        snprintf(args, sizeof(args), "--idle-exit 1 --tune %s=7", name);
        assert_int_equal(run(args), 0);
        assert_non_null(strstr(g_output, line));
        assert_int_equal(run("--help"), 0);
        assert_null(strstr(g_output, name));
        snprintf(line, sizeof(line), "[level3]\n%s = anything\n[server]\nidle-exit = 1\n", name);
        write_file("old.conf", line);
        snprintf(args, sizeof(args), "--log-file %s --config %s", file("old.log"), file("old.conf"));
        assert_int_equal(run(args), 0);
        snprintf(args, sizeof(args), "grep -c '%s no longer exists' %s | grep -qx 1", name, file("old.log"));
        assert_int_equal(system(args), 0);
        assert_int_equal(unlink(file("old.log")), 0);
    }
}

static size_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (size_t)st.st_size : 0;
}

static void the_log_is_opened_again_and_bounded(void **state)
{
    struct raw_server s;
    char path[128], moved[140];
    const char *args[] = {"--log-file", path, NULL}, *bounded[] = {"--log-file", path, "--log-max-kib", "1", NULL};
    size_t before;

    (void)state;
    snprintf(path, sizeof(path), "%s/rotated.log", g_dir);
    snprintf(moved, sizeof(moved), "%s.moved", path);
    raw_server_start(&s, args);
    raw_status(&s, "clients"); /* it listens before it writes its lines, and answers after them */
    assert_true(size_of(path) > 0);
    assert_int_equal(rename(path, moved), 0);
    before = size_of(moved);
    kill(s.pid, SIGHUP);
    for (int i = 0; i < 2000 && !size_of(path); i++)
        usleep(5000);
    assert_true(size_of(path) > 0); /* "configuration read again" */
    assert_int_equal(size_of(moved), before);
    assert_int_equal(raw_server_stop(&s), 0);

    raw_server_start(&s, bounded);
    snprintf(moved, sizeof(moved), "%s.1", path);
    for (int i = 0; i < 200; i++) {
        kill(s.pid, SIGHUP);
        raw_status(&s, "clients"); /* the line was written */
        assert_true(size_of(path) < 1024 + 200 && size_of(moved) < 1024 + 200);
    }
    assert_true(size_of(moved) > 512);
    assert_int_equal(raw_server_stop(&s), 0);
}

/* As a device would be: it has no length, and is not to be moved. */
static void a_pipe_as_the_log_is_left_in_place(void **state)
{
    struct raw_server s;
    char path[128], moved[140], text[4096];
    const char *args[] = {"--log-file", path, "--log-max-kib", "1", NULL};
    struct stat st;
    size_t got = 0;
    ssize_t n;
    int fd;

    (void)state;
    snprintf(path, sizeof(path), "%s/pipe", g_dir);
    snprintf(moved, sizeof(moved), "%s.1", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    raw_server_start(&s, args);
    for (int i = 0; i < 100; i++) { /* a line each */
        const char *change = i % 2 ? "/policy?policy=1" : "/policy?policy=2";

        assert_int_equal(raw_http(&s, "POST", change, "", NULL), 200);
        while ((n = read(fd, text, sizeof(text))) > 0)
            got += (size_t)n;
    }
    assert_true(got > 2048);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_int_equal(lstat(moved, &st), -1);
    assert_int_equal(raw_server_stop(&s), 0);
    close(fd);
}

/* Nor is what an operator has put in the place of a regular file. */
static void a_link_is_no_log(void **state)
{
    struct raw_server s;
    char path[128], moved[140], args[200];
    const char *bounded[] = {"--log-file", path, "--log-max-kib", "1", NULL};
    struct stat st;

    (void)state;
    snprintf(path, sizeof(path), "%s/link.log", g_dir);
    snprintf(moved, sizeof(moved), "%s.1", path);
    raw_server_start(&s, bounded);
    raw_status(&s, "clients");
    assert_int_equal(rename(path, file("elsewhere")), 0);
    assert_int_equal(symlink(file("elsewhere"), path), 0);
    for (int i = 0; i < 40; i++) {
        kill(s.pid, SIGHUP);
        raw_status(&s, "clients");
    }
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(lstat(moved, &st), -1);
    assert_true(size_of(file("elsewhere")) > 1024); /* lines go to the file that was open */
    assert_int_equal(raw_server_stop(&s), 0);
    snprintf(args, sizeof(args), "--idle-exit 1 --log-file %s", path);
    assert_int_equal(run(args), 1);
    assert_non_null(strstr(g_output, strerror(ELOOP)));
}

/* Two servers in one folder: each has an HTTP socket of its own, and neither takes the other's. */
static void servers_share_a_folder(void **state)
{
    static const struct {
        const char *name, *http;
    } k_rows[] = {{"xserver.sock", "http.sock"}, {"second.sock", "second.http.sock"}, {"second", "second.http"}};
    pid_t pids[XS_ARRAY_LEN(k_rows)];
    char command[400];

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            unsetenv("NOTIFY_SOCKET");
            execl(XSERVER_PATH, "xserver", "--port", "0", "--log-level", "OFF", "--socket", file(k_rows[i].name), NULL);
            _exit(127);
        }
        for (int t = 0; t < 2000 && access(file(k_rows[i].http), F_OK) < 0; t++)
            usleep(5000);
    }
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        snprintf(command, sizeof(command), "for i in $(seq 100); do %s --socket %s status >/dev/null 2>&1 && exit 0; sleep 0.1; "
                 "done; exit 1", XCLI_PATH, file(k_rows[i].name));
        if (system(command) != 0)
            fail_msg("%s does not answer", k_rows[i].name);
    }
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        kill(pids[i], SIGTERM);
        assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
        assert_int_equal(access(file(k_rows[i].http), F_OK), -1);
        /* the others' are still there */
        for (size_t k = i + 1; k < XS_ARRAY_LEN(k_rows); k++)
            assert_int_equal(access(file(k_rows[k].http), F_OK), 0);
    }
    snprintf(command, sizeof(command), "timeout 20 %s --idle-exit 1 --no-http --socket %s 2>/dev/null", XSERVER_PATH,
             file("second.http.sock"));
    assert_int_equal(system(command), 256);
}

static void tokens_come_from_files(void **state)
{
    char args[200], text[400];

    (void)state;
    write_file("token", "open sesame\n");
    chmod(file("token"), 0644);
    snprintf(args, sizeof(args), "--idle-exit 1 --token-file %s", file("token"));
    assert_int_equal(run(args), 78);
    assert_non_null(strstr(g_output, "other users may open it"));
    chmod(file("token"), 0660);
    assert_int_equal(run(args), 78);
    assert_non_null(strstr(g_output, "its group may write it"));
    chmod(file("token"), 0640);
    assert_int_equal(run(args), 0);
    write_file("token.conf", "[http]\ntoken = abc\n");
    snprintf(text, sizeof(text), "%s --config %s", args, file("token.conf"));
    assert_int_equal(run(text), 78);
    assert_non_null(strstr(g_output, "not both"));
    write_file("token", "");
    assert_int_equal(run(args), 78);
    write_file("token", "a\nb\n");
    assert_int_equal(run(args), 78);
    assert_non_null(strstr(g_output, "printable"));
    snprintf(args, sizeof(args), "--idle-exit 1 --token-file %s", g_dir);
    assert_int_equal(run(args), 78);
    assert_int_equal(run("--token 'a\tb'"), 64);
}

static void wrong_words_about_the_log_are_told(void **state)
{
    (void)state;
    assert_int_equal(run("--idle-exit 1 --log-file /nonexistent/x"), 1);
    assert_string_equal(g_output, "xserver: log-file /nonexistent/x: No such file or directory\n");
    setenv("XLOG_FILE", "/nonexistent/y", 1);
    assert_int_equal(run("--idle-exit 1"), 1);
    assert_non_null(strstr(g_output, "/nonexistent/y"));
    unsetenv("XLOG_FILE");
    setenv("XLOG_LEVEL", "LOUD", 1);
    assert_int_equal(run("--idle-exit 1"), 0);
    unsetenv("XLOG_LEVEL");
    assert_non_null(strstr(g_output, "XLOG_LEVEL: 'LOUD' is not DEBG, INFO, WARN, ERRO or OFF; the default holds"));
}

static void second_server_is_refused_and_left_socket_replaced(void **state)
{
    struct raw_server s;
    char args[160];
    struct raw_client c;

    (void)state;
    raw_server_start(&s, NULL);
    snprintf(args, sizeof(args), "--socket %s", s.socket);
    assert_int_equal(run(args), 1);
    assert_non_null(strstr(g_output, "another xserver"));
    raw_join(&c, s.socket); /* the first one is undisturbed */
    raw_leave(&c);
    kill(s.pid, SIGKILL);
    waitpid(s.pid, NULL, 0);
    assert_int_equal(access(s.socket, F_OK), 0);
    snprintf(args, sizeof(args), "--socket %s --idle-exit 1", s.socket);
    assert_int_equal(run(args), 0); /* takes over, ends by itself, removes it */
    assert_int_equal(access(s.socket, F_OK), -1);
    snprintf(args, sizeof(args), "rm -rf %s", s.dir);
    assert_int_equal(system(args), 0);
}

/* A policy of one's own, chosen at start, left by a request and taken again at a reload. */
static void policy_from_a_shared_object(void **state)
{
    struct raw_server s;
    char config[128], text[512], command[512];
    const char *args[] = {"--config", config, NULL};
    json_t *json;

    (void)state;
    snprintf(config, sizeof(config), "%s", file("policy.conf"));
    snprintf(text, sizeof(text), "[scheduler]\npolicy = %s\n", FIFO_POLICY);
    write_file("policy.conf", text);
    raw_server_start(&s, args);
    assert_int_equal(raw_http(&s, "GET", "/policy", NULL, &json), 200);
    assert_string_equal(json_string_value(json_object_get(json, "name")), "FIFO");
    json_decref(json);
    snprintf(command, sizeof(command), "%s --socket %s policy | grep -q '^  FIFO$'", XCLI_PATH, s.socket);
    assert_int_equal(system(command), 0);
    assert_int_equal(raw_http(&s, "POST", "/policy?policy=1", "", NULL), 200);
    for (int i = 0; i < 2; i++) { /* away from it by the file, and back */
        write_file("policy.conf", i ? text : "[scheduler]\npolicy = CFS\n");
        kill(s.pid, SIGHUP);
        for (int k = 0; k < 1000; k++) {
            bool there;

            assert_int_equal(raw_http(&s, "GET", "/policy", NULL, &json), 200);
            there = !strcmp(json_string_value(json_object_get(json, "name")), i ? "FIFO" : "CFS");
            json_decref(json);
            if (there)
                break;
            assert_true(k < 999);
            usleep(5000);
        }
    }
    assert_int_equal(raw_server_stop(&s), 0);
    assert_int_equal(run("/nonexistent/policy.so"), 1);
}

/* The last policy that was noted for `xsched record`, or NULL. */
static const char *policy_noted(const struct raw_server *s)
{
    static char name[32];
    json_t *json, *event;
    size_t i;

    name[0] = 0;
    assert_int_equal(raw_http(s, "GET", "/timeline?since=0", NULL, &json), 200);
    json_array_foreach(json_object_get(json, "events"), i, event)
        if (!strcmp(json_string_value(json_array_get(event, 1)), "policy"))
            snprintf(name, sizeof(name), "%s", json_string_value(json_array_get(event, 5)));
    json_decref(json);
    return name[0] ? name : NULL;
}

/* A policy that goes by the CPU's scheduling, chosen by the file: nobody joins or leaves meanwhile. */
static void cpu_priority_from_the_file(void **state)
{
    struct raw_server s;
    struct raw_client own;
    char config[128], x = 'x';
    const char *args[] = {"--config", config, NULL};
    int from_child[2], status;
    pid_t pid;

    (void)state;
    snprintf(config, sizeof(config), "%s", file("cpu.conf"));
    write_file("cpu.conf", "[scheduler]\npolicy = HPF\n");
    raw_server_start(&s, args);
    assert_int_equal(pipe(from_child), 0);
    raw_join(&own, s.socket);
    raw_add(&own, 0, 1, 0);
    raw_submit(&own, 0);
    pid = fork();
    if (pid == 0) {
        struct raw_client child;

        if (nice(10) < 0)
            _exit(2);
        raw_join(&child, s.socket);
        raw_add(&child, 0, 1, 0);
        raw_submit(&child, 0);
        if (!raw_permitted(&child, 0) || write(from_child[1], &x, 1) != 1)
            _exit(3);
        _exit(raw_wait_permitted(&child, 0, false, 10000) ? 0 : 4);
    }
    close(from_child[1]);
    assert_int_equal(read(from_child[0], &x, 1), 1);
    assert_null(policy_noted(&s)); /* from now on it is noted */
    write_file("cpu.conf", "[scheduler]\npolicy = CHPF\n");
    kill(s.pid, SIGHUP);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_non_null(policy_noted(&s));
    assert_string_equal(policy_noted(&s), "CHPF");
    close(from_child[0]);
    raw_leave(&own);
    assert_int_equal(raw_server_stop(&s), 0);
}

/* What a server that was killed leaves for a moment: its lock, and nobody who answers. */
static void a_lock_that_goes_is_waited_for(void **state)
{
    char path[128], args[64] = "--idle-exit 1";
    int fd, status;
    pid_t pid;

    (void)state;
    snprintf(path, sizeof(path), "%s/run.sock.lock", g_dir);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    pid = fork();
    if (pid == 0) { /* the lock belongs to both: it goes with the last */
        usleep(300000);
        _exit(0);
    }
    close(fd);
    assert_int_equal(run(args), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(run(args), 1); /* but not for ever */
    close(fd);
}

/* A table of descriptors that grows while there are threads stops the main loop for tens of milliseconds. */
static void the_table_of_descriptors_is_large_from_the_start(void **state)
{
    struct raw_server s;
    struct rlimit l;
    char path[64], line[128];
    rlim_t size = 0;
    FILE *f;

    (void)state;
    raw_server_start(&s, NULL);
    snprintf(path, sizeof(path), "/proc/%d/status", (int)s.pid);
    f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        if (strncmp(line, "FDSize:", 7) == 0)
            size = strtoul(line + 7, NULL, 10);
    fclose(f);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
    assert_true(size >= XS_MIN(l.rlim_max, (rlim_t)65536));
    raw_server_stop(&s);
}

/* Ends only when nobody is joined. */
static void idle_exit(void **state)
{
    static const char *const k_args[] = {"--idle-exit", "2", NULL}; /* joining it may take a while */
    struct raw_server s;
    struct raw_client c;
    int status;

    (void)state;
    raw_server_start(&s, k_args);
    raw_join(&c, s.socket);
    usleep(2300000);
    raw_settle(&c); /* it is still there */
    raw_leave(&c);
    assert_int_equal(waitpid(s.pid, &status, 0), s.pid);
    assert_int_equal(status, 0);
    assert_int_equal(access(s.socket, F_OK), -1);
    assert_int_equal(access(s.http, F_OK), -1);
}

/* The socket is ours, as a service manager's; it is passed as descriptor 3, and stays afterwards. */
static void socket_activation_and_notify(void **state)
{
    char notify[128], socket_path[128], text[256] = "";
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct raw_client c;
    int listener, wait_fd, status;
    pid_t pid;

    (void)state;
    snprintf(socket_path, sizeof(socket_path), "%s", file("activated.sock"));
    snprintf(notify, sizeof(notify), "%s", file("notify.sock"));
    listener = xs_socket_listen(socket_path, 0666, 16);
    assert_true(listener >= 0);
    wait_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    memcpy(at.sun_path, notify, strlen(notify) + 1);
    assert_int_equal(bind(wait_fd, (struct sockaddr *)&at, sizeof(at)), 0);
    pid = fork();
    if (pid == 0) {
        char number[32];

        dup2(listener, 3); /* clears CLOEXEC; listener itself is 3 or above it */
        if (listener == 3)
            fcntl(3, F_SETFD, 0);
        snprintf(number, sizeof(number), "%d", (int)getpid());
        setenv("LISTEN_PID", number, 1);
        setenv("LISTEN_FDS", "1", 1);
        setenv("NOTIFY_SOCKET", notify, 1);
        execl(XSERVER_PATH, "xserver", "--no-http", "--log-level", "ERRO", (char *)NULL);
        _exit(127);
    }
    close(listener);
    assert_true(recv(wait_fd, text, sizeof(text) - 1, 0) > 0);
    assert_string_equal(text, "READY=1");
    raw_join(&c, socket_path);
    raw_add(&c, 0, 1, 0);
    raw_leave(&c);
    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(access(socket_path, F_OK), 0); /* the manager's */
    close(wait_fd);
}

static void activation_with_something_else_is_refused(void **state)
{
    int pipes[2], status;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    if (pid == 0) {
        char number[32];
        int quiet = open("/dev/null", O_WRONLY);

        dup2(quiet, 2);
        dup2(pipes[0], 3);
        snprintf(number, sizeof(number), "%d", (int)getpid());
        setenv("LISTEN_PID", number, 1);
        setenv("LISTEN_FDS", "1", 1);
        execl(XSERVER_PATH, "xserver", "--no-http", (char *)NULL);
        _exit(127);
    }
    close(pipes[0]);
    close(pipes[1]);
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_options_are_64),
        cmocka_unit_test(wrong_files_name_the_line),
        cmocka_unit_test(names_that_nobody_has_are_warned_of),
        cmocka_unit_test(file_command_line_and_reload),
        cmocka_unit_test(a_reload_takes_all_or_nothing),
        cmocka_unit_test(withdrawn_options_are_named),
        cmocka_unit_test(the_log_is_opened_again_and_bounded),
        cmocka_unit_test(a_pipe_as_the_log_is_left_in_place),
        cmocka_unit_test(a_link_is_no_log),
        cmocka_unit_test(servers_share_a_folder),
        cmocka_unit_test(tokens_come_from_files),
        cmocka_unit_test(wrong_words_about_the_log_are_told),
        cmocka_unit_test(second_server_is_refused_and_left_socket_replaced),
        cmocka_unit_test(policy_from_a_shared_object),
        cmocka_unit_test(cpu_priority_from_the_file),
        cmocka_unit_test(a_lock_that_goes_is_waited_for),
        cmocka_unit_test(the_table_of_descriptors_is_large_from_the_start),
        cmocka_unit_test(idle_exit),
        cmocka_unit_test(socket_activation_and_notify),
        cmocka_unit_test(activation_with_something_else_is_refused),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
