/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/request.h"

#include "base/clock.h"
#include "base/fd.h"
#include "xserver/realtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct xs_request *xs_request_new(enum xs_request_kind kind)
{
    struct xs_request *r = calloc(1, sizeof(*r));

    if (r)
        r->kind = kind;
    return r;
}

void xs_request_free(struct xs_request *r)
{
    if (!r)
        return;
    free(r->queues);
    free(r->clients);
    free(r->ended);
    free(r->events);
    free(r->loads);
    free(r);
}

/* Touches the memory here, so that the main loop need not. @return NULL: out of memory */
static void *room_for(size_t n, size_t bytes)
{
    void *p = malloc(XS_MAX(n, (size_t)1) * bytes);

    if (p)
        memset(p, 0, XS_MAX(n, (size_t)1) * bytes);
    return p;
}

bool xs_request_make_room(struct xs_request *r, size_t queues, size_t clients)
{
    free(r->queues);
    free(r->clients);
    r->room_queues = queues;
    r->room_clients = clients;
    r->queues = room_for(queues, sizeof(*r->queues));
    r->clients = room_for(clients, sizeof(*r->clients));
    if (r->kind == XS_REQ_CLIENTS && !r->ended)
        r->ended = room_for(XS_HISTORY_LENGTH, sizeof(*r->ended));
    if (r->kind == XS_REQ_TIMELINE && !r->events)
        r->events = room_for(XS_TIMELINE_ANSWER, sizeof(*r->events));
    if (r->params.loads && !r->loads)
        r->loads = room_for(XS_LOADS_LENGTH, sizeof(*r->loads));
    return r->queues && r->clients && (r->loads || !r->params.loads) && (r->ended || r->kind != XS_REQ_CLIENTS) &&
           (r->events || r->kind != XS_REQ_TIMELINE);
}

struct xs_client_record *xs_request_client(const struct xs_request *r, uint64_t session)
{
    size_t lo = 0, hi = r->n_clients;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (r->clients[mid].session == session)
            return &r->clients[mid];
        if (r->clients[mid].session < session)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

int xs_mailbox_init(struct xs_mailbox *m)
{
    pthread_condattr_t attr;

    *m = (struct xs_mailbox){.event_fd = xs_fd_eventfd()};
    if (m->event_fd < 0)
        return m->event_fd;
    m->last = &m->first;
    xs_realtime_mutex_init(&m->lock);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&m->answered, &attr);
    pthread_condattr_destroy(&attr);
    return 0;
}

void xs_mailbox_fini(struct xs_mailbox *m)
{
    struct xs_request *r;

    while ((r = xs_mailbox_take(m)) != NULL)
        xs_request_free(r);
    xs_fd_close(&m->event_fd);
    pthread_cond_destroy(&m->answered);
    pthread_mutex_destroy(&m->lock);
}

int xs_mailbox_ask(struct xs_mailbox *m, struct xs_request *r, uint64_t timeout_ns)
{
    uint64_t until_ns = xs_now_ns() + timeout_ns;
    struct timespec until = {.tv_sec = (time_t)(until_ns / XS_NS_PER_S),
                             .tv_nsec = (long)(until_ns % XS_NS_PER_S)};
    int result = 0;

    pthread_mutex_lock(&m->lock);
    if (m->closed) {
        pthread_mutex_unlock(&m->lock);
        xs_request_free(r);
        return -ESHUTDOWN;
    }
    r->next = NULL;
    *m->last = r;
    m->last = &r->next;
    xs_fd_eventfd_signal(m->event_fd);
    while (!r->done && result == 0)
        result = pthread_cond_timedwait(&m->answered, &m->lock, &until);
    if (!r->done)
        r->abandoned = true; /* the main loop frees it */
    else
        result = 0;
    pthread_mutex_unlock(&m->lock);
    return result ? -ETIMEDOUT : 0;
}

struct xs_request *xs_mailbox_take(struct xs_mailbox *m)
{
    struct xs_request *r;

    pthread_mutex_lock(&m->lock);
    for (;;) {
        r = m->first;
        if (!r)
            break;
        m->first = r->next;
        if (!m->first)
            m->last = &m->first;
        if (!r->abandoned)
            break;
        xs_request_free(r);
    }
    pthread_mutex_unlock(&m->lock);
    return r;
}

void xs_mailbox_answer(struct xs_mailbox *m, struct xs_request *r)
{
    bool abandoned;

    pthread_mutex_lock(&m->lock);
    r->done = true;
    abandoned = r->abandoned;
    if (!abandoned)
        pthread_cond_broadcast(&m->answered);
    pthread_mutex_unlock(&m->lock);
    if (abandoned)
        xs_request_free(r);
}

void xs_mailbox_close(struct xs_mailbox *m)
{
    struct xs_request *r;

    pthread_mutex_lock(&m->lock);
    m->closed = true;
    pthread_mutex_unlock(&m->lock);
    while ((r = xs_mailbox_take(m)) != NULL) {
        r->status = 503;
        xs_mailbox_answer(m, r);
    }
}
