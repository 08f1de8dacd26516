/* SPDX-License-Identifier: Apache-2.0 */
#include "raw.h"

#include "base/clock.h"
#include "base/fd.h"
#include "query/http_client.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#ifndef XSERVER_PATH
#error "the build says where xserver is"
#endif

#define PATIENCE_MS 30000

static void pause_ms(int ms)
{
    usleep((useconds_t)ms * 1000);
}

/* Its file is there a moment before anybody listens, and that comes after the other socket: on a
 * loaded machine much later. */
static bool http_listens(const struct raw_server *s)
{
    int fd = raw_http_connect(s, 0);

    if (fd < 0)
        return false;
    close(fd);
    return true;
}

static bool without_http(const char *const *args)
{
    for (; args && *args; args++)
        if (!strcmp(*args, "--no-http"))
            return true;
    return false;
}

void raw_server_start(struct raw_server *s, const char *const *args)
{
    const char *argv[40] = {"xserver", "--socket", s->socket, "--port", "0"};
    unsigned n = 5;

    memset(s, 0, sizeof(*s));
    strcpy(s->dir, "/tmp/xserver-test-XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    chmod(s->dir, 0755); /* some tests come as other users */
    snprintf(s->socket, sizeof(s->socket), "%s/xserver.sock", s->dir);
    snprintf(s->http, sizeof(s->http), "%s/http.sock", s->dir);
    snprintf(s->log, sizeof(s->log), "%s/log", s->dir);
    for (; args && *args; args++)
        argv[n++] = *args;
    argv[n] = NULL;
    s->pid = fork();
    if (s->pid == 0) {
        int fd;

        /* a test that fails leaves nobody who holds its output: its caller would wait for that one */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        fd = open(s->log, O_WRONLY | O_CREAT | O_APPEND, 0644);

        dup2(fd, 2);
        unsetenv("XSCHED_SOCKET");
        unsetenv("XLOG_LEVEL");
        unsetenv("NOTIFY_SOCKET");
        execv(XSERVER_PATH, (char **)(uintptr_t)argv);
        _exit(127);
    }
    for (int i = 0; i < PATIENCE_MS / 5; i++) {
        int fd = xs_socket_connect(s->socket, XS_NS_PER_S);
        bool answers = fd >= 0 && (without_http(args) || http_listens(s));

        if (fd >= 0)
            close(fd);
        if (answers)
            return;
        if (waitpid(s->pid, NULL, WNOHANG) != 0)
            break;
        pause_ms(5);
    }
    fail_msg("xserver does not listen: %s", raw_server_log(s));
}

char *raw_server_log(const struct raw_server *s)
{
    FILE *f = fopen(s->log, "r");
    char *text = calloc(1, 1u << 20);

    if (f) {
        size_t n = fread(text, 1, (1u << 20) - 1, f);

        text[n] = 0;
        fclose(f);
    }
    return text;
}

void raw_server_says(const struct raw_server *s, const char *words)
{
    for (int i = 0; i < 1000; i++) {
        char *log = raw_server_log(s);
        bool there = strstr(log, words) != NULL;

        free(log);
        if (there)
            return;
        usleep(5000);
    }
    fail_msg("xserver does not say '%s'", words);
}

static size_t read_file(const char *path, char *ret, size_t size)
{
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(ret, 1, size - 1, f) : 0;

    if (f)
        fclose(f);
    ret[n] = 0;
    return n;
}

static unsigned long field(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    assert_non_null(at);
    return strtoul(at + strlen(name), NULL, 10);
}

/* The thread sanitizer has a thread of its own in each program, which looks ten times a second: there only the main one
 * is judged. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MAIN_THREAD_ONLY 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define MAIN_THREAD_ONLY 1
#endif
#ifndef MAIN_THREAD_ONLY
#define MAIN_THREAD_ONLY 0
#endif

void raw_server_ran(const struct raw_server *s, struct raw_ran *ret)
{
    char path[320], text[4096];
    unsigned long user = 0, system = 0;
    struct dirent *e;
    DIR *d;

    *ret = (struct raw_ran){0};
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)s->pid);
    assert_true(read_file(path, text, sizeof(text)) > 0);
    assert_int_equal(sscanf(strrchr(text, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                            &user, &system),
                     2);
    ret->ticks = user + system;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)s->pid);
    d = opendir(path);
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)s->pid, e->d_name);
        if (MAIN_THREAD_ONLY && atoi(e->d_name) != (int)s->pid)
            continue;
        if (e->d_name[0] == '.' || read_file(path, text, sizeof(text)) == 0)
            continue; /* it ended meanwhile */
        ret->threads++;
        ret->switches += field(text, "\nvoluntary_ctxt_switches:") + field(text, "\nnonvoluntary_ctxt_switches:");
    }
    closedir(d);
}

int raw_server_stop(struct raw_server *s)
{
    int status = 0;
    char command[128];

    kill(s->pid, SIGTERM);
    for (int i = 0; i < PATIENCE_MS / 5; i++) {
        if (waitpid(s->pid, &status, WNOHANG) == s->pid)
            break;
        if (i == PATIENCE_MS / 5 - 1) {
            kill(s->pid, SIGKILL);
            waitpid(s->pid, &status, 0);
        }
        pause_ms(5);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        char *log = raw_server_log(s);

        fprintf(stderr, "xserver ended with status 0x%x:\n%s\n", (unsigned)status, log);
        free(log);
    }
    snprintf(command, sizeof(command), "rm -rf %s", s->dir);
    if (system(command) != 0)
        fprintf(stderr, "cannot remove %s\n", s->dir);
    s->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int raw_server_setup(void **state, struct raw_server *s, const char *const *args)
{
    raw_server_start(s, args);
    *state = s;
    return 0;
}

int raw_server_teardown(void **state)
{
    return raw_server_stop(*state);
}

void raw_connect(struct raw_client *c, const char *socket_path)
{
    void *map;

    memset(c, 0, sizeof(*c));
    c->fd = xs_socket_connect(socket_path, 5 * XS_NS_PER_S);
    assert_true(c->fd >= 0);
    c->page_fd = xs_fd_memfd("raw-client", sizeof(struct xs_client_page));
    assert_true(c->page_fd >= 0);
    assert_int_equal(xs_fd_map_sealed(c->page_fd, sizeof(struct xs_client_page), 1, &map), 0);
    c->page = map;
    c->page->h.magic = XS_PAGE_MAGIC;
    c->page->h.version = XS_PAGE_VERSION;
    c->page->h.queues = XS_PAGE_QUEUES;
    c->page->h.cell_bytes = sizeof(struct xs_client_cell);
    c->bell = xs_fd_eventfd();
    assert_true(c->bell >= 0);
    assert_int_equal(getrandom(&c->prefix, 8, 0), 8);
    c->prefix = (c->prefix & 0x7fffffff) | 1;
}

void raw_hello_fill(const struct raw_client *c, union xs_msg *m)
{
    memset(m, 0, sizeof(*m));
    m->hello.protocol_major = XS_WIRE_MAJOR;
    m->hello.protocol_minor = XS_WIRE_MINOR;
    m->hello.handle_prefix = c->prefix;
    m->hello.pid_in_namespace = (int32_t)getpid();
}

static int receive(struct raw_client *c, union xs_msg *ret, int timeout_ms, int *ret_fd)
{
    unsigned char packet[XS_WIRE_MAX_BYTES];
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    unsigned n_fds = 0;
    int fds[XS_WIRE_MAX_FDS];
    ssize_t n;

    if (poll(&p, 1, timeout_ms) != 1)
        return -1;
    n = xs_socket_receive(c->fd, packet, fds, XS_WIRE_MAX_FDS, &n_fds);
    if (n <= 0)
        return 0;
    assert_int_equal(xs_wire_open(packet, (size_t)n, ret, NULL), 0);
    for (unsigned i = 0; i < n_fds; i++) {
        if (ret_fd && i == 0)
            *ret_fd = fds[0];
        else
            close(fds[i]);
    }
    return ret->head.id;
}

int raw_receive(struct raw_client *c, union xs_msg *ret, int timeout_ms)
{
    return receive(c, ret, timeout_ms, NULL);
}

int raw_hello(struct raw_client *c, union xs_msg *m, const int *fds, unsigned n_fds)
{
    if (xs_socket_send(c->fd, m, XS_MSG_hello, ++c->serial, fds, n_fds) < 0)
        return -1;
    return raw_hello_answer(c);
}

int raw_hello_answer(struct raw_client *c)
{
    union xs_msg answer;
    void *map;
    int fd = -1, id;

    id = receive(c, &answer, PATIENCE_MS, &fd);
    if (id == XS_MSG_refused)
        return (int)answer.refused.reason;
    if (id != XS_MSG_welcome)
        return -1;
    c->session = answer.welcome.session;
    c->server_minor = answer.welcome.protocol_minor;
    assert_true(fd >= 0);
    assert_int_equal(xs_fd_map_sealed(fd, sizeof(struct xs_server_page), 1, &map), 0);
    close(fd);
    c->server = map;
    assert_true(c->server->h.magic == XS_PAGE_MAGIC);
    assert_int_equal(c->server->h.session, c->session);
    return 0;
}

int raw_try_join(struct raw_client *c, const char *socket_path)
{
    union xs_msg m;

    raw_connect(c, socket_path);
    raw_hello_fill(c, &m);
    return raw_hello(c, &m, (int[]){c->page_fd, c->bell}, 2);
}

void raw_join(struct raw_client *c, const char *socket_path)
{
    assert_int_equal(raw_try_join(c, socket_path), 0);
}

void raw_leave(struct raw_client *c)
{
    xs_fd_close(&c->fd);
    xs_fd_close(&c->page_fd);
    xs_fd_close(&c->bell);
    if (c->page)
        munmap(c->page, sizeof(*c->page));
    if (c->server)
        munmap(c->server, sizeof(*c->server));
    c->page = NULL;
    c->server = NULL;
}

void raw_send(struct raw_client *c, union xs_msg *m, enum xs_msg_id id)
{
    int r;

    while ((r = xs_socket_send(c->fd, m, id, ++c->serial, NULL, 0)) == -EAGAIN)
        pause_ms(1);
    assert_int_equal(r, 0);
}

uint64_t raw_handle(const struct raw_client *c, uint32_t cell)
{
    return c->prefix << 32 | (cell + 1);
}

void raw_add_fill(const struct raw_client *c, union xs_msg *m, uint32_t cell, uint64_t device,
                  int32_t priority)
{
    memset(m, 0, sizeof(*m));
    m->queue_add.handle = raw_handle(c, cell);
    m->queue_add.device = device;
    m->queue_add.cell = cell;
    m->queue_add.level = 1;
    m->queue_add.priority = priority;
    m->queue_add.utilization = 100;
    m->queue_add.deadline_us = -1;
    m->queue_add.laxity_us = -1;
    m->queue_add.critical_priority = priority;
    m->queue_add.threshold = 16;
    m->queue_add.batch_size = 8;
    m->queue_add.levels = 1u << 1 | 1u << 2;
    m->queue_add.platform = 6;
}

/* A queue that nobody has is refused, and messages are handled in order. */
void raw_settle(struct raw_client *c)
{
    union xs_msg m;
    int id;

    memset(&m, 0, sizeof(m));
    m.queue_remove.handle = 0x7fffffffffffffff;
    raw_send(c, &m, XS_MSG_queue_remove);
    do {
        id = raw_receive(c, &m, PATIENCE_MS);
        assert_true(id > 0);
    } while (id != XS_MSG_refused || m.refused.handle != 0x7fffffffffffffff);
}

void raw_add(struct raw_client *c, uint32_t cell, uint64_t device, int32_t priority)
{
    union xs_msg m;

    raw_add_fill(c, &m, cell, device, priority);
    raw_send(c, &m, XS_MSG_queue_add);
    raw_settle(c);
}

void raw_add_many(struct raw_client *c, uint32_t n, uint64_t device, int32_t priority)
{
    union xs_msg m;

    for (uint32_t k = 0; k < n; k++) {
        raw_add_fill(c, &m, k, device, priority);
        raw_send(c, &m, XS_MSG_queue_add);
        if (k % 64 == 63)
            raw_settle(c);
    }
    raw_settle(c);
}

void raw_remove(struct raw_client *c, uint32_t cell)
{
    union xs_msg m;

    memset(&m, 0, sizeof(m));
    m.queue_remove.handle = raw_handle(c, cell);
    raw_send(c, &m, XS_MSG_queue_remove);
    raw_settle(c);
}

static void ring(struct raw_client *c, uint32_t cell)
{
    if (xs_page_ring(c->page, c->server, cell))
        xs_fd_eventfd_signal(c->bell);
}

/* Every command is said to take long: one that is quiet for longer than it should take would be
 * taken for done, and this process may be off the CPU for a while at any place. */
#define ESTIMATE_NS (60 * XS_NS_PER_S)

void raw_submit(struct raw_client *c, uint32_t cell)
{
    atomic_fetch_add(&c->page->cells[cell].est_entered_ns, ESTIMATE_NS);
    atomic_fetch_add(&c->page->cells[cell].entered, 1);
    if (atomic_load(&c->server->cells[cell].armed) & XS_ARMED_SUBMIT)
        ring(c, cell);
    atomic_fetch_add(&c->page->cells[cell].returned, 1);
}

void raw_complete(struct raw_client *c, uint32_t cell)
{
    uint64_t completed = atomic_load(&c->page->cells[cell].entered);

    atomic_store(&c->page->cells[cell].est_completed_ns, completed * ESTIMATE_NS);
    atomic_store(&c->page->cells[cell].completed, completed);
    if (atomic_load(&c->server->cells[cell].armed) & XS_ARMED_IDLE)
        ring(c, cell);
}

bool raw_permitted(const struct raw_client *c, uint32_t cell)
{
    return atomic_load(&c->server->cells[cell].permitted) != XS_PERMIT_CLOSED;
}

bool raw_wait_permitted(const struct raw_client *c, uint32_t cell, bool permitted, int timeout_ms)
{
    uint64_t until = xs_now_ns() + (uint64_t)timeout_ms * XS_NS_PER_MS;

    while (raw_permitted(c, cell) != permitted) {
        if (xs_now_ns() > until)
            return false;
        usleep(100);
    }
    return true;
}

int raw_http_connect(const struct raw_server *s, int flags)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

    memcpy(to.sun_path, s->http, strlen(s->http) + 1);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    close(fd);
    return -1;
}

long raw_http(const struct raw_server *s, const char *method, const char *path, const char *body,
              json_t **ret_json)
{
    struct xs_http_target target = {.unix_path = s->http};
    struct xs_http_answer answer;
    char error[256] = "";
    json_t *json;

    if (xs_http_ask(&target, method, path, body, &answer, error, sizeof(error)) < 0)
        fail_msg("%s %s: %s", method, path, error);
    json = json_loadb(answer.body, answer.bytes, 0, NULL);
    free(answer.body);
    assert_non_null(json); /* every answer is JSON, errors too */
    if (ret_json)
        *ret_json = json;
    else
        json_decref(json);
    return answer.status;
}

int64_t raw_status(const struct raw_server *s, const char *name)
{
    json_t *json, *value;
    int64_t number;

    assert_int_equal(raw_http(s, "GET", "/status", NULL, &json), 200);
    value = json_object_get(json, name);
    assert_true(json_is_integer(value));
    number = json_integer_value(value);
    json_decref(json);
    return number;
}

long raw_tcp(struct raw_server *s, const char *request, char *ret_answer, size_t size)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t got = 0;
    long status = 0;

    if (!s->port)
        s->port = (int)raw_status(s, "http_port");
    to.sin_port = htons((uint16_t)s->port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ssize_t n;

        if (poll(&p, 1, 10000) != 1 || got + 1 >= size)
            break;
        n = recv(fd, ret_answer + got, size - 1 - got, 0);
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    ret_answer[got] = 0;
    close(fd);
    sscanf(ret_answer, "HTTP/1.1 %ld", &status);
    return status;
}
