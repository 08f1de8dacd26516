/* SPDX-License-Identifier: Apache-2.0 */
/* Lives of lanes. To make a green context takes 1.5 ms and waits for the context's work on the device, with
 * its lock held (measured on an H100: 21 ms beside a kernel of 20 ms). That work may itself wait for a thread
 * of the program. So the program's thread makes green contexts before the first command in a context. The
 * streams and events of a lane wait for nothing, and a thread of ours makes them.
 *
 * A green context keeps the primary context alive. So a reset or a release by the program would fail (error
 * 800), or not end the context. So green contexts end before, and if the context goes on, it has no lanes
 * from then on. */
#include "hal/cuda/lanes/lanes.h"

#include "base/clock.h"
#include "base/forks.h"
#include "base/futex.h"
#include "base/lock.h"
#include "base/log.h"
#include "hal/common/worker.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAST_MULTIPROCESSORS 32u  /* fewer leave too little to either side */
#define RESOURCE_SM           1
#define DEFAULT_STREAM        1u   /* the driver makes no green context without one */
#define IDLE_NS               XS_NS_PER_S
#define PAUSE_NS              (50 * XS_NS_PER_US)

#define WISHES                64u

/* hw.lanes_state */
enum { UNASKED, ASKED, MADE, NEVER, ENDED };

/* A stream that wants lanes, at the time of the wish: its storage may be another's since. */
struct lane_wish {
    _Atomic(struct xs_cuda_hw *) hw;            /* NULL: free */
    uint64_t entered;
    int priority;                               /* the stream's; by the time of its lanes the program may have destroyed it */
};

_Atomic(struct xs_lanes *) xs_lanes_all;

/* Lock 7: the streams that have lanes, and wishes for some. The thread that makes them, a launch that asks
 * for them (once a stream) and a thread that ends them hold it. The holder releases it before it calls the
 * vendor. */
static struct xs_lock g_lock;
static struct lane_wish g_wishes[WISHES]; /* under g_lock; the thread that makes lanes empties them */
static bool g_maker;               /* that thread runs; under g_lock */

/* ---- green contexts, one for each context and width ---- */

static bool has_functions(const struct xs_cuda_api *api)
{
    return api->cuGreenCtxCreate && api->cuGreenCtxDestroy && api->cuGreenCtxStreamCreate && api->cuDeviceGetDevResource &&
           api->cuDevSmResourceSplitByCount && api->cuDevResourceGenerateDesc && api->cuStreamWaitEvent &&
           api->cuEventDestroy_v2 && api->cuEventRecord && api->cuEventCreate && api->cuStreamDestroy_v2 &&
           api->cuStreamQuery && api->cuFuncGetAttribute && api->cuOccupancyMaxActiveBlocksPerMultiprocessor;
}

/* @return 0, or the driver's error */
static CUresult make_green(const struct xs_cuda_api *api, struct xs_cuda_context *c, unsigned width, unsigned leaves)
{
    struct xs_cu_resource all, part, rest;
    unsigned groups = 1, total;
    void *desc = NULL;
    CUresult r;

    memset(&all, 0, sizeof(all));
    memset(&part, 0, sizeof(part));
    memset(&rest, 0, sizeof(rest));
    r = api->cuDeviceGetDevResource(c->dev, &all, RESOURCE_SM);
    if (r != XS_CU_SUCCESS)
        return r;
    total = all.multiprocessors;
    if (total < LEAST_MULTIPROCESSORS)
        return XS_CU_NOT_SUPPORTED;
    r = api->cuDevSmResourceSplitByCount(&part, &groups, &all, &rest, 0, XS_LANES_PART(total, leaves));
    if (r != XS_CU_SUCCESS)
        return r;
    if (!groups || part.multiprocessors >= total) /* the driver rounded it up to all */
        return XS_CU_NOT_SUPPORTED;
    r = api->cuDevResourceGenerateDesc(&desc, &part, 1);
    if (r == XS_CU_SUCCESS)
        r = api->cuGreenCtxCreate(&c->greens.contexts[width], desc, c->dev, DEFAULT_STREAM);
    if (r == XS_CU_SUCCESS) {
        c->greens.multiprocessors[width] = part.multiprocessors;
        c->greens.total = total;
    } else {
        c->greens.contexts[width] = NULL;
    }
    return r;
}

static void end_greens(const struct xs_cuda_api *api, struct xs_cuda_context *c)
{
    for (unsigned i = 0; i < XS_LANE_WIDTHS; i++) {
        if (c->greens.contexts[i])
            api->cuGreenCtxDestroy(c->greens.contexts[i]);
        c->greens.contexts[i] = NULL;
    }
}

static CUresult make_greens(const struct xs_cuda_api *api, struct xs_cuda_context *c)
{
    CUresult r = make_green(api, c, 0, XS_LANES_WIDE_LEAVES);

    if (r == XS_CU_SUCCESS)
        r = make_green(api, c, 1, XS_LANES_NARROW_LEAVES);
    if (r == XS_CU_SUCCESS && c->greens.multiprocessors[0] <= c->greens.multiprocessors[1])
        r = XS_CU_NOT_SUPPORTED;
    if (r != XS_CU_SUCCESS)
        end_greens(api, c);
    return r;
}

/* A profiler or debugger may follow contexts, and does not know of ours. */
static bool is_watched(void)
{
    static const char name[] = "TracerPid:\t";
    char text[4096], *at;
    ssize_t n = 0;
    int fd;

    if (getenv("CUDA_INJECTION64_PATH"))
        return true;
    fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, text, sizeof(text) - 1);
        close(fd);
    }
    text[XS_MAX(n, 0)] = '\0';
    at = strstr(text, name);
    return at && at[sizeof(name) - 1] != '0';
}

static void say_none(CUresult r)
{
    static _Atomic bool said;

    if (atomic_exchange(&said, true))
        return;
    XS_LOG_AT(r == XS_CU_NOT_SUPPORTED ? XS_LOG_INFO : XS_LOG_WARN,
              "CUDA: no lanes (error %d): a less important queue waits while another one is active", r);
}

void xs_lanes_context_begins(struct xs_cuda_context *c)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    CUresult r = XS_CU_NOT_SUPPORTED;
    struct xs_cuda_entered e;

    if (!(atomic_load_explicit(&xsched_priv_beside, memory_order_relaxed) & XS_BESIDE_LANES) ||
        atomic_exchange(&c->greens.asked, true))
        return;
    atomic_fetch_add(&c->greens.makers, 1); /* seq_cst pairs with xsched_priv_cuda_lanes_end: stops, then makers */
    if (c->primary && has_functions(api) && !is_watched() && atomic_load(&c->greens.stops) == 0 && xs_cuda_enter(c->ctx, &e)) {
        r = make_greens(api, c);
        xs_cuda_leave(&e);
    }
    atomic_store(&c->greens.there, r == XS_CU_SUCCESS);
    atomic_fetch_sub(&c->greens.makers, 1);
    if (r != XS_CU_SUCCESS)
        say_none(r);
}

/* ---- the lanes of a stream ---- */

static struct xs_lanes *storage(void)
{
    struct xs_lanes *l;

    for (l = atomic_load(&xs_lanes_all); l; l = l->next)
        if (!atomic_load(&l->context) && !atomic_load(&l->users))
            break;
    if (l) /* no other thread makes any: the maker is one thread */
        return l;
    if (posix_memalign((void **)&l, XS_CACHE_LINE, sizeof(*l)) != 0)
        return NULL;
    memset(l, 0, sizeof(*l));
    l->next = atomic_load(&xs_lanes_all);
    atomic_store(&xs_lanes_all, l);
    return l;
}

/* Work in the streams goes on. No thread puts more there. */
static void destroy(const struct xs_cuda_api *api, struct xs_lanes *l)
{
    for (unsigned i = 0; i < XS_LANE_WIDTHS; i++) {
        if (l->streams[i])
            api->cuStreamDestroy_v2(l->streams[i]);
        l->streams[i] = NULL;
    }
    for (unsigned i = 0; i < XS_LANE_PAIRS; i++) {
        if (l->events[i].in)
            api->cuEventDestroy_v2(l->events[i].in);
        if (l->events[i].out)
            api->cuEventDestroy_v2(l->events[i].out);
        l->events[i].in = l->events[i].out = NULL;
    }
    atomic_store(&l->busy, false);
    atomic_store(&l->peak, 0);
    atomic_store(&l->unknown_until_ns, 0);
    atomic_store(&l->context, NULL);
}

/* Nothing here asks the driver about the program's own stream. */
static CUresult make_lanes(const struct xs_cuda_api *api, struct xs_cuda_context *c, int priority, struct xs_lanes *l)
{
    CUresult r = XS_CU_SUCCESS;

    for (unsigned i = 0; i < XS_LANE_WIDTHS && r == XS_CU_SUCCESS; i++)
        r = api->cuGreenCtxStreamCreate(&l->streams[i], c->greens.contexts[i], XS_CU_STREAM_NON_BLOCKING, priority);
    for (unsigned i = 0; i < XS_LANE_PAIRS && r == XS_CU_SUCCESS; i++) {
        r = api->cuEventCreate(&l->events[i].in, XS_CU_EVENT_DISABLE_TIMING);
        if (r == XS_CU_SUCCESS)
            r = api->cuEventCreate(&l->events[i].out, XS_CU_EVENT_DISABLE_TIMING);
    }
    return r;
}

static void refuse(struct xs_cuda_hw *hw, struct xs_queue *q)
{
    atomic_store(&hw->lanes_state, NEVER);
    xsched_priv_queue_lanes(q, XS_LANES_NONE, 0);
}

static bool publish(struct xs_cuda_hw *hw, uint64_t entered, struct xs_cuda_context *c, struct xs_lanes *l)
{
    bool ok;

    atomic_store(&l->hw, hw);
    atomic_store(&l->context, c);
    xs_lock_acquire(&g_lock);
    ok = atomic_load(&hw->st.entered) == entered && atomic_load(&hw->lanes_state) == ASKED && hw->context == c &&
         atomic_load(&c->greens.stops) == 0;
    if (ok) {
        atomic_store(&hw->lanes, l);
        atomic_store(&hw->lanes_state, MADE);
    }
    xs_lock_release(&g_lock);
    return ok;
}

/* The context of the stream is current, and no thread ends it. */
static void make_in(const struct xs_cuda_api *api, struct xs_cuda_context *c, struct xs_cuda_hw *hw,
                    const struct lane_wish *w, struct xs_queue *q)
{
    struct xs_lanes *l = storage();
    CUresult r = l ? make_lanes(api, c, w->priority, l) : XS_CU_OUT_OF_MEMORY;

    if (l)
        l->forks = xs_forks();
    if (r == XS_CU_SUCCESS && publish(hw, w->entered, c, l)) {
        xsched_priv_queue_lanes(q, XS_LANES(c->greens.multiprocessors[0], c->greens.multiprocessors[1]), c->greens.total);
        return;
    }
    if (l)
        destroy(api, l);
    if (r == XS_CU_SUCCESS)
        return;
    refuse(hw, q);
    say_none(r);
}

static void make(const struct lane_wish *w)
{
    struct xs_cuda_hw *hw = atomic_load(&w->hw);
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    struct xs_cuda_context *c = xs_cuda_context_find(hw->ctx);
    struct xs_queue *q = c ? xsched_priv_queue_pin(kPlatformCUDA, xs_stream_native(&hw->st)) : NULL;
    uint32_t asked = ASKED;
    struct xs_cuda_entered e;

    if (q) {
        atomic_fetch_add(&c->greens.makers, 1); /* see xs_lanes_context_begins */
        if (!atomic_load(&c->greens.there)) {
            refuse(hw, q);
        } else if (atomic_load(&c->greens.stops) == 0 && xs_cuda_enter(hw->ctx, &e)) {
            make_in(api, c, hw, w, q);
            xs_cuda_leave(&e);
        }
        atomic_fetch_sub(&c->greens.makers, 1);
        xsched_priv_queue_let_go(q);
    }
    if (c)
        xs_cuda_context_put(c);
    atomic_compare_exchange_strong(&hw->lanes_state, &asked, UNASKED); /* failed: try again */
}

static bool next_wish(struct lane_wish *ret)
{
    struct lane_wish *w = g_wishes;

    xs_lock_acquire(&g_lock);
    while (w < g_wishes + WISHES && !atomic_load(&w->hw))
        w++;
    g_maker = w < g_wishes + WISHES;
    if (g_maker) {
        ret->entered = w->entered;
        ret->priority = w->priority;
        atomic_store(&ret->hw, atomic_exchange(&w->hw, NULL));
    }
    xs_lock_release(&g_lock);
    return w < g_wishes + WISHES;
}

static void *maker(void *unused)
{
    struct lane_wish w;

    (void)unused;
    while (next_wish(&w))
        make(&w);
    return NULL;
}

void xs_lanes_stream_begins(struct xs_cuda_hw *hw)
{
    atomic_store(&hw->no_lanes, false);
    atomic_store(&hw->lanes_state, UNASKED);
}

void xs_lanes_want(struct xs_cuda_hw *hw)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    uint32_t unasked = UNASKED;
    struct lane_wish *w = g_wishes;
    bool start = false;
    int priority = 0;

    if (XS_LIKELY(atomic_load_explicit(&hw->lanes_state, memory_order_relaxed) != UNASKED)) /* a hint */
        return;
    if (api->cuStreamGetPriority)
        api->cuStreamGetPriority(hw->stream, &priority);
    xs_lock_acquire(&g_lock);
    while (w < g_wishes + WISHES && atomic_load(&w->hw))
        w++;
    if (w < g_wishes + WISHES && atomic_compare_exchange_strong(&hw->lanes_state, &unasked, ASKED)) {
        w->entered = atomic_load(&hw->st.entered);
        w->priority = priority;
        atomic_store(&w->hw, hw);
        start = !g_maker;
        g_maker = true;
    }
    xs_lock_release(&g_lock);
    if (start && xs_worker_start(maker, NULL) != 0) {
        xs_lock_acquire(&g_lock);
        g_maker = false;           /* the next stream's wish tries again */
        xs_lock_release(&g_lock);
    }
}

struct xs_lanes *xs_lanes_use(struct xs_cuda_hw *hw)
{
    struct xs_lanes *l = atomic_load(&hw->lanes);

    if (!l)
        return NULL;
    atomic_fetch_add(&l->users, 1); /* seq_cst pairs with take(): takes it away, then looks at users */
    if (XS_LIKELY(atomic_load(&hw->lanes) == l))
        return l;
    xs_lanes_let_go(l);
    return NULL;
}

void xs_lanes_let_go(struct xs_lanes *l)
{
    atomic_fetch_sub(&l->users, 1);
}

/* No thread launches there from now on. */
static struct xs_lanes *take(struct xs_cuda_hw *hw, uint32_t state)
{
    struct xs_lanes *l;

    xs_lock_acquire(&g_lock);
    l = atomic_exchange(&hw->lanes, NULL);
    atomic_store(&hw->lanes_state, state);
    xs_lock_release(&g_lock);
    if (l && l->forks != xs_forks()) /* the parent's: neither its threads nor its streams are in this child */
        return NULL;
    while (l && atomic_load(&l->users)) /* inside the vendor, for a launch */
        xs_futex_pause(PAUSE_NS);
    return l;
}

void xs_lanes_stream_ends(struct xs_cuda_hw *hw)
{
    struct xs_lanes *l = take(hw, ENDED);

    if (l)
        destroy(xsched_priv_cuda_api(NULL), l);
}

static void take_away(struct xs_cuda_hw *hw)
{
    struct xs_queue *q = xsched_priv_queue_pin(kPlatformCUDA, xs_stream_native(&hw->st));

    take(hw, NEVER);
    if (!q)
        return;
    xsched_priv_queue_lanes(q, XS_LANES_NONE, 0);
    xsched_priv_queue_let_go(q);
}

/* Work on a lane would end with its green context, and the program's stream would wait for it for ever. */
static bool are_idle(const struct xs_cuda_api *api, const struct xs_cuda_context *c)
{
    for (struct xs_lanes *l = atomic_load(&xs_lanes_all); l; l = l->next)
        for (unsigned i = 0; atomic_load(&l->context) == c && i < XS_LANE_WIDTHS; i++)
            if (api->cuStreamQuery(l->streams[i]) == XS_CU_NOT_READY)
                return false;
    return true;
}

static bool become_idle(const struct xs_cuda_api *api, struct xs_cuda_context *c)
{
    uint64_t until_ns = xs_now_ns() + IDLE_NS;

    for (struct xs_lanes *l = atomic_load(&xs_lanes_all); l; l = l->next)
        if (atomic_load(&l->context) == c)
            take_away(atomic_load(&l->hw)); /* no thread puts anything there from now on */
    while (!are_idle(api, c)) {
        if (xs_now_ns() >= until_ns)
            return false;
        xs_futex_pause(PAUSE_NS);
    }
    return true;
}

XS_EXPORT struct xs_cuda_context *xsched_priv_cuda_lanes_end(CUcontext ctx, bool released)
{
    struct xs_cuda_context *c = ctx ? xs_cuda_context_find(ctx) : NULL;
    const struct xs_cuda_api *api;

    if (!c)
        return NULL;
    if (!c->primary || c->greens.forks != xs_forks()) {
        xs_cuda_context_put(c);
        return NULL;
    }
    atomic_fetch_add(&c->greens.stops, 1);
    while (atomic_load(&c->greens.makers)) /* as long as a few calls of the driver take */
        xs_futex_pause(PAUSE_NS);
    if (!atomic_load(&c->greens.there) || !(XS_LANE_RULES & XS_LANE_RULE_END))
        return c;
    api = xsched_priv_cuda_api(NULL);
    if (!become_idle(api, c) && released) {
        XS_WARN_ONCE("CUDA: work on lanes does not end; the primary context that the program releases stays active");
        return c;
    }
    atomic_store(&c->greens.there, false);
    for (struct xs_lanes *l = atomic_load(&xs_lanes_all); l; l = l->next)
        if (atomic_load(&l->context) == c)
            destroy(api, l);
    end_greens(api, c);
    return c;
}

XS_EXPORT void xsched_priv_cuda_lanes_may_begin(struct xs_cuda_context *c)
{
    if (!c)
        return;
    atomic_fetch_sub(&c->greens.stops, 1);
    xs_cuda_context_put(c);
}
