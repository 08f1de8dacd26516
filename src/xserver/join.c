/* SPDX-License-Identifier: Apache-2.0 */
/* A program's first message, hello: from a connection to a session with two shared pages. */
#include "xserver/server.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/job.h"
#include "base/log.h"
#include "base/map.h"
#include "base/static_probe.h"
#include "base/str.h"
#include "host/namespaces.h"
#include "host/operators.h"
#include "host/procinfo.h"
#include "host/subuids.h"
#include "xserver/shares/log_share.h"
#include "xserver/shares/user_quota.h"
#include "xserver/windows.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* @return false, as every step does that refuses */
static bool refuse(struct xs_server *s, struct xs_client *c, enum xs_refused_reason reason, const char *text)
{
    xs_client_refuse(s, c, reason, XS_MSG_hello, 0, text);
    xs_client_drop(s, c, "refused");
    return false;
}

/* ---- may it join? ---- */

static bool no_descriptors(const struct xs_client *c)
{
    int fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
    bool none = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == EINVAL); /* EINVAL: a limit of 0 */

    if (fd >= 0)
        close(fd);
    return none;
}

/* A process may join again before xserver has seen the end of its old connection. */
static bool supersede(struct xs_server *s, struct xs_client *c, uint64_t prefix)
{
    XS_LIST_FOR_SAFE(other, &s->clients, struct xs_client, link) {
        if (other->record.handle_prefix != prefix)
            continue;
        if (other->peer.uid != c->peer.uid || other->peer.pid != c->peer.pid)
            return false;
        xs_client_drop(s, other, "joined anew");
    }
    return true;
}

static bool check(struct xs_server *s, struct xs_client *c, const struct xs_msg_hello *m, unsigned n_fds)
{
    const char *wrong;

    if (c->joined)
        return refuse(s, c, XS_REFUSED_ORDER, "hello comes once");
    if (n_fds < 2 && no_descriptors(c)) /* the kernel dropped those that came */
        return refuse(s, c, XS_REFUSED_QUOTA, "xserver has no descriptors left (its limit of open files)");
    if (n_fds < 2)
        return refuse(s, c, XS_REFUSED_PAGE, "hello needs two descriptors: the client page and an eventfd");
    if (!supersede(s, c, m->handle_prefix))
        return refuse(s, c, XS_REFUSED_DUPLICATE, "the prefix of its handles is another process's");
    wrong = xs_user_quota_join(s, c);
    return wrong ? refuse(s, c, XS_REFUSED_QUOTA, wrong) : true;
}

/* ---- its pages, and its place in the scheduler ---- */

/* @return NULL, or the reason why not */
static const char *take_page(struct xs_client *c, int fd)
{
    struct xs_client_header *h;
    void *map;
    int r = xs_fd_map_sealed(fd, sizeof(struct xs_client_page), 0, &map);

    if (r == -EPERM)
        return "the page is not a memory file sealed against shrinking";
    if (r == -EMSGSIZE)
        return "the page has another size";
    if (r < 0)
        return "mmap of the page failed";
    h = map;
    if (h->magic != XS_PAGE_MAGIC || h->version != XS_PAGE_VERSION || h->queues != XS_PAGE_QUEUES ||
        h->cell_bytes != sizeof(struct xs_client_cell)) {
        munmap(map, sizeof(struct xs_client_page));
        return "the page has another layout";
    }
    c->page = map;
    return NULL;
}

/* A descriptor of another kind could block or starve the loop. */
static bool is_eventfd(int fd)
{
    char path[40], target[40];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    n = readlink(path, target, sizeof(target) - 1);
    if (n < 0)
        return false;
    target[n] = 0;
    return !strcmp(target, "anon_inode:[eventfd]");
}

static int make_server_page(struct xs_client *c, uint64_t session, int *ret_fd)
{
    struct xs_server_page *page;
    void *map;
    int fd = xs_fd_memfd("xsched-server", sizeof(struct xs_server_page)), r;

    if (fd < 0)
        return fd;
    r = xs_fd_map_sealed(fd, sizeof(struct xs_server_page), 1, &map);
    if (r < 0) {
        close(fd);
        return r;
    }
    page = map;
    page->h.magic = XS_PAGE_MAGIC;
    page->h.version = XS_PAGE_VERSION;
    page->h.queues = XS_PAGE_QUEUES;
    page->h.cell_bytes = sizeof(struct xs_server_cell);
    page->h.session = session;
    atomic_store_explicit(&page->h.asleep, 1, memory_order_seq_cst);
    c->server_page = page;
    *ret_fd = fd;
    return 0;
}

static int add_process(struct xs_server *s, struct xs_client *c, const struct xs_msg_hello *m)
{
    char group[XS_GROUP_BYTES + 16], job[XS_JOB_BYTES + 16];
    struct xs_sched_process_info info = {
        .id = c->session,
        .group = m->group[0] ? group : NULL,
        .job = job,
        /* MPS has one user at a time; for masks see decision 0048 */
        .space = m->space ? xs_hash_u64(m->space ^ xs_hash_u64(c->peer.uid)) | 1 : 0,
        .intra = m->flags & XS_HELLO_INTRA,
        .user = c->record.share_key, /* pods and subordinate ids as everywhere */
        .uid = c->peer.uid,
        .drain = m->flags & XS_HELLO_DRAIN ? XS_DRAIN_ON
                 : m->flags & XS_HELLO_NO_DRAIN ? XS_DRAIN_OFF : XS_DRAIN_BY_POLICY,
        .client = c->page,
        .server = c->server_page,
        .clock_ahead_ns = (int64_t)((uint64_t)c->page->h.clock_offset_ns - (uint64_t)s->clock_offset_ns),
    };

    snprintf(group, sizeof(group), "%u:%s", c->peer.uid, m->group); /* a gang never spans users */
    /* nor does a job, and no job has the name of a gang; processes of one user without a job may
     * belong together */
    snprintf(job, sizeof(job), "%u %s", c->peer.uid, m->job);
    xs_text_clean(job);
    c->process = xs_sched_process_add(s->sched, &info, c);
    return c->process ? 0 : -ENOMEM;
}

/* @param ret_fd  of the server page, for the program; the caller closes it */
static bool open_session(struct xs_server *s, struct xs_client *c, const struct xs_msg_hello *m, int *fds, int *ret_fd)
{
    const char *wrong = take_page(c, fds[0]);
    int fd = -1, r;

    if (!wrong)
        xs_fd_close(&fds[0]); /* a memory file, as its seals show: closing it does not wait */
    if (!wrong && !is_eventfd(fds[1]))
        wrong = "the doorbell is not an eventfd";
    if (wrong)
        return refuse(s, c, XS_REFUSED_PAGE, wrong);
    c->session = s->counts.session_next++;
    r = make_server_page(c, c->session, &fd);
    if (r == 0)
        r = add_process(s, c, m);
    if (r < 0) {
        xs_fd_close(&fd);
        return refuse(s, c, XS_REFUSED_QUOTA, strerror(-r));
    }
    *ret_fd = fd;
    return true;
}

/* ---- joined ---- */

static void move_to_clients(struct xs_server *s, struct xs_client *c)
{
    c->joined = true;
    xs_quota_give(&s->quota, c->user, XS_POOL_UNJOINED, 1);
    s->n_clients++;
    s->n_unjoined--;
    s->counts.joined_ever++;
    xs_list_remove(&c->link);
    xs_list_add(&s->clients, &c->link);
    xs_list_add(xs_pid_bucket(s, c->peer.pid), &c->of_pid);
}

static void fill_record(struct xs_client *c, const struct xs_msg_hello *m)
{
    struct xs_client_record *r = &c->record;

    r->handle_prefix = m->handle_prefix;
    r->session = c->session;
    r->pid_in_namespace = m->pid_in_namespace;
    r->joined_s = (int64_t)time(NULL);
    r->protocol_minor = m->protocol_minor;
    r->intra = m->flags & XS_HELLO_INTRA;
    r->space = m->space != 0;
    r->mps_higher = r->space && m->flags & XS_HELLO_MPS_HIGHER;
    r->mps_lower = r->space && !r->mps_higher && m->flags & XS_HELLO_MPS_LOWER;
    xs_str_copy(r->group, sizeof(r->group), m->group);
    xs_text_clean(r->group);
    xs_proc_name(c->peer.pid, r->cmdline, sizeof(r->cmdline));
    xs_proc_container(c->peer.pid, &r->container);
}

bool xs_client_operates(const struct xs_server *s, const struct xs_client *c)
{
    if (c->peer.uid == s->own_uid && s->own_uid != 0)
        return true;
    return (c->peer.uid == 0 || xs_operators_have_peer(c->fd)) && xs_namespaces_are_hosts(c->peer.pid, c->peer.pidfd);
}

void xs_client_take_limits(struct xs_server *s, struct xs_client *c)
{
    xs_limits_get(c->fd, c->peer.pid, c->peer.uid, c->peer.gid, xs_subuids_owner(c->peer.uid), &c->limits);
    c->limits.exempt = c->limits.exempt || c->operates;
    xs_sched_process_set_exempt(s->sched, c->process, c->limits.exempt);
    xs_sched_process_set_priority_most(c->process, c->limits.most);
    xs_sched_process_set_weight(s->sched, c->process, c->limits.weight);
}

/* An operator's wishes for a process hold for its later sessions: a process may lose its connection
 * and join anew. */
static void keep_wishes(struct xs_server *s, struct xs_client *c)
{
    const struct xs_client_record *last = xs_client_last_record(s, c);

    if (!last)
        return;
    c->record.held = last->held && (!last->held_until_ns || last->held_until_ns > s->now_ns);
    c->record.held_until_ns = c->record.held ? last->held_until_ns : 0;
    c->record.priority_set = last->priority_set;
    c->record.priority = last->priority;
    c->record.priority_ns = last->priority_ns;
    if (c->record.held_until_ns)
        xs_changes_end_at(s, c->record.held_until_ns);
    if (c->record.held)
        xs_sched_process_set_held(s->sched, c->process, true);
    if (last->utilization_set) {
        c->record.utilization_set = true;
        c->record.utilization = last->utilization;
        xs_sched_process_set_utilization(s->sched, c->process, last->utilization);
    }
}

/* Applies the program's own wishes, those of an operator, and whether it has the active window. */
static void apply_wishes(struct xs_server *s, struct xs_client *c, const struct xs_msg_hello *m)
{
    if (m->flags & XS_HELLO_UTILIZATION) {
        c->record.utilization = m->utilization;
        xs_sched_process_set_utilization(s->sched, c->process, m->utilization);
    }
    keep_wishes(s, c);
    xs_windows_joined(s, c);
}

static int welcome(struct xs_server *s, struct xs_client *c, int page_fd)
{
    union xs_msg m;

    memset(&m, 0, sizeof(m));
    m.welcome.protocol_major = XS_WIRE_MAJOR;
    m.welcome.protocol_minor = XS_WIRE_MINOR;
    m.welcome.session = c->session;
    m.welcome.policy = xs_sched_policy(s->sched)->type;
    m.welcome.flags = s->options.lv3_queues ? XS_WELCOME_MASKS : 0;
    return xs_socket_send(c->fd, &m, XS_MSG_welcome, ++c->serial, &page_fd, 1);
}

static void log_joined(const struct xs_server *s, struct xs_client *c)
{
    if (xs_log_share(c, s->now_ns))
        XS_INFO("pid %d (uid %u) joined, protocol 1.%u: %s", (int)c->peer.pid, c->peer.uid, c->record.protocol_minor,
                c->record.cmdline);
}

bool xs_client_join(struct xs_server *s, struct xs_client *c, const struct xs_msg_hello *m, int *fds, unsigned n_fds)
{
    int page_fd, r;

    if (!check(s, c, m, n_fds) || !open_session(s, c, m, fds, &page_fd))
        return false;
    c->bell = fds[1];
    fds[1] = -1;
    move_to_clients(s, c);
    fill_record(c, m);
    xs_client_take_limits(s, c);
    apply_wishes(s, c, m);
    r = welcome(s, c, page_fd);
    close(page_fd);
    if (r == 0)
        /* edge-triggered: each write to the eventfd is an event, and the count stays unread */
        r = xs_sources_add(s, c->bell, EPOLLIN | EPOLLET, &c->bell_source);
    if (r < 0) {
        xs_client_drop(s, c, "the answer did not reach it");
        return false;
    }
    if (s->death_watch)
        c->death_slot = xs_death_watch_add(s->death_watch, &c->page->h.owner_tid);
    s->class_session = 0;
    s->house_ns = s->now_ns;
    XS_PROBE2(join, c->peer.pid, c->session);
    if (!xs_close_worker_read_cmdline(s->close_worker, c->peer.uid, c->peer.pid, c->session))
        log_joined(s, c);
    return true;
}

static bool is_alive(const struct xs_client *c)
{
    struct pollfd ended = {.fd = c->peer.pidfd, .events = POLLIN};

    return c->peer.pidfd < 0 || poll(&ended, 1, 0) == 0;
}

void xs_client_take_cmdlines(struct xs_server *s)
{
    struct xs_close_worker_answer *a;

    while (s->close_worker && (a = xs_close_worker_take(s->close_worker)) != NULL) {
        /* those that joined last are the last in the list */
        for (struct xs_list *at = s->clients.prev; at != &s->clients; at = at->prev) {
            struct xs_client *c = XS_CONTAINER_OF(at, struct xs_client, link);

            if (c->session < a->session)
                break;
            if (c->session != a->session)
                continue;
            if (is_alive(c)) /* else it may be another process's command line, with the same number */
                xs_str_copy(c->record.cmdline, sizeof(c->record.cmdline), a->cmdline);
            log_joined(s, c);
            break;
        }
        free(a);
    }
}
