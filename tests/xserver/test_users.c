/* SPDX-License-Identifier: Apache-2.0 */
/* Two users on one host, and programs in other PID namespaces. A program of another user is not
 * seen, not changed, not held and not ended by anything that a user can send. Needs root, which
 * becomes the two users; skipped otherwise. */
#include "raw.h"

#include "query/http_client.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define VICTIM    61001u
#define ATTACKER  61002u
#define OPERATOR  61003u
#define OPERATORS "61111"
#define DEVICE    (1ull << 32 | 0xffff0007)

static struct raw_server g_server;
static char g_folder[] = "/tmp/xsched-users-XXXXXX"; /* holds an xcli that every user can reach */

/* What the victim tells the others, and they tell it. */
static struct {
    pid_t pid;
    uint64_t handle, prefix;
    _Atomic int go, ready, rounds, wrong, finished;
} * g_victim;

static void become(unsigned uid, const char *group)
{
    gid_t groups[1] = {group ? (gid_t)atoi(group) : 0};

    if (setgroups(group ? 1 : 0, groups) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
        _exit(99);
    prctl(PR_SET_DUMPABLE, 1); /* as after an exec: /proc/PID is its own user's */
}

/* A program that works all the time and counts each time that it was not permitted to. */
static int victim(void)
{
    struct raw_client c;
    union xs_msg m;
    int fds[2];

    become(VICTIM, NULL);
    raw_connect(&c, g_server.socket);
    raw_hello_fill(&c, &m);
    strcpy(m.hello.group, "gang");
    fds[0] = c.page_fd;
    fds[1] = c.bell;
    assert_int_equal(raw_hello(&c, &m, fds, 2), 0);
    raw_add(&c, 3, DEVICE, 5);
    g_victim->pid = getpid();
    g_victim->handle = raw_handle(&c, 3);
    g_victim->prefix = c.prefix;
    g_victim->ready = 1;
    while (!g_victim->finished) {
        int id = 0;

        raw_submit(&c, 3);
        usleep(200);
        g_victim->wrong += !raw_permitted(&c, 3);
        raw_complete(&c, 3);
        g_victim->rounds++;
        while ((id = raw_receive(&c, &m, 0)) > 0)
            g_victim->wrong++; /* nobody changes its hints */
        if (id == 0)
            return 1; /* hung up */
    }
    raw_leave(&c);
    return 0;
}

static pid_t start_victim(void)
{
    pid_t pid;

    memset((void *)g_victim, 0, sizeof(*g_victim));
    pid = fork();
    if (pid == 0)
        _exit(victim());
    for (int i = 0; i < 4000 && !g_victim->ready; i++)
        usleep(5000);
    assert_true(g_victim->ready);
    return pid;
}

static void stop_victim(pid_t pid)
{
    int status;

    g_victim->finished = 1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(g_victim->rounds > 0);
    assert_int_equal(g_victim->wrong, 0);
}

static int start(void **state)
{
    static const char *const k_args[] = {"--operator-group", OPERATORS, NULL};

    return raw_server_setup(state, &g_server, k_args);
}

static size_t length_of(const char *path, const char *list)
{
    json_t *json;
    size_t n;

    if (raw_http(&g_server, "GET", path, NULL, &json) != 200)
        return 999;
    n = json_array_size(json_object_get(json, list));
    json_decref(json);
    return n;
}

static long tcp(const char *method_and_path, const char *body, char *answer, size_t size)
{
    char request[1024];

    snprintf(request, sizeof(request),
             "%s HTTP/1.1\r\nConnection: close\r\nHost: 127.0.0.1:%d\r\nContent-Length: %zu\r\n\r\n%s",
             method_and_path, g_server.port, strlen(body), body);
    return raw_tcp(&g_server, request, answer, size);
}

#define EXPECT(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition);                                  \
            return 1;                                                                                        \
        }                                                                                                    \
    } while (0)

/* @return 1 when xcli lists the process, 0 when it answers without, -1 when it does not answer */
static int xcli_shows(pid_t pid)
{
    char command[300], line[512], number[16];
    bool shown = false;
    FILE *f;

    snprintf(command, sizeof(command), "XSCHED_SOCKET=%s %s/xcli list --json", g_server.socket, g_folder);
    snprintf(number, sizeof(number), "%d", (int)pid);
    f = popen(command, "r");
    while (f && fgets(line, sizeof(line), f))
        shown |= strstr(line, number) != NULL;
    return f && pclose(f) == 0 ? shown : -1;
}

/* @return whether the text of `xcli status` has that */
static bool status_says(const char *what)
{
    char command[300], text[8192];
    size_t n = 0;
    FILE *f;

    snprintf(command, sizeof(command), "XSCHED_SOCKET=%s %s/xcli status", g_server.socket, g_folder);
    f = popen(command, "r");
    if (f)
        n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = 0;
    return f && pclose(f) == 0 && strstr(text, "policy_name ") && strstr(text, what);
}

/* @return 1: the asker gets the server's counters in all answers, 0: in none, -1: in some, or an answer is missing */
static int counters_shown(void)
{
    static const struct {
        const char *path, *own, *counters[4];
    } k_answers[] = {
        {"/status", "\"queues\":", {"\"bells\":", "\"decision_latency\":", "\"level3\":", "\"log_file\":"}},
        {"/metrics",
         "xsched_clients ",
         {"xsched_decisions_total", "xsched_errors_total", "xsched_decision_latency_seconds", "xsched_level3_groups"}},
    };
    struct xs_http_target target = {.unix_path = g_server.http};
    struct xs_http_answer answer;
    char error[256] = "";
    size_t shown = 0, all = 0;

    for (size_t i = 0; i < XS_ARRAY_LEN(k_answers); i++) {
        bool good = xs_http_ask(&target, "GET", k_answers[i].path, NULL, &answer, error, sizeof(error)) >= 0 &&
                    answer.status == 200 && strstr(answer.body, k_answers[i].own);

        if (!good)
            return -1;
        for (size_t k = 0; k < XS_ARRAY_LEN(k_answers[i].counters); k++, all++)
            shown += strstr(answer.body, k_answers[i].counters[k]) != NULL;
        free(answer.body);
    }
    return shown == 0 ? 0 : shown == all ? 1 : -1;
}

static int sees_nothing(void)
{
    char path[64], answer[65536];

    EXPECT(length_of("/xqueues", "xqueues") == 0);
    EXPECT(length_of("/xqueues", "processes") == 0);
    EXPECT(length_of("/clients", "clients") == 0);
    EXPECT(length_of("/clients", "ended") == 0);
    snprintf(path, sizeof(path), "/xqueue/%llx", (unsigned long long)g_victim->handle);
    EXPECT(raw_http(&g_server, "GET", path, NULL, NULL) == 404);
    EXPECT(tcp("GET /xqueues", "", answer, sizeof(answer)) == 200);
    EXPECT(strstr(answer, "\"xqueues\":[]") != NULL);
    EXPECT(tcp("GET /clients", "", answer, sizeof(answer)) == 200);
    EXPECT(strstr(answer, "\"clients\":[]") != NULL);
    EXPECT(xcli_shows(g_victim->pid) == 0);
    EXPECT(counters_shown() == 0);
    EXPECT(status_says("root and operators") && !status_says("decisions  ") && !status_says(" P99 ") && status_says("queues  "));
    /* the pages are descriptors of that process alone */
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)g_victim->pid);
    EXPECT(open(path, O_RDONLY | O_DIRECTORY) < 0 && (errno == EACCES || errno == EPERM));
    return 0;
}

static int changes_nothing(void)
{
    char body[6][128], path[96], answer[65536];

    snprintf(body[0], 128, "{\"hint_type\":1,\"pid\":%d,\"priority\":-256}", (int)g_victim->pid);
    snprintf(body[1], 128, "{\"hint_type\":1,\"handle\":%llu,\"priority\":-256}",
             (unsigned long long)g_victim->handle);
    snprintf(body[2], 128, "{\"hint_type\":2,\"pid\":%d,\"utilization\":0}", (int)g_victim->pid);
    snprintf(body[3], 128, "{\"hint_type\":7,\"pid\":%d,\"display\":\":0\"}", (int)g_victim->pid);
    snprintf(body[4], 128, "{\"hint_type\":3,\"timeslice\":100}");
    snprintf(body[5], 128, "{\"hint_type\":5,\"k\":9}");
    for (int i = 0; i < 6; i++) {
        EXPECT(raw_http(&g_server, "POST", "/hint", body[i], NULL) == 403);
        EXPECT(tcp("POST /hint", body[i], answer, sizeof(answer)) == 403);
    }
    snprintf(body[0], 128, "{\"pid\":%d}", (int)g_victim->pid);
    EXPECT(raw_http(&g_server, "POST", "/suspend", body[0], NULL) == 403);
    EXPECT(raw_http(&g_server, "POST", "/resume", body[0], NULL) == 403);
    EXPECT(tcp("POST /suspend", body[0], answer, sizeof(answer)) == 403);
    snprintf(path, sizeof(path), "/config/%llx?level=2&threshold=1&batch_size=1",
             (unsigned long long)g_victim->handle);
    EXPECT(raw_http(&g_server, "POST", path, "", NULL) == 403);
    EXPECT(raw_http(&g_server, "POST", "/policy?policy=4", "", NULL) == 403);
    EXPECT(raw_http(&g_server, "GET", "/admission?priority=1", NULL, NULL) == 403);
    return 0;
}

static int marked(bool *ret)
{
    json_t *json;

    EXPECT(raw_http(&g_server, "GET", "/clients", NULL, &json) == 200);
    EXPECT(json_array_size(json_object_get(json, "clients")) == 1);
    *ret = json_is_true(json_object_get(json_array_get(json_object_get(json, "clients"), 0), "window"));
    json_decref(json);
    return 0;
}

/* The active window of one's own display: also when it is that of no joined program. */
static int own_windows(void)
{
    struct raw_client c;
    char body[96];
    bool window;

    raw_join(&c, g_server.socket);
    raw_add(&c, 0, DEVICE, 5);
    snprintf(body, sizeof(body), "{\"hint_type\":7,\"pid\":%d,\"display\":\":9\"}", (int)getpid());
    EXPECT(raw_http(&g_server, "POST", "/hint", body, NULL) == 200);
    EXPECT(marked(&window) == 0 && window);
    EXPECT(raw_http(&g_server, "POST", "/hint", "{\"hint_type\":7,\"pid\":1,\"display\":\":9\"}", NULL) == 403);
    EXPECT(marked(&window) == 0 && window);
    EXPECT(raw_http(&g_server, "POST", "/hint", "{\"hint_type\":7,\"pid\":0,\"display\":\":9\"}", NULL) == 200);
    EXPECT(marked(&window) == 0 && !window);
    /* what one says of a display of the victim's is said of one's own: the victim's program keeps its window, which the caller
     * looks at */
    EXPECT(raw_http(&g_server, "POST", "/hint", "{\"hint_type\":7,\"pid\":0,\"display\":\":1\"}", NULL) == 200);
    snprintf(body, sizeof(body), "{\"hint_type\":7,\"pid\":%d,\"display\":\":1\"}", (int)getpid());
    EXPECT(raw_http(&g_server, "POST", "/hint", body, NULL) == 200);
    EXPECT(marked(&window) == 0 && window);
    raw_leave(&c);
    return 0;
}

static int refused_with(struct raw_client *c, union xs_msg *m, enum xs_msg_id id, uint32_t reason)
{
    raw_send(c, m, id);
    EXPECT(raw_receive(c, m, 10000) == XS_MSG_refused);
    EXPECT(m->refused.reason == reason);
    return 0;
}

static int raw_socket_reaches_nothing(void)
{
    struct raw_client c, other;
    union xs_msg m;
    char body[64];
    int fds[2];

    /* one cannot pass for the victim ... */
    raw_connect(&c, g_server.socket);
    raw_hello_fill(&c, &m);
    m.hello.handle_prefix = g_victim->prefix;
    m.hello.pid_in_namespace = g_victim->pid;
    fds[0] = c.page_fd;
    fds[1] = c.bell;
    EXPECT(raw_hello(&c, &m, fds, 2) == XS_REFUSED_DUPLICATE);
    raw_leave(&c);
    /* ... nor join its group, and hold that by holding oneself ... */
    raw_connect(&other, g_server.socket);
    raw_hello_fill(&other, &m);
    strcpy(m.hello.group, "gang");
    fds[0] = other.page_fd;
    fds[1] = other.bell;
    EXPECT(raw_hello(&other, &m, fds, 2) == 0);
    raw_add(&other, 0, DEVICE, 5);
    snprintf(body, sizeof(body), "{\"pid\":%d}", (int)getpid());
    EXPECT(raw_http(&g_server, "POST", "/suspend", body, NULL) == 200);
    EXPECT(raw_wait_permitted(&other, 0, false, 10000));
    usleep(20000);
    EXPECT(raw_http(&g_server, "POST", "/resume", body, NULL) == 200);
    /* ... nor say anything about its queues */
    memset(&m, 0, sizeof(m));
    m.queue_hints.handle = g_victim->handle;
    m.queue_hints.priority = -256;
    EXPECT(refused_with(&other, &m, XS_MSG_queue_hints, XS_REFUSED_UNKNOWN) == 0);
    memset(&m, 0, sizeof(m));
    m.queue_config.handle = g_victim->handle;
    m.queue_config.level = 3;
    EXPECT(refused_with(&other, &m, XS_MSG_queue_config, XS_REFUSED_UNKNOWN) == 0);
    memset(&m, 0, sizeof(m));
    m.queue_remove.handle = g_victim->handle;
    EXPECT(refused_with(&other, &m, XS_MSG_queue_remove, XS_REFUSED_UNKNOWN) == 0);
    raw_add_fill(&other, &m, 1, DEVICE, 5);
    m.queue_add.handle = g_victim->handle;
    EXPECT(refused_with(&other, &m, XS_MSG_queue_add, XS_REFUSED_DUPLICATE) == 0);
    memset(&m, 0, sizeof(m));
    m.sched_hints.timeslice_us = 100;
    m.sched_hints.utilization = -1;
    EXPECT(refused_with(&other, &m, XS_MSG_sched_hints, XS_REFUSED_DENIED) == 0);
    raw_leave(&other);
    return 0;
}

/* Rubbish, connections without end, and kills. */
static int attacks(void)
{
    unsigned char noise[512];
    int silent[600];
    union xs_msg m;
    unsigned seed = 7;

    EXPECT(kill(g_victim->pid, SIGSTOP) < 0 && errno == EPERM);
    EXPECT(kill(g_server.pid, SIGSTOP) < 0 && errno == EPERM);
    for (int i = 0; i < 300; i++) {
        struct raw_client c;

        memset(&c, 0, sizeof(c));
        c.fd = xs_socket_connect(g_server.socket, 5000000000ull);
        EXPECT(c.fd >= 0);
        for (size_t b = 0; b < sizeof(noise); b++)
            noise[b] = (unsigned char)rand_r(&seed);
        send(c.fd, noise, 1 + (size_t)rand_r(&seed) % sizeof(noise), MSG_NOSIGNAL);
        raw_receive(&c, &m, 1000);
        close(c.fd);
    }
    for (size_t i = 0; i < XS_ARRAY_LEN(silent); i++)
        silent[i] = xs_socket_connect(g_server.socket, 5000000000ull);
    usleep(50000);
    for (size_t i = 0; i < XS_ARRAY_LEN(silent); i++)
        if (silent[i] >= 0)
            close(silent[i]);
    return 0;
}

static int attacker(void)
{
    g_server.port = (int)raw_status(&g_server, "http_port");
    become(ATTACKER, NULL);
    return sees_nothing() || changes_nothing() || own_windows() || raw_socket_reaches_nothing() || attacks();
}

static void another_user_reaches_nothing(void **state)
{
    pid_t victim_pid = start_victim(), pid;
    json_t *json;
    int status;
    char body[96];

    (void)state;
    snprintf(body, sizeof(body), "{\"hint_type\":7,\"pid\":%d,\"display\":\":1\"}", (int)g_victim->pid);
    assert_int_equal(raw_http(&g_server, "POST", "/hint", body, NULL), 200);
    pid = fork();
    if (pid == 0)
        _exit(attacker());
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    /* the server's own user sees it, as it was */
    assert_int_equal(raw_http(&g_server, "GET", "/xqueues", NULL, &json), 200);
    assert_int_equal(json_array_size(json_object_get(json, "xqueues")), 1);
    assert_int_equal(json_integer_value(
                         json_object_get(json_array_get(json_object_get(json, "xqueues"), 0), "priority")),
                     5);
    json_decref(json);
    assert_int_equal(raw_http(&g_server, "GET", "/clients", NULL, &json), 200);
    assert_true(json_is_true(json_object_get(json_array_get(json_object_get(json, "clients"), 0), "window")));
    json_decref(json);
    stop_victim(victim_pid);
    printf("%d commands of the victim meanwhile, none held\n", g_victim->rounds);
}

static int operator_works(void)
{
    char body[64];

    become(OPERATOR, OPERATORS);
    EXPECT(length_of("/xqueues", "xqueues") == 1);
    EXPECT(length_of("/clients", "clients") == 1);
    EXPECT(xcli_shows(g_victim->pid) == 1);
    EXPECT(counters_shown() == 1);
    EXPECT(status_says("decisions  ") && !status_says("root and operators"));
    snprintf(body, sizeof(body), "{\"pid\":%d}", (int)g_victim->pid);
    EXPECT(raw_http(&g_server, "POST", "/suspend", body, NULL) == 200);
    for (int i = 0; i < 2000 && !g_victim->wrong; i++)
        usleep(5000);
    EXPECT(g_victim->wrong > 0); /* it is held */
    EXPECT(raw_http(&g_server, "POST", "/resume", body, NULL) == 200);
    EXPECT(raw_http(&g_server, "POST", "/policy?policy=1", "", NULL) == 200);
    return 0;
}

static void operators_schedule_all(void **state)
{
    pid_t victim_pid = start_victim(), pid = fork();
    int status;

    (void)state;
    if (pid == 0)
        _exit(operator_works());
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    /* let go, though perhaps not at once: rounds follow in which nothing is wrong */
    for (int i = 0, wrong = -1, since = 0; i < 4000; i++) {
        if (g_victim->wrong != wrong) {
            wrong = g_victim->wrong;
            since = g_victim->rounds;
        } else if (g_victim->rounds > since + 20) {
            break;
        }
        usleep(5000);
    }
    g_victim->wrong = 0;
    stop_victim(victim_pid);
}

/* As `unshare --pid --fork` does it: the program is process 1 of a namespace of its own. */
static pid_t in_namespace(int (*program)(void))
{
    pid_t outer = fork(), inner = -1;
    int status = 0;

    /* an intermediate process, since unshare() changes what the children of its caller are */
    assert_true(outer >= 0);
    if (outer == 0) {
        if (unshare(CLONE_NEWPID) < 0)
            _exit(77);
        inner = fork();
        if (inner == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            _exit(program());
        }
        g_victim->pid = inner;
        waitpid(inner, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 98);
    }
    return outer;
}

static int namespace_program(void)
{
    struct raw_client c;

    if (getpid() != 1)
        return 2;
    raw_join(&c, g_server.socket);
    raw_add(&c, 0, DEVICE, 0);
    g_victim->handle = raw_handle(&c, 0);
    g_victim->ready = 1;
    raw_submit(&c, 0);
    while (!g_victim->go)
        usleep(1000);
    /* somebody more urgent works now */
    if (!raw_wait_permitted(&c, 0, false, 20000))
        return 3;
    g_victim->ready = 2;
    if (!raw_wait_permitted(&c, 0, true, 20000))
        return 4;
    g_victim->ready = 3;
    for (;;)
        pause(); /* until it is killed */
}

static int root_elsewhere(void)
{
    struct raw_client c;
    union xs_msg m;
    char body[96];

    EXPECT(raw_http(&g_server, "POST", "/policy?policy=1", "", NULL) == 403);
    snprintf(body, sizeof(body), "{\"hint_type\":1,\"pid\":%d,\"priority\":-256}", g_victim->go);
    EXPECT(raw_http(&g_server, "POST", "/hint", body, NULL) == 403);
    EXPECT(length_of("/clients", "clients") == 0);
    raw_join(&c, g_server.socket);
    memset(&m, 0, sizeof(m));
    m.sched_hints.timeslice_us = 100;
    m.sched_hints.utilization = -1;
    EXPECT(refused_with(&c, &m, XS_MSG_sched_hints, XS_REFUSED_DENIED) == 0);
    EXPECT(length_of("/clients", "clients") == 1); /* its own */
    raw_leave(&c);
    return 0;
}

static int in_new_namespace(int which)
{
    int status, fd;
    pid_t pid;

    if (unshare(which) < 0)
        return 77;
    if (which == CLONE_NEWUSER) { /* still user 0, also as the host sees it */
        fd = open("/proc/self/uid_map", O_WRONLY);
        if (fd < 0 || write(fd, "0 0 1", 5) != 5)
            return 77;
        close(fd);
    }
    pid = fork(); /* a PID namespace is that of the children */
    if (pid == 0)
        _exit(root_elsewhere());
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

/* Root of a container is a user like others: in a user, PID or mount namespace of its own. */
static void root_of_other_namespaces_is_no_operator(void **state)
{
    static const int namespaces[] = {CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNS};
    pid_t victim_pid = start_victim(), pid;
    int status;

    (void)state;
    g_victim->go = victim_pid;
    for (size_t i = 0; i < XS_ARRAY_LEN(namespaces); i++) {
        pid = fork();
        if (pid == 0)
            _exit(in_new_namespace(namespaces[i]));
        waitpid(pid, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            printf("this machine lets nobody make namespace %zu\n", i);
        else
            assert_int_equal(status, 0);
    }
    assert_int_equal(raw_http(&g_server, "POST", "/policy?policy=1", "", NULL), 200); /* root itself */
    stop_victim(victim_pid);
}

static void other_namespaces_are_scheduled(void **state)
{
    struct raw_client high;
    json_t *json, *client;
    pid_t outer;
    int status;

    (void)state;
    memset((void *)g_victim, 0, sizeof(*g_victim));
    raw_join(&high, g_server.socket);
    raw_add(&high, 0, DEVICE, 10);
    outer = in_namespace(namespace_program);
    for (int i = 0; i < 4000 && (g_victim->ready < 1 || !g_victim->pid); i++) { /* one writes each, in any order */
        if (waitpid(outer, &status, WNOHANG) == outer) {
            raw_leave(&high);
            if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
                printf("this machine lets nobody make a PID namespace\n");
                skip();
            }
            fail_msg("it ended with 0x%x", (unsigned)status);
        }
        usleep(5000);
    }
    assert_int_equal(g_victim->ready, 1);
    /* known by the number that this namespace has for it */
    assert_int_equal(raw_http(&g_server, "GET", "/clients", NULL, &json), 200);
    assert_int_equal(json_array_size(json_object_get(json, "clients")), 2);
    client = json_array_get(json_object_get(json, "clients"), 1);
    assert_int_equal(json_integer_value(json_object_get(client, "pid")), g_victim->pid);
    assert_int_equal(json_integer_value(json_object_get(client, "pid_in_namespace")), 1);
    json_decref(json);
    g_victim->go = 1;
    raw_submit(&high, 0);
    for (int i = 0; i < 4000 && g_victim->ready < 2; i++)
        usleep(5000);
    assert_int_equal(g_victim->ready, 2);
    raw_complete(&high, 0);
    for (int i = 0; i < 4000 && g_victim->ready < 3; i++)
        usleep(5000);
    assert_int_equal(g_victim->ready, 3);
    assert_int_equal(kill(g_victim->pid, SIGKILL), 0);
    for (int i = 0; i < 2000 && raw_status(&g_server, "clients") != 1; i++)
        usleep(5000);
    assert_int_equal(raw_status(&g_server, "clients"), 1);
    waitpid(outer, &status, 0);
    raw_leave(&high);
}

static void http_listens_on_the_loopback(void **state)
{
    char line[512], wanted[32];
    unsigned found = 0;
    FILE *f;

    (void)state;
    snprintf(wanted, sizeof(wanted), ":%04X 00000000:0000 0A", (unsigned)raw_status(&g_server, "http_port"));
    f = fopen("/proc/net/tcp", "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        const char *at = strstr(line, wanted);

        if (!at)
            continue;
        found++;
        assert_int_equal(strncmp(at - 8, "0100007F", 8), 0);
    }
    fclose(f);
    assert_int_equal(found, 1);
}

static void write_config(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Has the server read its file, and waits for what it says. */
static void reload(const char *words)
{
    kill(g_server.pid, SIGHUP);
    raw_server_says(&g_server, words);
}

/* Of a member of the group, who sees all queues as an operator. */
static int queues_seen_by_operator(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        become(OPERATOR, OPERATORS);
        _exit((int)length_of("/xqueues", "xqueues"));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_wrong_group_at_a_reload_removes_no_operator(void **state)
{
    char path[128];
    const char *args[] = {"--config", path, NULL};
    pid_t victim_pid;

    snprintf(path, sizeof(path), "%s/operators.conf", g_folder);
    write_config(path, "[server]\noperator-group = " OPERATORS "\n");
    raw_server_setup(state, &g_server, args);
    victim_pid = start_victim();
    assert_int_equal(queues_seen_by_operator(), 1);
    write_config(path, "[server]\noperator-group = nobody-has-this\n");
    reload("there is no group 'nobody-has-this'; all settings stay");
    assert_int_equal(queues_seen_by_operator(), 1);
    write_config(path, "");
    reload("configuration read again");
    for (int i = 0; i < 1000 && queues_seen_by_operator(); i++)
        usleep(10000); /* xsched-http reads its settings again by itself, a moment later */
    assert_int_equal(queues_seen_by_operator(), 0);
    stop_victim(victim_pid);
}

/* The build may lie where only its owner may look. */
static int copy_xcli(void)
{
    char command[512];

    if (!mkdtemp(g_folder))
        return -1;
    snprintf(command, sizeof(command), "chmod 755 %s && cp %s %s/xcli && chmod 755 %s/xcli", g_folder, XCLI_PATH, g_folder,
             g_folder);
    return system(command);
}

int main(void)
{
    char command[64];
    int failed;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(http_listens_on_the_loopback, start, raw_server_teardown),
        cmocka_unit_test_setup_teardown(another_user_reaches_nothing, start, raw_server_teardown),
        cmocka_unit_test_setup_teardown(operators_schedule_all, start, raw_server_teardown),
        cmocka_unit_test_teardown(a_wrong_group_at_a_reload_removes_no_operator, raw_server_teardown),
        cmocka_unit_test_setup_teardown(other_namespaces_are_scheduled, start, raw_server_teardown),
        cmocka_unit_test_setup_teardown(root_of_other_namespaces_is_no_operator, start, raw_server_teardown),
    };

    if (geteuid() != 0) {
        printf("skipped: only root can be two users\n");
        return 77;
    }
    g_victim = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (copy_xcli() != 0)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof(command), "rm -r %s", g_folder);
    return system(command) == 0 ? failed : 1;
}
