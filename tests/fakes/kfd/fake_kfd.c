/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_kfd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
    struct fake_kfd_shape shape;
} g = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct fake_kfd_shape k_mi300x = {90402, 8, 32, 1, 304};

static bool fault(const char *what)
{
    return strcmp(g.fault, what) == 0;
}

static void note(const char *what, uint32_t id, const struct fake_kfd_queue *q, unsigned long long last)
{
    const char *path = getenv("FAKE_KFD_LOG");
    struct timespec t;
    char line[160];
    int fd, n;

    if (!path)
        return;
    clock_gettime(CLOCK_MONOTONIC, &t);
    n = snprintf(line, sizeof(line), "%.3f %d %s %u %u %u %llx\n", (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6,
                 (int)getpid(), what, id, q->percentage, q->priority, last);
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
        g.queues[i] = (struct fake_kfd_queue){
            .used = true, .gpu_id = a->gpu_id, .percentage = a->queue_percentage, .priority = a->queue_priority,
            .ring_bytes = a->ring_size, .ring = a->ring_base_address, .type = a->queue_type};
        a->queue_id = i;
        a->doorbell_offset = 0x8000000000000000ull;
        note("create", i, &g.queues[i], g.queues[i].ring);
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
    note("update", a->queue_id, q, q->ring);
    return 0;
}

static int do_destroy(const struct kfd_ioctl_destroy_queue_args *a)
{
    if (a->queue_id >= QUEUES || !g.queues[a->queue_id].used)
        return EINVAL;
    note("destroy", a->queue_id, &g.queues[a->queue_id], g.queues[a->queue_id].ring);
    g.queues[a->queue_id].used = false;
    return 0;
}

/* ---- masks ---- */

static bool has(const struct fake_kfd_queue *q, uint32_t bit)
{
    return !q->bits || (bit < q->bits && (q->words[bit / 32] >> bit % 32 & 1));
}

static bool has_pairs(void)
{
    return g.shape.target >= 100000;
}

static int do_mask(const struct kfd_ioctl_set_cu_mask_args *a)
{
    struct fake_kfd_queue *q = a->queue_id < QUEUES ? &g.queues[a->queue_id] : NULL;
    uint32_t words[FAKE_KFD_WORDS] = {0}, bits = a->num_cu_mask;

    if (fault("no_masks"))
        return ENOTTY;
    if (bits % 32 || bits == 0)
        return EINVAL;
    bits = bits > FAKE_KFD_WORDS * 32 ? FAKE_KFD_WORDS * 32 : bits;
    if (!a->cu_mask_ptr)
        return EFAULT;
    memcpy(words, (const void *)(uintptr_t)a->cu_mask_ptr, bits / 8);
    if (fault("deny") || fault("deny_masks"))
        return EPERM;
    if (!q || !q->used) {
        g.complaints++;
        return EFAULT;
    }
    if (fault("debugged"))
        return EBUSY;
    for (uint32_t bit = 0; has_pairs() && bit < bits; bit += 2) {
        uint32_t pair = words[bit / 32] >> bit % 32 & 3;

        if (pair && pair != 3)
            return EINVAL;
    }
    if (fault("ghost") || fault("ghost_masks"))
        return 0;
    memcpy(q->words, words, sizeof(words));
    q->bits = bits;
    q->masks++;
    note("mask", a->queue_id, q, fake_kfd_units(a->queue_id));
    return 0;
}

uint32_t fake_kfd_units(uint32_t id)
{
    const struct fake_kfd_queue *q = &g.queues[id];
    uint32_t step = has_pairs() ? 2 : 1, row = g.shape.arrays * step, n = 0, of_array[256] = {0}, of_die[16] = {0};

    for (uint32_t bit = 0; bit < g.shape.units; bit++) {
        if (!has(q, bit))
            continue;
        n++;
        of_array[bit % row / step]++;
        of_die[bit % row / step % g.shape.dies]++;
    }
    for (uint32_t a = 0; a < g.shape.arrays; a++)
        if (!of_array[a] && of_die[a % g.shape.dies])
            return 0;
    return n;
}

static bool busy(const struct fake_kfd_queue *q)
{
    return q->used && q->left_ns && q->percentage & 0xff;
}

/* The queues of the same device that may use a unit as well. */
static uint64_t others_at(uint32_t id, uint32_t bit)
{
    uint64_t which = 0;

    for (uint32_t i = 0; i < QUEUES; i++)
        if (i != id && busy(&g.queues[i]) && g.queues[i].gpu_id == g.queues[id].gpu_id && has(&g.queues[i], bit))
            which |= 1ull << i;
    return which;
}

/* Its own units are enough for its kernel: it takes none of others. */
static bool has_enough(uint32_t id)
{
    uint32_t alone = 0;

    for (uint32_t bit = 0; bit < g.shape.units; bit++)
        alone += has(&g.queues[id], bit) && !others_at(id, bit);
    return alone >= g.queues[id].needs;
}

/* In 1/1000 of its full speed. */
static uint64_t speed(uint32_t id)
{
    const struct fake_kfd_queue *q = &g.queues[id];
    uint64_t content = 0, units = 0;

    if (!busy(q) || !fake_kfd_units(id))
        return 0;
    if (has_enough(id))
        return 1000;
    for (uint32_t i = 0; i < QUEUES; i++)
        if (busy(&g.queues[i]) && has_enough(i))
            content |= 1ull << i;
    for (uint32_t bit = 0; bit < g.shape.units; bit++)
        if (has(q, bit))
            units += 1000 / (1 + (unsigned)__builtin_popcountll(others_at(id, bit) & ~content));
    units /= q->needs;
    return units > 1000 ? 1000 : units;
}

void fake_kfd_launch(uint32_t id, uint32_t units, uint64_t ns)
{
    g.queues[id].needs = units;
    g.queues[id].left_ns = ns;
}

uint64_t fake_kfd_advance(uint64_t ns)
{
    uint64_t speeds[QUEUES];

    for (uint32_t i = 0; i < QUEUES; i++) {
        speeds[i] = speed(i);
        if (speeds[i] && (g.queues[i].left_ns * 1000 + speeds[i] - 1) / speeds[i] < ns)
            ns = (g.queues[i].left_ns * 1000 + speeds[i] - 1) / speeds[i];
    }
    for (uint32_t i = 0; i < QUEUES; i++) {
        uint64_t done = ns * speeds[i] / 1000;

        if (speeds[i])
            g.queues[i].left_ns -= done < g.queues[i].left_ns ? done : g.queues[i].left_ns;
    }
    return ns;
}

void fake_kfd_set_shape(const struct fake_kfd_shape *s)
{
    g.shape = *s;
}

const struct fake_kfd_shape *fake_kfd_shape(void)
{
    const char *text = getenv("FAKE_KFD_SHAPE");

    if (!g.shape.units)
        g.shape = k_mi300x;
    if (text && sscanf(text, "%u %u %u %u %u", &g.shape.target, &g.shape.dies, &g.shape.arrays,
                       &g.shape.arrays_per_engine, &g.shape.units) != 5)
        g.complaints++;
    return &g.shape;
}

void fake_kfd_properties(uint32_t location, char *ret, size_t size)
{
    const struct fake_kfd_shape *s = fake_kfd_shape();

    snprintf(ret, size,
             "cpu_cores_count 0\nsimd_count %u\nsimd_arrays_per_engine %u\narray_count %u\nsimd_per_cu 4\n"
             "gfx_target_version %u\nvendor_id 4098\nlocation_id %u\ndomain 0\nnum_xcc %u\n",
             s->units * 4, s->arrays_per_engine, s->arrays, s->target, location, s->dies);
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
    if (fault("slow") && (request == AMDKFD_IOC_UPDATE_QUEUE || request == AMDKFD_IOC_SET_CU_MASK))
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
    case AMDKFD_IOC_SET_CU_MASK:
        r = do_mask(arg);
        break;
    case AMDKFD_IOC_ALLOC_QUEUE_GWS:
        r = 0;
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
    fake_kfd_shape();
    if (fd >= 0 && fd < FDS)
        g.opened[fd] = getpid();
}

void fake_kfd_put(const char *folder, const char *node, const char *name, const char *text)
{
    char path[160];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, node);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/%s/%s", folder, node, name);
    f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        abort();
}

void fake_kfd_reset(void)
{
    memset(g.queues, 0, sizeof(g.queues));
    memset(g.opened, 0, sizeof(g.opened));
    g.fault[0] = 0;
    g.hook = NULL;
    g.complaints = 0;
    g.shape = k_mi300x;
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

unsigned fake_kfd_speed(int gpu)
{
    uint32_t most = 0;

    pthread_mutex_lock(&g.lock);
    for (uint32_t i = 0; i < QUEUES; i++) {
        const struct fake_kfd_queue *q = &g.queues[i];
        uint32_t units;

        if (!q->used || q->gpu_id != FAKE_KFD_GPU_ID(gpu) || q->type == KFD_IOC_QUEUE_TYPE_SDMA)
            continue;
        units = fake_kfd_units(i);
        most = units > most ? units : most;
    }
    pthread_mutex_unlock(&g.lock);
    if (fault("spins") && most < g.shape.units)
        return 0;
    return most * 1000 / g.shape.units;
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
