/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_kfd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/kfd_ioctl.h>

#define QUEUES 64
#define FDS    1024

static struct {
    pthread_mutex_t lock;
    struct fake_kfd_queue queues[QUEUES];
    pid_t opened[FDS];
    char fault[32];
    void (*hook)(unsigned long request, void *arg);
    unsigned complaints;
} g = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool fault(const char *what)
{
    return strcmp(g.fault, what) == 0;
}

static void note(const char *what, uint32_t id, const struct fake_kfd_queue *q)
{
    const char *path = getenv("FAKE_KFD_LOG");
    struct timespec t;
    char line[160];
    int fd, n;

    if (!path)
        return;
    clock_gettime(CLOCK_MONOTONIC, &t);
    n = snprintf(line, sizeof(line), "%.3f %d %s %u %u %u %llx\n", (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6,
                 (int)getpid(), what, id, q->percentage, q->priority, (unsigned long long)q->ring);
    fd = openat(AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (write(fd, line, (size_t)n) != n)
        g.complaints++;
    close(fd);
}

static int do_create(struct kfd_ioctl_create_queue_args *a)
{
    bool known = false;

    for (int i = 0; i < FAKE_KFD_GPUS; i++)
        known = known || a->gpu_id == FAKE_KFD_GPU_ID(i);
    if (!known || a->queue_percentage > KFD_MAX_QUEUE_PERCENTAGE || a->queue_priority > KFD_MAX_QUEUE_PRIORITY)
        return EINVAL;
    for (uint32_t i = 0; i < QUEUES; i++) {
        if (g.queues[i].used)
            continue;
        g.queues[i] = (struct fake_kfd_queue){true, a->gpu_id, a->queue_percentage, a->queue_priority, a->ring_size, 0,
                                              a->ring_base_address, a->queue_type};
        a->queue_id = i;
        a->doorbell_offset = 0x8000000000000000ull;
        note("create", i, &g.queues[i]);
        return 0;
    }
    return ENOSPC;
}

static int do_update(const struct kfd_ioctl_update_queue_args *a)
{
    struct fake_kfd_queue *q = a->queue_id < QUEUES ? &g.queues[a->queue_id] : NULL;

    if (fault("deny") || (fault("sticky") && !(a->queue_percentage & 0xff)))
        return EPERM;
    if (!q || !q->used) {
        g.complaints++;
        return EINVAL;
    }
    if ((a->queue_percentage & 0xff) > KFD_MAX_QUEUE_PERCENTAGE || a->queue_priority > KFD_MAX_QUEUE_PRIORITY)
        return EINVAL;
    if (fault("ghost"))
        return 0;
    if (a->ring_base_address != q->ring) /* nobody moves a ring: this request is for another queue */
        g.complaints++;
    q->updates++;
    q->ring = a->ring_base_address;
    q->ring_bytes = a->ring_size;
    q->percentage = a->queue_percentage;
    q->priority = a->queue_priority;
    note("update", a->queue_id, q);
    return 0;
}

static int do_destroy(const struct kfd_ioctl_destroy_queue_args *a)
{
    if (a->queue_id >= QUEUES || !g.queues[a->queue_id].used)
        return EINVAL;
    note("destroy", a->queue_id, &g.queues[a->queue_id]);
    g.queues[a->queue_id].used = false;
    return 0;
}

int fake_kfd_ioctl(int fd, unsigned long request, void *arg)
{
    struct kfd_ioctl_get_version_args *version = arg;
    int r;

    if (g.hook)
        g.hook(request, arg);
    if (fd < 0 || fd >= FDS || !g.opened[fd]) {
        errno = ENOTTY;
        return -1;
    }
    if (g.opened[fd] != getpid()) { /* the driver: "Using KFD FD in wrong process" */
        errno = EBADF;
        return -1;
    }
    if (fault("slow") && request == AMDKFD_IOC_UPDATE_QUEUE)
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    pthread_mutex_lock(&g.lock);
    switch (request) {
    case AMDKFD_IOC_GET_VERSION:
        version->major_version = fault("version2") ? 2 : KFD_IOCTL_MAJOR_VERSION;
        version->minor_version = KFD_IOCTL_MINOR_VERSION;
        r = 0;
        break;
    case AMDKFD_IOC_CREATE_QUEUE:
        r = do_create(arg);
        break;
    case AMDKFD_IOC_UPDATE_QUEUE:
        r = do_update(arg);
        break;
    case AMDKFD_IOC_DESTROY_QUEUE:
        r = do_destroy(arg);
        break;
    default:
        r = EINVAL;
    }
    pthread_mutex_unlock(&g.lock);
    if (r)
        errno = r;
    return r ? -1 : 0;
}

void fake_kfd_open(int fd)
{
    if (fd >= 0 && fd < FDS)
        g.opened[fd] = getpid();
}

void fake_kfd_reset(void)
{
    memset(g.queues, 0, sizeof(g.queues));
    memset(g.opened, 0, sizeof(g.opened));
    g.fault[0] = 0;
    g.hook = NULL;
    g.complaints = 0;
}

void fake_kfd_set_fault(const char *what)
{
    snprintf(g.fault, sizeof(g.fault), "%s", what);
}

void fake_kfd_set_hook(void (*hook)(unsigned long request, void *arg))
{
    g.hook = hook;
}

const struct fake_kfd_queue *fake_kfd_queue(uint32_t id)
{
    return id < QUEUES && g.queues[id].used ? &g.queues[id] : NULL;
}

unsigned fake_kfd_complaints(void)
{
    return g.complaints;
}

bool fake_kfd_off(int gpu)
{
    bool any = false, on = false;

    pthread_mutex_lock(&g.lock);
    for (uint32_t i = 0; i < QUEUES; i++) {
        const struct fake_kfd_queue *q = &g.queues[i];

        if (!q->used || q->gpu_id != FAKE_KFD_GPU_ID(gpu) || q->type == KFD_IOC_QUEUE_TYPE_SDMA)
            continue;
        any = true;
        on = on || q->percentage & 0xff;
    }
    pthread_mutex_unlock(&g.lock);
    return any && !on;
}
