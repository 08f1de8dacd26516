/* SPDX-License-Identifier: Apache-2.0 */
/* More ready queues than the scheduler counts. To suspend or resume a program, the scheduler writes to
 * each of its ready queues, so a program with thousands of them would make each decision cost
 * thousands of stores. So only a number of them count as ready. The others are surplus: they stand
 * with the idle queues, in front, and their words say what their entity may do. When other queues of
 * the entity become idle, the scheduler reads the surplus ones again. The entity is ready all the
 * while, so no queue waits longer than without this. */
#include "sched/internal.h"
#include "sched/stage.h"

static size_t room(const struct xs_entity *e)
{
    size_t each = XS_READY_OF_VIEW / XS_MAX(e->view->n, (size_t)1);

    return XS_MIN(XS_MAX(each, (size_t)XS_READY_LEAST), (size_t)XS_READY_MOST);
}

bool xs_entity_has_room(const struct xs_entity *e)
{
    return e->nready < room(e);
}

void xs_entity_put_off(struct xs_entity *e)
{
    e->put_off = e->queues;
    e->view->some_put_off = true;
}

void xs_queue_put_off(struct xs_sched_queue *q, uint64_t now_ns)
{
    struct xs_entity *e = q->entity;

    xs_entity_put_off(e);
    if (q->barred)
        return;
    xs_list_remove(&q->link);
    xs_list_add(e->idle.next, &q->link); /* in front: closed queues stand before open ones */
    xs_queue_permit(q, e->before.run, now_ns);
}

static void take(struct xs_entity *e, uint64_t now_ns)
{
    size_t most = room(e);

    for (size_t looks = most; looks > 0 && e->put_off > 0 && e->nready < most && !xs_list_empty(&e->idle); looks--) {
        struct xs_sched_queue *q = XS_CONTAINER_OF(e->idle.next, struct xs_sched_queue, link);

        e->put_off--;
        xs_queue_settle(q, now_ns);
        if (q->ready)
            continue;
        xs_list_remove(&q->link); /* behind the others, and open as they are */
        xs_list_add(&e->idle, &q->link);
        xs_queue_permit(q, !q->barred, now_ns);
    }
    if (xs_list_empty(&e->idle))
        e->put_off = 0;
}

void xs_surplus_take(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    bool some = false;

    (void)s;
    v->at_ns[XS_TIMER_SURPLUS] = UINT64_MAX;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (e->put_off && e->nready <= room(e) / 2) {
            take(e, now_ns);
            if (e->put_off && e->nready <= room(e) / 2)
                v->at_ns[XS_TIMER_SURPLUS] = now_ns + XS_RESCAN_NS;
        }
        some = some || e->put_off;
    }
    v->some_put_off = some;
}
