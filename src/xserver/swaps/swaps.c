/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/swaps/swaps.h"

#include "base/log.h"
#include "base/str.h"
#include "host/procinfo.h"
#include "policy/swap_plan.h"
#include "transport/socket.h"
#include "xserver/server.h"

#include <errno.h>
#include <string.h>

#define PROGRAMS      64u         /* at which it looks; the plan compares each with each */
#define QUEUES        256u        /* of a program at which it looks, for commands */
#define LOOK_NS       (100 * XS_NS_PER_MS)  /* while a program lacks memory: do others work? */
#define RETRY_NS      XS_NS_PER_S           /* memory of programs that nobody moves may be free by now */
#define PATIENCE_NS   XS_SWAP_IDLE_NS
#define PATIENCE_MOVES 4u         /* at first */
#define PATIENCE_MOST (60 * XS_NS_PER_S)
#define IDLE_LIMIT_MS 50u         /* an idle program's commands end at once, or it is not idle */
#define LIMIT_MS      2000u
#define FOLLOW_MS     500u        /* memory is there so long after the others' commands have ended, at the latest */
#define MOST_BYTES    (1ull << 48) /* a program may say anything; sums stay right */
#define ANSWER_NS     (120 * XS_NS_PER_S)   /* no answer for so long: it is not moving any more */

void xs_swaps_init(struct xs_server *s)
{
    xs_list_init(&s->swaps.programs);
    s->swaps.next_ns = UINT64_MAX;
}

void xs_swaps_joined(struct xs_client *c)
{
    xs_list_init(&c->swap.link);
    c->swap.patience_ns = PATIENCE_NS;
}

/* Memory of the device is free, or may be: those that lacked some try again. */
static void others_try(struct xs_server *s)
{
    XS_LIST_FOR(c, &s->swaps.programs, struct xs_client, swap.link)
        c->swap.lacks = 0;
    s->swaps.next_ns = s->now_ns;
}

void xs_swaps_left(struct xs_server *s, struct xs_client *c)
{
    if (!c->swap.can)
        return;
    c->swap.can = false;
    xs_list_remove(&c->swap.link);
    others_try(s);
}

/* ---- asking ---- */

/* It sums the counts of its queues: they are compared, and mean nothing else. */
static void look_at_work(const struct xs_server *s, struct xs_client *c)
{
    uint64_t entered = 0, returned = 0;
    unsigned left = QUEUES;

    XS_LIST_FOR(q, &c->queues, struct xs_server_queue, in_client) {
        const struct xs_client_cell *cell = &c->page->cells[q->cell];

        returned += atomic_load(&cell->returned); /* first: what returns meanwhile has entered */
        entered += atomic_load(&cell->entered);
        if (--left == 0)
            break;
    }
    if (entered != c->swap.entered || !c->swap.entered_ns)
        c->swap.entered_ns = s->now_ns;
    c->swap.entered = entered;
    c->swap.returned = returned;
}

/* @param step  OUT, IN or FOLLOW */
static bool ask(struct xs_server *s, struct xs_client *c, enum xs_swap_step step, uint32_t limit_ms)
{
    bool out = step == XS_SWAP_STEP_OUT;
    union xs_msg m = {.memory_move = {.number = c->swap.number + 1, .out = out, .limit_ms = limit_ms,
                                      .room_comes = step == XS_SWAP_STEP_FOLLOW}};

    if (xs_socket_send(c->fd, &m, XS_MSG_memory_move, ++c->serial, NULL, 0) != 0)
        return false;             /* it reads nothing: later */
    c->swap.number++;
    c->swap.moving = true;
    c->swap.to_out = out;
    c->swap.asked_ns = s->now_ns;
    XS_DEBG("pid %d: asked to move its memory %s", (int)c->peer.pid, out ? "out" : "in");
    return true;
}

static void answer_want(struct xs_client *c, bool made)
{
    union xs_msg m = {.memory_room = {.number = c->swap.want.number, .made = made}};

    if (xs_socket_send(c->fd, &m, XS_MSG_memory_room, ++c->serial, NULL, 0) == 0)
        c->swap.want.answered = c->swap.want.number;
}

/* ---- what programs say ---- */

/* While its memory is out, it cannot run, and keeps nobody off the device. */
static void set_absent(struct xs_server *s, struct xs_client *c, bool absent)
{
    if (c->swap.out == absent)
        return;
    c->swap.out = absent;
    c->swap.since_ns = s->now_ns;
    xs_sched_process_say_absent(c->process, absent);
    xs_changes_follow(s, c);
}

/* A program that was out only for a moment goes less readily the next time. */
static void learn_patience(struct xs_server *s, struct xs_client *c)
{
    uint64_t was_out_ns = s->now_ns - c->swap.since_ns;

    if (!c->swap.by_plan)
        return;
    if (was_out_ns < 8 * c->swap.move_ns || was_out_ns < c->swap.patience_ns)
        c->swap.patience_ns = XS_MIN(2 * c->swap.patience_ns, PATIENCE_MOST);
    else
        c->swap.patience_ns = XS_MAX(c->swap.patience_ns / 2, PATIENCE_NS);
}

static void moved(struct xs_server *s, struct xs_client *c, const struct xs_msg_memory *m)
{
    struct xs_client_record *r = &c->record;

    c->swap.moving = false;
    xs_str_copy(r->swap_why, sizeof(r->swap_why), m->error ? m->why : "");
    xs_text_clean(r->swap_why);
    if (m->error) {
        if (c->swap.to_out) {
            c->swap.by_hand = false;
            c->swap.patience_ns = XS_MIN(2 * c->swap.patience_ns, PATIENCE_MOST);
            c->swap.entered_ns = s->now_ns; /* it is not idle */
            c->swap.since_ns = s->now_ns;
        }
        /* with another error no room helps; it tries again later */
        c->swap.lacks = c->swap.to_out ? 0 : m->error == ENOMEM && m->lacks ? m->lacks : UINT64_MAX;
        c->swap.lacks_ns = s->now_ns;
        return;
    }
    if (!c->swap.move_ns)         /* until it is known how long it stays out */
        c->swap.patience_ns = XS_MAX(c->swap.patience_ns, PATIENCE_MOVES * (uint64_t)m->took_us * XS_NS_PER_US);
    c->swap.move_ns = (uint64_t)m->took_us * XS_NS_PER_US;
    c->swap.lacks = 0;
    if (m->bytes || m->took_us) {
        r->swap_moves++;
        r->swap_bytes += m->bytes;
        r->swap_ns += c->swap.move_ns;
    }
    if (c->swap.to_out && m->out)
        others_try(s);
}

void xs_swaps_told(struct xs_server *s, struct xs_client *c, const struct xs_msg_memory *m)
{
    bool answers = m->answers == c->swap.number;

    if (!c->swap.can) {
        c->swap.can = true;
        c->swap.since_ns = s->now_ns;
        c->swap.number = XS_MAX(c->swap.number, m->answers); /* of the session before */
        xs_list_add(&s->swaps.programs, &c->swap.link);
    } else if (c->swap.moving && answers) {
        moved(s, c, m);
    }
    c->swap.waits = m->waits;
    if (!c->swap.moving) {
        if (c->swap.out && !m->out)
            learn_patience(s, c);
        look_at_work(s, c);
        if (!m->out)
            c->swap.by_plan = false;
        set_absent(s, c, m->out);
    }
    s->swaps.next_ns = s->now_ns;
}

const char *xs_swaps_want(struct xs_server *s, struct xs_client *c, const struct xs_msg_memory_want *m)
{
    if (!c->swap.can)
        return "its memory cannot move";
    if (m->number != c->swap.want.number) {
        c->swap.want.since_ns = s->now_ns;
        c->swap.lacks = m->bytes;
        c->swap.lacks_ns = s->now_ns;
    }
    c->swap.want.number = m->number;
    c->swap.want.bytes = m->bytes;
    c->swap.want.priority = xs_limits_clamp(&c->limits, m->priority);
    c->swap.want.device = m->device;
    s->swaps.next_ns = s->now_ns;
    return NULL;
}

void xs_swaps_worked(struct xs_server *s, struct xs_client *c)
{
    if (!c->swap.can)
        return;
    if (c->swap.out)
        s->swaps.next_ns = s->now_ns;
    else
        look_at_work(s, c); /* a plan asks since when it is idle */
}

const char *xs_swaps_by_hand(struct xs_server *s, struct xs_client *c, bool out)
{
    if (!c->swap.can)
        return "its memory cannot move: it was not started with `xsched run --swap`, or has no CUDA context yet";
    if (c->swap.moving)
        return "its memory is moving already";
    if (!ask(s, c, out ? XS_SWAP_STEP_OUT : XS_SWAP_STEP_IN, LIMIT_MS))
        return "it does not read its messages";
    c->swap.by_hand = out;
    c->record.swap_why[0] = 0;
    return NULL;
}

/* ---- the plan ---- */

static bool wants(const struct xs_client *c)
{
    return c->swap.want.number != c->swap.want.answered;
}

static bool works(const struct xs_server *s, const struct xs_client *c)
{
    if (c->swap.out)
        return c->swap.waits || c->swap.entered != c->swap.returned;
    return s->now_ns - c->swap.entered_ns < LOOK_NS + LOOK_NS / 2;
}

static int32_t priority_of(const struct xs_client *c)
{
    int32_t most = xs_list_empty(&c->queues) ? c->swap.want.priority : PRIORITY_MIN;
    unsigned left = QUEUES;

    XS_LIST_FOR(q, &((struct xs_client *)(uintptr_t)c)->queues, struct xs_server_queue, in_client) {
        most = XS_MAX(most, xs_sched_queue_hints(q->sched)->priority);
        if (--left == 0)
            break;
    }
    return most;
}

static struct xs_swap_program facts(const struct xs_server *s, const struct xs_client *c)
{
    const struct xs_swap_of *w = &c->swap;
    uint64_t waits_since_ns = wants(c) ? w->want.since_ns : w->since_ns;

    return (struct xs_swap_program){
        .priority = priority_of(c),
        .bytes = XS_MIN(atomic_load_explicit(&c->page->h.memory_movable, memory_order_relaxed), MOST_BYTES),
        .out = w->out,
        .moving = w->moving,
        .by_hand = w->by_hand || c->record.held,
        .works = works(s, c),
        .idle_ns = s->now_ns - w->entered_ns,
        .stayed_ns = s->now_ns - w->since_ns,
        .waits_ns = s->now_ns - waits_since_ns,
        .move_ns = w->move_ns,
        .patience_ns = w->patience_ns,
        .wants = wants(c) ? w->want.bytes : 0,
        .lacks = w->lacks,
    };
}

static void carry_out(struct xs_server *s, struct xs_client *c, const struct xs_swap_program *p)
{
    switch (p->step) {
    case XS_SWAP_STEP_OUT:
        if (ask(s, c, p->step, p->works ? LIMIT_MS : IDLE_LIMIT_MS))
            c->swap.by_plan = true;
        break;
    case XS_SWAP_STEP_IN:
        ask(s, c, p->step, LIMIT_MS);
        break;
    case XS_SWAP_STEP_FOLLOW:
        ask(s, c, p->step, LIMIT_MS + FOLLOW_MS);
        break;
    case XS_SWAP_STEP_RETRY:
    case XS_SWAP_STEP_REFUSE:
        answer_want(c, p->step == XS_SWAP_STEP_RETRY);
        break;
    default:
        break;
    }
}

/* Programs of one device make room for each other. A program belongs to the device of its first queue; its memory moves as
 * a whole. */
static XDevice device_of(const struct xs_client *c)
{
    if (xs_list_empty(&c->queues))
        return c->swap.want.device;
    return XS_CONTAINER_OF(c->queues.next, struct xs_server_queue, in_client)->device;
}

static uint64_t plan_device(struct xs_server *s, XDevice device, struct xs_client **all, size_t n)
{
    struct xs_swap_program p[PROGRAMS];
    struct xs_client *of[PROGRAMS];
    uint64_t next_ns;
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        if (device_of(all[i]) == device) {
            of[k] = all[i];
            p[k++] = facts(s, all[i]);
        }
    next_ns = xs_swap_plan(p, k);
    for (size_t i = 0; i < k; i++)
        carry_out(s, of[i], &p[i]);
    return next_ns;
}

/* @return whether somebody lacks memory */
static bool refresh(struct xs_server *s, struct xs_client *c)
{
    struct xs_swap_of *w = &c->swap;

    look_at_work(s, c);
    if (w->moving && s->now_ns - w->asked_ns > ANSWER_NS)
        w->moving = false;
    if (w->lacks && s->now_ns - w->lacks_ns > RETRY_NS && !wants(c))
        w->lacks = 0;
    return wants(c) || (w->out && !w->by_hand && works(s, c));
}

void xs_swaps_look(struct xs_server *s)
{
    struct xs_client *all[PROGRAMS];
    bool need = false;
    uint64_t next_ns = UINT64_MAX;
    size_t n = 0;

    if (s->now_ns < s->swaps.next_ns)
        return;
    XS_LIST_FOR(c, &s->swaps.programs, struct xs_client, swap.link) {
        if (n == PROGRAMS)
            break;
        need = refresh(s, c) || need;
        all[n++] = c;
    }
    for (size_t i = 0; need && i < n; i++) {
        size_t first = 0;

        while (device_of(all[first]) != device_of(all[i]))
            first++;
        if (first == i) /* the first program of its device */
            next_ns = XS_MIN(next_ns, plan_device(s, device_of(all[i]), all, n));
    }
    s->swaps.next_ns = need ? s->now_ns + XS_MIN(next_ns, LOOK_NS) : UINT64_MAX;
}

void xs_swaps_describe(const struct xs_client *c, struct xs_client_record *ret)
{
    const struct xs_swap_of *w = &c->swap;

    ret->swap = !w->can ? XS_SWAP_RECORD_NO
                : w->moving ? (w->to_out ? XS_SWAP_RECORD_GOES_OUT : XS_SWAP_RECORD_COMES_IN)
                : w->out ? XS_SWAP_RECORD_OUT : XS_SWAP_RECORD_IN;
    ret->swap_movable = w->can ? atomic_load_explicit(&c->page->h.memory_movable, memory_order_relaxed) : 0; /* for people */
}
