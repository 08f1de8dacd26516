/* SPDX-License-Identifier: Apache-2.0 */
/* Collects what the picture shows, and chooses the rows. */
#include "launcher/record/record_picture.h"

#include "base/clock.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_BIN_NS (16 * XS_NS_PER_US)

static struct picture g_picture; /* one recording a process */

static void begin(FILE *f, uint64_t began_ns)
{
    struct timespec wall;

    (void)f;
    clock_gettime(CLOCK_REALTIME, &wall);
    g_picture.bin_ns = FIRST_BIN_NS;
    g_picture.wall_s = (double)wall.tv_sec - (double)(xs_now_ns() - began_ns) / 1e9;
}

static struct picture_program *program_of(int64_t pid)
{
    struct picture_program *p;

    HASH_FIND(hh, g_picture.programs, &pid, sizeof(pid), p);
    if (p || HASH_COUNT(g_picture.programs) >= PICTURE_PROGRAMS)
        return p;
    p = calloc(1, sizeof(*p));
    if (!p)
        abort();
    p->pid = pid;
    p->order = UINT32_MAX;
    p->priority = INT64_MIN;
    HASH_ADD(hh, g_picture.programs, pid, sizeof(pid), p);
    return p;
}

static void process(FILE *f, int64_t pid, const char *command)
{
    struct picture_program *p = program_of(pid);

    (void)f;
    if (p)
        xs_str_copy(p->name, sizeof(p->name), command);
}

/* The last place is for all devices beyond the others. */
static unsigned device_of(uint64_t device, const char *name)
{
    for (unsigned i = 0; i < g_picture.n_devices; i++)
        if (g_picture.device_ids[i] == device)
            return i;
    if (g_picture.n_devices == PICTURE_DEVICES)
        return PICTURE_DEVICES - 1;
    g_picture.device_ids[g_picture.n_devices] = device;
    xs_str_copy(g_picture.devices[g_picture.n_devices], sizeof(g_picture.devices[0]),
                g_picture.n_devices == PICTURE_DEVICES - 1 ? "other devices" : name);
    return g_picture.n_devices++;
}

static void queue(FILE *f, unsigned number, int64_t pid, uint64_t handle, uint64_t device,
                  const char *device_name, int64_t priority, uint64_t at_ns)
{
    struct picture_program *p =
        number == g_picture.n_queues + 1 && number <= PICTURE_QUEUES ? program_of(pid) : NULL;
    struct picture_queue *q;

    (void)f;
    (void)at_ns;
    if (!p) {
        g_picture.queues_left_out++;
        return;
    }
    q = calloc(1, sizeof(*q));
    if (!q)
        abort();
    p->order = XS_MIN(p->order, number);
    p->priority = XS_MAX(p->priority, priority);
    *q = (struct picture_queue){.program = p,
                                .number = ++p->queues,
                                .handle = handle,
                                .device = device_of(device, device_name),
                                .first_priority = priority,
                                .priority = priority};
    g_picture.queues[g_picture.n_queues++] = q;
}

static struct picture_queue *queue_of(unsigned number)
{
    return number - 1 < g_picture.n_queues ? g_picture.queues[number - 1] : NULL;
}

static void decision(FILE *f, unsigned number, int64_t pid, bool run, bool preempted, uint64_t at_ns)
{
    struct picture_queue *q = queue_of(number);

    (void)f;
    (void)pid;
    (void)run;
    (void)at_ns;
    if (q && preempted)
        q->preemptions++;
}

static void priority(FILE *f, unsigned number, int64_t value, uint64_t at_ns)
{
    struct picture_queue *q = queue_of(number);

    (void)f;
    (void)at_ns;
    if (!q)
        return;
    q->priority = value;
    q->program->priority = XS_MAX(q->program->priority, value);
}

static void reach(uint64_t ns)
{
    while (ns > g_picture.bin_ns * PICTURE_BINS) {
        g_picture.bin_ns *= 2;
        for (unsigned i = 0; i < g_picture.n_queues; i++)
            picture_bins_widen(&g_picture.queues[i]->bins);
        for (struct picture_program *p = g_picture.programs; p; p = p->hh.next)
            picture_bins_widen(&p->device);
    }
}

static void slice(FILE *f, unsigned number, int64_t pid, enum record_state state, int64_t priority_,
                  int64_t lane, const char *why, uint64_t from_ns, uint64_t to_ns)
{
    static const int k_inks[] = {[RECORD_RUN] = INK_RUN,
                                 [RECORD_BESIDE] = INK_BESIDE,
                                 [RECORD_WAIT] = INK_WAIT,
                                 [RECORD_PREEMPTED] = INK_PREEMPTED,
                                 [RECORD_SUSPENDED] = INK_SUSPENDED};
    struct picture_queue *q = queue_of(number);

    (void)f;
    (void)pid;
    (void)priority_;
    (void)lane;
    (void)why;
    if (!q || state < RECORD_RUN || to_ns <= from_ns)
        return;
    reach(to_ns);
    picture_bins_add(&q->bins, g_picture.bin_ns, (enum picture_ink)k_inks[state], 1, from_ns, to_ns);
}

static void share(FILE *f, int64_t pid, double percent, uint64_t from_ns, uint64_t to_ns)
{
    struct picture_program *p = program_of(pid);

    (void)f;
    if (!p || percent <= 0)
        return;
    reach(to_ns);
    picture_bins_add(&p->device, g_picture.bin_ns, INK_RUN, percent / 100, from_ns, to_ns);
}

static void note(uint64_t at_ns, const char *text)
{
    struct picture_note *n = &g_picture.notes[g_picture.n_notes];

    if (g_picture.n_notes == PICTURE_NOTES) {
        g_picture.notes_left_out++;
        return;
    }
    n->at_ns = at_ns;
    xs_str_copy(n->text, sizeof(n->text), text);
    g_picture.n_notes++;
}

static void policy(FILE *f, const char *name, uint64_t at_ns)
{
    (void)f;
    if (at_ns == 0)
        xs_str_copy(g_picture.policy, sizeof(g_picture.policy), name);
    else
        note(at_ns, name);
}

static void lost(FILE *f, uint64_t count, uint64_t at_ns)
{
    char text[40];

    (void)f;
    snprintf(text, sizeof(text), "%" PRIu64 " events lost", count);
    note(at_ns, text);
}

/* ---- the end ---- */

static double time_of(const struct picture_queue *q)
{
    double all =
        q->program->device.total_ns[INK_RUN] / q->program->queues; /* while it is alone, all that is known */

    for (unsigned ink = 0; ink < INKS; ink++)
        all += q->bins.total_ns[ink];
    return all;
}

static int by_time(const void *a, const void *b)
{
    double ta = time_of(*(struct picture_queue *const *)a), tb = time_of(*(struct picture_queue *const *)b);

    return ta > tb ? -1 : ta < tb;
}

/* The most urgent program first. */
static int in_order(const void *va, const void *vb)
{
    const struct picture_queue *a = *(struct picture_queue *const *)va,
                               *b = *(struct picture_queue *const *)vb;

    if (a->program->priority != b->program->priority)
        return a->program->priority > b->program->priority ? -1 : 1;
    if (a->program != b->program)
        return a->program->order < b->program->order ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

static void choose_rows(struct picture *p)
{
    struct picture_queue *all[PICTURE_QUEUES];

    memcpy(all, p->queues, p->n_queues * sizeof(all[0]));
    qsort(all, p->n_queues, sizeof(all[0]), by_time);
    for (unsigned i = 0; i < p->n_queues; i++) {
        struct picture_queue *q = all[i];

        if (time_of(q) <= 0)
            break; /* never had work */
        if (p->n_rows == PICTURE_ROWS || q->program->drawn == PICTURE_ROWS_OF_ONE) {
            p->rows_left_out++;
            continue;
        }
        q->program->drawn++;
        p->rows[p->n_rows++] = q;
    }
    qsort(p->rows, p->n_rows, sizeof(p->rows[0]), in_order);
    for (unsigned i = 0, color = 0; i < p->n_rows; i++)
        p->rows[i]->program->color = i > 0 && p->rows[i]->program == p->rows[i - 1]->program
                                         ? p->rows[i - 1]->program->color
                                         : color++;
}

static void forget(void)
{
    struct picture_program *p, *next_p;

    for (unsigned i = 0; i < g_picture.n_queues; i++) {
        free(g_picture.queues[i]->bins.ns);
        free(g_picture.queues[i]);
    }
    /* NOLINTBEGIN(clang-analyzer-unix.Malloc,clang-analyzer-core.NullDereference): HASH_DEL moves the head on, unseen */
    HASH_ITER(hh, g_picture.programs, p, next_p)
    {
        HASH_DEL(g_picture.programs, p);
        free(p->device.ns);
        free(p);
    }
    /* NOLINTEND(clang-analyzer-unix.Malloc,clang-analyzer-core.NullDereference) */
    memset(&g_picture, 0, sizeof(g_picture));
}

static void end_by(FILE *f, uint64_t at_ns, uint64_t lost_events,
                   void (*draw)(FILE *f, const struct picture *p))
{
    reach(at_ns);
    g_picture.end_ns = XS_MAX(at_ns, 1);
    g_picture.lost = lost_events;
    choose_rows(&g_picture);
    draw(f, &g_picture);
    forget();
}

static void end_svg(FILE *f, uint64_t at_ns, uint64_t lost_events)
{
    end_by(f, at_ns, lost_events, picture_svg);
}

static void end_html(FILE *f, uint64_t at_ns, uint64_t lost_events)
{
    end_by(f, at_ns, lost_events, picture_html);
}

#define COLLECT                                                                                              \
    .begin = begin, .process = process, .queue = queue, .gone = record_no_gone, .ready = record_no_ready,        \
    .decision = decision, .priority = priority, .policy = policy, .slice = slice, .device = record_no_device,       \
    .had = record_no_had, .share = share, .lost = lost

const struct record_writer record_svg = {COLLECT, .end = end_svg};
const struct record_writer record_html = {COLLECT, .end = end_html};

/* ---- words that both forms use ---- */

void picture_time_text(double ns, char *ret, size_t size)
{
    if (ns < 1e6)
        snprintf(ret, size, "%.0f us", ns / 1e3);
    else if (ns < 1e9)
        snprintf(ret, size, ns < 1e7 ? "%.1f ms" : "%.0f ms", ns / 1e6);
    else if (ns < 600e9)
        snprintf(ret, size, ns < 1e11 ? "%.2f s" : "%.0f s", ns / 1e9);
    else
        snprintf(ret, size, "%.1f min", ns / 60e9);
}

void picture_priority_text(const struct picture_queue *q, char *ret, size_t size)
{
    if (q->priority == q->first_priority)
        snprintf(ret, size, "%" PRId64, q->priority);
    else
        snprintf(ret, size, "%" PRId64 ", later %" PRId64, q->first_priority, q->priority);
}

size_t picture_remarks(const struct picture *p, char (*ret)[160], size_t max)
{
    size_t n = 0;

    if (p->lost && n < max)
        snprintf(ret[n++], sizeof(*ret),
                 "%" PRIu64 " events are missing: xserver had more than xsched could fetch.", p->lost);
    if (p->rows_left_out && n < max)
        snprintf(ret[n++], sizeof(*ret),
                 "Left out: %u queues with less work (it draws %u, and %u of one program).", p->rows_left_out,
                 PICTURE_ROWS, PICTURE_ROWS_OF_ONE);
    if (p->queues_left_out && n < max)
        snprintf(ret[n++], sizeof(*ret), "Left out: %u queues made after the first %u.", p->queues_left_out,
                 p->n_queues);
    if (p->notes_left_out && n < max)
        snprintf(ret[n++], sizeof(*ret), "Left out: %u later changes of the policy or losses.",
                 p->notes_left_out);
    return n;
}
