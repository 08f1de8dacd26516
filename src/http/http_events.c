/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_events.h"

#include "base/clock.h"
#include "http/http_json.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WATCHERS XS_HTTP_STREAMS
#define PERIOD_NS    XS_NS_PER_S
#define ANSWER_NS    (3 * XS_NS_PER_S)

/* A client that watches. A free place in the table has no connection. */
struct watcher {
    struct MHD_Connection *connection;
    struct xs_events *events;
    struct xs_asker asker;
    struct xs_quota_user *user; /* the user whose share it takes */
    uint64_t number; /* another watcher may have had this place a moment ago */
    char *text;      /* the event on its way; NULL: none */
    size_t bytes, sent;
    bool suspended;
    bool began; /* it had an event, with the points until then */
};

struct xs_events {
    struct xs_line *line;
    struct xs_connections *shares;
    pthread_t thread;
    /* Lock: connections that watch the status page. A thread that suspends or resumes a connection takes
     * libmicrohttpd's own locks inside it. It asks the main loop without this lock. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ended;
    uint64_t next_number;
    unsigned n;
    struct watcher watchers[MAX_WATCHERS];
};

/* The event as text: "data: {...}\n\n", which the caller frees; NULL when the server ends or memory is
 * out. */
static char *make_event(struct xs_events *e, const struct xs_asker *asker, bool first, size_t *ret_bytes)
{
    struct xs_request *r = xs_request_new(XS_REQ_METRICS);
    char *json = NULL, *text = NULL;
    json_t *o;

    if (!r)
        return NULL;
    r->asker = *asker;
    r->params.loads = first;
    if (xs_line_ask(e->line, r, ANSWER_NS) < 0)
        return NULL; /* r is gone */
    if (r->status == 200) {
        o = xs_json_event(r);
        json = json_dumps(o, JSON_COMPACT);
        json_decref(o);
    }
    xs_request_free(r);
    if (json) {
        *ret_bytes = strlen(json) + 8;
        text = malloc(*ret_bytes + 1);
    }
    if (text) {
        memcpy(text, "data: ", 6);
        memcpy(text + 6, json, *ret_bytes - 8);
        memcpy(text + *ret_bytes - 2, "\n\n", 3);
    }
    free(json);
    return text;
}

static void wake(struct watcher *w)
{
    if (!w->suspended)
        return;
    w->suspended = false;
    MHD_resume_connection(w->connection);
}

/* The caller has the lock. A watcher that does not read gets no new event before it has the last one. */
static void serve(struct xs_events *e, unsigned place)
{
    struct watcher *w = &e->watchers[place];
    struct xs_asker asker = w->asker;
    uint64_t number = w->number;
    bool first = !w->began;
    size_t bytes = 0;
    char *text;

    if (!w->connection || w->text)
        return;
    pthread_mutex_unlock(&e->lock);
    text = make_event(e, &asker, first, &bytes);
    pthread_mutex_lock(&e->lock);
    if (!text || w->number != number || w->text || !w->connection) {
        free(text);
        return;
    }
    w->began = true;
    w->text = text;
    w->bytes = bytes;
    w->sent = 0;
    wake(w);
}

static void *run(void *arg)
{
    struct xs_events *e = arg;

    pthread_mutex_lock(&e->lock);
    while (!e->ended) {
        uint64_t until = xs_now_ns() + PERIOD_NS;
        struct timespec at = {.tv_sec = (time_t)(until / XS_NS_PER_S),
                              .tv_nsec = (long)(until % XS_NS_PER_S)};

        for (unsigned i = 0; i < MAX_WATCHERS && !e->ended; i++)
            serve(e, i);
        if (e->n == 0 && !e->ended)
            pthread_cond_wait(&e->changed, &e->lock);
        else if (!e->ended)
            pthread_cond_timedwait(&e->changed, &e->lock, &at);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

/* The daemon wants more of the answer. */
static ssize_t more(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct watcher *w = cls;
    struct xs_events *e = w->events;
    ssize_t n = 0;

    (void)pos;
    pthread_mutex_lock(&e->lock);
    if (e->ended) {
        n = MHD_CONTENT_READER_END_OF_STREAM;
    } else if (w->text) {
        size_t bytes = XS_MIN(max, w->bytes - w->sent);

        memcpy(buf, w->text + w->sent, bytes);
        w->sent += bytes;
        n = (ssize_t)bytes;
        if (w->sent == w->bytes) {
            free(w->text);
            w->text = NULL;
        }
    } else {
        w->suspended = true;
        MHD_suspend_connection(w->connection);
    }
    pthread_mutex_unlock(&e->lock);
    return n;
}

static void gone(void *cls)
{
    struct watcher *w = cls;
    struct xs_events *e = w->events;

    xs_connections_stream_gone(e->shares, w->user);
    pthread_mutex_lock(&e->lock);
    free(w->text);
    memset(w, 0, sizeof(*w));
    e->n--;
    pthread_mutex_unlock(&e->lock);
}

static struct watcher *take_place(struct xs_events *e, struct MHD_Connection *connection,
                                  const struct xs_asker *asker)
{
    struct watcher *w = NULL;
    struct xs_quota_user *user;

    if (!xs_connections_stream(e->shares, asker, &user))
        return NULL;
    pthread_mutex_lock(&e->lock);
    for (unsigned i = 0; i < MAX_WATCHERS && !w && !e->ended; i++)
        if (!e->watchers[i].connection)
            w = &e->watchers[i];
    if (w) {
        *w = (struct watcher){.connection = connection,
                              .events = e,
                              .asker = *asker,
                              .user = user,
                              .number = ++e->next_number};
        e->n++;
        pthread_cond_signal(&e->changed);
    }
    pthread_mutex_unlock(&e->lock);
    if (!w)
        xs_connections_stream_gone(e->shares, user);
    return w;
}

int xs_events_begin(struct xs_events *e, struct MHD_Connection *connection, const struct xs_asker *asker)
{
    struct watcher *w = e ? take_place(e, connection, asker) : NULL;
    struct MHD_Response *response;

    if (!w)
        return -EBUSY;
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 32768, more, w, gone);
    if (!response) {
        gone(w);
        return -EBUSY;
    }
    MHD_add_response_header(response, "Content-Type", "text/event-stream");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response); /* the connection has it; the place becomes free when the
                                       connection frees it */
    return 0;
}

struct xs_events *xs_events_new(struct xs_line *line, struct xs_connections *shares)
{
    struct xs_events *e = calloc(1, sizeof(*e));
    pthread_condattr_t attr;

    if (!e)
        return NULL;
    e->line = line;
    e->shares = shares;
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&e->changed, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&e->thread, NULL, run, e) != 0) {
        pthread_cond_destroy(&e->changed);
        pthread_mutex_destroy(&e->lock);
        free(e);
        return NULL;
    }
    return e;
}

void xs_events_end(struct xs_events *e)
{
    if (!e)
        return;
    pthread_mutex_lock(&e->lock);
    e->ended = true;
    for (unsigned i = 0; i < MAX_WATCHERS; i++)
        if (e->watchers[i].connection)
            wake(&e->watchers[i]);
    pthread_cond_signal(&e->changed);
    pthread_mutex_unlock(&e->lock);
    pthread_join(e->thread, NULL);
}

void xs_events_free(struct xs_events *e)
{
    if (!e)
        return;
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    free(e);
}
