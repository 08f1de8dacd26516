/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_events.h"

#include "base/clock.h"
#include "base/fd.h"
#include "http/http_json.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_WATCHERS XS_HTTP_STREAMS
#define PERIOD_MS    1000
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
};

struct xs_events {
    struct xs_line *line;
    struct xs_connections *shares;
    pthread_t thread;
    /* Lock: connections that watch the status page. A thread that suspends or resumes a connection takes
     * libmicrohttpd's own locks inside it. The thread that asks xserver does so without this lock. */
    pthread_mutex_t lock;
    int changed; /* an eventfd: a watcher came or left, or all ends */
    bool ended;
    uint64_t next_number;
    struct watcher watchers[MAX_WATCHERS];
};

/* The event as text: "data: {...}\n\n", which the caller frees; NULL when memory is out. */
static char *make_event(const struct xs_request *r, size_t *ret_bytes)
{
    json_t *o = xs_json_event(r);
    char *json = json_dumps(o, JSON_COMPACT), *text = NULL;

    json_decref(o);
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

/* A watcher that does not read gets no new event before it has the last one. */
static void deliver(struct xs_events *e, unsigned place, uint64_t number, const struct xs_request *r)
{
    struct watcher *w = &e->watchers[place];
    size_t bytes = 0;
    char *text = make_event(r, &bytes);

    pthread_mutex_lock(&e->lock);
    if (text && w->number == number && w->connection && !w->text) {
        w->text = text;
        w->bytes = bytes;
        w->sent = 0;
        text = NULL;
        wake(w);
    }
    pthread_mutex_unlock(&e->lock);
    free(text);
}

/* ---- the thread's own: a subscription for each watcher ---- */

struct feed {
    struct xs_subscription *subscription; /* NULL: xserver did not take it; again a period later */
    uint64_t number;                      /* of the watcher; 0: there is none */
    uint64_t next_ns;                     /* no try before */
};

static struct xs_subscription *subscribe(struct xs_events *e, const struct xs_asker *asker)
{
    struct xs_request *r = xs_request_new(XS_REQ_METRICS);
    struct xs_subscription *s;

    if (!r)
        return NULL;
    r->asker = *asker;
    r->params.loads = true; /* the first event has the points until then */
    r->params.for_ms = PERIOD_MS;
    s = xs_subscription_begin(e->line, r, ANSWER_NS);
    xs_request_free(r);
    return s;
}

/* Follows the table of watchers. @return false: one has no subscription yet */
static bool update(struct xs_events *e, struct feed feeds[MAX_WATCHERS])
{
    bool all = true;

    for (unsigned i = 0; i < MAX_WATCHERS; i++) {
        struct xs_asker asker;
        uint64_t number;

        pthread_mutex_lock(&e->lock);
        number = e->watchers[i].number;
        asker = e->watchers[i].asker;
        pthread_mutex_unlock(&e->lock);
        if (feeds[i].number != number) {
            xs_subscription_end(feeds[i].subscription);
            feeds[i] = (struct feed){.number = number};
        }
        if (number && !feeds[i].subscription && xs_now_ns() >= feeds[i].next_ns) {
            feeds[i].subscription = subscribe(e, &asker);
            feeds[i].next_ns = xs_now_ns() + PERIOD_MS * XS_NS_PER_MS;
        }
        all = all && (!number || feeds[i].subscription);
    }
    return all;
}

static void take(struct xs_events *e, unsigned place, struct feed *f)
{
    struct xs_request *r = NULL;
    bool good = xs_subscription_next(f->subscription, &r, ANSWER_NS) == 0 && r->status == 200;

    if (good) {
        deliver(e, place, f->number, r);
    } else {
        xs_subscription_end(f->subscription);
        f->subscription = NULL;
    }
    xs_request_free(r);
}

static bool ended(struct xs_events *e)
{
    bool is;

    pthread_mutex_lock(&e->lock);
    is = e->ended;
    pthread_mutex_unlock(&e->lock);
    return is;
}

static void *run(void *arg)
{
    struct feed feeds[MAX_WATCHERS] = {{0}};
    struct xs_events *e = arg;
    uint64_t count;

    while (!ended(e)) {
        struct pollfd in[MAX_WATCHERS + 1];
        bool all = update(e, feeds);

        for (unsigned i = 0; i < MAX_WATCHERS; i++)
            in[i] = (struct pollfd){.fd = feeds[i].subscription ? xs_subscription_fd(feeds[i].subscription) : -1,
                                    .events = POLLIN};
        in[MAX_WATCHERS] = (struct pollfd){.fd = e->changed, .events = POLLIN};
        if (poll(in, MAX_WATCHERS + 1, all ? -1 : PERIOD_MS) < 0)
            continue;
        if (in[MAX_WATCHERS].revents)
            (void)!read(e->changed, &count, sizeof(count));
        for (unsigned i = 0; i < MAX_WATCHERS; i++)
            if (in[i].revents)
                take(e, i, &feeds[i]);
    }
    for (unsigned i = 0; i < MAX_WATCHERS; i++)
        xs_subscription_end(feeds[i].subscription);
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

static void note_change(struct xs_events *e)
{
    static const uint64_t k_one = 1;

    (void)!write(e->changed, &k_one, sizeof(k_one));
}

static void gone(void *cls)
{
    struct watcher *w = cls;
    struct xs_events *e = w->events;

    xs_connections_stream_gone(e->shares, w->user);
    pthread_mutex_lock(&e->lock);
    free(w->text);
    memset(w, 0, sizeof(*w));
    pthread_mutex_unlock(&e->lock);
    note_change(e);
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
    }
    pthread_mutex_unlock(&e->lock);
    if (w)
        note_change(e);
    else
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

    if (!e)
        return NULL;
    e->line = line;
    e->shares = shares;
    e->changed = xs_fd_eventfd();
    pthread_mutex_init(&e->lock, NULL);
    if (e->changed >= 0 && pthread_create(&e->thread, NULL, run, e) == 0)
        return e;
    xs_events_free(e);
    return NULL;
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
    pthread_mutex_unlock(&e->lock);
    note_change(e);
    pthread_join(e->thread, NULL);
}

void xs_events_free(struct xs_events *e)
{
    if (!e)
        return;
    xs_fd_close(&e->changed);
    pthread_mutex_destroy(&e->lock);
    free(e);
}
