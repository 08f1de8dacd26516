/* SPDX-License-Identifier: Apache-2.0 */
/* hal/common/event_watch.c: the thread that asks for events, and contexts that end. No event is asked for whose context is gone,
 * and each mark is told of once. */
#include "mc.h"

#include "base/lock.h"

/* what a thread read under the lock is part of what it knows */
#define xs_lock_release(lock) (mc_learn(g_watches, ROWS * sizeof(g_watches[0])), xs_lock_release(lock))
#define ROWS                  2

#include "hal/common/event_watch.c"

#define QUEUE ((struct xs_queue *)(void *)&g_queue)

static struct xs_watch_place g_place;
static char g_queue;               /* only its address counts */
static _Atomic uint32_t g_reached; /* events that the device has reached, by bits */

static struct {
    char events[2];               /* the handles are the addresses */
    bool alive[2];
    int told[3];                  /* of marks 1 and 2 */
} g_ghost;

static int ask(const struct xs_watch_place *place, void *event)
{
    size_t i = (size_t)((char *)event - g_ghost.events);

    mc_check(place == &g_place && i < 2, "no event of ours");
    mc_check(g_ghost.alive[i], "an event is asked for whose context is gone");
    mc_step();
    mc_check(g_ghost.alive[i], "a context ended while one of its events was asked for");
    return atomic_load(&g_reached) >> i & 1 ? 0 : 1;
}

static void done(struct xs_queue *q, uint64_t number, bool reached)
{
    (void)reached;
    mc_check(q == QUEUE && ++g_ghost.told[number] == 1, "a mark is told of twice");
}

static const struct xs_watch_ops k_ops = {"model", NULL, ask, done};

static void mark(uint64_t number)
{
    void *event = NULL;
    int row = xs_watch_take(&k_ops, &g_place, &event);

    mc_check(row >= 0 && row < ROWS, "no row");
    if (!event) {
        event = &g_ghost.events[number - 1];
        g_ghost.alive[number - 1] = true;
    }
    mc_check(g_ghost.alive[(char *)event - g_ghost.events], "an event is used again whose context is gone");
    xs_watch_set(row, event, QUEUE, number);
}

static void init(void)
{
    memset(g_watches, 0, ROWS * sizeof(g_watches[0]));
    memset(&g_lock, 0, sizeof(g_lock));
    memset(&g_place, 0, sizeof(g_place));
    memset(&g_ghost, 0, sizeof(g_ghost));
    *MC_PLAIN(&g_reached) = 0;
    *MC_PLAIN(&g_pending) = 0;
    *MC_PLAIN(&g_asking) = NULL;
    *MC_PLAIN(&g_pid) = (int32_t)getpid(); /* the thread is there */
    g_used = 0;
    g_ops = &k_ops;
}

/* The first event is reached as soon as it is recorded. */
static void init_fast(void)
{
    init();
    *MC_PLAIN(&g_reached) = 1;
}

/* A mark is in flight already. */
static void init_marked(void)
{
    init();
    g_ghost.alive[0] = true;
    g_watches[0] = (struct watched_event){&g_place, &g_ghost.events[0], QUEUE, 1, false};
    g_used = 1;
    *MC_PLAIN(&g_pending) = 1;
}

/* ---- what happens at once ---- */

static void look_around(void)
{
    struct finds finds = {0};

    for (unsigned i = 0; i < ROWS; i++)
        if (look_at(i, &finds))
            atomic_fetch_sub(&g_pending, 1);
    tell(&finds);
}

static void end_of_context(void)
{
    xs_watch_hold(&g_place);
    for (int i = 0; i < 2; i++)
        g_ghost.alive[i] = false;
    mc_step();
    xs_watch_forget(&k_ops, &g_place);
    xs_watch_go_on(&g_place);
}

/* The context ends, another one has its storage, and a mark there. */
static void contexts(void)
{
    end_of_context();
    mark(2);
}

/* Asked whether it was the last reference, and it was not. */
static void quiet(void)
{
    xs_watch_hold(&g_place);
    mc_step();
    xs_watch_go_on(&g_place);
}

static void device(void)
{
    atomic_fetch_or(&g_reached, 1);
}

static void marks(void)
{
    mark(1);
    mark(2);
}

/* ---- wrong ---- */

/* Sees that the mark is there, then whether it may ask. */
static void early_look(void)
{
    struct watched_event w;
    bool same;

    xs_lock_acquire(&g_lock);
    w = g_watches[0];
    xs_lock_release(&g_lock);
    atomic_store(&g_asking, w.place);
    xs_lock_acquire(&g_lock);
    same = g_watches[0].queue == w.queue;
    xs_lock_release(&g_lock);
    if (same && !atomic_load(&w.place->held))
        ask(w.place, w.event);
    atomic_store(&g_asking, NULL);
}

/* Looks whether it may, then says whom it asks. */
static void silent_look(void)
{
    struct watched_event w = {0};

    if (!atomic_load(&g_place.held)) {
        atomic_store(&g_asking, &g_place);
        xs_lock_acquire(&g_lock);
        w = g_watches[0];
        xs_lock_release(&g_lock);
    }
    if (w.queue)
        ask(w.place, w.event);
    atomic_store(&g_asking, NULL);
}

static void final(void)
{
    mc_check(*MC_PLAIN(&g_asking) == NULL && *MC_PLAIN(&g_place.held) == 0, "something is left held");
    mc_check((int)*MC_PLAIN(&g_pending) == (g_watches[0].queue != NULL) + (g_watches[1].queue != NULL),
             "marks in flight are counted wrongly");
}

int main(void)
{
    static const struct mc_model ends = {"watch: a look, an end, a context in the same storage", init_marked,
        {look_around, contexts, device}, 0, final, NULL, .timeouts = 3, .patience = 3, .expect_violation = false};
    static const struct mc_model held = {"watch: a look, and a hold that ends nothing", init_marked,
        {look_around, quiet, device}, 0, final, NULL, .timeouts = 3, .patience = 3, .expect_violation = false};
    static const struct mc_model used = {"watch: a look, and marks that use an event again", init_fast,
        {look_around, marks}, 0, final, NULL, .timeouts = 3, .patience = 3, .expect_violation = false};
    static const struct mc_model early = {"watch: a look that sees the mark before it sees whether it may ask", init_marked,
        {early_look, end_of_context}, 0, NULL, NULL, .timeouts = 3, .patience = 3, .expect_violation = true};
    static const struct mc_model silent = {"watch: a look that says whom it asks too late", init_marked,
        {silent_look, end_of_context}, 0, NULL, NULL, .timeouts = 3, .patience = 3, .expect_violation = true};
    int failed = 0;

    mc_region(g_watches, ROWS * sizeof(g_watches[0]));
    mc_region(&g_lock, sizeof(g_lock));
    mc_region(&g_used, sizeof(g_used));
    mc_region(&g_pending, sizeof(g_pending));
    mc_region(&g_asking, sizeof(g_asking));
    mc_region(&g_place, sizeof(g_place));
    mc_region(&g_reached, sizeof(g_reached));
    mc_region(&g_ghost, sizeof(g_ghost));
    failed |= mc_run(&ends);
    failed |= mc_run(&held);
    failed |= mc_run(&used);
    failed |= mc_run(&early);
    failed |= mc_run(&silent);
    return failed;
}
