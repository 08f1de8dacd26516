/* SPDX-License-Identifier: Apache-2.0 */
/* base/lock.h: one holder at a time, nobody sleeps for ever. */
#include "mc.h"

#include "base/lock.h"

static struct xs_lock g_lock;
static int g_inside;

static void init(void)
{
    memset(&g_lock, 0, sizeof(g_lock));
    g_inside = 0;
}

static void holder(void)
{
    for (int i = 0; i < 2; i++) {
        xs_lock_acquire(&g_lock);
        mc_check(++g_inside == 1, "two holders");
        mc_step();
        g_inside--;
        xs_lock_release(&g_lock);
    }
}

static void trier(void)
{
    if (xs_lock_try(&g_lock)) {
        mc_check(++g_inside == 1, "two holders");
        mc_step();
        g_inside--;
        xs_lock_release(&g_lock);
    }
}

/* Releases as if nobody could sleep. */
static void careless(void)
{
    xs_lock_acquire(&g_lock);
    mc_step();
    atomic_store(&g_lock.word, 0);
}

int main(void)
{
    static const struct mc_model right = {"lock: two holders and one who tries", init,
        {holder, holder, trier}, 0, NULL, NULL, .expect_violation = false};
    static const struct mc_model wrong = {"lock: a release without a wake-up", init,
        {holder, careless}, 0, NULL, NULL, .expect_violation = true};

    mc_region(&g_lock, sizeof(g_lock));
    mc_region(&g_inside, sizeof(g_inside));
    return mc_run(&right) | mc_run(&wrong);
}
