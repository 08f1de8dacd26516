/* SPDX-License-Identifier: Apache-2.0 */
/* What a real driver does when too much is put into a stream that does not go on (measured on an H200
 * with driver 580): about 1020 entries are taken; the next call blocks inside the driver and holds a
 * lock of the whole context, on which every other call of that context waits. */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

#define ENTRIES_MOST 1020

static _Thread_local char t_me;
static int g_blocked; /* calls that found a channel full */

void fake_context_enter_locked(struct CUctx_st *c)
{
    while (c->holder && c->holder != &t_me)
        pthread_cond_wait(&fake_changed, &fake_lock);
}

void fake_channel_room_locked(struct CUstream_st *s)
{
    bool blocked = false;

    fake_context_enter_locked(s->ctx);
    while (!fake_forked && !s->capture && s->entries >= ENTRIES_MOST) {
        if (!blocked)
            __atomic_fetch_add(&g_blocked, 1, __ATOMIC_SEQ_CST);
        blocked = true;
        s->ctx->holder = &t_me;
        pthread_cond_wait(&fake_changed, &fake_lock);
    }
    if (blocked) {
        s->ctx->holder = NULL;
        pthread_cond_broadcast(&fake_changed);
    }
}

void fake_context_wait_locked(struct CUctx_st *c)
{
    fake_context_enter_locked(c);
    c->holder = &t_me;
    for (struct CUstream_st *s = c->streams; s; s = s->next)
        fake_drain(s);
    c->holder = NULL;
    pthread_cond_broadcast(&fake_changed);
}

int fake_cuda_blocked(void) __attribute__((visibility("default")));
int fake_cuda_blocked(void)
{
    return __atomic_load_n(&g_blocked, __ATOMIC_SEQ_CST);
}
