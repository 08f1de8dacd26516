/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the program's memory out to the store, and back in.
 *
 * Out: calls that touch memory wait (pause.c), the gates of level 2 open, since a closed one never drains, and the
 * contexts' work ends. Then each block is copied, and unmapped when its copy has ended: at any moment a block is in with
 * its bytes, or out with its bytes. In: come_in.c.
 *
 * A detached thread of ours does it, with no lock, in relaxed capture mode. It may stay in the driver for as long as a
 * command of the program runs; whoever asked for the move gives up before that, and the program goes on. */
#include "hal/cuda/swap/copy.h"
#include "hal/cuda/swap/pause.h"
#include "hal/cuda/swap/serve.h"
#include "hal/cuda/swap/store.h"

#include "base/clock.h"
#include "base/futex.h"
#include "base/log.h"
#include "hal/common/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXTS    64u
#define EVENTS      8u            /* copies whose blocks are not unmapped yet */
#define AGAIN_NS    XS_NS_PER_MS  /* a capture is under way */
#define BLOCKING_SYNC 1u          /* a thread that waits for an event sleeps */

#define BIT(state)  (1u << XS_SWAP_##state)

enum phase { IDLE, BEGINS, WAITS_FOR_CALLS, WAITS_FOR_WORK, MOVES, DONE, GIVEN_UP };

/* One move. Writer of all but `phase`: the mover, until DONE; then whoever asked. */
static struct {
    _Atomic uint32_t phase;       /* IDLE to BEGINS and WAITS_FOR_WORK to GIVEN_UP: who asks; else the mover */
    bool out;
    uint64_t until_ns, begin_ns;
    uint64_t room_ns;             /* on the way in: it waits so long for the next piece that others leave; 0: nobody leaves */
    struct xs_swap_report report;
} g_move;

static void failed(int error, const char *why)
{
    xs_swap_failed(&g_move.report, error, why);
}

static bool is_moving_out(const struct xs_swap_range *r)
{
    return r->state == XS_SWAP_USED && !r->stays;
}

static size_t bytes_to_move(struct xs_swap *s)
{
    struct xs_swap_range *r;
    unsigned from = 0;
    size_t bytes = 0;

    xs_lock_acquire(s->lock);
    while ((r = xs_swap_table_next(&s->table, BIT(USED), &from)) != NULL)
        bytes += is_moving_out(r) ? r->bytes : 0;
    xs_lock_release(s->lock);
    return bytes;
}

/* ---- out ---- */

/* A block on its way out: its copy is in the stream, and ends before the event. */
struct leaving {
    struct xs_swap_range *r;
    unsigned block;
    CUevent event;
};

/* Waits for the copy, and lets the block's memory go. A block that the driver does not unmap is in still. */
static CUresult let_go(struct xs_swap *s, struct leaving *l)
{
    CUresult err = s->api->cuEventSynchronize(l->event);
    uint64_t begin_ns = xs_now_ns();

    if (err == XS_CU_SUCCESS && xs_swap_unmap(s, l->r, l->block) == XS_CU_SUCCESS) {
        xs_swap_release(s, l->r->handles[l->block]);
        l->r->handles[l->block] = 0;
        g_move.report.blocks++;
        g_move.report.bytes += xs_swap_block_bytes(l->r, l->block);
    }
    l->r = NULL;
    g_move.report.map_ns += xs_now_ns() - begin_ns;
    return err;
}

static CUresult take_ranges_out(struct xs_swap_way *w, struct leaving *l)
{
    struct xs_swap *s = w->s;
    CUresult err = XS_CU_SUCCESS, end = XS_CU_SUCCESS;
    struct xs_swap_range *r;
    unsigned from = 0, next = 0;

    while (err == XS_CU_SUCCESS && (r = xs_swap_table_next(&s->table, BIT(OUT), &from)) != NULL)
        for (unsigned i = 0; r->owner == w->ctx && i < xs_swap_blocks(r->bytes) && err == XS_CU_SUCCESS; i++) {
            struct leaving *at = &l[next++ % EVENTS];

            if (at->r)
                err = let_go(s, at);
            if (err == XS_CU_SUCCESS)
                err = xs_swap_copy(w, r, i, true);
            if (err == XS_CU_SUCCESS)
                err = s->api->cuEventRecord(at->event, w->stream);
            if (err != XS_CU_SUCCESS)
                break;
            at->r = r;
            at->block = i;
        }
    for (unsigned i = 0; i < EVENTS; i++, next++)
        if (l[next % EVENTS].r) {
            CUresult one = let_go(s, &l[next % EVENTS]);

            end = end == XS_CU_SUCCESS ? one : end;
        }
    if (err != XS_CU_SUCCESS)
        s->api->cuStreamSynchronize(w->stream); /* no copy into the store goes on */
    return err == XS_CU_SUCCESS ? end : err;
}

static CUresult take_context_out(struct xs_swap *s, CUcontext ctx)
{
    struct leaving l[EVENTS];
    CUresult err;
    struct xs_swap_way w;
    unsigned made = 0;

    memset(l, 0, sizeof(l));
    err = xs_swap_way_open(&w, s, ctx);
    if (err != XS_CU_SUCCESS)
        return err;
    while (made < EVENTS && err == XS_CU_SUCCESS) {
        err = s->api->cuEventCreate(&l[made].event, XS_CU_EVENT_DISABLE_TIMING | BLOCKING_SYNC);
        made += err == XS_CU_SUCCESS;
    }
    if (err == XS_CU_SUCCESS)
        err = take_ranges_out(&w, l);
    while (made > 0)
        s->api->cuEventDestroy_v2(l[--made].event);
    xs_swap_way_close(&w);
    return err;
}

/* The contexts that have ranges in these states. @return how many; more than CONTEXTS: too many */
static unsigned contexts(struct xs_swap *s, unsigned states, CUcontext *to)
{
    const struct xs_swap_range *r;
    unsigned from = 0, n = 0;

    xs_lock_acquire(s->lock);
    while (n <= CONTEXTS && (r = xs_swap_table_next(&s->table, states, &from)) != NULL) {
        unsigned k = 0;

        while (k < n && to[k] != r->owner)
            k++;
        if (k == n && n < CONTEXTS)
            to[n] = r->owner;
        n += k == n;
    }
    xs_lock_release(s->lock);
    return n;
}

static CUresult take_all_out(struct xs_swap *s)
{
    CUcontext all[CONTEXTS];
    unsigned n = contexts(s, BIT(OUT), all);
    CUresult err = n <= CONTEXTS ? XS_CU_SUCCESS : XS_CU_NOT_SUPPORTED;

    for (unsigned i = 0; i < n && err == XS_CU_SUCCESS; i++)
        err = take_context_out(s, all[i]);
    return err;
}

/* Everything that moves is OUT from now on, and has a place in the store; kept memory goes. */
static void begin_out(struct xs_swap *s)
{
    struct xs_swap_range *r;
    unsigned from = 0;
    size_t at = 0;

    xsched_priv_cuda_swap_give_back();
    xs_lock_acquire(s->lock);
    while ((r = xs_swap_table_next(&s->table, BIT(USED), &from)) != NULL)
        if (is_moving_out(r)) {
            r->state = XS_SWAP_OUT;
            r->store_at = at;
            at += r->bytes;
        }
    xs_lock_release(s->lock);
}

static bool wait_for_calls(void)
{
    for (;;) {
        atomic_store(&g_move.phase, WAITS_FOR_CALLS);
        xs_swap_pause_set(XS_SWAP_FREES_WAIT);
        if (!xs_swap_pause_wait(g_move.until_ns)) {
            failed(-ETIMEDOUT, "a call of the program does not return");
            return false;
        }
        if (!atomic_load(&xsched_priv_cuda_captures))
            return true;
        xs_swap_pause_set(XS_SWAP_ALL_IN); /* the capture goes on */
        if (xs_now_ns() >= g_move.until_ns) {
            failed(-ETIMEDOUT, "a stream captures");
            return false;
        }
        xs_futex_pause(AGAIN_NS);
    }
}

/* Every context whose work may use served memory. @return as contexts() */
static unsigned contexts_at_work(struct xs_swap *s, CUcontext *to)
{
    unsigned n = contexts(s, BIT(USED) | BIT(FREED) | BIT(KEPT), to);

    xs_lock_acquire(s->lock);
    for (unsigned i = 0; i < XS_SWAP_CONTEXTS && n <= CONTEXTS; i++) {
        unsigned k = 0;

        while (k < n && to[k] != s->contexts[i].ctx)
            k++;
        if (k < n || !s->contexts[i].ctx)
            continue;
        if (n < CONTEXTS)
            to[n] = s->contexts[i].ctx;
        n++;
    }
    if (s->more_contexts)
        n = CONTEXTS + 1;
    xs_lock_release(s->lock);
    return n;
}

/* The thread that asked may give up meanwhile and let the program go on. After that the mover touches `phase` alone. */
static bool wait_for_work(struct xs_swap *s)
{
    CUcontext all[CONTEXTS];
    unsigned n = contexts_at_work(s, all);
    uint32_t waits = WAITS_FOR_WORK;
    CUresult err = XS_CU_SUCCESS;

    atomic_store(&g_move.phase, WAITS_FOR_WORK);
    for (unsigned i = 0; i < XS_MIN(n, CONTEXTS) && err == XS_CU_SUCCESS && atomic_load(&g_move.phase) == WAITS_FOR_WORK; i++)
        err = xs_swap_drain(s, all[i]);
    if (!atomic_compare_exchange_strong(&g_move.phase, &waits, MOVES))
        return false;
    if (err != XS_CU_SUCCESS)
        failed(-EIO, "the program's work ended with an error");
    else if (n > CONTEXTS)
        failed(-ENOTSUP, "the program has too many contexts");
    return err == XS_CU_SUCCESS && n <= CONTEXTS;
}

/* Calls that we do not see do not wait. */
static bool works_unseen(void)
{
    bool unseen = atomic_load(&xsched_priv_cuda_captures_unseen) || atomic_load(&xsched_priv_cuda_at_level1);

    if (unseen)
        failed(-ENOTSUP, "the program has functions newer than XSched, whose calls would not wait");
    return unseen;
}

static void move_out(struct xs_swap *s)
{
    uint64_t prepared_ns, moves_ns, map_ns;
    bool inside, quiet;

    if (works_unseen())
        return;
    if (xs_swap_store_prepare(bytes_to_move(s)) < 0) {
        failed(-ENOMEM, "the host, or the program's cgroup, has not enough memory");
        return;
    }
    prepared_ns = xs_now_ns();
    g_move.report.prepare_ns = prepared_ns - g_move.begin_ns;
    inside = xsched_priv_inside_begin();
    quiet = wait_for_calls() && wait_for_work(s);
    if (inside)
        xsched_priv_inside_end();
    if (atomic_load(&g_move.phase) == GIVEN_UP)
        return;
    if (quiet && works_unseen()) /* it got one meanwhile */
        quiet = false;
    if (quiet && xs_swap_store_prepare(bytes_to_move(s)) < 0) { /* it has more by now */
        failed(-ENOMEM, "the host, or the program's cgroup, has not enough memory");
        quiet = false;
    }
    if (!quiet) {
        xs_swap_pause_set(XS_SWAP_ALL_IN);
        return;
    }
    moves_ns = xs_now_ns();
    g_move.report.pause_ns = moves_ns - prepared_ns;
    begin_out(s);
    if (take_all_out(s) != XS_CU_SUCCESS) {
        bool back = xs_swap_come_in(s, 0, &g_move.report) == 0;

        failed(-EIO, back ? "the driver copies nothing from the device" : "the driver copies nothing; the program waits");
        xs_swap_pause_set(back ? XS_SWAP_ALL_IN : XS_SWAP_TOUCHES_WAIT);
        return;
    }
    map_ns = g_move.report.map_ns;
    g_move.report.copy_ns = xs_now_ns() - moves_ns - XS_MIN(map_ns, xs_now_ns() - moves_ns);
    xs_swap_pause_set(XS_SWAP_TOUCHES_WAIT);
}

static void move_in(struct xs_swap *s)
{
    uint64_t begin_ns = xs_now_ns();
    bool all;

    atomic_store(&g_move.phase, WAITS_FOR_CALLS);
    xs_swap_pause_set(XS_SWAP_FREES_WAIT);
    if (!xs_swap_pause_wait(g_move.until_ns)) {
        failed(-ETIMEDOUT, "a call of the program does not return");
        xs_swap_pause_set(XS_SWAP_TOUCHES_WAIT);
        return;
    }
    atomic_store(&g_move.phase, MOVES);
    g_move.report.pause_ns = xs_now_ns() - begin_ns;
    all = xs_swap_come_in(s, g_move.room_ns, &g_move.report) == 0;
    if (all)
        xsched_priv_work_begins();
    xs_swap_pause_set(all ? XS_SWAP_ALL_IN : XS_SWAP_TOUCHES_WAIT);
}

static void *mover_main(void *none)
{
    struct xs_swap *s = xs_swap_get();

    (void)none;
    if (g_move.out)
        move_out(s);
    else
        move_in(s);
    for (unsigned i = 0; i < XS_SWAP_OTHERS; i++) {
        uint64_t n = atomic_load_explicit(&s->others[i], memory_order_relaxed);

        g_move.report.others[i] = n;
        if (n && g_move.out)
            XS_DEBG("swap: stays on the device: %s (%llu so far)", xs_swap_other_text(i), (unsigned long long)n);
    }
    g_move.report.total_ns = xs_now_ns() - g_move.begin_ns;
    if (atomic_load(&g_move.phase) == GIVEN_UP) { /* nobody reads the report */
        atomic_store(&g_move.phase, IDLE);
        return NULL;
    }
    atomic_store(&g_move.phase, DONE);
    xs_futex_wake(&g_move.phase, INT32_MAX);
    return NULL;
}

/* ---- who asks ---- */

static int answer(struct xs_swap_report *ret, int error, const char *why)
{
    memset(ret, 0, sizeof(*ret));
    ret->error = error;
    ret->why = why;
    return error;
}

/* Until it is done, or nothing but the program's own work is waited for and the time is over. */
static int wait_for_mover(struct xs_swap_report *ret)
{
    for (;;) {
        uint32_t phase = atomic_load(&g_move.phase);
        uint64_t now_ns = xs_now_ns();

        if (phase == DONE)
            break;
        if (phase == WAITS_FOR_WORK && now_ns >= g_move.until_ns &&
            atomic_compare_exchange_strong(&g_move.phase, &phase, GIVEN_UP)) {
            xs_swap_pause_set(XS_SWAP_ALL_IN);
            return answer(ret, -ETIMEDOUT, "a command of the program does not end");
        }
        xs_futex_wait(&g_move.phase, phase, now_ns < g_move.until_ns ? g_move.until_ns - now_ns : 10 * XS_NS_PER_MS);
    }
    *ret = g_move.report;
    atomic_store(&g_move.phase, IDLE);
    return ret->error;
}

static int move(bool out, uint64_t limit_ns, uint64_t room_ns, struct xs_swap_report *ret)
{
    uint32_t idle = IDLE;
    bool is_out;
    int r;

    if (!xs_swap_is_on())
        return answer(ret, -ENOTSUP, "XSCHED_SWAP is not on in this program");
    if (xs_swap_pause_is_child())
        return answer(ret, -EPERM, "a forked child has no device memory");
    if (!atomic_compare_exchange_strong(&g_move.phase, &idle, BEGINS))
        return answer(ret, -EBUSY, "its memory is moving");
    is_out = atomic_load(&xsched_priv_cuda_swap_pause.state) != XS_SWAP_ALL_IN;
    if (is_out == out) {
        atomic_store(&g_move.phase, IDLE);
        return answer(ret, -EALREADY, out ? "its memory is out" : "its memory is in");
    }
    g_move.out = out;
    g_move.room_ns = room_ns;
    g_move.begin_ns = xs_now_ns();
    g_move.until_ns = g_move.begin_ns + XS_MIN(limit_ns, UINT64_MAX - g_move.begin_ns);
    answer(&g_move.report, 0, "");
    r = xs_worker_start(mover_main, NULL);
    if (r != 0) {
        atomic_store(&g_move.phase, IDLE);
        return answer(ret, -r, "no thread");
    }
    r = wait_for_mover(ret);
    if (r == 0)
        XS_INFO("swap: %llu MiB %s, after %llu us", (unsigned long long)(ret->bytes >> 20), out ? "are out" : "are in",
                (unsigned long long)(ret->total_ns / XS_NS_PER_US));
    else
        XS_INFO("swap: memory does not go %s: %s", out ? "out" : "in", ret->why);
    return r;
}

XS_EXPORT int xsched_priv_cuda_swap_out(uint64_t limit_ns, struct xs_swap_report *ret)
{
    return move(true, limit_ns, 0, ret);
}

XS_EXPORT int xsched_priv_cuda_swap_in(uint64_t limit_ns, struct xs_swap_report *ret)
{
    return move(false, limit_ns, 0, ret);
}

XS_EXPORT int xsched_priv_cuda_swap_follow(uint64_t limit_ns, struct xs_swap_report *ret)
{
    return move(false, limit_ns, limit_ns, ret);
}
