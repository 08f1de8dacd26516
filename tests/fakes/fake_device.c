/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor-like calls. */
#include "fake_world.h"
#include "vtime.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct fake_world fake_w = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

uint64_t fake_now_ns(void)
{
    return fake_w.real ? vtime_real_ns() : vtime_now_ns();
}

/* What is still on its way ends, and fails, as at a driver: who waits for a mark holds something until it is told. */
static void stream_free(struct fake_stream *s)
{
    while (s->head) {
        struct fake_command *c = s->head;

        s->head = c->next;
        if (c->kind == K_MARK && c->done && !c->lost)
            c->done(c->data, true);
        free(c);
    }
    free(s);
}

void fake_world_reset(bool real)
{
    struct fake_device *devices, *d;

    fake_auto_stop();
    for (d = fake_w.devices; d; d = d->next)
        fake_exec_stop_thread(d);
    pthread_mutex_lock(&fake_w.lock);
    devices = fake_w.devices; /* from here on no mark finds them */
    fake_w.devices = NULL;
    pthread_mutex_unlock(&fake_w.lock);
    while ((d = devices) != NULL) {
        devices = d->next;
        while (d->streams) {
            struct fake_stream *s = d->streams;

            d->streams = s->next;
            stream_free(s);
        }
        if (d->shared)
            munmap(d->shared, sizeof(*d->shared));
        pthread_cond_destroy(&d->kick);
        free(d);
    }
    while (fake_w.events) {
        struct fake_event *e = fake_w.events;

        fake_w.events = e->next;
        free(e);
    }
    fake_w.streams = 0;
    fake_w.real = real;
    fake_trace_reset();
    vtime_enable(!real);
}

struct fake_device *fake_device_create(enum fake_exec exec)
{
    struct fake_device *d = calloc(1, sizeof(*d)), **last = &fake_w.devices;
    pthread_condattr_t attr;

    d->exec = exec;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&d->kick, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_lock(&fake_w.lock);
    while (*last)
        last = &(*last)->next;
    *last = d;
    pthread_mutex_unlock(&fake_w.lock);
    if (fake_w.real)
        fake_exec_start_thread(d);
    return d;
}

int fake_device_share(struct fake_device *d, const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), made = fd >= 0;
    pthread_mutexattr_t attr;
    void *map;

    if (fd < 0)
        fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (made && ftruncate(fd, 4096) < 0) {
        close(fd);
        return -errno;
    }
    map = mmap(NULL, sizeof(*d->shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return -errno;
    if (made) {
        pthread_mutexattr_init(&attr);
        pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(map, &attr);
        pthread_mutexattr_destroy(&attr);
    }
    pthread_mutex_lock(&fake_w.lock);
    d->shared = map;
    pthread_mutex_unlock(&fake_w.lock);
    return 0;
}

enum fake_result fake_stream_create(struct fake_device *d, struct fake_stream **ret)
{
    struct fake_stream *s, **last;

    if (!d || !ret)
        return FAKE_ERROR_INVALID;
    s = calloc(1, sizeof(*s));
    s->device = d;
    s->tail = &s->head;
    pthread_mutex_lock(&fake_w.lock);
    s->id = ++fake_w.streams;
    for (last = &d->streams; *last; last = &(*last)->next)
        ;
    *last = s;
    pthread_mutex_unlock(&fake_w.lock);
    *ret = s;
    return FAKE_OK;
}

enum fake_result fake_stream_destroy(struct fake_stream *s)
{
    if (!s)
        return FAKE_ERROR_INVALID;
    pthread_mutex_lock(&fake_w.lock);
    s->destroyed = true;
    pthread_mutex_unlock(&fake_w.lock);
    return FAKE_OK;
}

static bool nth(uint32_t *fault)
{
    return *fault && --*fault == 0;
}

/* A mark may come from a thread that knows nothing of the program's end of the world: like a HAL's mark, which pins the
 * vendor's object or finds it gone. */
static bool there_locked(const struct fake_stream *s)
{
    for (const struct fake_device *d = fake_w.devices; d; d = d->next)
        for (const struct fake_stream *of = d->streams; of; of = of->next)
            if (of == s)
                return true;
    return false;
}

static enum fake_result append(struct fake_stream *s, struct fake_command command, uint64_t *ret_number)
{
    struct fake_command *c;
    enum fake_result r = FAKE_OK;

    if (!s)
        return FAKE_ERROR_INVALID;
    pthread_mutex_lock(&fake_w.lock);
    if (command.kind == K_MARK && !there_locked(s)) {
        pthread_mutex_unlock(&fake_w.lock);
        return FAKE_ERROR_INVALID;
    }
    if (s->destroyed)
        r = FAKE_ERROR_INVALID;
    else if (s->device->lost)
        r = FAKE_ERROR_LOST;
    else if ((command.kind == K_KERNEL || command.kind == K_POLLING) && nth(&s->fault_launch))
        r = FAKE_ERROR_LAUNCH;
    else if (command.kind == K_MARK && nth(&s->fault_refuse_mark))
        r = FAKE_ERROR_LAUNCH;
    if (r != FAKE_OK) {
        fake_trace_add(FAKE_T_REFUSED, s, command.tag, 0);
        pthread_mutex_unlock(&fake_w.lock);
        return r;
    }
    c = malloc(sizeof(*c));
    *c = command;
    c->next = NULL;
    c->sequence = ++s->device->sequence;
    if (c->kind == K_MARK)
        c->lost = nth(&s->fault_lose_mark);
    if (c->kind == K_KERNEL || c->kind == K_POLLING) {
        c->number = ++s->launched;
        fake_trace_add(FAKE_T_LAUNCH, s, c->tag, c->number);
    }
    if (c->kind == K_RECORD)
        c->generation = ++c->event->recorded;
    if (c->kind == K_WAIT_EVENT)
        c->generation = c->event->recorded;
    *s->tail = c;
    s->tail = &c->next;
    s->pending++;
    if (ret_number)
        *ret_number = c->number;
    if (s->device->has_thread)
        pthread_cond_broadcast(&s->device->kick);
    pthread_cond_broadcast(&fake_w.changed);
    pthread_mutex_unlock(&fake_w.lock);
    return FAKE_OK;
}

enum fake_result fake_launch(struct fake_stream *s, uint64_t duration_ns, uint32_t tag, uint64_t *ret_number)
{
    return append(s, (struct fake_command){.kind = K_KERNEL, .left = duration_ns * FAKE_UNITS, .tag = tag},
                  ret_number);
}

enum fake_result fake_launch_polling(struct fake_stream *s, const _Atomic uint64_t *word, uint64_t value)
{
    return append(s, (struct fake_command){.kind = K_POLLING, .word = word, .value = value}, NULL);
}

enum fake_result fake_mark(struct fake_stream *s, void (*done)(void *data, bool failed), void *data)
{
    return append(s, (struct fake_command){.kind = K_MARK, .done = done, .data = data}, NULL);
}

enum fake_result fake_host_func(struct fake_stream *s, void (*fn)(void *data), void *data)
{
    return append(s, (struct fake_command){.kind = K_HOST, .host = fn, .data = data}, NULL);
}

enum fake_result fake_wait_value(struct fake_stream *s, const _Atomic uint64_t *word, uint64_t value)
{
    return append(s, (struct fake_command){.kind = K_WAIT_VALUE, .word = word, .value = value}, NULL);
}

enum fake_result fake_event_record(struct fake_event *e, struct fake_stream *s)
{
    return e ? append(s, (struct fake_command){.kind = K_RECORD, .event = e}, NULL) : FAKE_ERROR_INVALID;
}

enum fake_result fake_stream_wait_event(struct fake_stream *s, struct fake_event *e)
{
    return e ? append(s, (struct fake_command){.kind = K_WAIT_EVENT, .event = e}, NULL) : FAKE_ERROR_INVALID;
}

enum fake_result fake_synchronize(struct fake_stream *s)
{
    enum fake_result r;

    if (!s)
        return FAKE_ERROR_INVALID;
    pthread_mutex_lock(&fake_w.lock);
    while (s->pending)
        pthread_cond_wait(&fake_w.changed, &fake_w.lock);
    fake_trace_add(FAKE_T_SYNC, s, 0, s->completed);
    r = s->device->lost ? FAKE_ERROR_LOST : FAKE_OK;
    pthread_mutex_unlock(&fake_w.lock);
    return r;
}

enum fake_result fake_device_synchronize(struct fake_device *d)
{
    enum fake_result r = FAKE_OK;

    for (struct fake_stream *s = d->streams; s; s = s->next) {
        enum fake_result one = fake_synchronize(s);

        r = one != FAKE_OK ? one : r;
    }
    return r;
}

enum fake_result fake_stream_query(struct fake_stream *s)
{
    enum fake_result r;

    pthread_mutex_lock(&fake_w.lock);
    r = s->device->lost ? FAKE_ERROR_LOST : s->pending ? FAKE_NOT_READY : FAKE_OK;
    pthread_mutex_unlock(&fake_w.lock);
    return r;
}

static enum fake_result event_create(struct fake_event **ret, bool user)
{
    struct fake_event *e;

    if (!ret)
        return FAKE_ERROR_INVALID;
    e = calloc(1, sizeof(*e));
    e->user = user;
    e->recorded = user;
    pthread_mutex_lock(&fake_w.lock);
    e->next = fake_w.events;
    fake_w.events = e;
    pthread_mutex_unlock(&fake_w.lock);
    *ret = e;
    return FAKE_OK;
}

enum fake_result fake_event_create(struct fake_event **ret)
{
    return event_create(ret, false);
}

enum fake_result fake_event_create_user(struct fake_event **ret)
{
    return event_create(ret, true);
}

enum fake_result fake_event_set(struct fake_event *e)
{
    pthread_mutex_lock(&fake_w.lock);
    e->reached = e->recorded;
    for (struct fake_device *d = fake_w.devices; d; d = d->next)
        if (d->has_thread)
            pthread_cond_broadcast(&d->kick);
    pthread_cond_broadcast(&fake_w.changed);
    pthread_mutex_unlock(&fake_w.lock);
    return FAKE_OK;
}

enum fake_result fake_event_query(struct fake_event *e)
{
    enum fake_result r;

    pthread_mutex_lock(&fake_w.lock);
    r = e->reached >= e->recorded ? FAKE_OK : FAKE_NOT_READY;
    pthread_mutex_unlock(&fake_w.lock);
    return r;
}

enum fake_result fake_event_synchronize(struct fake_event *e)
{
    uint64_t until;

    pthread_mutex_lock(&fake_w.lock);
    until = e->recorded;
    while (e->reached < until)
        pthread_cond_wait(&fake_w.changed, &fake_w.lock);
    pthread_mutex_unlock(&fake_w.lock);
    return FAKE_OK;
}

static uint64_t peek(const uint64_t *field)
{
    uint64_t v;

    pthread_mutex_lock(&fake_w.lock);
    v = *field;
    pthread_mutex_unlock(&fake_w.lock);
    return v;
}

uint64_t fake_stream_pending(struct fake_stream *s)
{
    return peek(&s->pending);
}

uint64_t fake_stream_completed(struct fake_stream *s)
{
    return peek(&s->completed);
}

uint64_t fake_stream_launched(struct fake_stream *s)
{
    return peek(&s->launched);
}

uint32_t fake_stream_id(struct fake_stream *s)
{
    return s->id;
}

static void set_fault(uint32_t *fault, uint32_t n)
{
    pthread_mutex_lock(&fake_w.lock);
    *fault = n;
    pthread_mutex_unlock(&fake_w.lock);
}

void fake_fault_launch(struct fake_stream *s, uint32_t n)
{
    set_fault(&s->fault_launch, n);
}

void fake_fault_lose_mark(struct fake_stream *s, uint32_t n)
{
    set_fault(&s->fault_lose_mark, n);
}

void fake_fault_refuse_mark(struct fake_stream *s, uint32_t n)
{
    set_fault(&s->fault_refuse_mark, n);
}

void fake_fault_device_lost(struct fake_device *d)
{
    pthread_mutex_lock(&fake_w.lock);
    d->lost = true;
    d->running = NULL;
    if (d->has_thread)
        pthread_cond_broadcast(&d->kick);
    pthread_cond_broadcast(&fake_w.changed);
    pthread_mutex_unlock(&fake_w.lock);
}
