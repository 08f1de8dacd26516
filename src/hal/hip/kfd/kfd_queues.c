/* SPDX-License-Identifier: Apache-2.0 */
/* The program's requests: remembers the queues that it makes. While a queue is suspended, keeps the program's
 * changes to it until it resumes. */
#include "hal/hip/kfd/kfd_queues.h"

#include "base/env.h"
#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define END_WAITS 200u            /* of 5 ms each, for a request of ours before a queue ends */

struct xs_kfd_table xs_kfd_table; /* owner: its lock */
static _Atomic(int (*)(int fd, unsigned long request, void *arg)) s_ioctl;
static _Atomic(void (*)(void)) s_listener;

void xs_kfd_set_ioctl(int (*fn)(int fd, unsigned long request, void *arg))
{
    atomic_store(&s_ioctl, fn);
}

int xs_kfd_ioctl(int fd, unsigned long request, void *arg)
{
    /* relaxed: set before the first request */
    int (*fn)(int, unsigned long, void *) = atomic_load_explicit(&s_ioctl, memory_order_relaxed);

    return fn ? fn(fd, request, arg) : (int)syscall(SYS_ioctl, fd, request, arg);
}

void xs_kfd_set_listener(void (*changed)(void))
{
    atomic_store(&s_listener, changed);
}

static void tell(void)
{
    void (*changed)(void) = atomic_load(&s_listener);

    if (changed)
        changed();
}

/* ---- whether there is a level 3 here ---- */

static bool end(const char *why)
{
    struct xs_kfd_table *t = &xs_kfd_table;

    if (atomic_exchange(&t->level, 1) == 1)
        return false;
    atomic_store(&t->why, why);
    atomic_fetch_add(&t->generation, 1);
    return true;
}

void xs_kfd_refuse(const char *why, uint32_t number)
{
    if (!end(why))
        return;
    XS_WARN_ONCE("HIP: level 3 is not available in this process: %s (%u)", why, number);
    tell();
}

void xs_kfd_end(const char *why)
{
    if (end(why))
        tell();
}

void xs_kfd_refuse_masks(const char *why, uint32_t number)
{
    const char *none = NULL;

    if (!atomic_compare_exchange_strong(&xs_kfd_table.why_no_masks, &none, why))
        return;
    atomic_fetch_add(&xs_kfd_table.generation, 1);
    XS_WARN_ONCE("HIP: the program shares in time, not in space: %s (%u)", why, number);
    tell();
}

const char *xs_kfd_why_no_masks(void)
{
    const char *why = atomic_load(&xs_kfd_table.why_no_masks);

    return why ? why : xs_kfd_why();
}

int xs_kfd_level(void)
{
    return atomic_load(&xs_kfd_table.level) == 3 ? 3 : 1;
}

const char *xs_kfd_why(void)
{
    const char *why = atomic_load(&xs_kfd_table.why);

    if (xs_kfd_level() == 3)
        return "";
    return why ? why : "the program has not called the kernel driver yet";
}

/* A forked child can use neither descriptor nor queues of its parent's. */
static void check_fork(void)
{
    struct xs_kfd_table *t = &xs_kfd_table;
    int pid = (int)getpid(), owner = atomic_load(&t->pid);

    if (owner == pid || !atomic_compare_exchange_strong(&t->pid, &owner, pid) || owner == 0)
        return;
    memset(t->queues, 0, sizeof(t->queues));
    memset(t->devices, 0, sizeof(t->devices));
    memset(&t->lock, 0, sizeof(t->lock)); /* a thread may have had it at the fork; this is the only one here */
    atomic_store(&t->level, 0);
    atomic_fetch_add(&t->generation, 1);
}

static void saw_version(const struct xs_kfd_version *v)
{
    int unknown = 0;

    if (xs_env_is(XS_ENV_XSCHED_HIP_LV3_IMPL, "OFF"))
        xs_kfd_refuse("XSCHED_HIP_LV3_IMPL=OFF", 0);
    else if (v->major != XS_KFD_MAJOR || v->minor < 1)
        xs_kfd_refuse("XSched does not know this version of the kernel driver's interface", v->major);
    else
        atomic_compare_exchange_strong(&xs_kfd_table.level, &unknown, 3);
}

/* The program asks at its start; a process that attaches later asks itself. */
static void begin(int fd)
{
    struct xs_kfd_version v = {0};

    if (atomic_load(&xs_kfd_table.level))
        return;
    if (xs_kfd_ioctl(fd, XS_KFD_IOC_VERSION, &v) == 0)
        saw_version(&v);
    else
        xs_kfd_refuse("the kernel driver does not tell its version", (uint32_t)errno);
}

/* ---- queues ---- */

void xs_kfd_effective_locked(const struct xs_kfd_queue *q, struct xs_kfd_update *ret)
{
    const struct xs_kfd_device_row *d = &xs_kfd_table.devices[q->device];

    *ret = q->program;
    if (atomic_load(&xs_kfd_table.level) != 3)
        return;
    if (d->off)
        ret->percentage &= ~XS_KFD_PERCENT;
}

static struct xs_kfd_queue *find_locked(uint32_t id)
{
    struct xs_kfd_table *t = &xs_kfd_table;

    for (uint32_t i = 0; i < XS_KFD_QUEUES; i++)
        if (t->queues[i].live && t->queues[i].program.queue_id == id)
            return &t->queues[i];
    return NULL;
}

static void forget_locked(struct xs_kfd_queue *q)
{
    q->live = q->dying = false;
    atomic_store(&q->unsure, false); /* else bring_all would look at its remains for ever */
    atomic_store(&q->mask_unsure, false);
    xs_kfd_table.devices[q->device].queues--;
    atomic_fetch_add(&xs_kfd_table.generation, 1);
}

static int device_locked(uint32_t gpu_id)
{
    struct xs_kfd_table *t = &xs_kfd_table;

    for (uint32_t i = 0; i < XS_KFD_DEVICES; i++) {
        if (!atomic_load(&t->devices[i].gpu_id))
            atomic_store(&t->devices[i].gpu_id, gpu_id);
        if (atomic_load(&t->devices[i].gpu_id) == gpu_id)
            return (int)i;
    }
    return -1;
}

/* @return NULL, or why the table cannot take it */
static const char *add_locked(int fd, const struct xs_kfd_create *c)
{
    struct xs_kfd_table *t = &xs_kfd_table;
    struct xs_kfd_queue *q = find_locked(c->queue_id);
    int device = device_locked(c->gpu_id);

    if (q)
        forget_locked(q);         /* we did not see its end */
    if (device < 0)
        return "the process uses more devices than XSched keeps";
    for (q = t->queues; q < t->queues + XS_KFD_QUEUES && q->live; q++)
        ;
    if (q == t->queues + XS_KFD_QUEUES)
        return "the process has more queues than XSched keeps";
    q->live = true;
    q->dying = false;
    atomic_store(&q->unsure, false);
    atomic_store(&q->mask_unsure, false);
    q->failures = 0;
    q->cooperative = false;
    q->own.bits = 0;
    atomic_store(&q->has_part, 0);
    q->fd = fd;
    q->device = (uint32_t)device;
    q->program = (struct xs_kfd_update){c->ring, c->queue_id, c->ring_bytes, c->percentage, c->priority};
    q->has_percentage = c->percentage;
    q->has_priority = c->priority;
    t->devices[device].queues++;
    atomic_fetch_add(&t->generation, 1);
    return NULL;
}

static int create(int fd, unsigned long request, struct xs_kfd_create *c)
{
    int r = xs_kfd_ioctl(fd, request, c), saved = errno;
    const char *wrong;

    if (r < 0)
        return r;
    begin(fd);
    if (atomic_load(&xs_kfd_table.level) == 3 &&
        (c->type == XS_KFD_TYPE_COMPUTE || c->type == XS_KFD_TYPE_COMPUTE_AQL)) {
        xs_lock_acquire(&xs_kfd_table.lock);
        wrong = add_locked(fd, c);
        xs_lock_release(&xs_kfd_table.lock);
        if (wrong)
            xs_kfd_refuse(wrong, 0);
        else
            tell();               /* on a suspended device the control thread suspends it */
    }
    errno = saved;
    return r;
}

/* The driver gives the number of an ended queue to a new one at once, so a late request of ours would change
 * another queue. The driver itself makes the end wait for a request under way. Here the end also waits for
 * one that is about to begin. */
static int destroy(int fd, unsigned long request, struct xs_kfd_destroy *d)
{
    struct xs_kfd_queue *q;
    int r, saved;

    xs_lock_acquire(&xs_kfd_table.lock);
    q = find_locked(d->queue_id);
    if (q)
        q->dying = true;
    xs_lock_release(&xs_kfd_table.lock);
    for (uint32_t i = 0, busy; q && i < END_WAITS && (busy = atomic_load(&q->busy)) != 0; i++)
        xs_futex_wait(&q->busy, busy, 5000000);
    r = xs_kfd_ioctl(fd, request, d);
    saved = errno;
    xs_lock_acquire(&xs_kfd_table.lock);
    if (q && q->live && q->dying && r == 0)
        forget_locked(q);
    else if (q)
        q->dying = false;
    xs_lock_release(&xs_kfd_table.lock);
    if (q)
        tell();
    errno = saved;
    return r;
}

/* One request. If another one comes in between, the control thread settles the doubt. */
static int update(int fd, unsigned long request, const struct xs_kfd_update *u)
{
    struct xs_kfd_update now, before;
    struct xs_kfd_queue *q;
    uint32_t asked;
    bool doubt;
    int r, saved;

    xs_lock_acquire(&xs_kfd_table.lock);
    q = find_locked(u->queue_id);
    if (!q) {
        xs_lock_release(&xs_kfd_table.lock);
        return xs_kfd_ioctl(fd, request, (void *)(uintptr_t)u);
    }
    before = q->program;
    q->program = *u;
    xs_kfd_effective_locked(q, &now);
    q->has_percentage = now.percentage;
    q->has_priority = now.priority;
    q->changing++;
    asked = atomic_fetch_add(&q->asked, 1) + 1;
    xs_lock_release(&xs_kfd_table.lock);
    r = xs_kfd_ioctl(fd, request, &now);
    saved = errno;
    xs_lock_acquire(&xs_kfd_table.lock);
    q->changing--;
    if (r < 0)
        q->program = before;      /* the control thread puts the queue back into its old state */
    if (atomic_load(&q->asked) != asked)
        atomic_store(&q->unsure, true); /* another thread of the program changed it too */
    doubt = r < 0 || atomic_load(&q->unsure);
    if (doubt)
        atomic_fetch_add(&xs_kfd_table.generation, 1);
    xs_lock_release(&xs_kfd_table.lock);
    if (doubt)
        tell();
    errno = saved;
    return r;
}

/* A mask of the program's own: hipExtStreamCreateWithCUMask, HSA_CU_MASK, ROC_GLOBAL_CU_MASK. The driver judges it and
 * whether the words can be read; then the control thread makes it smaller where the queue is confined. */
static int set_mask(int fd, unsigned long request, const struct xs_kfd_set_mask *m)
{
    struct xs_kfd_queue *q;
    uint32_t asked = 0;
    int r, saved;

    xs_lock_acquire(&xs_kfd_table.lock);
    q = find_locked(m->queue_id);
    if (q) {
        q->changing++;
        asked = atomic_fetch_add(&q->asked, 1) + 1;
    }
    xs_lock_release(&xs_kfd_table.lock);
    r = xs_kfd_ioctl(fd, request, (void *)(uintptr_t)m);
    saved = errno;
    if (!q)
        return r;
    xs_lock_acquire(&xs_kfd_table.lock);
    q->changing--;
    if (r == 0) {
        q->own.bits = XS_MIN(m->bits, XS_KFD_MASK_WORDS * 32);
        memcpy(q->own.words, (const void *)(uintptr_t)m->words, q->own.bits / 8);
        atomic_store(&q->has_part, 0);
    }
    if (atomic_load(&q->asked) != asked)
        atomic_store(&q->mask_unsure, true);
    atomic_fetch_add(&xs_kfd_table.generation, 1);
    xs_lock_release(&xs_kfd_table.lock);
    tell();
    errno = saved;
    return r;
}

static int make_cooperative(int fd, unsigned long request, struct xs_kfd_gws *g)
{
    struct xs_kfd_queue *q;
    int r = xs_kfd_ioctl(fd, request, g), saved = errno;

    if (r < 0)
        return r;
    xs_lock_acquire(&xs_kfd_table.lock);
    q = find_locked(g->queue_id);
    if (q)
        q->cooperative = true;
    atomic_fetch_add(&xs_kfd_table.generation, 1);
    xs_lock_release(&xs_kfd_table.lock);
    tell();
    errno = saved;
    return r;
}

int xs_kfd_call(int fd, unsigned long request, void *arg)
{
    int r, saved = errno;

    if (!arg)
        return xs_kfd_ioctl(fd, request, arg);
    check_fork();
    switch (XS_KFD_NR(request)) {
    case XS_KFD_NR_VERSION:
        r = xs_kfd_ioctl(fd, request, arg);
        if (r == 0 && !atomic_load(&xs_kfd_table.level)) {
            saw_version(arg);
            errno = saved;
        }
        return r;
    case XS_KFD_NR_CREATE:
        return create(fd, request, arg);
    case XS_KFD_NR_DESTROY:
        return destroy(fd, request, arg);
    case XS_KFD_NR_SET_MASK:
        if (request == XS_KFD_IOC_SET_MASK)
            return set_mask(fd, request, arg);
        xs_kfd_refuse_masks("XSched does not know a mask of this size", XS_KFD_BYTES(request));
        return xs_kfd_ioctl(fd, request, arg);
    case XS_KFD_NR_GWS:
        return make_cooperative(fd, request, arg);
    default:
        if (request == XS_KFD_IOC_UPDATE)
            return update(fd, request, arg);
        xs_kfd_refuse("XSched does not know a change of a queue of this size", XS_KFD_BYTES(request));
        return xs_kfd_ioctl(fd, request, arg);
    }
}
