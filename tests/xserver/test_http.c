/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP: paths, status codes, shapes, and who may do what. */
#include "raw.h"

#include "xsched/types.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define OTHER_USER 65534u

static struct raw_server g_server;
static struct raw_client g_client;

static int start(void **state)
{
    static const char *const k_args[] = {"--token", "open sesame", NULL};

    (void)state;
    raw_server_start(&g_server, k_args);
    raw_join(&g_client, g_server.socket);
    raw_add(&g_client, 0, 1ull << 32 | 0xffff1234, 3);
    raw_add(&g_client, 4, 2ull << 32 | 0x1700, -7);
    g_server.port = (int)raw_status(&g_server, "http_port");
    assert_true(g_server.port > 0);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    raw_leave(&g_client);
    return raw_server_stop(&g_server);
}

static int64_t number(const json_t *o, const char *name)
{
    const json_t *v = json_object_get(o, name);

    if (!json_is_integer(v))
        fail_msg("no number %s", name);
    return json_integer_value(v);
}

static void paths_and_codes(void **state)
{
    static char no_policy[32]; /* the first number without a policy */
    static const struct {
        const char *method, *path, *body;
        long status;
    } k_rows[] = {
        {"GET", "/xqueues", NULL, 200},
        {"GET", "/policy", NULL, 200},
        {"GET", "/clients", NULL, 200},
        {"GET", "/status", NULL, 200},
        {"GET", "/x", NULL, 404},
        {"GET", "/xqueue", NULL, 404},
        {"GET", "/xqueue/", NULL, 404},
        {"GET", "/xqueue/zz", NULL, 400},
        {"GET", "/xqueue/0", NULL, 400},
        {"GET", "/xqueue/12345", NULL, 404},
        {"GET", "/xqueue/fffffffffffffffff", NULL, 400},
        {"GET", "/hint", NULL, 405},
        {"POST", "/xqueues", "", 405},
        {"POST", "/config/12345?level=1", "", 404},
        {"POST", "/config/nonsense?level=1", "", 400},
        {"POST", "/config/12345?level=7", "", 400},
        {"POST", "/config/12345?threshold=abc", "", 400},
        {"POST", "/policy", "", 400},
        {"POST", "/policy?policy=0", "", 400},
        {"POST", no_policy, "", 400},
        {"POST", "/policy?policy=x", "", 400},
        {"POST", "/policy?policy=1", "", 200},
        {"POST", "/hint", "", 400},
        {"POST", "/hint", "nonsense", 400},
        {"POST", "/hint", "[]", 400},
        {"POST", "/hint", "{}", 400},
        {"POST", "/hint", "{\"hint_type\":0}", 400},
        {"POST", "/hint", "{\"hint_type\":8}", 400},
        {"POST", "/hint", "{\"hint_type\":\"1\"}", 400},
        {"POST", "/hint", "{\"hint_type\":1,\"pid\":0,\"priority\":1}", 400},
        {"POST", "/hint", "{\"hint_type\":1,\"handle\":0,\"priority\":1}", 400},
        {"POST", "/hint", "{\"hint_type\":1,\"handle\":-1,\"priority\":1}", 400},
        {"POST", "/hint", "{\"hint_type\":1,\"handle\":1e3,\"priority\":1}", 400},
        {"POST", "/hint", "{\"hint_type\":1,\"handle\":12345,\"priority\":1}", 404},
        {"POST", "/hint", "{\"hint_type\":1,\"handle\":12345,\"priority\":256}", 400},
        {"POST", "/hint", "{\"hint_type\":1,\"handle\":12345,\"priority\":-257}", 400},
        {"POST", "/hint", "{\"hint_type\":1,\"handle\":12345}", 400},
        {"POST", "/hint", "{\"hint_type\":2,\"handle\":0,\"pid\":1,\"utilization\":50}", 404},
        {"POST", "/hint", "{\"hint_type\":2,\"pid\":1,\"utilization\":101}", 400},
        {"POST", "/hint", "{\"hint_type\":3,\"timeslice\":99}", 400},
        {"POST", "/hint", "{\"hint_type\":3,\"timeslice\":10000001}", 400},
        {"POST", "/hint", "{\"hint_type\":3,\"timeslice\":5000}", 200},
        {"POST", "/hint", "{\"hint_type\":4,\"handle\":12345,\"deadline\":0}", 400},
        {"POST", "/hint", "{\"hint_type\":5,\"k\":0}", 400},
        {"POST", "/hint", "{\"hint_type\":5,\"k\":1}", 200},
        {"POST", "/hint", "{\"hint_type\":6,\"handle\":12345,\"laxity\":5,\"lax_priority\":400}", 400},
        {"POST", "/hint", "{\"hint_type\":7,\"pid\":1}", 400},
        {"POST", "/suspend", "", 400},
        {"POST", "/suspend", "{\"pid\":0}", 400},
        {"POST", "/suspend", "{\"pid\":1}", 404},
        {"POST", "/resume?pid=1", "", 404},
    };

    (void)state;
    snprintf(no_policy, sizeof(no_policy), "/policy?policy=%d", kPolicyMax);
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        json_t *json;
        long status = raw_http(&g_server, k_rows[i].method, k_rows[i].path, k_rows[i].body, &json);

        if (status != k_rows[i].status)
            fail_msg("%s %s %s: %ld, not %ld", k_rows[i].method, k_rows[i].path, k_rows[i].body, status,
                     k_rows[i].status);
        if (status != 200)
            assert_true(json_is_string(json_object_get(json, "error")));
        json_decref(json);
    }
}

static void shapes(void **state)
{
    json_t *json, *list, *q, *p;
    char path[64];

    (void)state;
    assert_int_equal(raw_http(&g_server, "GET", "/xqueues", NULL, &json), 200);
    list = json_object_get(json, "xqueues");
    assert_int_equal(json_array_size(list), 2);
    q = json_array_get(list, 0);
    assert_int_equal(number(q, "handle"), raw_handle(&g_client, 0));
    assert_int_equal(number(q, "device"), 1ull << 32 | 0xffff1234);
    assert_int_equal(number(q, "level"), 1);
    assert_int_equal(number(q, "pid"), getpid());
    assert_int_equal(number(q, "threshold"), 16);
    assert_int_equal(number(q, "batch_size"), 8);
    assert_true(json_is_false(json_object_get(q, "ready")));
    assert_true(json_is_false(json_object_get(q, "suspended")));
    assert_int_equal(number(q, "priority"), 3);
    assert_int_equal(number(json_array_get(list, 1), "priority"), -7);
    list = json_object_get(json, "processes");
    assert_int_equal(json_array_size(list), 1);
    p = json_array_get(list, 0);
    assert_int_equal(number(p, "pid"), getpid());
    assert_non_null(strstr(json_string_value(json_object_get(p, "cmdline")), "test_http"));
    json_decref(json);

    snprintf(path, sizeof(path), "/xqueue/0x%llx", (unsigned long long)raw_handle(&g_client, 4));
    assert_int_equal(raw_http(&g_server, "GET", path, NULL, &json), 200);
    assert_int_equal(number(json_object_get(json, "xqueue"), "handle"), raw_handle(&g_client, 4));
    assert_int_equal(number(json_object_get(json, "process"), "pid"), getpid());
    json_decref(json);

    assert_int_equal(raw_http(&g_server, "GET", "/policy", NULL, &json), 200);
    assert_int_equal(number(json, "policy"), 1);
    json_decref(json);
}

/* A change is in force in the server and told to the program. */
static void changes_reach_both(void **state)
{
    char body[200], path[100];
    union xs_msg m;
    json_t *json, *q;

    (void)state;
    snprintf(body, sizeof(body), "{\"hint_type\":1,\"handle\":%llu,\"priority\":42}",
             (unsigned long long)raw_handle(&g_client, 0));
    assert_int_equal(raw_http(&g_server, "POST", "/hint", body, NULL), 200);
    assert_int_equal(raw_receive(&g_client, &m, 5000), XS_MSG_queue_hints);
    assert_int_equal(m.queue_hints.handle, raw_handle(&g_client, 0));
    assert_int_equal(m.queue_hints.priority, 42);
    assert_int_equal(m.queue_hints.utilization, 100);

    snprintf(body, sizeof(body), "{\"hint_type\":6,\"handle\":%llu,\"laxity\":700,\"lax_prio\":-3}",
             (unsigned long long)raw_handle(&g_client, 0));
    assert_int_equal(raw_http(&g_server, "POST", "/hint", body, NULL), 200);
    assert_int_equal(raw_receive(&g_client, &m, 5000), XS_MSG_queue_hints);
    assert_int_equal(m.queue_hints.laxity_us, 700);
    assert_int_equal(m.queue_hints.lax_priority, -3);
    assert_int_equal(m.queue_hints.critical_priority, 42); /* the queue's own */

    snprintf(body, sizeof(body), "{\"hint_type\":4,\"handle\":%llu,\"deadline\":900}",
             (unsigned long long)raw_handle(&g_client, 0));
    assert_int_equal(raw_http(&g_server, "POST", "/hint", body, NULL), 200);
    assert_int_equal(raw_receive(&g_client, &m, 5000), XS_MSG_queue_hints);
    assert_int_equal(m.queue_hints.deadline_us, 900);

    snprintf(path, sizeof(path), "/config/%llx?level=2&threshold=-1&batch_size=4",
             (unsigned long long)raw_handle(&g_client, 0));
    assert_int_equal(raw_http(&g_server, "POST", path, "", NULL), 200);
    assert_int_equal(raw_receive(&g_client, &m, 5000), XS_MSG_queue_config);
    assert_int_equal(m.queue_config.level, 2);
    assert_int_equal(m.queue_config.threshold, 0);
    assert_int_equal(m.queue_config.batch_size, 4);
    snprintf(path, sizeof(path), "/config/%llx?batch_size=17", (unsigned long long)raw_handle(&g_client, 0));
    assert_int_equal(raw_http(&g_server, "POST", path, "", NULL), 400); /* above the threshold */
    snprintf(path, sizeof(path), "/config/%llx?level=3", (unsigned long long)raw_handle(&g_client, 0));
    assert_int_equal(raw_http(&g_server, "POST", path, "", NULL), 400); /* it has levels 1 and 2 */

    /* what the program says is what is shown */
    memset(&m, 0, sizeof(m));
    m.queue_config.handle = raw_handle(&g_client, 0);
    m.queue_config.level = 1;
    raw_send(&g_client, &m, XS_MSG_queue_config);
    raw_settle(&g_client);
    snprintf(path, sizeof(path), "/xqueue/%llx", (unsigned long long)raw_handle(&g_client, 0));
    assert_int_equal(raw_http(&g_server, "GET", path, NULL, &json), 200);
    q = json_object_get(json, "xqueue");
    assert_int_equal(number(q, "level"), 1);
    assert_int_equal(number(q, "batch_size"), 4);
    assert_int_equal(number(q, "priority"), 42);
    assert_int_equal(number(q, "deadline"), 900);
    json_decref(json);

    /* by pid: every queue, and those that come later */
    snprintf(body, sizeof(body), "{\"hint_type\":1,\"pid\":%d,\"priority\":-9}", (int)getpid());
    assert_int_equal(raw_http(&g_server, "POST", "/hint", body, NULL), 200);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(raw_receive(&g_client, &m, 5000), XS_MSG_queue_hints);
        assert_int_equal(m.queue_hints.priority, -9);
    }
    raw_add_fill(&g_client, &m, 9, 1, 5);
    raw_send(&g_client, &m, XS_MSG_queue_add);
    assert_int_equal(raw_receive(&g_client, &m, 5000), XS_MSG_queue_hints);
    assert_int_equal(m.queue_hints.handle, raw_handle(&g_client, 9));
    assert_int_equal(m.queue_hints.priority, -9);
    raw_remove(&g_client, 9);
    snprintf(body, sizeof(body), "{\"hint_type\":2,\"pid\":%d,\"handle\":0,\"utilization\":30}",
             (int)getpid());
    assert_int_equal(raw_http(&g_server, "POST", "/hint", body, NULL), 200);
    assert_int_equal(raw_http(&g_server, "GET", "/xqueues", NULL, &json), 200);
    assert_int_equal(number(json_array_get(json_object_get(json, "processes"), 0), "utilization"), 30);
    json_decref(json);
    snprintf(body, sizeof(body), "{\"hint_type\":7,\"pid\":%d,\"display\":\":0\"}", (int)getpid());
    assert_int_equal(raw_http(&g_server, "POST", "/hint", body, NULL), 200);
    assert_int_equal(raw_http(&g_server, "GET", "/clients", NULL, &json), 200);
    assert_true(json_is_true(json_object_get(json_array_get(json_object_get(json, "clients"), 0), "window")));
    json_decref(json);
}

static void operator_holds_and_frees(void **state)
{
    char body[64];

    (void)state;
    snprintf(body, sizeof(body), "{\"pid\":%d}", (int)getpid());
    raw_submit(&g_client, 0);
    assert_true(raw_permitted(&g_client, 0));
    assert_int_equal(raw_http(&g_server, "POST", "/suspend", body, NULL), 200);
    assert_true(raw_wait_permitted(&g_client, 0, false, 5000));
    assert_int_equal(raw_http(&g_server, "POST", "/resume", body, NULL), 200);
    assert_true(raw_wait_permitted(&g_client, 0, true, 5000));
    raw_complete(&g_client, 0);
}

static void a_suspension_ends_by_itself(void **state)
{
    json_t *json, *c;
    char body[64];

    (void)state;
    raw_submit(&g_client, 0);
    snprintf(body, sizeof(body), "{\"pid\":%d,\"for_ms\":0}", (int)getpid());
    assert_int_equal(raw_http(&g_server, "POST", "/suspend", body, NULL), 400);
    snprintf(body, sizeof(body), "{\"pid\":%d,\"for_ms\":300}", (int)getpid());
    assert_int_equal(raw_http(&g_server, "POST", "/suspend", body, NULL), 200);
    assert_true(raw_wait_permitted(&g_client, 0, false, 5000));
    assert_true(raw_wait_permitted(&g_client, 0, true, 30000));
    assert_int_equal(raw_http(&g_server, "GET", "/clients", NULL, &json), 200);
    c = json_array_get(json_object_get(json, "clients"), 0);
    assert_false(json_is_true(json_object_get(c, "held")));
    assert_null(json_object_get(c, "held_for_us"));
    json_decref(json);

    /* one without an end takes the place of one with an end */
    assert_int_equal(raw_http(&g_server, "POST", "/suspend", body, NULL), 200);
    snprintf(body, sizeof(body), "{\"pid\":%d}", (int)getpid());
    assert_int_equal(raw_http(&g_server, "POST", "/suspend", body, NULL), 200);
    assert_false(raw_wait_permitted(&g_client, 0, true, 600));
    assert_int_equal(raw_http(&g_server, "POST", "/resume", body, NULL), 200);
    assert_true(raw_wait_permitted(&g_client, 0, true, 5000));
    raw_complete(&g_client, 0);
}

static long tcp(const char *method_and_path, const char *headers, const char *body)
{
    char request[1024], answer[65536];

    snprintf(request, sizeof(request), "%s HTTP/1.1\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n%s",
             method_and_path, strlen(body), headers, body);
    return raw_tcp(&g_server, request, answer, sizeof(answer));
}

static void pages_and_strange_hosts_are_refused(void **state)
{
    char host[64], headers[256];

    (void)state;
    snprintf(host, sizeof(host), "Host: 127.0.0.1:%d\r\n", g_server.port);
    assert_int_equal(tcp("GET /policy", host, ""), 200);
    assert_int_equal(tcp("POST /policy?policy=1", host, ""), 403);
    snprintf(headers, sizeof(headers), "Host: localhost:%d\r\n", g_server.port);
    assert_int_equal(tcp("GET /policy", headers, ""), 200);
    snprintf(headers, sizeof(headers), "Host: [::1]:%d\r\n", g_server.port);
    assert_int_equal(tcp("GET /policy", headers, ""), 200);
    assert_int_equal(tcp("GET /policy", "Host: example.org\r\n", ""), 403);
    assert_int_equal(tcp("GET /policy", "Host: 127.0.0.1:1\r\n", ""), 403);
    assert_int_equal(tcp("GET /policy", "Host: localhost.example.org\r\n", ""), 403);
    assert_int_equal(tcp("GET /policy", "Host: 127.0.0.1.example.org\r\n", ""), 403);
    snprintf(headers, sizeof(headers), "%sOrigin: http://127.0.0.1:%d\r\n", host, g_server.port);
    assert_int_equal(tcp("GET /policy", headers, ""), 403);
    assert_int_equal(tcp("POST /policy?policy=1", headers, ""), 403);
    snprintf(headers, sizeof(headers), "%sOrigin: null\r\nX-XSched-Token: open sesame\r\n", host);
    assert_int_equal(tcp("POST /policy?policy=1", headers, ""), 403);
    snprintf(headers, sizeof(headers), "%sSec-Fetch-Site: cross-site\r\n", host);
    assert_int_equal(tcp("GET /xqueues", headers, ""), 403);
}

/* Whoever has the other end of the connection: a program of root's may send what a stranger gave it. */
static void changes_over_tcp_need_the_token(void **state)
{
    static const struct {
        const char *headers;
        long status;
        const char *text;
    } k_rows[] = {
        {"", 403, "needs the token"},
        {"User-Agent: curl/7.88.1\r\nAccept: */*\r\n", 403, "needs the token"},
        {"X-XSched: 1\r\n", 403, "needs the token"},
        {"X-XSched-Token: \r\n", 403, "is not that of xserver's configuration"},
        {"X-XSched-Token: open sesam\r\n", 403, "is not that of xserver's configuration"},
        {"X-XSched-Token: open sesame\r\n", 200, "info"},
        {"Via: 1.1 x\r\nX-XSched-Token: open sesame\r\n", 200, "info"},
    };
    char request[512], answer[4096], headers[300];

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        long status;

        snprintf(headers, sizeof(headers), "Host: 127.0.0.1:%d\r\n%s", g_server.port, k_rows[i].headers);
        snprintf(request, sizeof(request), "POST /policy?policy=1 HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n%s\r\n",
                 headers);
        status = raw_tcp(&g_server, request, answer, sizeof(answer));
        if (status != k_rows[i].status || !strstr(answer, k_rows[i].text))
            fail_msg("%s: %ld, not %ld: %s", k_rows[i].headers, status, k_rows[i].status, answer);
        if (!strcmp(k_rows[i].text, "needs the token")) /* it says how to do without */
            assert_non_null(strstr(answer, g_server.http));
        assert_int_equal(tcp("GET /policy", headers, ""), 200); /* reading is free */
    }
    assert_int_equal(raw_http(&g_server, "POST", "/policy?policy=1", "", NULL), 200);
}

/* attacks.http_smuggling has more of them. */
static void ambiguous_requests_are_refused(void **state)
{
    char answer[1024], headers[200];

    (void)state;
    snprintf(headers, sizeof(headers), "Host: 127.0.0.1:%d\r\nHost: 127.0.0.1:%d\r\n", g_server.port, g_server.port);
    assert_int_equal(tcp("GET /policy", headers, ""), 400);
    assert_int_equal(tcp("GET /policy", "", ""), 400);
    snprintf(headers, sizeof(headers), "Host: 127.0.0.1:%d\r\nContent-Length: 0\r\n", g_server.port);
    assert_int_equal(tcp("GET /policy", headers, ""), 400);
    snprintf(headers, sizeof(headers), "Host: 127.0.0.1:%d\r\nTransfer-Encoding: chunked\r\n", g_server.port);
    assert_int_equal(tcp("GET /policy", headers, ""), 400);
    snprintf(headers, sizeof(headers), "Host: 127.0.0.1:%d\r\n", g_server.port);
    assert_int_equal(tcp("GET /policy%00", headers, ""), 400);
    assert_int_equal(raw_tcp(&g_server, "GET /policy HTTP/1.0\r\n\r\n", answer, sizeof(answer)), 403);
}

static void long_bodies_are_refused(void **state)
{
    size_t size = 200000;
    char *body = malloc(size + 1);

    (void)state;
    memset(body, ' ', size);
    body[size] = 0;
    assert_int_equal(raw_http(&g_server, "POST", "/hint", body, NULL), 413);
    memset(body, '[', 60000); /* deep, within the limit */
    body[60000] = 0;
    assert_int_equal(raw_http(&g_server, "POST", "/hint", body, NULL), 400);
    free(body);
    assert_int_equal(raw_http(&g_server, "GET", "/policy", NULL, NULL), 200);
}

static int64_t priority_of(const struct raw_client *c, uint32_t cell)
{
    char path[64];
    int64_t priority;
    json_t *json;

    snprintf(path, sizeof(path), "/xqueue/%llx", (unsigned long long)raw_handle(c, cell));
    assert_int_equal(raw_http(&g_server, "GET", path, NULL, &json), 200);
    priority = number(json_object_get(json, "xqueue"), "priority");
    json_decref(json);
    return priority;
}

/* In a child that says of itself that it has its parent's number, as two containers' programs have one. */
static int with_the_same_number(void)
{
    static const char k_me[] = "{\"hint_type\":1,\"priority\":77}";
    struct raw_client own;
    union xs_msg m;
    int fds[2];

    if (raw_http(&g_server, "POST", "/hint", k_me, NULL) != 404) /* it has not joined */
        return 1;
    raw_connect(&own, g_server.socket);
    raw_hello_fill(&own, &m);
    m.hello.pid_in_namespace = (int32_t)getppid();
    fds[0] = own.page_fd;
    fds[1] = own.bell;
    if (raw_hello(&own, &m, fds, 2) != 0)
        return 2;
    raw_add(&own, 0, 1, 0);
    if (raw_http(&g_server, "POST", "/hint", k_me, NULL) != 200)
        return 3;
    if (raw_receive(&own, &m, 5000) != XS_MSG_queue_hints || m.queue_hints.priority != 77)
        return 4;
    return priority_of(&own, 0) == 77 ? 0 : 5;
}

static void who_asks_is_meant_where_nobody_is_named(void **state)
{
    int64_t before[2] = {priority_of(&g_client, 0), priority_of(&g_client, 4)};
    char headers[100];
    union xs_msg m;
    int status;
    pid_t pid;

    (void)state;
    pid = fork();
    if (pid == 0)
        _exit(with_the_same_number());
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(priority_of(&g_client, 0), before[0]);
    assert_int_equal(priority_of(&g_client, 4), before[1]);

    assert_int_equal(raw_http(&g_server, "POST", "/hint", "{\"hint_type\":1,\"priority\":12}", NULL), 200);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(raw_receive(&g_client, &m, 5000), XS_MSG_queue_hints);
        assert_int_equal(m.queue_hints.priority, 12);
    }
    /* on TCP it is not known which process asks */
    snprintf(headers, sizeof(headers), "Host: 127.0.0.1:%d\r\nX-XSched-Token: open sesame\r\n", g_server.port);
    assert_int_equal(tcp("POST /hint", headers, "{\"hint_type\":1,\"priority\":13}"), 400);
    assert_int_equal(priority_of(&g_client, 0), 12);
}

/* In a child that is another user: what is not its own is not changed (nor seen: test_users.c). */
static int as_other_user(void)
{
    char host[64], headers[200], body[100];
    struct raw_client own;

    snprintf(host, sizeof(host), "Host: 127.0.0.1:%d\r\n", g_server.port);
    snprintf(headers, sizeof(headers), "%s", host);
    snprintf(body, sizeof(body), "{\"hint_type\":1,\"handle\":%llu,\"priority\":99}",
             (unsigned long long)raw_handle(&g_client, 0));
    if (setresgid(OTHER_USER, OTHER_USER, OTHER_USER) < 0 ||
        setresuid(OTHER_USER, OTHER_USER, OTHER_USER) < 0)
        return 1;
    if (tcp("GET /xqueues", host, "") != 200)
        return 2;
    if (tcp("POST /hint", headers, body) != 403 || raw_http(&g_server, "POST", "/hint", body, NULL) != 403)
        return 3;
    if (tcp("POST /policy?policy=1", headers, "") != 403 ||
        raw_http(&g_server, "POST", "/policy?policy=1", "", NULL) != 403)
        return 4;
    snprintf(body, sizeof(body), "{\"pid\":%d}", (int)getppid());
    if (tcp("POST /suspend", headers, body) != 403)
        return 5;
    if (tcp("POST /hint", headers, "{\"hint_type\":3,\"timeslice\":700}") != 403)
        return 6;
    raw_join(&own, g_server.socket);
    raw_add(&own, 0, 1, 0);
    snprintf(body, sizeof(body), "{\"hint_type\":1,\"handle\":%llu,\"priority\":7}",
             (unsigned long long)raw_handle(&own, 0));
    if (tcp("POST /hint", headers, body) != 403 || raw_http(&g_server, "POST", "/hint", body, NULL) != 200)
        return 7;
    snprintf(headers, sizeof(headers), "%sX-XSched-Token: open sesam\r\n", host);
    if (tcp("POST /policy?policy=1", headers, "") != 403)
        return 8;
    snprintf(headers, sizeof(headers), "%sX-XSched-Token: open sesame\r\n", host);
    if (tcp("POST /policy?policy=1", headers, "") != 200)
        return 9;
    return 0;
}

static void other_users_change_only_their_own(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    if (geteuid() != 0)
        skip();
    pid = fork();
    if (pid == 0)
        _exit(as_other_user());
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_and_codes),
        cmocka_unit_test(shapes),
        cmocka_unit_test(changes_reach_both),
        cmocka_unit_test(who_asks_is_meant_where_nobody_is_named),
        cmocka_unit_test(operator_holds_and_frees),
        cmocka_unit_test(a_suspension_ends_by_itself),
        cmocka_unit_test(pages_and_strange_hosts_are_refused),
        cmocka_unit_test(changes_over_tcp_need_the_token),
        cmocka_unit_test(ambiguous_requests_are_refused),
        cmocka_unit_test(long_bodies_are_refused),
        cmocka_unit_test(other_users_change_only_their_own),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
