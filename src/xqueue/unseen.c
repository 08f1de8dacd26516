/* SPDX-License-Identifier: Apache-2.0 */
/* Lists functions for `xsched doctor` that a program got and that no table of ours has. If such a function
 * submits work, our counts are wrong, and gates and slices rest on them: then the queues of that platform
 * work at level 1. */
#include "wire/unseen.h"

#include "base/str.h"
#include "xqueue/control/wish.h"
#include "xqueue/gates/gate.h"
#include "xqueue/interface.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"

#include <stdio.h>
#include <string.h>

/* Readers outside find it by its name (XS_UNSEEN_SYMBOL). A forked child keeps its parent's, since it keeps
 * the functions. */
extern struct xs_unseen xsched_priv_unseen_list;
XS_EXPORT struct xs_unseen xsched_priv_unseen_list = {.version = XS_UNSEEN_VERSION, .bytes = sizeof(struct xs_unseen)};

static bool listed(enum xs_unseen_kind kind, const char *name)
{
    for (size_t i = 0; i < XS_UNSEEN_NAMES; i++)
        if (strcmp(xsched_priv_unseen_list.names[kind][i], name) == 0)
            return true;
    return false;
}

void xsched_priv_unseen(const char *function, int version, bool works)
{
    struct xs_unseen *l = &xsched_priv_unseen_list;
    enum xs_unseen_kind kind = works ? XS_UNSEEN_WORKS : XS_UNSEEN_PASSES;
    char name[XS_UNSEEN_BYTES];
    uint32_t at;

    snprintf(name, sizeof(name), version ? "%s %d" : "%s", function, version);
    if (listed(kind, name))
        return;
    at = atomic_fetch_add(&l->count[kind], 1);
    if (at < XS_UNSEEN_NAMES)
        xs_str_copy(l->names[kind][at], XS_UNSEEN_BYTES, name);
}

void xsched_priv_level1_only(int platform)
{
    struct xs_state *st = xs_state_get();

    if (!st)
        return;                   /* later queues look at the platform's levels */
    xs_lock_acquire(&st->lock);
    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next) {
        if (!q->live || q->hwq_platform != (uint32_t)platform || q->wish.level == kPreemptLevelBlock)
            continue;
        q->wish.level = kPreemptLevelBlock;
        xs_gates_set_level(q, kPreemptLevelBlock);
        q->wish.config_changes++;
        xs_queue_wish_publish(q);
    }
    xs_lock_release(&st->lock);
}
