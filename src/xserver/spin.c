/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/spin.h"

#include "base/clock.h"
#include "xserver/server.h"

#include <sys/epoll.h>

#define BURST_NS (20 * XS_NS_PER_MS)  /* the most that the budget saves up */
#define HOT_NS   (100 * XS_NS_PER_MS) /* looks at a program's doorbell for this long after a ring */

bool xs_spin_hear(struct xs_server *s)
{
    bool any = false;

    for (unsigned i = 0; i < s->spin.n_hot; i++) {
        if (xs_sched_process_rang(s->spin.hot[i]->process) && xs_rate_heard(s, s->spin.hot[i], false)) {
            s->spin.hot[i]->rang_ns = s->now_ns;
            any = true;
        }
    }
    return any;
}

static void set_asleep(struct xs_server *s, bool asleep)
{
    for (unsigned i = 0; i < s->spin.n_hot; i++)
        /* seq_cst pairs with the ring's: it counts the ring, then looks here; we say that we
         * sleep, then look at the count again */
        atomic_store_explicit(&s->spin.hot[i]->server_page->h.asleep, asleep, memory_order_seq_cst);
}

static void cool(struct xs_server *s)
{
    for (unsigned i = 0; i < s->spin.n_hot;) {
        struct xs_client *c = s->spin.hot[i];

        if (s->now_ns - c->rang_ns < HOT_NS) {
            i++;
            continue;
        }
        atomic_store_explicit(&c->server_page->h.asleep, 1, memory_order_seq_cst);
        c->hot = false;
        s->spin.hot[i] = s->spin.hot[--s->spin.n_hot];
        /* what it rang while we were awake */
        xs_sched_process_poll(s->sched, c->process, s->now_ns);
    }
}

static void refill_budget(struct xs_server *s)
{
    uint64_t passed = s->now_ns - s->spin.refill_ns;

    s->spin.refill_ns = s->now_ns;
    if (passed > 100 * BURST_NS)
        passed = 100 * BURST_NS;
    s->spin.budget_ns = XS_MIN(s->spin.budget_ns + passed * s->options.spin_cpu / 100, BURST_NS);
}

static bool competing(struct xs_server *s)
{
    if (xs_sched_contended(s->sched))
        s->spin.contended_ns = s->now_ns;
    return s->now_ns - s->spin.contended_ns < s->options.spin_us * XS_NS_PER_US;
}

uint64_t xs_spin(struct xs_server *s, uint64_t next, struct epoll_event *ev, int most, int *ret_n)
{
    uint64_t began, spin_ns = s->options.spin_us * XS_NS_PER_US, last, ahead_ns = xs_prewake_until(s);

    *ret_n = 0;
    if (s->spin.n_hot == 0)
        return next;
    refill_budget(s);
    cool(s);
    if (!s->spin.budget_ns || !s->spin.n_hot || (!competing(s) && !ahead_ns))
        return next;
    began = last = s->now_ns;
    s->counts.spins++;
    set_asleep(s, false);
    /* to sleep for less time than it takes to wake up is not worth it */
    for (unsigned round = 1;
         (s->now_ns - last < spin_ns || next < s->now_ns + spin_ns || s->now_ns < ahead_ns) &&
         s->now_ns - began < s->spin.budget_ns;
         round++) {
        bool rang = xs_spin_hear(s);

        rang = xs_rate_look(s) || rang;
        if (rang || s->now_ns >= next || s->now_ns >= s->lease_ns) {
            uint64_t decisions = s->counts.decision.count;

            next = xs_server_decide(s, s->now_ns);
            if (rang || s->counts.decision.count != decisions)
                last = s->now_ns;
            ahead_ns = xs_prewake_until(s);
            if (!competing(s) && !ahead_ns)
                break;
        }
        if (round % 16 == 0) {
            *ret_n = epoll_wait(s->sources.epoll, ev, most, 0);
            if (*ret_n != 0)
                break;
        }
        xs_cpu_relax();
        s->now_ns = xs_now_ns();
    }
    set_asleep(s, true);
    s->now_ns = xs_now_ns();
    if (xs_spin_hear(s))
        next = xs_server_decide(s, s->now_ns);
    s->counts.spin_ns += s->now_ns - began;
    s->spin.budget_ns -= XS_MIN(s->spin.budget_ns, s->now_ns - began);
    return next;
}

void xs_spin_heat(struct xs_server *s, struct xs_client *c)
{
    c->rang_ns = s->now_ns;
    if (c->hot || s->spin.n_hot == XS_HOT_CLIENTS)
        return;
    c->hot = true;
    s->spin.hot[s->spin.n_hot++] = c;
}

void xs_spin_forget(struct xs_server *s, struct xs_client *c)
{
    for (unsigned i = 0; c->hot && i < s->spin.n_hot; i++)
        if (s->spin.hot[i] == c) {
            s->spin.hot[i] = s->spin.hot[--s->spin.n_hot];
            c->hot = false;
        }
}
