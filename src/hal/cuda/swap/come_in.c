/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is out comes in. All of it is created before anything is mapped, so that a device without room costs the
 * program nothing. While others leave the device, it is taken in pieces instead: created, mapped and copied as they leave it, so
 * both directions of the bus are busy. If the rest does not come, the pieces go again: their bytes are in the store still. The
 * program goes on when all copies have ended. */
#include "hal/cuda/swap/copy.h"

#include "base/clock.h"
#include "base/futex.h"

#include <errno.h>
#include <stdlib.h>

#define PIECE     16u             /* blocks, of 64 MiB at most */
#define LOOK_NS   (500 * XS_NS_PER_US)

#define OUT_RANGES (1u << XS_SWAP_OUT)

/* A block that is out. */
struct missing {
    struct xs_swap_range *r;
    unsigned block;
};

struct coming {
    struct xs_swap *s;
    struct xs_swap_report *report;
    struct missing *m;
    uint64_t *handles;            /* of m, one each */
    size_t n, created, mapped, copied; /* of m, the first ones */
    struct xs_swap_way way;       /* of the last copy */
    bool has_way;
    bool copy_failed;             /* for whatever reason: more room does not help */
};

static size_t collect(struct xs_swap *s, struct missing *to)
{
    struct xs_swap_range *r;
    unsigned from = 0;
    size_t n = 0;

    while ((r = xs_swap_table_next(&s->table, OUT_RANGES, &from)) != NULL)
        for (unsigned i = 0; i < xs_swap_blocks(r->bytes); i++)
            if (!r->handles[i]) {
                if (to)
                    to[n] = (struct missing){r, i};
                n++;
            }
    return n;
}

static size_t bytes_of(const struct missing *m)
{
    return xs_swap_block_bytes(m->r, m->block);
}

static CUresult create(struct coming *c, size_t most)
{
    CUresult err = XS_CU_SUCCESS;

    while (c->created < most && err == XS_CU_SUCCESS) {
        const struct missing *m = &c->m[c->created];

        err = xs_swap_create(c->s, m->r->dev, bytes_of(m), &c->handles[c->created]);
        c->created += err == XS_CU_SUCCESS;
    }
    return err;
}

/* Blocks of a range that follow one another go together. */
static CUresult map(struct coming *c)
{
    CUresult err = XS_CU_SUCCESS;

    while (c->mapped < c->created && err == XS_CU_SUCCESS) {
        const struct missing *first = &c->m[c->mapped];
        unsigned k = 1;

        while (c->mapped + k < c->created && first[k].r == first->r && first[k].block == first->block + k)
            k++;
        err = xs_swap_map(c->s, first->r, first->block, k, &c->handles[c->mapped]);
        c->mapped += err == XS_CU_SUCCESS ? k : 0;
    }
    return err;
}

static CUresult end_copies(struct coming *c)
{
    CUresult err;

    if (!c->has_way)
        return XS_CU_SUCCESS;
    err = c->s->api->cuStreamSynchronize(c->way.stream);
    xs_swap_way_close(&c->way);
    c->has_way = false;
    return err;
}

/* Blocks of one context follow one another in the list as long as ranges of one do. */
static CUresult copy(struct coming *c)
{
    CUresult err = XS_CU_SUCCESS;

    c->copy_failed = true;
    while (c->copied < c->mapped && err == XS_CU_SUCCESS) {
        const struct missing *m = &c->m[c->copied];

        if (!c->has_way || c->way.ctx != m->r->owner) {
            err = end_copies(c);
            if (err == XS_CU_SUCCESS)
                err = xs_swap_way_open(&c->way, c->s, m->r->owner);
            if (err != XS_CU_SUCCESS)
                return err;
            c->has_way = true;
        }
        err = xs_swap_copy(&c->way, m->r, m->block, false);
        c->copied += err == XS_CU_SUCCESS;
    }
    c->copy_failed = err != XS_CU_SUCCESS;
    return err;
}

/* One piece. @return XS_CU_OUT_OF_MEMORY: some of it may have come */
static CUresult take(struct coming *c, size_t most)
{
    uint64_t begin_ns = xs_now_ns();
    CUresult err = create(c, most), more = XS_CU_SUCCESS;

    if (err == XS_CU_SUCCESS || (err == XS_CU_OUT_OF_MEMORY && most < c->n))
        more = map(c);
    err = more == XS_CU_SUCCESS ? err : more;
    c->report->map_ns += xs_now_ns() - begin_ns;
    if (err == XS_CU_SUCCESS || err == XS_CU_OUT_OF_MEMORY) {
        more = copy(c);
        err = more == XS_CU_SUCCESS ? err : more;
    }
    return err;
}

static CUresult take_all(struct coming *c, uint64_t room_ns)
{
    uint64_t came_ns = xs_now_ns(), now_ns;
    CUresult err = XS_CU_SUCCESS;

    while (c->copied < c->n && err == XS_CU_SUCCESS) {
        size_t before = c->copied;

        err = take(c, room_ns ? XS_MIN(c->n, c->copied + PIECE) : c->n);
        now_ns = xs_now_ns();
        if (c->copied != before)
            came_ns = now_ns;
        if (err == XS_CU_OUT_OF_MEMORY && !c->copy_failed && now_ns - came_ns < room_ns) {
            err = XS_CU_SUCCESS;
            xs_futex_pause(LOOK_NS);
            c->report->room_ns += xs_now_ns() - now_ns;
        }
    }
    return err;
}

static void all_are_in(const struct coming *c)
{
    struct xs_swap_range *r;
    unsigned from = 0;

    for (size_t i = 0; i < c->n; i++) {
        c->m[i].r->handles[c->m[i].block] = c->handles[i];
        c->report->bytes += bytes_of(&c->m[i]);
    }
    c->report->blocks += c->n;
    xs_lock_acquire(c->s->lock);
    while ((r = xs_swap_table_next(&c->s->table, OUT_RANGES, &from)) != NULL)
        r->state = XS_SWAP_USED;
    xs_lock_release(c->s->lock);
}

static void undo(struct coming *c)
{
    for (size_t i = 0; i < c->mapped; i++)
        xs_swap_unmap(c->s, c->m[i].r, c->m[i].block);
    while (c->created > 0)
        xs_swap_release(c->s, c->handles[--c->created]);
}

static int explain(struct coming *c, CUresult err)
{
    if (c->copy_failed)
        return xs_swap_failed(c->report, -EIO, "the driver copies nothing to the device");
    if (err != XS_CU_OUT_OF_MEMORY)
        return xs_swap_failed(c->report, -EIO, "the driver maps no memory");
    for (size_t i = c->created; i < c->n; i++)
        c->report->lacks += bytes_of(&c->m[i]);
    return xs_swap_failed(c->report, -ENOMEM, "the device has not enough memory");
}

static int come(struct coming *c, uint64_t room_ns)
{
    CUresult err, end;
    int r;

    collect(c->s, c->m);
    err = take_all(c, room_ns);
    end = end_copies(c);
    c->copy_failed = c->copy_failed || end != XS_CU_SUCCESS;
    err = err == XS_CU_SUCCESS ? end : err;
    if (err == XS_CU_SUCCESS) {
        all_are_in(c);
        return 0;
    }
    r = explain(c, err);
    undo(c);
    return r;
}

int xs_swap_come_in(struct xs_swap *s, uint64_t room_ns, struct xs_swap_report *report)
{
    uint64_t begin_ns = xs_now_ns(), before_ns = report->map_ns + report->room_ns;
    struct coming c = {.s = s, .report = report, .n = collect(s, NULL)};
    int r;

    c.m = calloc(XS_MAX(c.n, (size_t)1), sizeof(*c.m));
    c.handles = calloc(XS_MAX(c.n, (size_t)1), sizeof(*c.handles));
    r = c.m && c.handles ? come(&c, room_ns) : xs_swap_failed(report, -ENOMEM, "no host memory for a list");
    report->copy_ns += xs_now_ns() - begin_ns - (report->map_ns + report->room_ns - before_ns);
    free(c.handles);
    free(c.m);
    return r;
}
