/* SPDX-License-Identifier: Apache-2.0 */
/* The process's side of a session with xserver. No server, a dead one, or one of another protocol never
 * disturbs the program: it runs unscheduled, says so once, and tries again. */
#include "xqueue/control/agent.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "base/sys.h"
#include "transport/socket.h"
#include "wire/hints.h"
#include "xqueue/control/announce_queues.h"
#include "xqueue/control/awaited.h"
#include "xqueue/control/confined.h"
#include "xqueue/control/interrupt.h"
#include "xqueue/control/server_page.h"
#include "xqueue/control/wish.h"
#include "xqueue/gates/gate.h"
#include "xqueue/hwq.h"
#include "xqueue/inherit.h"
#include "xqueue/marker.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_COOKIE
#define SO_COOKIE 57
#endif

#define RETRY_MS    1000
#define WELCOME_MS  2000

struct agent_session {
    struct xs_state *st;
    int fd;
    uint64_t cookie;              /* of the socket: a program may close and reuse our number */
    uint32_t serial;
    struct xs_server_page *page;
    uint32_t server_minor, flags; /* of its welcome */
    uint32_t groups_told[XS_INTERRUPTS]; /* the generation of xs_interrupt_ops that the server has, */
    bool told_ever[XS_INTERRUPTS];       /* if it has one */
    bool groups_ever;
    bool broken;
    bool pending;                 /* message has one to apply yet */
    union xs_msg message;
};

static uint64_t cookie_of(int fd)
{
    uint64_t cookie = 0;
    socklen_t bytes = sizeof(cookie);

    return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &bytes) < 0 ? 0 : cookie;
}

/* Still our socket? Otherwise do not touch it, not even to close it. */
static bool fd_is_ours(struct agent_session *s)
{
    if (cookie_of(s->fd) == s->cookie)
        return true;
    s->fd = -1;
    s->broken = true;
    return false;
}

/* ---- sending ---- */

static bool send_message(struct agent_session *s, union xs_msg *m, enum xs_msg_id id)
{
    int r;

    if (s->broken || !fd_is_ours(s))
        return true;              /* the session ends; it repeats nothing */
    r = xs_socket_send(s->fd, m, id, s->serial, NULL, 0);
    if (r == -EAGAIN)
        return false;
    s->serial++;
    if (r < 0)
        s->broken = true;
    return true;
}

/* Sends the descriptors by which the server may interrupt us. @return false: again soon, from the start */
static bool tell_groups_of(struct agent_session *s, const struct xs_interrupt_ops *ops, uint32_t *told, bool *told_ever)
{
    uint32_t generation;

    if (s->server_minor < XS_MAX(ops->server_minor, 2u))
        return true;
    generation = ops->generation();
    if (*told_ever && generation == *told)
        return true;
    for (uint32_t i = 0; !s->broken && fd_is_ours(s); i++) {
        union xs_msg m;
        int fds[2], id, n = ops->packet(i, &m, &id, fds), r;

        if (n == -EAGAIN)
            return false;
        if (n < 0)
            break;
        r = xs_socket_send(s->fd, &m, (enum xs_msg_id)id, s->serial, fds, (unsigned)n);
        if (r == -EAGAIN)
            return false;
        s->serial++;
        /* -EBADF: the program closed one of the descriptors; a change is on its way */
        if (r < 0 && r != -EBADF)
            s->broken = true;
        s->groups_ever = *told_ever = true;
    }
    *told = generation;
    return true;
}

static bool tell_groups(struct agent_session *s)
{
    bool all = true;

    for (unsigned i = 0; i < XS_INTERRUPTS; i++) {
        const struct xs_interrupt_ops *ops = xs_interrupt_ops(i);

        all = (!ops || tell_groups_of(s, ops, &s->groups_told[i], &s->told_ever[i])) && all;
    }
    return all;
}

/* The scheduler's decisions that this process must carry out itself. @return when to look again at the
 * latest */
static uint64_t interrupt_ourselves(struct agent_session *s)
{
    uint64_t due = s->groups_ever ? xs_interrupt_due() : UINT64_MAX;

    for (unsigned i = 0; i < XS_INTERRUPTS; i++) {
        const struct xs_interrupt_ops *ops = xs_interrupt_ops(i);
        union xs_msg m;
        int id;

        /* if the server has no space for a report, do not repeat it: it is for people and averages */
        while (ops && s->told_ever[i] && ops->report && ops->report(&m, &id))
            send_message(s, &m, (enum xs_msg_id)id);
    }
    return due;
}

static bool agent_add(void *ctx, struct xs_queue *q, const struct xs_queue_wish *w)
{
    union xs_msg m = {.queue_add = {
        .handle = q->handle, .device = q->hwq_device, .cell = q->cell, .level = w->level,
        .threshold = w->threshold, .batch_size = w->batch,
        .levels = q->hwq_levels, .platform = q->hwq_platform}};

    xs_hints_pack_add(&m.queue_add, &w->dated);
    return send_message(ctx, &m, XS_MSG_queue_add);
}

static void agent_remove(void *ctx, struct xs_queue *q)
{
    union xs_msg m = {.queue_remove = {.handle = q->handle}};
    struct agent_session *s = ctx;

    if (!send_message(s, &m, XS_MSG_queue_remove))
        s->broken = true;         /* a server that does not read: start over */
}

static bool agent_change(void *ctx, struct xs_queue *q, const struct xs_queue_wish *w, bool config_too)
{
    struct agent_session *s = ctx;
    union xs_msg m = {.queue_hints = {.handle = q->handle}};
    union xs_msg c = {.queue_config = {
        .handle = q->handle, .level = w->level, .threshold = w->threshold, .batch_size = w->batch}};

    xs_hints_pack(&m.queue_hints, &w->dated, s->st->client->h.clock_offset_ns);
    return send_message(s, &m, XS_MSG_queue_hints) && (!config_too || send_message(s, &c, XS_MSG_queue_config));
}

static const struct xs_listener k_listener = {agent_add, agent_remove, agent_change};

static void send_sched_hints(struct agent_session *s)
{
    uint64_t us = atomic_load(&s->st->timeslice_us);
    uint32_t k = atomic_load(&s->st->k);
    union xs_msg m = {.sched_hints = {.timeslice_us = us, .k = k, .utilization = -1}};

    if (us || k)
        send_message(s, &m, XS_MSG_sched_hints);
}

/* ---- receiving ---- */

/* Hints and limits from xcli or the scheduler. Only tries the lock: this thread waits for no other.
 * @return false: try again soon */
static bool apply(struct agent_session *s)
{
    union xs_msg *m = &s->message;
    struct xs_state *st = s->st;
    struct xs_queue *q, *to_mark = NULL;

    if (!xs_lock_try(&st->lock))
        return false;
    q = xs_map_get(&st->handle_to_queue, m->queue_hints.handle); /* the same place in all of them */
    if (q && m->head.id == XS_MSG_queue_hints) {
        xs_hints_merge(&q->wish.dated, &m->queue_hints, s->server_minor, st->client->h.clock_offset_ns, xs_now_ns());
        xs_queue_wish_publish(q);
    } else if (q && m->head.id == XS_MSG_queue_config) {
        if (m->queue_config.level) /* for later commands */
            q->wish.level = xs_level_in_force(atomic_load(&q->hwq)->ops, m->queue_config.level, false);
        xs_gates_set_level(q, q->wish.level);
        xs_gates_tell(q, m->queue_config.gates);
        xs_queue_set_launch_config(q, m->queue_config.threshold, m->queue_config.batch_size);
    } else if (q && m->head.id == XS_MSG_queue_mark) {
        atomic_fetch_add(&q->refs, 1);
        to_mark = q;
    }
    xs_lock_release(&st->lock);
    if (to_mark) {
        xs_marker_end_missed(to_mark);
        xs_queue_unref(to_mark);
    }
    return true;
}
_Static_assert(offsetof(struct xs_msg_queue_hints, handle) == offsetof(struct xs_msg_queue_config, handle) &&
                   offsetof(struct xs_msg_queue_hints, handle) == offsetof(struct xs_msg_queue_mark, handle),
               "apply() reads the handle of any");

/* @return the message's id, 0 when there is none, or -errno */
static int receive(struct agent_session *s, int *ret_fd)
{
    unsigned char packet[XS_WIRE_MAX_BYTES];
    int fds[1];
    unsigned n_fds = 0;
    const char *error = NULL;
    ssize_t n;
    int r;

    n = xs_socket_receive(s->fd, packet, fds, 1, &n_fds);
    if (n == -EAGAIN)
        return 0;
    if (n <= 0) {
        if (n_fds)
            close(fds[0]);
        return n == 0 ? -EPIPE : (int)n;
    }
    r = xs_wire_open(packet, (size_t)n, &s->message, &error);
    if (ret_fd && n_fds) {
        *ret_fd = fds[0];
    } else if (n_fds) {
        close(fds[0]);
    }
    if (r == -ENOMSG)
        return XS_MSG_queue_remove; /* a newer server's: skipped, like anything not for us */
    if (r < 0) {
        XS_WARN_ONCE("xserver sent a malformed message (%s)", error ? error : "?");
        return r;
    }
    return s->message.head.id;
}

static void handle_messages(struct agent_session *s)
{
    while (!s->broken && !s->pending && fd_is_ours(s)) {
        int id = receive(s, NULL);

        if (id == 0)
            return;
        if (id < 0) {
            s->broken = true;
        } else if (id == XS_MSG_queue_hints || id == XS_MSG_queue_config || id == XS_MSG_queue_mark) {
            s->pending = !apply(s);
        } else if (id == XS_MSG_kfd_hold || id == XS_MSG_memory_move || id == XS_MSG_memory_room) {
            xs_interrupt_told(&s->message);
        } else if (id == XS_MSG_refused) {
            XS_WARN_ONCE("xserver refused a %s: %s", xs_wire_name(s->message.refused.of), s->message.refused.text);
        }
    }
}

/* ---- joining ---- */

static int connect_any(struct xs_state *st)
{
    for (unsigned i = 0; i < st->sockets_count; i++) {
        int fd = xs_socket_connect(st->sockets[i], 100 * XS_NS_PER_MS);

        if (fd >= 0)
            return xs_fd_high(fd);
    }
    return -ENOENT;
}

static bool say_hello(struct agent_session *s)
{
    int32_t util = s->st->utilization;
    int fds[2] = {s->st->client_fd, s->st->bell_fd};
    union xs_msg m = {.hello = {
        .protocol_major = XS_WIRE_MAJOR, .protocol_minor = XS_WIRE_MINOR,
        .handle_prefix = s->st->handle_prefix, .pid_in_namespace = (int32_t)getpid(),
        .flags = (s->st->intra ? XS_HELLO_INTRA : 0) | (s->st->drain == XS_DRAIN_ON ? XS_HELLO_DRAIN : 0) |
                 (s->st->drain == XS_DRAIN_OFF ? XS_HELLO_NO_DRAIN : 0) |
                 (util >= 0 ? XS_HELLO_UTILIZATION : 0) | s->st->mps_priority,
        .utilization = util >= 0 ? util : 0, .space = xs_confined_space(s->st)}};

    xs_str_copy(m.hello.group, sizeof(m.hello.group), s->st->group);
    xs_str_copy(m.hello.job, sizeof(m.hello.job), s->st->job);
    s->st->client->h.clock_offset_ns = xs_clock_offset_ns(); /* another one after a restore */
    return xs_socket_send(s->fd, &m, XS_MSG_hello, s->serial++, fds, 2) == 0;
}

static bool page_ok(const struct xs_server_page *p)
{
    return p->h.magic == XS_PAGE_MAGIC && p->h.version == XS_PAGE_VERSION && p->h.queues == XS_PAGE_QUEUES &&
           p->h.cell_bytes == sizeof(struct xs_server_cell);
}

static bool await_welcome(struct agent_session *s)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    void *map = NULL;
    int fd = -1, id, r;

    if (xs_sys_poll(&p, 1, WELCOME_MS) <= 0)
        return false;
    id = receive(s, &fd);
    if (id == XS_MSG_refused)
        XS_WARN_ONCE("xserver does not take this process: %s; it runs unscheduled", s->message.refused.text);
    if (id != XS_MSG_welcome || fd < 0) {
        xs_fd_close(&fd);
        return false;
    }
    r = xs_fd_map_sealed(fd, sizeof(struct xs_server_page), 1, &map);
    close(fd);
    if (r < 0)
        return false;
    madvise(map, sizeof(struct xs_server_page), MADV_DONTFORK);
    if (!page_ok(map)) {
        munmap(map, sizeof(struct xs_server_page));
        return false;
    }
    s->page = map;
    s->server_minor = s->message.welcome.protocol_minor;
    s->flags = s->message.welcome.flags;
    return true;
}

static bool join(struct agent_session *s)
{
    s->fd = connect_any(s->st);
    if (s->fd < 0)
        return false;
    s->cookie = cookie_of(s->fd);
    if (say_hello(s) && await_welcome(s))
        return true;
    xs_fd_close(&s->fd);
    return false;
}

/* The shorter of a pause (-1: for ever) and the time until then. */
static int until_ms(int pause, uint64_t due_ns)
{
    uint64_t now = xs_now_ns(), left;

    if (due_ns == UINT64_MAX)
        return pause;
    left = due_ns > now ? (due_ns - now) / XS_NS_PER_MS + 1 : 0;
    return pause >= 0 && (uint64_t)pause < left ? pause : (int)XS_MIN(left, 1000ull);
}

static void session_run(struct agent_session *s, uint32_t changes)
{
    struct xs_state *st = s->st;
    uint32_t hints_sent = 0;
    bool stale = atomic_load(&st->gates_told) != 0; /* of the server before */

    xs_state_update_intra(st);    /* a platform may have told of its lanes meanwhile */
    xs_control_open_cells(st, s->page);
    xs_control_announce_all(st);
    xs_control_announce(st, &k_listener, s);
    if (!xs_control_engage(st, s->page))
        s->broken = true;
    while (!s->broken && atomic_load(&st->mode_changes) == changes) {
        struct pollfd p[2] = {{.fd = s->fd, .events = POLLIN}, {.fd = st->kick_fd, .events = POLLIN}};
        bool soon = !xs_control_announce(st, &k_listener, s);
        uint32_t hints = atomic_load(&st->sched_hints_changes);
        uint64_t due_ns, confined_ns;
        bool watch;

        if (hints != hints_sent) {
            send_sched_hints(s);
            hints_sent = hints;
        }
        if (XS_UNLIKELY(stale))
            stale = !xs_gates_untell(st);
        soon = soon || stale;
        if (s->pending)
            s->pending = !apply(s);
        soon = !tell_groups(s) || soon;
        due_ns = interrupt_ourselves(s);
        confined_ns = xs_confined_tick(st, s->flags & XS_WELCOME_MASKS);
        due_ns = XS_MIN(due_ns, confined_ns);
        watch = xs_gates_watch(st);
        if (s->broken)
            break;
        xs_sys_poll(p, 2, until_ms(soon || s->pending ? 1 : xs_control_retired_tick(st) || watch ? 100 : -1, due_ns));
        xs_fd_eventfd_drain(st->kick_fd);
        if (!stale)
            handle_messages(s);
        /* a thread that waits for a gate does not look at the lease */
        if (watch && xs_control_lease_over(st, s->page))
            xs_state_fail_open(st, s->page);
        if (atomic_load(&st->server) != s->page)
            s->broken = true;     /* its lease ran out, or the application chose another scheduler */
    }
}

static void nap(struct xs_state *st)
{
    struct pollfd p = {.fd = st->kick_fd, .events = POLLIN};
    uint64_t until = xs_now_ns() + RETRY_MS * XS_NS_PER_MS, now;
    uint32_t changes = atomic_load(&st->mode_changes);

    while ((now = xs_now_ns()) < until && atomic_load(&st->mode_changes) == changes) {
        xs_sys_poll(&p, 1, (int)((until - now) / XS_NS_PER_MS) + 1);
        xs_fd_eventfd_drain(st->kick_fd);
        xs_control_announce(st, NULL, NULL);
        xs_control_retired_tick(st);
    }
}

void xs_agent_run(struct xs_state *st, uint32_t changes)
{
    static struct agent_session s;      /* owner: the control thread; too large for its stack's taste */

    while (atomic_load(&st->mode_changes) == changes) {
        memset(&s, 0, sizeof(s));
        s.st = st;
        if (!join(&s)) {
            xs_state_decided(st);
            XS_WARN_ONCE("xserver does not answer; this process runs unscheduled until it does");
            nap(st);
            continue;
        }
        XS_INFO("joined xserver, session %llu", (unsigned long long)s.page->h.session);
        session_run(&s, changes);
        xs_control_retire(st, s.page);
        if (s.groups_ever)
            xs_interrupt_restore();
        if (s.fd >= 0 && fd_is_ours(&s))
            close(s.fd);
        if (atomic_load(&st->mode_changes) == changes) {
            XS_INFO("xserver has left this process; it runs unscheduled");
            xs_control_announce(st, NULL, NULL);
            xs_sys_poll(NULL, 0, 50);    /* no tight loop of attempts at a server that hangs up at once */
        }
    }
}
