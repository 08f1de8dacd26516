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
#include <sys/mman.h>
#include <sys/socket.h>
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

static void leave_at_exit(void)
{
    xs_server_stop(&g_server);
    rmdir(g_dir);
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
    xs_deaths_free(g_server.deaths); /* a hand-shake between threads at each join; server.death has it */
    g_server.deaths = NULL;
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

static void serve(void)
{
    xs_client_accept(&g_server);
    for (int again = 0; again < 2; again++) { /* one may drop another */
        XS_LIST_FOR_SAFE (c, &g_server.unjoined, struct xs_client, link)
            xs_client_readable(&g_server, c);
        XS_LIST_FOR_SAFE (c, &g_server.clients, struct xs_client, link)
            if (!c->dead)
                xs_client_readable(&g_server, c);
    }
    xs_client_free_dead(&g_server, UINT32_MAX);
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
                   m.head.id == XS_MSG_queue_hints || m.head.id == XS_MSG_queue_config);
        for (unsigned i = 0; i < n_fds; i++)
            close(fds[i]);
    }
}

static void connect_program(struct program *p)
{
    if (p->fd < 0)
        p->fd = xs_socket_connect(g_server.socket_path, XS_NS_PER_S);
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

/* A hello with descriptors of any kind. */
static void odd_hello(struct program *p, struct fuzz_in *in)
{
    int kinds[] = {p->page_fd, p->bell, g_server.epoll, 0, p->fd, g_programs[0].page_fd}, fds[8];
    unsigned n = fuzz_u8(in) % 9;
    union xs_msg m;

    memset(&m, 0, sizeof(m));
    m.hello.protocol_major = 1;
    m.hello.handle_prefix = 1 + fuzz_u8(in) % 3;
    for (unsigned i = 0; i < n; i++)
        fds[i] = kinds[fuzz_u8(in) % XS_ARRAY_LEN(kinds)];
    send_packet(p, &m, XS_MSG_hello, fds, n);
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
    if (g_server.n_lv3)
        (void)xs_lv3_update(&g_server);
    xs_client_reap(&g_server);
}

static void clean_up(void)
{
    struct xs_sched_counters counters;

    for (int i = 0; i < PROGRAMS; i++) {
        read_answers(&g_programs[i]);
        xs_fd_close(&g_programs[i].fd);
    }
    serve();
    FUZZ_CHECK(g_server.n_clients == 0 && g_server.n_unjoined == 0);
    FUZZ_CHECK(xs_list_empty(&g_server.clients) && xs_list_empty(&g_server.unjoined));
    FUZZ_CHECK(xs_list_empty(&g_server.queues) && xs_list_empty(&g_server.dead));
    for (struct xs_user *u = g_server.users; u; u = u->next)
        FUZZ_CHECK(u->clients == 0 && u->queues == 0);
    xs_sched_counters(g_server.sched, &counters);
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
