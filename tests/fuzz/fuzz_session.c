/* SPDX-License-Identifier: Apache-2.0 */
/* Up to four programs talk to a server in this process, over its real socket: messages good and
 * bad, in any order, hostile pages, connections that end. After each input everything is given
 * back. */
#include "fuzz.h"

#include "base/fd.h"
#include "base/log.h"
#include "transport/socket.h"
#include "xserver/server.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

_Atomic uint64_t fuzz_steps;
const char *const fuzz_steps_name = "messages";

#define PROGRAMS 4

static struct xs_server g_server;
static struct program {
    int fd, page_fd, bell;
    struct xs_client_page *page;
} g_programs[PROGRAMS];

static char g_dir[] = "/tmp/xsched-fuzz-XXXXXX";

/* The most processor time that one turn of the main loop took; the last line that is printed. */
static uint64_t g_longest_ns;

static void leave_at_exit(void)
{
    xs_server_stop(&g_server);
    rmdir(g_dir);
    fprintf(stderr, "the longest turn took %.3f ms\n", (double)g_longest_ns / 1e6);
}

static void set_up(void)
{
    struct xs_options o;
    char error[256], path[64];
    void *map;

    xs_log_set_level(XS_LOG_OFF);
    FUZZ_CHECK(mkdtemp(g_dir) != NULL);
    xs_options_defaults(&o);
    snprintf(o.socket, sizeof(o.socket), "%s/s", g_dir);
    o.max_client_queues = 40;
    o.max_user_queues = 100;
    FUZZ_CHECK(xs_server_start(&g_server, &o, error, sizeof(error)) == 0);
    xs_death_watch_free(g_server.death_watch); /* a hand-shake between threads at each join; server.death has it */
    g_server.death_watch = NULL;
    /* nothing needs the names any more but xs_socket_connect: that one file stays until the end */
    snprintf(path, sizeof(path), "%s/s.lock", g_dir);
    unlink(path);
    atexit(leave_at_exit);
    for (int i = 0; i < PROGRAMS; i++) {
        struct program *p = &g_programs[i];

        p->fd = -1;
        p->bell = xs_fd_eventfd();
        p->page_fd = xs_fd_memfd("fuzz-client", sizeof(struct xs_client_page));
        FUZZ_CHECK(xs_fd_map_sealed(p->page_fd, sizeof(struct xs_client_page), 1, &map) == 0);
        p->page = map;
        p->page->h.magic = XS_PAGE_MAGIC;
        p->page->h.version = XS_PAGE_VERSION;
        p->page->h.queues = XS_PAGE_QUEUES;
        p->page->h.cell_bytes = sizeof(struct xs_client_cell);
    }
}

static uint64_t processor_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * XS_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void serve(void)
{
    uint64_t began = processor_ns();

    xs_client_accept(&g_server);
    for (int again = 0; again < 2; again++) { /* one may drop another */
        XS_LIST_FOR_SAFE (c, &g_server.unjoined, struct xs_client, link)
            xs_client_readable(&g_server, c, false);
        XS_LIST_FOR_SAFE (c, &g_server.clients, struct xs_client, link)
            if (!c->dead)
                xs_client_readable(&g_server, c, false);
    }
    xs_client_free_dead(&g_server, UINT32_MAX);
    g_longest_ns = XS_MAX(g_longest_ns, processor_ns() - began);
}

static void read_answers(struct program *p)
{
    unsigned char packet[XS_WIRE_MAX_BYTES];
    int fds[XS_SOCKET_MAX_FDS];

    while (p->fd >= 0) {
        unsigned n_fds = 0;
        ssize_t n = xs_socket_receive(p->fd, packet, fds, XS_SOCKET_MAX_FDS, &n_fds);
        union xs_msg m;

        if (n == -EAGAIN)
            return;
        if (n <= 0) {
            xs_fd_close(&p->fd);
            return;
        }
        FUZZ_CHECK(xs_wire_open(packet, (size_t)n, &m, NULL) == 0);
        FUZZ_CHECK(m.head.id == XS_MSG_welcome || m.head.id == XS_MSG_refused ||
                   m.head.id == XS_MSG_queue_hints || m.head.id == XS_MSG_queue_config ||
                   m.head.id == XS_MSG_queue_mark || m.head.id == XS_MSG_kfd_hold);
        for (unsigned i = 0; i < n_fds; i++)
            close(fds[i]);
    }
}

static void connect_program(struct program *p)
{
    if (p->fd < 0)
        p->fd = xs_socket_connect(g_server.socket.path, XS_NS_PER_S);
    FUZZ_CHECK(p->fd >= 0);
}

static void send_packet(struct program *p, union xs_msg *m, enum xs_msg_id id, const int *fds, unsigned n_fds)
{
    fuzz_steps++;
    (void)xs_socket_send(p->fd, m, id, 1, fds, n_fds);
}

static void good_hello(struct program *p, struct fuzz_in *in)
{
    int fds[2] = {p->page_fd, p->bell};
    union xs_msg m;

    memset(&m, 0, sizeof(m));
    m.hello.protocol_major = XS_WIRE_MAJOR;
    m.hello.protocol_minor = fuzz_u8(in);
    m.hello.handle_prefix = 1 + fuzz_u8(in) % 3;
    m.hello.flags = fuzz_u8(in) & 3;
    m.hello.group[0] = (char)fuzz_u8(in);
    m.hello.utilization = fuzz_u8(in) % 101;
    send_packet(p, &m, XS_MSG_hello, fds, 2);
}

/* Descriptors of the kinds that a program can make, which nobody asked for; the fuzzer's own for its whole life. */
static const int *odd_kinds(unsigned *ret_n)
{
    static int kinds[24];
    static unsigned n;
    int pair[2];

    if (n == 0) {
        if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) == 0) {
            kinds[n++] = pair[0];
            kinds[n++] = pair[1];
        }
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
            kinds[n++] = pair[0];
            kinds[n++] = pair[1];
        }
        kinds[n++] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        kinds[n++] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        kinds[n++] = open("/dev/null", O_RDWR | O_CLOEXEC);
        kinds[n++] = open("/dev/null", O_PATH | O_CLOEXEC);
        kinds[n++] = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
        kinds[n++] = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
        kinds[n++] = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
        kinds[n++] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
        kinds[n++] = epoll_create1(EPOLL_CLOEXEC);
        kinds[n++] = eventfd(1, EFD_CLOEXEC | EFD_SEMAPHORE);
        kinds[n++] = inotify_init1(IN_CLOEXEC);
        kinds[n++] = xs_fd_memfd("fuzz-short", 4096);
        kinds[n++] = xs_fd_memfd("fuzz-server", sizeof(struct xs_server_page)); /* sealed, and of another layout */
        kinds[n++] = xs_fd_memfd("fuzz-empty", sizeof(struct xs_client_page));  /* of the right size, all zero */
        kinds[n++] = (int)syscall(SYS_pidfd_open, getpid(), 0);
        kinds[n++] = (int)syscall(SYS_memfd_create, "fuzz-unsealed", MFD_CLOEXEC);
        for (unsigned i = 0; i < n;) /* what this system lacks */
            if (kinds[i] < 0)
                kinds[i] = kinds[--n];
            else
                i++;
    }
    *ret_n = n;
    return kinds;
}

static unsigned odd_descriptors(struct program *p, struct fuzz_in *in, int *fds, unsigned max)
{
    int near[] = {p->page_fd, p->bell, g_server.sources.epoll, 0, p->fd, g_programs[0].page_fd};
    unsigned n_odd, n = fuzz_u8(in) % (max + 1);
    const int *odd = odd_kinds(&n_odd);

    for (unsigned i = 0; i < n; i++) {
        unsigned k = fuzz_u8(in) % (XS_ARRAY_LEN(near) + n_odd);

        fds[i] = k < XS_ARRAY_LEN(near) ? near[k] : odd[k - XS_ARRAY_LEN(near)];
    }
    return n;
}

/* A hello with descriptors of any kind. */
static void odd_hello(struct program *p, struct fuzz_in *in)
{
    int fds[XS_WIRE_MAX_FDS];
    unsigned n = odd_descriptors(p, in, fds, XS_WIRE_MAX_FDS);
    union xs_msg m;

    memset(&m, 0, sizeof(m));
    m.hello.protocol_major = 1;
    m.hello.handle_prefix = 1 + fuzz_u8(in) % 3;
    send_packet(p, &m, XS_MSG_hello, fds, n);
}

/* Queues of AMD's kernel driver, well formed, whether there are any or not. */
static void kfd_message(struct program *p, struct fuzz_in *in)
{
    uint8_t kind = fuzz_u8(in);
    union xs_msg m;

    memset(&m, 0, sizeof(m));
    if (kind % 3) {
        m.kfd_device.device = kind % 16 ? fuzz_u8(in) % 12 : fuzz_number(in);
        m.kfd_device.queues = fuzz_u32(in) % 4097;
        send_packet(p, &m, XS_MSG_kfd_device, NULL, 0);
        return;
    }
    m.kfd_held.device = fuzz_u8(in) % 12;
    m.kfd_held.off = kind & 1;
    m.kfd_held.queues = fuzz_u32(in);
    m.kfd_held.error = kind % 8 ? 0 : fuzz_u32(in) % 4096;
    m.kfd_held.took_us = fuzz_u32(in);
    send_packet(p, &m, XS_MSG_kfd_held, NULL, 0);
}

/* More descriptors than any message has, with a kind that is known, or with none. */
static void many_descriptors(struct program *p, struct fuzz_in *in)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(XS_SOCKET_MAX_FDS * sizeof(int))];
    } control;
    int fds[XS_SOCKET_MAX_FDS];
    unsigned n = odd_descriptors(p, in, fds, 40);
    struct xs_wire_head head = {.id = fuzz_u8(in) % 32, .bytes = sizeof(head)};
    struct iovec iov = {&head, sizeof(head)};
    struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
                       .msg_controllen = CMSG_SPACE(n * sizeof(int))};

    if (n == 0)
        return;
    memset(&control, 0, sizeof(control));
    CMSG_FIRSTHDR(&h)->cmsg_level = SOL_SOCKET;
    CMSG_FIRSTHDR(&h)->cmsg_type = SCM_RIGHTS;
    CMSG_FIRSTHDR(&h)->cmsg_len = CMSG_LEN(n * sizeof(int));
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&h)), fds, n * sizeof(int));
    fuzz_steps++;
    sendmsg(p->fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A message of the right form about few queues, so that many of them meet. */
static void message(struct program *p, struct fuzz_in *in)
{
    union xs_msg m;
    uint8_t kind = fuzz_u8(in);

    memset(&m, 0, sizeof(m));
    m.queue_add.handle = 1 + fuzz_u8(in) % 24;
    switch (kind % 7) {
    case 0:
    case 1:
        m.queue_add.device = fuzz_u8(in) % 3;
        m.queue_add.cell = fuzz_u8(in) % 24;
        m.queue_add.level = 1 + fuzz_u8(in) % 3;
        m.queue_add.priority = (int32_t)(fuzz_u8(in) % 64) - 32;
        m.queue_add.utilization = fuzz_u8(in) % 101;
        m.queue_add.deadline_us = (int64_t)(fuzz_number(in) >> 1) - 1;
        m.queue_add.laxity_us = (int64_t)(fuzz_number(in) >> 1) - 1;
        m.queue_add.threshold = 1;
        m.queue_add.batch_size = 1;
        m.queue_add.levels = kind & 15;
        send_packet(p, &m, XS_MSG_queue_add, NULL, 0);
        return;
    case 2:
        send_packet(p, &m, XS_MSG_queue_remove, NULL, 0);
        return;
    case 3:
        m.queue_hints.priority = (int32_t)(fuzz_u32(in) % 512) - 256;
        m.queue_hints.deadline_us = (int64_t)(fuzz_number(in) >> 1) - 1;
        m.queue_hints.laxity_us = (int64_t)(fuzz_number(in) >> 1) - 1;
        m.queue_hints.lax_priority = (int32_t)fuzz_u8(in) - 128;
        send_packet(p, &m, XS_MSG_queue_hints, NULL, 0);
        return;
    case 4:
        m.queue_config.level = fuzz_u8(in) % 4;
        m.queue_config.threshold = (int64_t)(fuzz_number(in) >> 1);
        send_packet(p, &m, XS_MSG_queue_config, NULL, 0);
        return;
    case 5:
        memset(&m, 0, sizeof(m));
        m.sched_hints.timeslice_us = fuzz_number(in);
        m.sched_hints.k = fuzz_u8(in);
        m.sched_hints.utilization = (int32_t)(fuzz_u8(in) % 102) - 1;
        send_packet(p, &m, XS_MSG_sched_hints, NULL, 0);
        return;
    default: {
        int fds[2] = {p->bell, p->page_fd};

        memset(&m, 0, sizeof(m));
        fuzz_take(in, (char *)&m + sizeof(m.head), 24);
        m.nv_group.client = m.nv_group.group = m.nv_group.subdevice = m.nv_group.subdevice_client = 1;
        m.nv_group.group_id = 1 + kind % 5;
        m.nv_group.default_slice_us = 1 + fuzz_u8(in);
        m.nv_group.first = fuzz_u8(in);
        m.nv_group.count = fuzz_u8(in) % 70;
        send_packet(p, &m, kind & 64 ? XS_MSG_nv_groups_end : XS_MSG_nv_group, fds, kind % 3);
        return;
    }
    }
}

static void noise(struct program *p, struct fuzz_in *in)
{
    unsigned char packet[XS_WIRE_MAX_BYTES + 16];
    size_t bytes = fuzz_u8(in) * (size_t)(fuzz_u8(in) % 5) + 1;
    struct xs_wire_head head = {.id = fuzz_u8(in) % 14, .bytes = (uint16_t)bytes};

    fuzz_take(in, packet, XS_MIN(bytes, sizeof(packet)));
    if (bytes >= sizeof(head) && fuzz_u8(in) % 8)
        memcpy(packet, &head, sizeof(head));
    fuzz_steps++;
    send(p->fd, packet, XS_MIN(bytes, sizeof(packet)), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void scribble(struct program *p, struct fuzz_in *in)
{
    struct xs_client_cell *cell = &p->page->cells[fuzz_u8(in) % 24];
    uint8_t what = fuzz_u8(in);

    if (what < 200) { /* as a program that works */
        atomic_fetch_add(&cell->entered, what % 4);
        atomic_fetch_add(&cell->est_entered_ns, fuzz_u32(in));
        if (what & 4)
            atomic_store(&cell->returned, cell->entered);
        if (what & 8)
            atomic_store(&cell->completed, cell->entered);
        atomic_store(&cell->inherit, what & 16);
    } else {
        _Atomic uint64_t *words = (_Atomic uint64_t *)(void *)cell;

        words[what % (sizeof(*cell) / 8)] = fuzz_number(in);
    }
    if (what & 1) {
        uint64_t k = atomic_fetch_add(&p->page->h.bell_count, 1 + (what >= 240 ? fuzz_number(in) : 0));

        p->page->h.bell[k % XS_BELL_SLOTS] = what & 2 ? fuzz_number(in) : (k + 1) << 16 | fuzz_u8(in) % 24;
    }
}

static void decide(struct fuzz_in *in)
{
    g_server.now_ns += fuzz_number(in) % (2 * XS_NS_PER_S);
    XS_LIST_FOR (c, &g_server.clients, struct xs_client, link)
        xs_sched_process_poll(g_server.sched, c->process, g_server.now_ns);
    (void)xs_sched_run(g_server.sched, g_server.now_ns);
    (void)xs_sched_renew_leases(g_server.sched, g_server.now_ns);
    if (g_server.level3.n_programs || g_server.level3.n_kfd)
        (void)xs_lv3_update(&g_server);
    (void)xs_client_reap(&g_server, UINT64_MAX);
}

static void clean_up(void)
{
    struct xs_sched_counters counters;

    for (int i = 0; i < PROGRAMS; i++) {
        read_answers(&g_programs[i]);
        xs_fd_close(&g_programs[i].fd);
    }
    serve();
    /* a program that passed its own connection: its end is seen when the task that closes it is done */
    for (int i = 0; i < 10000 && (g_server.n_clients || g_server.n_unjoined); i++) {
        usleep(100);
        serve();
    }
    FUZZ_CHECK(g_server.n_clients == 0 && g_server.n_unjoined == 0);
    FUZZ_CHECK(xs_list_empty(&g_server.clients) && xs_list_empty(&g_server.unjoined));
    FUZZ_CHECK(xs_list_empty(&g_server.queues) && xs_list_empty(&g_server.dead));
    for (const struct xs_quota_user *u = g_server.quota.users; u; u = u->next)
        FUZZ_CHECK(u->refs == 0);
    for (unsigned i = 0; i < XS_POOL_COUNT; i++)
        FUZZ_CHECK(g_server.quota.used[i] == 0 && g_server.quota.holders[i] == 0);
    xs_sched_counters(g_server.sched, &counters);
    FUZZ_CHECK(g_server.level3.n_kfd == 0);
    FUZZ_CHECK(counters.processes == 0 && counters.queues == 0 && counters.entities == 0);
    for (int i = 0; i < PROGRAMS; i++) {
        memset(g_programs[i].page->cells, 0, 24 * sizeof(struct xs_client_cell));
        memset((void *)g_programs[i].page->h.bell, 0, sizeof(g_programs[i].page->h.bell));
        g_programs[i].page->h.bell_count = 0;
        g_programs[i].page->h.owner_tid = 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_in in = {data, size};
    static bool ready;

    if (!ready)
        set_up();
    ready = true;
    for (int i = 0; i < 256 && in.left; i++) {
        uint8_t op = fuzz_u8(&in);
        struct program *p = &g_programs[op % PROGRAMS];

        connect_program(p);
        switch (op / PROGRAMS % 16) {
        case 0:
            odd_hello(p, &in);
            break;
        case 1:
        case 2:
            good_hello(p, &in);
            break;
        case 3:
            noise(p, &in);
            break;
        case 4:
        case 5:
            scribble(p, &in);
            break;
        case 6:
            serve();
            decide(&in);
            break;
        case 8:
            kfd_message(p, &in);
            break;
        case 9:
            if (fuzz_u8(&in) % 4 == 0)
                many_descriptors(p, &in);
            else
                message(p, &in);
            break;
        case 7:
            if (fuzz_u8(&in) % 4 == 0)
                xs_fd_close(&p->fd);
            break;
        default:
            message(p, &in);
            break;
        }
        if (i % 4 == 3) {
            serve();
            for (int k = 0; k < PROGRAMS; k++)
                read_answers(&g_programs[k]);
        }
    }
    clean_up();
    return 0;
}
