/* SPDX-License-Identifier: Apache-2.0 */
/* The main loop: doorbells first, then decisions, then everything that may take longer. */
#include "xserver/server.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>

#define MAX_EVENTS    256
#define LATE_NS       (10 * XS_NS_PER_MS) /* counts a round that takes longer */
#define UNJOINED_NS   (5 * XS_NS_PER_S)    /* closes a connection that says nothing for so long */

uint64_t xs_server_decide(struct xs_server *s, uint64_t since_ns)
{
    uint64_t next;

    if (xs_sched_contended(s->sched)) /* also when this decision ends it */
        s->spin.contended_ns = s->now_ns;
    next = xs_sched_run(s->sched, s->now_ns);
    if (xs_sched_contended(s->sched))
        s->spin.contended_ns = s->now_ns;
    if (s->changed && since_ns)
        xs_latency_count(&s->counts.decision, xs_now_ns() - since_ns);
    s->changed = false;
    if (s->held || s->now_ns >= s->lease_ns) {
        s->held = false;
        s->lease_ns = xs_sched_renew_leases(s->sched, s->now_ns) ? s->now_ns + XS_LEASE_TICK_NS : UINT64_MAX;
    }
    if (s->level3.n_programs || s->level3.n_kfd) /* last: permits matter more than slices */
        next = XS_MIN(next, xs_lv3_update(s));
    return next;
}

/* Slow changes. Sets the time of the next look. */
static void housekeeping(struct xs_server *s)
{
    uint64_t next = UINT64_MAX;

    XS_LIST_FOR_SAFE(c, &s->unjoined, struct xs_client, link) {
        if (s->now_ns - c->accepted_ns >= UNJOINED_NS)
            xs_client_drop(s, c, "said nothing");
        else
            next = XS_MIN(next, c->accepted_ns + UNJOINED_NS);
    }
    if (xs_policy_flags(xs_sched_policy(s->sched)) & XS_POLICY_CPU_CLASS && !xs_list_empty(&s->clients)) {
        xs_requests_cpu_classes(s);
        next = XS_MIN(next, s->now_ns + (s->class_session ? 10 * XS_NS_PER_MS : XS_NS_PER_S));
    }
    if (s->options.idle_exit_s && xs_list_empty(&s->clients)) {
        uint64_t end = s->idle_since_ns + s->options.idle_exit_s * XS_NS_PER_S;

        if (s->now_ns >= end && xs_list_empty(&s->unjoined)) {
            if (xs_announced_any(&s->expected)) {
                s->idle_since_ns = s->now_ns;
            } else if (xs_server_retire(s)) {
                XS_INFO("no program for %llu s, ending", (unsigned long long)s->options.idle_exit_s);
                s->stop = true;
            } else {
                s->idle_since_ns = s->now_ns;
            }
            end = s->idle_since_ns + s->options.idle_exit_s * XS_NS_PER_S;
        }
        if (end > s->now_ns || s->stop) /* else a connection that says nothing is in the way: see above */
            next = XS_MIN(next, end);
    }
    next = XS_MIN(next, XS_MIN(xs_changes_due(s), xs_asks_housekeeping(s)));
    next = XS_MIN(next, xs_watchdog_look(&s->watchdog, s->now_ns));
    s->house_ns = XS_MIN(next, xs_timeline_housekeeping(&s->timeline, s->now_ns));
}

/* The slow half of a round. */
static void control(struct xs_server *s, const struct epoll_event *ev, int n)
{
    int first = n ? (int)(s->turn++ % (unsigned)n) : 0; /* in turn, since time may not suffice for all */

    for (int k = 0; k < n; k++) {
        int i = (first + k) % n;
        const struct xs_source *source = ev[i].data.ptr;

        if (!source->ready || (source->client && source->client->dead))
            continue;
        if (source->client && k && xs_now_ns() - s->now_ns > XS_CONTROL_NS)
            continue; /* it is still ready the next time */
        source->ready(s, source, ev[i].events);
    }
}

/* Looks at the doorbells that rang. @return true when any brought something new */
static bool bells(struct xs_server *s, const struct epoll_event *ev, int n)
{
    bool any = false;

    for (int i = 0; i < n; i++) {
        const struct xs_source *source = ev[i].data.ptr;

        if (source->ready || source->client->dead)
            continue;
        if (xs_rate_heard(s, source->client, true)) {
            any = true;
            xs_spin_heat(s, source->client);
        }
    }
    return any;
}

/* During a round the loop hears no other program. */
static void count_round(struct xs_server *s, uint64_t ns)
{
    if (ns > s->counts.longest_round_ns)
        s->counts.longest_round_ns = ns;
    if (ns > LATE_NS && s->counts.late_rounds++ == 0)
        XS_WARN("a round of the main loop took %.1f ms (see xsched_late_rounds_total in GET /metrics)",
                (double)ns / (double)XS_NS_PER_MS);
}

void xs_server_run(struct xs_server *s, void (*reload)(struct xs_server *s))
{
    struct epoll_event ev[MAX_EVENTS];
    uint64_t began_ns = 0;

    xs_realtime_init(&s->realtime);
    while (!s->stop) {
        uint64_t next;
        bool rang;
        int n = 0;

        s->now_ns = xs_now_ns();
        if (began_ns)
            count_round(s, s->now_ns - began_ns);
        xs_realtime_look(&s->realtime, s->options.realtime_cpu, s->now_ns);
        next = xs_server_decide(s, 0);
        next = xs_spin(s, next, ev, MAX_EVENTS, &n);
        if (n == 0) {
            uint64_t until = XS_MIN(XS_MIN(next, s->lease_ns), XS_MIN(s->house_ns, xs_prewake_next(s)));

            bool at_once = s->walking || s->changes.first || !xs_list_empty(&s->dead);

            until = XS_MIN(until, XS_MIN(s->rates.look_ns, XS_MIN(s->leave_ns, s->swaps.next_ns)));
            at_once = at_once || until <= s->now_ns;
            if (!at_once) {
                xs_sources_set_timer(&s->sources, until);
                s->counts.sleeps++;
            }
            n = epoll_wait(s->sources.epoll, ev, MAX_EVENTS, at_once ? 0 : -1);
        }
        if (n < 0)
            n = 0; /* EINTR */
        began_ns = s->now_ns = xs_now_ns();
        rang = bells(s, ev, n);
        if (n == MAX_EVENTS) /* there are more, doorbells among them */
            rang = xs_spin_hear(s) || rang;
        if (xs_rate_look(s) || rang)
            xs_server_decide(s, s->now_ns);
        xs_loads_look(s);
        control(s, ev, n);
        if (s->walking)
            xs_requests_walk(s);
        if (s->changes.first)
            xs_requests_change_step(s);
        xs_swaps_look(s);
        if (s->now_ns >= s->house_ns)
            housekeeping(s);
        if (s->reload) {
            s->reload = false;
            reload(s);
        }
        xs_client_leave_on(s);
        if (!xs_list_empty(&s->dead)) {
            xs_server_decide(s, 0); /* others go on before it frees the dead one's memory */
            xs_client_free_dead(s, XS_FREES_A_ROUND);
        }
    }
}
