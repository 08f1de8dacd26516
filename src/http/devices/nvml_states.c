/* SPDX-License-Identifier: Apache-2.0 */
#include "http/devices/nvml_states.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEVICES   64u
#define FRESH_NS  XS_NS_PER_S
#define OLD_NS    (10 * XS_NS_PER_S) /* such a state is too old to show */
#define WAIT_NS   (300 * XS_NS_PER_MS)
#define HUNG_NS   (5 * XS_NS_PER_S)  /* the reader is ended */
#define AGAIN_NS  (60 * XS_NS_PER_S) /* before another reader starts where one failed */

struct nvml_device {
    struct xs_nvml_answer last;
    uint64_t read_ns, asked_ns; /* 0: not yet; no question is open */
};

/* Owner: the threads of HTTP, under the lock. */
static struct {
    /* Lock: what the reader of NVML said last, and the reader. The threads of HTTP hold it. */
    pthread_mutex_t lock;
    const char *program; /* NULL: this one */
    pid_t reader;        /* 0: none; it may have ended */
    int fd;              /* -1: it has ended, or there is none */
    bool answered;       /* since it began */
    uint64_t next_start_ns;
    size_t n;
    struct nvml_device devices[DEVICES]; /* one of them may be XS_NVML_ALL */
    struct xs_gpu_processes processes;
} g_nvml = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

void xs_nvml_reader_set(const char *program)
{
    pthread_mutex_lock(&g_nvml.lock);
    g_nvml.program = program;
    pthread_mutex_unlock(&g_nvml.lock);
}

static void reap(void)
{
    if (g_nvml.reader && waitpid(g_nvml.reader, NULL, WNOHANG) != 0)
        g_nvml.reader = 0;
}

static void end_reader(uint64_t now_ns, bool failed)
{
    xs_fd_close(&g_nvml.fd);
    if (failed) {
        g_nvml.next_start_ns = now_ns + AGAIN_NS;
        if (g_nvml.reader)
            kill(g_nvml.reader, SIGKILL);
    }
    for (size_t i = 0; i < g_nvml.n; i++)
        g_nvml.devices[i].asked_ns = 0;
    reap();
}

static bool spawn(int fd)
{
    const char *program = g_nvml.program ? g_nvml.program : "/proc/self/exe";
    char name[] = "xsched-http", read[] = XS_NVML_READ, *const argv[] = {name, read, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    bool ok;

    sigemptyset(&none);
    sigfillset(&all);
    if (posix_spawn_file_actions_init(&files) != 0)
        return false;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return false;
    }
    ok = posix_spawn_file_actions_adddup2(&files, fd, STDIN_FILENO) == 0 &&
         posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
         posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
         posix_spawnattr_setsigmask(&attributes, &none) == 0 &&
         posix_spawnattr_setsigdefault(&attributes, &all) == 0 &&
         posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) == 0 &&
         posix_spawn(&g_nvml.reader, program, &files, &attributes, argv, environ) == 0;
    if (!ok)
        g_nvml.reader = 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return ok;
}

static void start_reader(uint64_t now_ns)
{
    int ends[2];

    reap();
    if (g_nvml.reader || now_ns < g_nvml.next_start_ns)
        return;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return;
    ends[0] = xs_fd_raise(ends[0]);
    ends[1] = xs_fd_raise(ends[1]);
    g_nvml.answered = false;
    if (ends[0] >= 0 && ends[1] >= 0 && spawn(ends[1])) {
        g_nvml.fd = ends[0];
        ends[0] = -1;
    } else {
        g_nvml.next_start_ns = now_ns + AGAIN_NS;
    }
    xs_fd_close(&ends[0]);
    xs_fd_close(&ends[1]);
}

static struct nvml_device *device_of(const char *pci)
{
    for (size_t i = 0; i < g_nvml.n; i++)
        if (strcmp(g_nvml.devices[i].last.pci, pci) == 0)
            return &g_nvml.devices[i];
    if (g_nvml.n == DEVICES)
        return NULL;
    xs_str_copy(g_nvml.devices[g_nvml.n].last.pci, sizeof(g_nvml.devices[0].last.pci), pci);
    g_nvml.devices[g_nvml.n].last.state = XS_DEVICE_STATE_UNKNOWN;
    return &g_nvml.devices[g_nvml.n++];
}

/* The time of the oldest open question; 0: none is open. */
static uint64_t oldest_question_ns(void)
{
    uint64_t oldest = 0;

    for (size_t i = 0; i < g_nvml.n; i++)
        if (g_nvml.devices[i].asked_ns && (!oldest || g_nvml.devices[i].asked_ns < oldest))
            oldest = g_nvml.devices[i].asked_ns;
    return oldest;
}

static void note_answer(const struct xs_nvml_answer *a, uint64_t now_ns)
{
    for (size_t i = 0; i < g_nvml.n; i++)
        if (strcmp(g_nvml.devices[i].last.pci, a->pci) == 0) {
            g_nvml.devices[i].last = *a;
            g_nvml.devices[i].read_ns = now_ns;
            g_nvml.devices[i].asked_ns = 0;
        }
    g_nvml.answered = true;
}

/* Takes an answer that is there. @return whether there was one */
static bool take_answer(uint64_t now_ns)
{
    static union {
        struct xs_nvml_answer a;
        struct xs_gpu_processes list;
    } in;
    ssize_t n = recv(g_nvml.fd, &in, sizeof(in), MSG_DONTWAIT);

    if (n == sizeof(in.a)) {
        in.a.pci[sizeof(in.a.pci) - 1] = in.a.model[sizeof(in.a.model) - 1] = 0;
        note_answer(&in.a, now_ns);
        return true;
    }
    if (n == sizeof(in.list)) {
        struct xs_nvml_answer all = {.pci = XS_NVML_ALL, .state = XS_DEVICE_STATE_UNKNOWN};

        g_nvml.processes = in.list;
        g_nvml.processes.n = XS_MIN(in.list.n, XS_GPU_PROCESSES);
        note_answer(&all, now_ns);
        return true;
    }
    if (n >= 0 || (errno != EAGAIN && errno != EINTR)) /* it has ended: no question came, or there is no NVML */
        end_reader(now_ns, !g_nvml.answered);
    return false;
}

/* Takes the answers that are there; where a question is open, waits for its answer. */
static void take_answers(const struct nvml_device *d)
{
    while (g_nvml.fd >= 0) {
        uint64_t now_ns = xs_now_ns(), oldest_ns = oldest_question_ns();
        struct pollfd in = {.fd = g_nvml.fd, .events = POLLIN};

        if (take_answer(now_ns))
            continue;
        if (g_nvml.fd < 0 || !d->asked_ns || now_ns >= oldest_ns + WAIT_NS)
            return;
        poll(&in, 1, (int)((oldest_ns + WAIT_NS - now_ns) / XS_NS_PER_MS) + 1);
    }
}

static void ask(struct nvml_device *d, uint64_t now_ns)
{
    struct xs_nvml_question q = {{0}};

    xs_str_copy(q.pci, sizeof(q.pci), d->last.pci);
    if (send(g_nvml.fd, &q, sizeof(q), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(q))
        d->asked_ns = now_ns;
}

/* Under the lock. @return whether there is an answer that is fresh enough to show */
static bool ask_about(const char *pci, struct nvml_device **ret)
{
    uint64_t now_ns = xs_now_ns(), oldest_ns;
    struct nvml_device *d = *ret = device_of(pci);

    if (!d)
        return false;
    take_answers(d);
    oldest_ns = oldest_question_ns();
    if (oldest_ns && now_ns > oldest_ns + HUNG_NS)
        end_reader(now_ns, true);
    if (!d->read_ns || now_ns > d->read_ns + FRESH_NS) {
        if (g_nvml.fd < 0)
            start_reader(now_ns);
        if (g_nvml.fd >= 0 && !d->asked_ns)
            ask(d, now_ns);
        take_answers(d);
    }
    return d->read_ns && xs_now_ns() < d->read_ns + OLD_NS;
}

void xs_nvml_state_get(const char *pci, struct xs_nvml_answer *ret)
{
    struct nvml_device *d;

    memset(ret, 0, sizeof(*ret));
    ret->state = XS_DEVICE_STATE_UNKNOWN;
    pthread_mutex_lock(&g_nvml.lock);
    if (ask_about(pci, &d))
        *ret = d->last;
    pthread_mutex_unlock(&g_nvml.lock);
}

void xs_nvml_processes_get(struct xs_gpu_processes *ret)
{
    struct nvml_device *d;

    memset(ret, 0, sizeof(*ret));
    pthread_mutex_lock(&g_nvml.lock);
    if (ask_about(XS_NVML_ALL, &d))
        *ret = g_nvml.processes;
    pthread_mutex_unlock(&g_nvml.lock);
}
