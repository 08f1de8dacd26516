/* SPDX-License-Identifier: Apache-2.0 */
/* hal/cuda/swap/pause.c: a thread's call and the mover of its memory, by plain stores and membarrier.
 *
 *   - while memory is out, no thread is in a call that may touch it; while it moves, in none that frees it either;
 *   - a thread that waits goes on in the end: nobody sleeps for ever, without a time limit that runs out for it. */
#include "mc.h"

#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool g_no_barrier; /* the wrong variant */

/* What pause.c asks the kernel. */
static long model_syscall(long number, ...)
{
    if (number == SYS_gettid)
        return mc_self() + 1;
    if (number == SYS_membarrier && !g_no_barrier) {
        mc_point(MC_FENCE, NULL, __LINE__);
        mc_buffers_flush();
    }
    return 0;
}
#define syscall model_syscall

#define SLEEP_NS UINT64_MAX /* whoever waits is woken */
#include "hal/cuda/swap/pause.c"

static struct slot_page g_page;
/* ghosts */
static int g_touching, g_freeing;
static bool g_out, g_moving;

static void init(void)
{
    memset(&g_page, 0, sizeof(g_page));
    g_page.used = 3;
    for (uint32_t i = 0; i < 3; i++)
        g_page.slots[i].tid = i + 1, g_page.slots[i].forks = xs_forks();
    g_pages = &g_page;
    g_forks = xs_forks();
    g_barrier = MEMBARRIER_PRIVATE;
    memset(&xsched_priv_cuda_swap_pause, 0, sizeof(xsched_priv_cuda_swap_pause));
    memset(&g_lock, 0, sizeof(g_lock));
    g_touching = g_freeing = 0;
    g_out = g_moving = false;
    mc_now_ns = 0;
}

static void touches(void)
{
    xsched_priv_cuda_swap_slot = &g_page.slots[mc_self()];
    for (int i = 0; i < 2; i++) {
        xs_swap_enter(XS_SWAP_TOUCHES_WAIT);
        g_touching++;
        mc_check(!g_out, "a call touches memory that is out");
        mc_step();
        mc_check(!g_out, "memory goes out under a call");
        g_touching--;
        xsched_priv_cuda_swap_slot = &g_page.slots[mc_self()]; /* the model's threads are one */
        xs_swap_leave();
    }
}

static void frees(void)
{
    xsched_priv_cuda_swap_slot = &g_page.slots[mc_self()];
    xs_swap_enter(XS_SWAP_FREES_WAIT);
    g_freeing++;
    mc_check(!g_moving, "a call frees memory that moves");
    mc_step();
    mc_check(!g_moving, "memory moves while it is freed");
    g_freeing--;
    xsched_priv_cuda_swap_slot = &g_page.slots[mc_self()];
    xs_swap_leave();
}

static void move_once(bool out)
{
    mc_check(!g_freeing && (out ? !g_touching : true), "a call is under way");
    g_moving = g_out = true;
    mc_step();
    g_moving = false;
    g_out = out;
}

static void mover(void)
{
    xs_swap_pause_set(XS_SWAP_FREES_WAIT);
    mc_check(xs_swap_pause_wait(UINT64_MAX), "the mover gives up");
    move_once(true);
    xs_swap_pause_set(XS_SWAP_TOUCHES_WAIT);
    mc_step();
    xs_swap_pause_set(XS_SWAP_FREES_WAIT);
    mc_check(xs_swap_pause_wait(UINT64_MAX), "the mover gives up");
    move_once(false);
    xs_swap_pause_set(XS_SWAP_ALL_IN);
}

int main(void)
{
    static const struct mc_model right = {"pause: a call that touches, one that frees, a mover", init,
        {touches, frees, mover}, 0, NULL, NULL, .patience = 20, .expect_violation = false};
    static const struct mc_model wrong = {"pause: the same without membarrier", init,
        {touches, frees, mover}, 0, NULL, NULL, .patience = 20, .expect_violation = true};
    int bad;

    mc_region(&g_page, offsetof(struct slot_page, slots) + 3 * sizeof(struct xs_swap_slot));
    mc_region(&xsched_priv_cuda_swap_pause, sizeof(xsched_priv_cuda_swap_pause));
    mc_region(&g_lock, sizeof(g_lock));
    mc_region(&g_touching, sizeof(g_touching));
    mc_region(&g_freeing, sizeof(g_freeing));
    mc_region(&g_out, sizeof(g_out));
    mc_region(&g_moving, sizeof(g_moving));
    mc_thread_local(&xsched_priv_cuda_swap_slot, sizeof(xsched_priv_cuda_swap_slot));
    bad = mc_run(&right);
    g_no_barrier = true;
    return bad | mc_run(&wrong);
}
