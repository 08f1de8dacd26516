/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/shares/rate_limit.h"

#include "base/log.h"
#include "xserver/server.h"
#include "xserver/shares/log_share.h"

#include <sys/epoll.h>

void xs_rates_init(struct xs_rates *r)
{
    xs_list_init(&r->quiet);
    xs_list_init(&r->muted);
    r->look_ns = UINT64_MAX;
}

void xs_rate_init(struct xs_rate_of *r)
{
    xs_list_init(&r->quiet_link);
    xs_list_init(&r->muted_link);
}

static void recover(struct xs_rate *r, uint64_t now_ns)
{
    uint64_t passed = now_ns > r->since_ns ? now_ns - r->since_ns : 0;
    uint64_t back = XS_MIN(passed, XS_NS_PER_S) * (XS_RATE_A_SECOND * XS_RATE_PARTS) / XS_NS_PER_S;

    if (!back)
        return;
    r->spent -= XS_MIN(back, r->spent);
    r->since_ns = now_ns;
}

bool xs_rate_spend(struct xs_rate *r, unsigned parts, uint64_t looks, uint64_t now_ns)
{
    recover(r, now_ns);
    r->spent += parts + looks / XS_RATE_WORK * XS_RATE_PARTS;
    r->spent = XS_MIN(r->spent, (uint64_t)2 * XS_RATE_BURST * XS_RATE_PARTS);
    return r->spent <= XS_RATE_BURST * XS_RATE_PARTS;
}

bool xs_rate_recovered(struct xs_rate *r, unsigned sixteenths, uint64_t now_ns)
{
    recover(r, now_ns);
    return r->spent <= XS_RATE_BURST * XS_RATE_PARTS / 16 * (16 - sixteenths);
}

static void listen_to(struct xs_server *s, struct xs_client *c, bool on)
{
    struct epoll_event ev = {.events = on ? EPOLLIN | EPOLLET : 0, .data.ptr = &c->bell_source};

    epoll_ctl(s->sources.epoll, EPOLL_CTL_MOD, c->bell, &ev);
}

static void mute(struct xs_server *s, struct xs_client *c)
{
    if (!c->user->warned && xs_log_share(c, s->now_ns)) {
        c->user->warned = true;
        XS_WARN("pid %d (uid %u) rings too often: xserver looks at it each %u us meanwhile", (int)c->peer.pid, c->peer.uid,
                (unsigned)(XS_RATE_LOOK_NS / XS_NS_PER_US));
    }
    s->counts.muted++;
    listen_to(s, c, false);
    s->rates.look_ns = XS_MIN(s->rates.look_ns, s->now_ns + XS_RATE_LOOK_NS);
    xs_list_add(&s->rates.muted, &c->rate.muted_link);
}

static bool poll_and_spend(struct xs_server *s, struct xs_client *c, bool woke, bool *ret_within)
{
    uint64_t before = xs_sched_work(s->sched);
    bool news = xs_sched_process_poll(s->sched, c->process, s->now_ns);

    *ret_within = xs_rate_spend(&c->user->rings, !news ? XS_RATE_PARTS : woke ? XS_RATE_WOKE : XS_RATE_AWAKE,
                                 xs_sched_work(s->sched) - before, s->now_ns);
    return news;
}

bool xs_rate_heard(struct xs_server *s, struct xs_client *c, bool woke)
{
    bool news, within;

    if (!xs_list_empty(&c->rate.muted_link))
        return false;
    news = poll_and_spend(s, c, woke, &within);
    if (!within)
        mute(s, c);
    return news;
}

/* What its user pays from: questions do not keep a user's programs waiting. */
static struct xs_rate *account_of(const struct xs_client *c)
{
    return c->asking ? &c->user->asks : &c->user->messages;
}

static bool speak(struct xs_server *s, struct xs_client *c, unsigned parts)
{
    if (c->privileged || xs_rate_spend(account_of(c), parts, 0, s->now_ns))
        return true;
    if (xs_list_empty(&c->rate.quiet_link)) {
        xs_list_add(&s->rates.quiet, &c->rate.quiet_link);
        s->rates.look_ns = XS_MIN(s->rates.look_ns, s->now_ns + XS_RATE_LOOK_NS);
        xs_client_listen(s, c);
    }
    return false;
}

bool xs_rate_may_speak(struct xs_server *s, struct xs_client *c)
{
    return speak(s, c, 0);
}

bool xs_rate_spoke(struct xs_server *s, struct xs_client *c, bool first)
{
    return speak(s, c, XS_RATE_PARTS * (first ? XS_RATE_HELLO : XS_RATE_MESSAGE));
}

void xs_rate_asked(struct xs_server *s, struct xs_client *c, uint64_t work_ns)
{
    (void)speak(s, c, (unsigned)XS_MIN(work_ns / XS_ASKS_WORK_NS, (uint64_t)UINT32_MAX));
}

static void hear_listener(struct xs_server *s, bool on)
{
    s->rates.deaf = !on;
    xs_sources_hear_listener(s, on);
}

bool xs_rate_accepted(struct xs_server *s)
{
    if (xs_rate_spend(&s->rates.accepts, XS_RATE_PARTS * XS_RATE_ACCEPT, 0, s->now_ns))
        return true;
    hear_listener(s, false);
    s->rates.look_ns = XS_MIN(s->rates.look_ns, s->now_ns + XS_RATE_LOOK_NS);
    return false;
}

/* Reads messages again of the programs whose users may speak again. */
static void read_again(struct xs_server *s)
{
    for (unsigned i = 0; i < XS_RATE_LOOKS && !xs_list_empty(&s->rates.quiet); i++) {
        struct xs_client *c = XS_CONTAINER_OF(s->rates.quiet.next, struct xs_client, rate.quiet_link);

        xs_list_remove(&c->rate.quiet_link);
        if (xs_rate_recovered(account_of(c), 1, s->now_ns)) {
            xs_client_listen(s, c);
            continue;
        }
        xs_list_add(&s->rates.quiet, &c->rate.quiet_link);
        if (s->rates.quiet.next == &c->rate.quiet_link)
            break; /* the only one */
    }
}

bool xs_rate_look(struct xs_server *s)
{
    bool news = false, within;

    if (XS_LIKELY(s->now_ns < s->rates.look_ns))
        return false;
    read_again(s);
    if (s->rates.deaf && xs_rate_recovered(&s->rates.accepts, 1, s->now_ns))
        hear_listener(s, true);
    for (unsigned i = 0; i < XS_RATE_LOOKS && !xs_list_empty(&s->rates.muted); i++) {
        struct xs_client *c = XS_CONTAINER_OF(s->rates.muted.next, struct xs_client, rate.muted_link);

        xs_list_remove(&c->rate.muted_link);
        if (xs_rate_recovered(&c->user->rings, 8, s->now_ns)) {
            listen_to(s, c, true); /* an event comes at once, if it rang meanwhile */
            continue;
        }
        news |= poll_and_spend(s, c, false, &within);
        xs_list_add(&s->rates.muted, &c->rate.muted_link);
        if (s->rates.muted.next == &c->rate.muted_link)
            break; /* the only one */
    }
    s->rates.look_ns = s->now_ns + XS_RATE_LOOK_NS;
    if (xs_list_empty(&s->rates.muted) && xs_list_empty(&s->rates.quiet) && !s->rates.deaf)
        s->rates.look_ns = UINT64_MAX;
    return news;
}

void xs_rate_forget(struct xs_client *c)
{
    xs_list_remove(&c->rate.quiet_link);
    xs_list_remove(&c->rate.muted_link);
}
