/* SPDX-License-Identifier: Apache-2.0 */
/* Marks by events (hal/common/watch.c), where things come at the worst moment. */
#include <errno.h>
#include <pthread.h>

#include "../stream/check.h"

static int create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
#define pthread_create create
#include "hal/common/watch.c"
#undef pthread_create

#define QUEUE ((struct xs_queue *)(void *)&g_queue)

static char g_queue;              /* only its address counts */
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
    xs_watch_set(g_row_of_other, &g_event[0], QUEUE, 1); /* who took that for granted looks again, twice here */
    TRUE(g_creates == 4);
    UNTIL(atomic_load(&g_told) == 1);
    row = xs_watch_take(&k_ops, &g_place, &event);
    TRUE(row == g_row_of_other && event == &g_event[0]);
    xs_watch_set(row, event, QUEUE, 2);
    UNTIL(atomic_load(&g_told) == 2);
    TRUE(g_creates == 4);
}

int main(void)
{
    no_thread_at_first();
    printf("done\n");
    fflush(stdout);
    _Exit(0);
}
