/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the scheduler's wish, in the control thread: queues off and on, and masks. It waits for no lock. Its
 * own requests take as long as the driver needs (the driver saves the waves of the queue). */
#include "hal/hip/kfd/kfd_queues.h"

#include "base/clock.h"
#include "base/log.h"
#include "wire/page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SOON_NS     (1 * XS_NS_PER_MS)
#define RETRY_NS    (100 * XS_NS_PER_MS)
#define FAILURES    1000u         /* attempts to bring one queue back, before it gives up */
#define NODES       64u
#define TOPOLOGY    "/sys/class/kfd/kfd/topology/nodes"

static const char *s_topology;    /* NULL: the kernel's; writer: a test, before anything else */
/* the control thread's */
static uint64_t s_retry_ns;       /* after a failed attempt to bring a queue back: not before then */
static bool s_changed;            /* a wish has changed */
static uint32_t s_seen;           /* generation that bring_all looked at */

/* ---- which device it is ---- */

static bool read_text(const char *folder, unsigned node, const char *name, char *ret, size_t size)
{
    char path[160];
    ssize_t n;
    int fd;

    if (snprintf(path, sizeof(path), "%s/%u/%s", folder, node, name) >= (int)sizeof(path))
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, ret, size - 1);
    close(fd);
    if (n < 0)
        return false;
    ret[n] = 0;
    return true;
}

static uint64_t number(const char *text)
{
    uint64_t n = 0;

    while (*text == ' ')
        text++;
    for (; *text >= '0' && *text <= '9'; text++)
        n = n * 10 + (uint64_t)(*text - '0');
    return n;
}

/* The number behind a name at the start of a line. */
static uint64_t property(const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, name, n) == 0 && line[n] == ' ')
            return number(line + n);
    return 0;
}

static void read_shape(const char *properties, struct xs_kfd_shape *ret)
{
    uint64_t simds = property(properties, "simd_count"), each = property(properties, "simd_per_cu");

    *ret = (struct xs_kfd_shape){
        .target = (uint32_t)property(properties, "gfx_target_version"),
        .dies = (uint32_t)property(properties, "num_xcc"),
        .arrays = (uint32_t)property(properties, "array_count"),
        .arrays_per_engine = (uint32_t)property(properties, "simd_arrays_per_engine"),
        .units = each ? (uint32_t)(simds / each) : 0,
    };
}

/* @return false when the kernel does not know the driver's number for it */
static bool find_address(uint32_t gpu_id, uint32_t *ret, struct xs_kfd_shape *ret_shape)
{
    const char *folder = s_topology ? s_topology : TOPOLOGY;
    char text[2048];

    for (unsigned node = 0; node < NODES; node++) {
        uint64_t location, domain;

        if (!read_text(folder, node, "gpu_id", text, sizeof(text)))
            return false;
        if (number(text) != gpu_id || !read_text(folder, node, "properties", text, sizeof(text)))
            continue;
        location = property(text, "location_id");
        domain = property(text, "domain");
        /* bus, device and function; the top bits number the parts of a divided device */
        *ret = (uint32_t)(domain & 0xffff) << 16 | (uint32_t)(location & 0xffff) | (uint32_t)(location >> 28 & 7);
        read_shape(text, ret_shape);
        return true;
    }
    return false;
}

static bool know(struct xs_kfd_device_row *d)
{
    if (!d->address_known && !d->address_missing) {
        d->address_known = find_address(d->gpu_id, &d->address, &d->shape);
        d->address_missing = !d->address_known;
        if (d->address_missing)
            XS_WARN_ONCE("HIP: the kernel does not tell where device %u is; XSched leaves its queues on", d->gpu_id);
    }
    return d->address_known;
}

/* ---- bringing it about ---- */

/* Stores the wishes where the program's threads see them. @return false: another thread changes the table */
static bool publish_wishes(void)
{
    struct xs_kfd_table *t = &xs_kfd_table;
    bool works = atomic_load(&t->level) == 3;

    if (!xs_lock_try(&t->lock))
        return false;
    for (uint32_t i = 0; i < XS_KFD_DEVICES; i++) {
        struct xs_kfd_device_row *d = &t->devices[i];

        d->off = works && d->wish.off;
        if (!d->off)              /* else the mask changes when the queues are on again */
            d->part = works && !atomic_load(&t->why_no_masks) ? d->wish.part : 0;
    }
    xs_lock_release(&t->lock);
    return true;
}

#define LATER 2                   /* the program changes it now */

/* The next request for a queue. */
struct step {
    enum { STEP_NONE, STEP_STATE, STEP_MASK } what;
    struct xs_kfd_update state;
    struct xs_kfd_mask mask;
    struct xs_kfd_set_mask set;
    bool ours;                    /* it is not the program's own state */
    uint32_t part, had_part;      /* of the mask; before */
};

static uint32_t part_of(const struct xs_kfd_queue *q)
{
    return q->cooperative ? 0 : xs_kfd_table.devices[q->device].part;
}

/* A queue that is off, or goes off, keeps its mask; one that goes on gets its mask first, while the driver need not
 * take it off the device for it. */
static void next_step_locked(const struct xs_kfd_queue *q, struct step *ret)
{
    bool on;

    *ret = (struct step){.what = STEP_NONE};
    xs_kfd_effective_locked(q, &ret->state);
    on = ret->state.percentage & XS_KFD_PERCENT;
    ret->part = part_of(q);
    ret->had_part = atomic_load(&q->has_part);
    if (on && (ret->had_part != ret->part || atomic_load(&q->mask_unsure))) {
        ret->what = STEP_MASK;
        ret->ours = ret->part != 0;
        xs_kfd_mask_of(&xs_kfd_table.devices[q->device].shape, ret->part, &q->own, &ret->mask);
        ret->set = (struct xs_kfd_set_mask){q->program.queue_id, ret->mask.bits, 0};
    } else if (q->has_percentage != ret->state.percentage || q->has_priority != ret->state.priority ||
               atomic_load(&q->unsure)) {
        ret->what = STEP_STATE;
        ret->ours = ret->state.percentage != q->program.percentage;
    }
}

static void note_step_locked(struct xs_kfd_queue *q, const struct step *step)
{
    if (step->what == STEP_MASK) {
        atomic_store(&q->mask_unsure, false);
        atomic_store(&q->has_part, step->part);
        return;
    }
    atomic_store(&q->unsure, false);
    q->has_percentage = step->state.percentage;
    q->has_priority = step->state.priority;
}

/* The driver says no before it changes anything. */
static bool says_no(int error)
{
    return error == EPERM || error == ENOTTY || error == EINVAL || error == EBUSY || error == EFAULT || error == EBADF;
}

static void note_failures(struct xs_kfd_queue *q, _Atomic bool *unsure, int r)
{
    q->failures = r < 0 ? q->failures + 1 : 0;
    if (q->failures < FAILURES)
        return;
    XS_WARN_ONCE("HIP: the driver does not take a queue back (error %d)", -r);
    atomic_store(unsure, false);
    q->failures = 0;
}

/* One request. @return 1 done, 0 there was nothing to do, LATER, -EAGAIN: no lock, or -errno of the driver */
static int bring(struct xs_kfd_queue *q, struct step *step, uint32_t *ret_device)
{
    struct xs_kfd_table *t = &xs_kfd_table;
    _Atomic bool *unsure;
    uint32_t asked;
    int r, fd;

    if (!xs_lock_try(&t->lock))
        return -EAGAIN;
    if (!q->live || q->dying) {
        if (!q->live) {           /* a request of ours outlasted the queue's end */
            atomic_store(&q->unsure, false);
            atomic_store(&q->mask_unsure, false);
        }
        xs_lock_release(&t->lock);
        return 0;
    }
    next_step_locked(q, step);
    *ret_device = q->device;
    fd = q->fd;
    if (step->what == STEP_NONE || q->changing) {
        xs_lock_release(&t->lock);
        return step->what == STEP_NONE ? 0 : LATER;
    }
    note_step_locked(q, step);
    asked = atomic_fetch_add(&q->asked, 1) + 1;
    atomic_fetch_add(&q->busy, 1);
    xs_lock_release(&t->lock);
    step->set.words = (uintptr_t)step->mask.words;
    r = step->what == STEP_MASK ? xs_kfd_ioctl(fd, XS_KFD_IOC_SET_MASK, &step->set)
                                : xs_kfd_ioctl(fd, XS_KFD_IOC_UPDATE, &step->state);
    r = r < 0 ? -errno : 1;
    unsure = step->what == STEP_MASK ? &q->mask_unsure : &q->unsure;
    if (r < 0 && step->what == STEP_MASK && step->ours && says_no(-r))
        atomic_compare_exchange_strong(&q->has_part, &step->part, step->had_part);
    else if (r < 0 || atomic_load(&q->asked) != asked)
        atomic_store(unsure, true); /* a request of the program's came in between, or it failed: once more */
    note_failures(q, unsure, r);
    if (r < 0 && step->ours && step->what == STEP_MASK)
        xs_kfd_refuse_masks("the driver does not let XSched mask compute units", (uint32_t)-r);
    else if (r < 0 && step->ours)
        xs_kfd_refuse("the driver does not let XSched change queues", (uint32_t)-r);
    atomic_fetch_sub(&q->busy, 1);
    xs_futex_wake(&q->busy, INT32_MAX);
    return r;
}

static void record(struct xs_kfd_device_row *d, int r, uint64_t took_ns)
{
    if (!d->report_due)
        d->report = (struct xs_kfd_report){.address = d->address};
    d->report_due = true;
    d->report.off = d->wish.off;
    d->report.queues += r > 0;
    d->report.took_ns += took_ns;
    if (r < 0)
        d->report.error = r;
}

/* All that a queue needs: a request, or two where it goes on with another mask. @return as bring, of the last */
static int bring_fully(struct xs_kfd_queue *q)
{
    int r;

    do {
        uint64_t began = xs_now_ns();
        uint32_t device = 0;
        struct step step;

        r = bring(q, &step, &device);
        if (r && r != -EAGAIN && r != LATER && step.what == STEP_STATE)
            record(&xs_kfd_table.devices[device], r, xs_now_ns() - began);
    } while (r == 1 && !atomic_load(&q->unsure) && !atomic_load(&q->mask_unsure));
    return r;
}

/* @return false: again soon */
static bool bring_all(void)
{
    struct xs_kfd_table *t = &xs_kfd_table;
    uint32_t seen = atomic_load(&t->generation);
    bool all, again = false;

    if (!s_changed && seen == s_seen)
        return true;
    all = publish_wishes();
    s_retry_ns = 0;
    for (uint32_t i = 0; all && i < XS_KFD_QUEUES; i++) {
        int r = bring_fully(&t->queues[i]);

        if (r == -EAGAIN)
            all = false;
        else if (r == LATER)
            again = true;
        if (r != -EAGAIN && (atomic_load(&t->queues[i].unsure) || atomic_load(&t->queues[i].mask_unsure))) {
            again = true;
            s_retry_ns = r < 0 ? xs_now_ns() + RETRY_NS : s_retry_ns;
        }
    }
    s_changed = !all || again;
    s_seen = seen;
    return !s_changed;
}

bool xs_kfd_wish(uint32_t address, const struct xs_kfd_wish *w)
{
    struct xs_kfd_table *t = &xs_kfd_table;

    for (uint32_t i = 0; i < XS_KFD_DEVICES; i++) {
        struct xs_kfd_device_row *d = &t->devices[i];

        if (atomic_load(&d->gpu_id) && know(d) && d->address == address) {
            s_changed = s_changed || d->wish.off != w->off || d->wish.part != w->part;
            d->wish = *w;
            return true;
        }
    }
    return false;
}

uint64_t xs_kfd_due(uint64_t now_ns)
{
    struct xs_kfd_table *t = &xs_kfd_table;
    uint64_t next = UINT64_MAX;

    if (atomic_load(&t->pid) != (int)getpid())
        return next;
    for (uint32_t i = 0; i < XS_KFD_DEVICES; i++) {
        struct xs_kfd_wish *w = &t->devices[i].wish;

        if ((w->off || w->part) && now_ns >= w->until_ns) {
            XS_WARN_ONCE("HIP: the scheduler %s and said no more; they go on",
                         w->off ? "switched queues off" : "confined queues to a part of the device");
            *w = (struct xs_kfd_wish){0};
            s_changed = true;
        }
        if (w->off || w->part)
            next = XS_MIN(next, w->until_ns);
    }
    if (now_ns < s_retry_ns)
        return XS_MIN(next, s_retry_ns);
    if (!bring_all())
        next = XS_MIN(next, s_retry_ns ? s_retry_ns : now_ns + SOON_NS);
    return next;
}

bool xs_kfd_restore(void)
{
    struct xs_kfd_table *t = &xs_kfd_table;

    if (atomic_load(&t->pid) != (int)getpid())
        return true;
    for (uint32_t i = 0; i < XS_KFD_DEVICES; i++) {
        t->devices[i].wish = (struct xs_kfd_wish){0};
        t->devices[i].report_due = false;
    }
    s_changed = true;
    return bring_all();
}

bool xs_kfd_report(struct xs_kfd_report *ret)
{
    for (uint32_t i = 0; i < XS_KFD_DEVICES; i++) {
        struct xs_kfd_device_row *d = &xs_kfd_table.devices[i];

        if (!d->report_due || !d->address_known)
            continue;
        *ret = d->report;
        ret->address = d->address;
        d->report_due = false;
        return true;
    }
    return false;
}

uint32_t xs_kfd_generation(void)
{
    return atomic_load(&xs_kfd_table.generation);
}

int xs_kfd_device(uint32_t index, struct xs_kfd_device *ret)
{
    struct xs_kfd_table *t = &xs_kfd_table;
    uint32_t queues[XS_KFD_DEVICES];

    if (atomic_load(&t->pid) != (int)getpid())
        return -ENOENT;
    if (!xs_lock_try(&t->lock))
        return -EAGAIN;
    for (uint32_t i = 0; i < XS_KFD_DEVICES; i++)
        queues[i] = t->devices[i].queues;
    xs_lock_release(&t->lock);
    for (uint32_t i = 0; i < XS_KFD_DEVICES; i++) {
        if (!atomic_load(&t->devices[i].gpu_id) || !know(&t->devices[i]) || index-- > 0)
            continue;
        *ret = (struct xs_kfd_device){t->devices[i].address, atomic_load(&t->level) == 3 ? queues[i] : 0};
        return 0;
    }
    return -ENOENT;
}

uint32_t xs_kfd_lanes(uint32_t address, uint32_t *ret_units)
{
    struct xs_kfd_table *t = &xs_kfd_table;

    *ret_units = 0;
    if (atomic_load(&t->pid) != (int)getpid())
        return 0;
    for (uint32_t i = 0; i < XS_KFD_DEVICES; i++) {
        struct xs_kfd_device_row *d = &t->devices[i];
        uint32_t wide, narrow;

        if (!atomic_load(&d->gpu_id) || !know(d) || d->address != address)
            continue;
        *ret_units = d->shape.units;
        wide = xs_kfd_part(&d->shape, XS_LANES_PART(d->shape.units, XS_LANES_WIDE_LEAVES));
        narrow = xs_kfd_part(&d->shape, XS_LANES_PART(d->shape.units, XS_LANES_NARROW_LEAVES));
        if (xs_kfd_shape_refused(&d->shape))
            xs_kfd_refuse_masks(xs_kfd_shape_refused(&d->shape), d->shape.target);
        else if (wide <= narrow)  /* 0: the part would be all of it */
            xs_kfd_refuse_masks("the device has too few compute units to leave some to others", d->shape.units);
        return *xs_kfd_why_no_masks() ? XS_LANES_NONE : XS_LANES(wide, narrow);
    }
    return 0;
}

uint32_t xs_kfd_part_near(uint32_t address, uint32_t wanted)
{
    for (uint32_t i = 0; i < XS_KFD_DEVICES; i++) {
        struct xs_kfd_device_row *d = &xs_kfd_table.devices[i];

        if (atomic_load(&d->gpu_id) && know(d) && d->address == address)
            return xs_kfd_part(&d->shape, wanted);
    }
    return 0;
}

void xs_kfd_reset(const char *topology)
{
    uint32_t generation = atomic_load(&xs_kfd_table.generation);

    memset(&xs_kfd_table, 0, sizeof(xs_kfd_table));
    atomic_store(&xs_kfd_table.generation, generation + 1);
    s_topology = topology;
    s_retry_ns = 0;
    s_changed = false;
    s_seen = 0;
}
