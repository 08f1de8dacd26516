/* SPDX-License-Identifier: Apache-2.0 */
/* Commands: who does them, and how long that takes. */
#include "internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t fake_changed = PTHREAD_COND_INITIALIZER;
bool fake_lost;
static pthread_mutex_t g_device = PTHREAD_MUTEX_INITIALIZER; /* whose kernel runs */

bool fake_refused(const char *name)
{
    static struct {
        char name[16];
        long count;
    } seen[16];                   /* under fake_lock */
    const char *at = getenv("FAKE_ZE");
    size_t n = strlen(name), i = 0;
    bool refused = false;

    for (; at && *at; at += strcspn(at, ","), at += *at == ',') {
        if (strncmp(at, name, n) != 0 || at[n] != ':')
            continue;
        pthread_mutex_lock(&fake_lock);
        while (i < 15 && seen[i].name[0] && strcmp(seen[i].name, name) != 0)
            i++;
        strncpy(seen[i].name, name, sizeof(seen[i].name) - 1);
        refused = ++seen[i].count == atol(at + n + 1);
        pthread_mutex_unlock(&fake_lock);
        break;
    }
    return refused;
}

uint64_t fake_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
    nanosleep(&(struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)}, NULL);
}

/* fakes/world, if that is preloaded: its clock, and its one device for all programs */
bool fake_world_virtual(void) __attribute__((weak));
int fake_world_slot(uint32_t client, uint32_t group) __attribute__((weak));
void fake_world_run(int slot, uint64_t ns) __attribute__((weak));
void fake_world_turn(void) __attribute__((weak));

/* So long a kernel runs. g_device is held. */
static void take_ns(uint64_t ns)
{
    static int slot = -1;

    if (!fake_world_virtual || !fake_world_virtual()) {
        sleep_ns(ns);
        return;
    }
    if (slot < 0)
        slot = fake_world_slot(0, 0);
    fake_world_run(slot, ns);
    fake_world_turn();
}

/* The device, which other processes may share. @return a descriptor or -1 */
static int device_take(void)
{
    const char *file = getenv("FAKE_ZE_DEVICE");
    int fd;

    pthread_mutex_lock(&g_device);
    fd = file ? open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd >= 0)
        flock(fd, LOCK_EX);
    return fd;
}

static void device_give(int fd)
{
    if (fd >= 0) {
        flock(fd, LOCK_UN);
        sleep_ns(20000);          /* who waits for it comes first */
        close(fd);
    }
    pthread_mutex_unlock(&g_device);
}

static void run_kernel(const struct fake_command *c)
{
    const ze_group_count_t *groups = c->groups_at ? c->groups_at : &c->groups;
    uint64_t ns = fake_kernel_ns(&c->kernel);
    int fd = device_take();

    if (ns)
        take_ns(ns);
    fake_kernel_run(&c->kernel,
                    (const uint32_t[]){groups->groupCountX, groups->groupCountY, groups->groupCountZ});
    device_give(fd);
}

static void copy_region(const struct fake_command *c)
{
    const ze_copy_region_t *to = &c->to_region, *from = &c->from_region;
    size_t to_pitch = c->to_pitch ? c->to_pitch : to->width,
           from_pitch = c->from_pitch ? c->from_pitch : from->width;
    size_t to_slice = c->to_slice ? c->to_slice : to_pitch * to->height,
           from_slice = c->from_slice ? c->from_slice : from_pitch * from->height;

    for (uint32_t z = 0; z < (from->depth ? from->depth : 1); z++)
        for (uint32_t y = 0; y < from->height; y++)
            memmove((char *)c->to + to->originX + (to->originY + y) * to_pitch + (to->originZ + z) * to_slice,
                    (const char *)c->from + from->originX + (from->originY + y) * from_pitch +
                        (from->originZ + z) * from_slice,
                    from->width);
}

static void write_stamps(const struct fake_command *c)
{
    pthread_mutex_lock(&fake_lock);
    for (size_t i = 0; i < c->bytes; i++) {
        ze_kernel_timestamp_data_t took = {c->stamps[i]->begin_ns, c->stamps[i]->end_ns};

        memcpy((char *)c->to + c->places[i], &(ze_kernel_timestamp_result_t){took, took},
               sizeof(ze_kernel_timestamp_result_t));
    }
    pthread_mutex_unlock(&fake_lock);
}

static void run(const struct fake_command *c)
{
    uint64_t now_ns = fake_now_ns();

    switch (c->kind) {
    case FAKE_COPY:
        memmove(c->to, c->from, c->bytes);
        break;
    case FAKE_REGION:
        copy_region(c);
        break;
    case FAKE_FILL:
        for (size_t i = 0; i < c->bytes; i++)
            ((uint8_t *)c->to)[i] = c->pattern[i % c->pattern_bytes];
        break;
    case FAKE_KERNEL:
        run_kernel(c);
        break;
    case FAKE_STAMP:
        memcpy(c->to, &now_ns, sizeof(now_ns));
        break;
    case FAKE_STAMPS:
        write_stamps(c);
        break;
    default:
        break;
    }
}

static bool may_start(const struct fake_command *c)
{
    for (uint32_t i = 0; i < c->waits_count; i++) {
        if (!c->waits[i]->signalled)
            return false;
    }
    return true;
}

static void *work(void *opaque)
{
    struct fake_fifo *f = opaque;
    struct fake_command *c;
    uint64_t begin_ns;

    pthread_mutex_lock(&fake_lock);
    for (;;) {
        while (!f->head && !f->end)
            pthread_cond_wait(&fake_changed, &fake_lock);
        if (!f->head)
            break;
        c = f->head;
        while (!may_start(c) && !fake_lost && !f->end)
            pthread_cond_wait(&fake_changed, &fake_lock);
        f->head = c->next;
        if (!f->head)
            f->tail = &f->head;
        pthread_mutex_unlock(&fake_lock);
        begin_ns = fake_now_ns();
        if (fake_refused("lost"))
            fake_lost = true;
        if (!fake_lost)
            run(c);
        pthread_mutex_lock(&fake_lock);
        if (!fake_lost) {
            if (c->reset)
                c->reset->signalled = false;
            if (c->signal) {
                c->signal->signalled = true;
                c->signal->begin_ns = begin_ns;
                c->signal->end_ns = fake_now_ns();
            }
            if (c->fence)
                c->fence->signalled = true;
        }
        free(c);
        f->pending--;
        pthread_cond_broadcast(&fake_changed);
    }
    pthread_mutex_unlock(&fake_lock);
    return NULL;
}

void fake_fifo_start(struct fake_fifo *f)
{
    f->tail = &f->head;
    if (pthread_create(&f->thread, NULL, work, f))
        abort();
}

void fake_fifo_end(struct fake_fifo *f)
{
    pthread_mutex_lock(&fake_lock);
    f->end = true;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
    pthread_join(f->thread, NULL);
}

void fake_fifo_put(struct fake_fifo *f, const struct fake_command *command)
{
    struct fake_command *c = malloc(sizeof(*c));

    if (!c)
        abort();
    *c = *command;
    c->next = NULL;
    pthread_mutex_lock(&fake_lock);
    *f->tail = c;
    f->tail = &c->next;
    f->pending++;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
}

/* Of CLOCK_REALTIME, as pthread_cond_timedwait wants it. */
static bool wait_locked(uint64_t timeout_ns, struct timespec *end)
{
    if (timeout_ns > 1000000000ull * 3600) {
        pthread_cond_wait(&fake_changed, &fake_lock);
        return true;
    }
    if (!end->tv_sec) {
        clock_gettime(CLOCK_REALTIME, end);
        end->tv_nsec += (long)(timeout_ns % 1000000000);
        end->tv_sec += (time_t)(timeout_ns / 1000000000) + end->tv_nsec / 1000000000;
        end->tv_nsec %= 1000000000;
    }
    return pthread_cond_timedwait(&fake_changed, &fake_lock, end) == 0;
}

ze_result_t fake_fifo_wait(struct fake_fifo *f, uint64_t timeout_ns)
{
    struct timespec end = {0};
    ze_result_t r;

    pthread_mutex_lock(&fake_lock);
    while (f->pending && timeout_ns && !fake_lost && wait_locked(timeout_ns, &end))
        ;
    r = fake_lost ? ZE_RESULT_ERROR_DEVICE_LOST : f->pending ? ZE_RESULT_NOT_READY : ZE_RESULT_SUCCESS;
    pthread_mutex_unlock(&fake_lock);
    return r;
}

ze_result_t fake_wait(const bool *flag, uint64_t timeout_ns)
{
    struct timespec end = {0};
    ze_result_t r;

    pthread_mutex_lock(&fake_lock);
    while (!*flag && timeout_ns && !fake_lost && wait_locked(timeout_ns, &end))
        ;
    r = fake_lost ? ZE_RESULT_ERROR_DEVICE_LOST : *flag ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
    pthread_mutex_unlock(&fake_lock);
    return r;
}
