/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include "base/clock.h"
#include "base/fd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <math.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUND_MS 30000

void scene_become(unsigned uid)
{
    if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
        _exit(99);
    prctl(PR_SET_DUMPABLE, 1); /* as after an exec: /proc/PID is its own user's */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static unsigned wait_index(uint64_t ns)
{
    double i = ns > 1000 ? log((double)ns / 1000) / log(1.09) : 0;

    return i >= SCENE_WAITS - 1 ? SCENE_WAITS - 1 : (unsigned)i + 1;
}

/* The lower end of what is counted there. */
static double wait_ns(unsigned index)
{
    return 1000 * pow(1.09, index ? index - 1 : 0);
}

static uint64_t count_longer(const uint32_t *waits, double ms, uint64_t *ret_all)
{
    uint64_t late = 0;

    *ret_all = 0;
    for (unsigned i = 0; i < SCENE_WAITS; i++) {
        late += wait_ns(i) > ms * 1e6 ? waits[i] : 0;
        *ret_all += waits[i];
    }
    return late;
}

uint64_t scene_late_waits(const struct scene *s, double ms, uint64_t *ret_all)
{
    return count_longer(s->shared->waits, ms, ret_all);
}

uint64_t scene_busy_waits(const struct scene *s, double ms, uint64_t *ret_all)
{
    return count_longer(s->shared->busy_waits, ms, ret_all);
}

/* 99 of 100 waits were shorter. @return ns */
static double most_waits_ns(const struct scene_shared *shared)
{
    uint64_t all = 0, seen = 0;
    unsigned i;

    for (i = 0; i < SCENE_WAITS; i++)
        all += shared->waits[i];
    for (i = 0; i < SCENE_WAITS - 1 && seen < all - all / 100; i++)
        seen += shared->waits[i];
    return wait_ns(i);
}

/* @param thread  its first one alone, which is the main loop */
static uint64_t cpu_of(pid_t pid, bool thread)
{
    char path[64], text[1024] = "";
    unsigned long user = 0, system = 0;
    FILE *f;

    if (thread)
        snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)pid);
    else
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    f = fopen(path, "r");
    if (f) {
        char *at = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;

        if (at)
            sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
        fclose(f);
    }
    return (uint64_t)(user + system) * (XS_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* What a process has computed, exactly; cpu_of counts ticks. */
static uint64_t computed_ns(pid_t pid)
{
    struct timespec t = {0};
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) == 0)
        clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * XS_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* A decision of xserver's that is due now. */
static void await(struct scene *s, struct raw_client *c, bool permitted)
{
    struct scene_shared *shared = s->shared;
    uint64_t before = computed_ns(s->server.pid), began = xs_now_ns(), ns, computed;

    raw_wait_permitted(c, 0, permitted, ROUND_MS);
    ns = xs_now_ns() - began;
    computed = computed_ns(s->server.pid) - before;
    shared->waits[wait_index(ns)]++;
    shared->busy_waits[wait_index(XS_MIN(ns, computed))]++;
    if (ns > shared->worst_ns)
        shared->worst_ns = ns;
}

/* Two programs that compete: each round is one command of the urgent one. */
static void victim(struct scene *s)
{
    struct raw_client low, high;
    struct scene_shared *shared = s->shared;

    raw_join(&low, s->server.socket);
    raw_join(&high, s->server.socket);
    raw_add(&low, 0, DEVICE, 0);
    raw_add(&high, 0, DEVICE, 10);
    shared->ready = 1;
    while (!shared->stop) {
        raw_submit(&low, 0);
        await(s, &low, true);
        raw_submit(&high, 0);
        await(s, &high, true);
        await(s, &low, false);
        raw_complete(&high, 0);
        raw_complete(&low, 0);
        shared->rounds++;
        usleep(500);
    }
    raw_leave(&low);
    raw_leave(&high);
}

/* xserver has this class from its unit. The victim gets it as well, as the clock of this test: what other processes take
 * from the machine's cores is not what is measured. */
static void real_time(pid_t pid)
{
    struct sched_param p = {.sched_priority = 1};

    if (sched_setscheduler(pid, SCHED_RR, &p) < 0)
        puts("without the real-time class: the figures are those of a busy machine");
}

static pid_t start(struct scene *s, unsigned uid, void (*run)(struct scene *s))
{
    pid_t pid = fork();

    if (pid == 0) {
        struct rlimit l;

        getrlimit(RLIMIT_NOFILE, &l);
        l.rlim_cur = l.rlim_max;
        setrlimit(RLIMIT_NOFILE, &l);
        scene_become(uid);
        run(s);
        _exit(0);
    }
    return pid;
}

bool scene_is_strict(void)
{
    const char *strict = getenv("XSCHED_ATTACK_STRICT");

    return strict && *strict == '1';
}

void scene_begin(struct scene *s)
{
    scene_begin_with(s, NULL);
}

void scene_begin_with(struct scene *s, const char *option)
{
    const char *args[3] = {NULL};
    unsigned n = 0;

    memset(s, 0, sizeof(*s));
    if (geteuid() != 0) {
        puts("skipped: only root can become the users");
        exit(77);
    }
    s->shared = mmap(NULL, sizeof(*s->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (scene_is_strict())
        args[n++] = "--spin-cpu=0";
    if (option)
        args[n++] = option;
    raw_server_start(&s->server, args);
    real_time(s->server.pid);
    s->victim = start(s, VICTIM, victim);
    real_time(s->victim);
    for (int i = 0; i < 4000 && !s->shared->ready; i++)
        usleep(5000);
    if (!s->shared->ready)
        puts("the victim does not run");
    s->cpu_ns = cpu_of(s->server.pid, false);
    s->loop_ns = cpu_of(s->server.pid, true);
    s->cpu_since_ns = xs_now_ns();
}

void scene_quiet(struct scene *s, unsigned seconds)
{
    uint64_t rounds = s->shared->rounds, loop_ns = cpu_of(s->server.pid, true);

    for (unsigned i = 0; i < seconds * 10; i++)
        usleep(100000);
    s->quiet_rounds = s->shared->rounds;
    s->loop_ns = cpu_of(s->server.pid, true);
    s->quiet_round_ns = (double)(s->loop_ns - loop_ns) / (double)XS_MAX(s->quiet_rounds - rounds, (uint64_t)1);
    s->cpu_ns = cpu_of(s->server.pid, false);
    s->cpu_since_ns = xs_now_ns();
}

double scene_loop_share(const struct scene *s)
{
    return s->loop_share;
}

int scene_probe(struct scene *s, unsigned uid, int (*probe)(struct scene *s))
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        alarm(60);
        scene_become(uid);
        _exit(probe(s));
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

int scene_join(struct scene *s)
{
    struct raw_client c;

    raw_join(&c, s->server.socket);
    raw_add(&c, 0, DEVICE, 0);
    raw_leave(&c);
    return 0;
}

int scene_ask(struct scene *s)
{
    return raw_http(&s->server, "GET", "/status", NULL, NULL) == 200 ? 0 : 1;
}

bool scene_others(struct scene *s, const char *name, int (*probe)(struct scene *s), const char *yes, const char *no)
{
    int other = scene_probe(s, HELPER, probe), root = scene_probe(s, 0, probe);

    printf("%s: another user %s, root %s\n", name, other ? no : yes, root ? no : yes);
    return other || root;
}

void scene_await(struct scene *s, unsigned note, int value)
{
    for (int i = 0; i < 6000 && s->shared->notes[note] < value; i++)
        usleep(5000);
    if (s->shared->notes[note] < value)
        printf("note %u is %d, not %d\n", note, (int)s->shared->notes[note], value);
}

void scene_attack(struct scene *s, unsigned uid, void (*attack)(struct scene *s))
{
    s->attackers[s->n_attackers++] = start(s, uid, attack);
}

int scene_end(struct scene *s, const char *name, unsigned seconds, double bound_ms)
{
    struct scene_shared *shared = s->shared;
    int status = 0, server, bad;
    double cpu, loop, most, passed_ns;
    char *log;

    for (unsigned i = 0; i < seconds * 10; i++)
        usleep(100000);
    passed_ns = (double)(xs_now_ns() - s->cpu_since_ns);
    cpu = 100.0 * (double)(cpu_of(s->server.pid, false) - s->cpu_ns) / passed_ns;
    loop = 100.0 * (double)(cpu_of(s->server.pid, true) - s->loop_ns) / passed_ns;
    s->loop_share = loop - 100.0 * (double)(shared->rounds - s->quiet_rounds) * s->quiet_round_ns / passed_ns;
    shared->stop = 1;
    waitpid(s->victim, &status, 0); /* a round that is stuck is its worst one */
    for (unsigned i = 0; i < s->n_attackers; i++) {
        kill(s->attackers[i], SIGKILL);
        waitpid(s->attackers[i], NULL, 0);
    }
    log = raw_server_log(&s->server);
    server = raw_server_stop(&s->server);
    most = most_waits_ns(shared);
    bad = status != 0 || server != 0 || shared->rounds == 0 || (double)shared->worst_ns > bound_ms * 1e6;
    printf("%s: %llu rounds, the victim waited for %.3f ms at most (bound %.0f ms)%s\n", name,
           (unsigned long long)shared->rounds, (double)shared->worst_ns / 1e6, bound_ms,
           status ? ", the victim FAILED" : server ? ", xserver FAILED" : bad ? ", too long" : "");
    printf("%s: 99 of 100 waits took less than %.3f ms, xserver used %.1f %% of a core, its main loop %.1f %%\n", name,
           most / 1e6, cpu, loop);
    if (scene_is_strict())
        bad |= most > 0.5e6 || loop > 10;
    if (bad)
        puts(log);
    free(log);
    return bad;
}

int scene_lingering(int *ret_peer, int seconds)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    struct linger linger = {.l_onoff = 1, .l_linger = seconds};
    static const char data[65536];
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd, small = 4096;

    if (listener < 0)
        return -1;
    setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(listener, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&at, &size) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) < 0 ||
        connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
        close(listener);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *ret_peer = accept(listener, NULL, NULL);
    close(listener);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    while (send(fd, data, sizeof(data), MSG_NOSIGNAL) > 0)
        ;
    fcntl(fd, F_SETFL, 0);
    return fd;
}

int scene_send(int fd, const void *bytes, size_t n, const int *fds, unsigned n_fds)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(XS_SOCKET_MAX_FDS * sizeof(int))];
    } control;
    struct iovec iov = {(void *)(uintptr_t)bytes, n};
    struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};

    if (n_fds) {
        memset(&control, 0, sizeof(control));
        h.msg_control = control.bytes;
        h.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        CMSG_FIRSTHDR(&h)->cmsg_level = SOL_SOCKET;
        CMSG_FIRSTHDR(&h)->cmsg_type = SCM_RIGHTS;
        CMSG_FIRSTHDR(&h)->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&h)), fds, n_fds * sizeof(int));
    }
    return sendmsg(fd, &h, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

struct xs_wire_head scene_unknown(void)
{
    return (struct xs_wire_head){.bytes = sizeof(struct xs_wire_head), .id = 0x7fff};
}

void scene_delay(int fd)
{
    struct xs_wire_head m = scene_unknown();
    int many[XS_SOCKET_MAX_FDS];

    for (unsigned i = 0; i < XS_SOCKET_MAX_FDS; i++)
        many[i] = 0;
    for (int i = 0; i < 25; i++)
        scene_send(fd, &m, sizeof(m), many, XS_SOCKET_MAX_FDS);
}

int scene_taken(struct scene *s, const char *name, void (*attack)(struct scene *s), int (*probe)(struct scene *s),
                const char *yes, const char *no)
{
    bool refused;

    scene_begin(s);
    scene_attack(s, ATTACKER, attack);
    scene_await(s, 0, 1);
    refused = scene_others(s, name, probe, yes, no);
    return scene_end(s, name, 1, 50) || refused;
}
