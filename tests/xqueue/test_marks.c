/* SPDX-License-Identifier: Apache-2.0 */
/* Marks by events (hal/common/event_watch.c, hal/cuda/event_marks.c), where things come at the worst moment. */
#include <errno.h>
#include <pthread.h>

#include "../stream/check.h"

static int create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
#define pthread_create create
#include "hal/common/event_watch.c"
#undef pthread_create
#include "hal/cuda/event_marks.c"

#define QUEUE ((struct xs_queue *)(void *)&g_queue)
#define OTHER ((struct xs_queue *)(void *)&g_other)

static char g_queue, g_other;     /* only their addresses count */
static _Atomic int g_told;

/* ---- no thread can be made for a while ---- */

static struct xs_watch_place g_place;
static int g_creates, g_row_of_other = -1;
static char g_event[3];

static int ask_reached(const struct xs_watch_place *place, void *event)
{
    (void)event;
    TRUE(place == &g_place);
    return 0;
}

static void count(struct xs_queue *q, uint64_t number, bool reached)
{
    (void)number;
    TRUE(q == QUEUE && reached);
    atomic_fetch_add(&g_told, 1);
}

static const struct xs_watch_ops k_ops = {"test", NULL, ask_reached, count};

/* Refuses three times; while it does the second time, another thread begins with a mark. */
static int create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    void *event = NULL;

    TRUE(arg == &g_place);
    if (++g_creates == 2)
        g_row_of_other = xs_watch_take(&k_ops, &g_place, &event);
    return g_creates <= 3 ? EAGAIN : pthread_create(t, attr, fn, arg);
}

static void no_thread_at_first(void)
{
    void *event = NULL;
    int row;

    TRUE(xs_watch_take(&k_ops, &g_place, &event) == -1 && g_creates == 1);
    TRUE(xs_watch_take(&k_ops, &g_place, &event) == -1 && g_creates == 2);
    TRUE(g_row_of_other >= 0);
    xs_watch_set(g_row_of_other, &g_event[0], QUEUE, 1); /* who relied on the thread looks again */
    TRUE(g_creates == 4);
    UNTIL(atomic_load(&g_told) == 1);
    row = xs_watch_take(&k_ops, &g_place, &event);
    TRUE(row == g_row_of_other && event == &g_event[0]);
    xs_watch_set(row, event, QUEUE, 2);
    UNTIL(atomic_load(&g_told) == 2);
    TRUE(g_creates == 4);
}

/* ---- a queue on CUDA, and who has its word next ---- */

static struct {
    _Atomic uint64_t word;
    _Atomic int held;
    uint64_t issued;
} g_ghost;

static struct xs_cuda_context g_contexts[2];
static struct xs_cuda_hw g_hw[2] = {{.context = &g_contexts[0]}, {.context = &g_contexts[1]}};
static char g_events[4];
static int g_events_made;
static _Atomic bool g_reached[4];
static bool g_next_has_it, g_end_armed, g_ended; /* of the watcher, while the case runs */

void xsched_priv_queue_hold(struct xs_queue *q)
{
    if (q == QUEUE)
        atomic_fetch_add(&g_ghost.held, 1);
}

void xsched_priv_queue_let_go(struct xs_queue *q)
{
    TRUE(q != QUEUE || atomic_fetch_sub(&g_ghost.held, 1) > 0);
}

_Atomic uint64_t *xsched_priv_mark_word(struct xs_queue *q)
{
    static _Atomic uint64_t others;

    return q == QUEUE ? &g_ghost.word : &others;
}

/* As libpreempt judges whether the storage of a destroyed queue may be another's. */
static bool used_again(void)
{
    if (atomic_load(&g_ghost.held) || atomic_load(&g_ghost.word) < g_ghost.issued)
        return false;
    atomic_store(&g_ghost.word, 0);
    g_ghost.issued = 0;
    return true;
}

static void end_of_first_context(void)
{
    struct xs_watch_place *place = &g_contexts[0].watch;

    xs_watch_hold(place);
    xs_watch_forget(&xs_cuda_watch, place);
    xs_watch_go_on(place);
    atomic_store(&g_ghost.word, g_ghost.issued); /* xsched_priv_marks_void */
    g_next_has_it = used_again();
    g_ended = true;
}

static CUresult event_create(CUevent *ret, unsigned flags)
{
    TRUE(flags == NO_TIMING && g_events_made < 4);
    *ret = (CUevent)(void *)&g_events[g_events_made++];
    return XS_CU_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream stream)
{
    (void)event, (void)stream;
    return XS_CU_SUCCESS;
}

static CUresult event_query(CUevent event)
{
    size_t i = (size_t)((char *)(void *)event - g_events);
    bool reached = atomic_load(&g_reached[i]);

    if (i == 0 && reached)
        g_end_armed = true;
    if (i == 2 && g_end_armed && !g_ended) /* in this look the first one was found, and nobody was told yet */
        end_of_first_context();
    return reached ? XS_CU_SUCCESS : XS_CU_NOT_READY;
}

const struct xs_cuda_api *xsched_priv_cuda_api(const void *caller)
{
    static const struct xs_cuda_api api = {
        .cuEventCreate = event_create, .cuEventRecord = event_record, .cuEventQuery = event_query};

    (void)caller;
    return &api;
}

bool xs_cuda_enter(CUcontext ctx, struct xs_cuda_entered *e)
{
    (void)ctx, (void)e;
    return true;
}

CUstream xs_cuda_mark_stream(struct xs_cuda_hw *hw, uint64_t number)
{
    (void)hw, (void)number;
    return XS_CU_STREAM_LEGACY;
}

void xs_cuda_leave(struct xs_cuda_entered *e)
{
    (void)e;
}

void xs_stream_marks_to(struct xs_stream *st, struct xs_queue *q, uint64_t at)
{
    (void)st, (void)q, (void)at;
}

static void mark(uint64_t number)
{
    g_ghost.issued = number;
    TRUE(xs_cuda_mark_event(&g_hw[0], QUEUE, number));
}

/* Two marks complete between two questions, and the last one's event is asked for behind the first one's. */
static void the_later_is_found_first(void)
{
    bool again;

    g_ops = &xs_cuda_watch;
    mark(90);
    mark(100);
    atomic_store(&g_reached[1], true);
    UNTIL(atomic_load(&g_ghost.word) == 100);
    again = used_again();
    atomic_store(&g_reached[0], true);
    UNTIL(!atomic_load(&g_pending));
    TRUE(!again || atomic_load(&g_ghost.word) == 0);
    TRUE(again || used_again());
}

/* A mark is found, and its context ends before it is told of. */
static void an_end_before_it_is_told(void)
{
    atomic_store(&g_reached[0], false);
    g_end_armed = false;
    TRUE(xs_cuda_mark_event(&g_hw[1], OTHER, 1)); /* asked for behind the first one's */
    mark(90);
    atomic_store(&g_reached[0], true);
    UNTIL(atomic_load(&g_pending) == 1);
    TRUE(g_ended);
    TRUE(!g_next_has_it || atomic_load(&g_ghost.word) == 0);
    atomic_store(&g_reached[2], true);
    UNTIL(!atomic_load(&g_pending));
    TRUE(g_next_has_it || used_again());
}

int main(void)
{
    no_thread_at_first();
    the_later_is_found_first();
    an_end_before_it_is_told();
    printf("done\n");
    fflush(stdout);
    _Exit(0);
}
