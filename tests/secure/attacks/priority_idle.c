/* SPDX-License-Identifier: Apache-2.0 */
/* Priority 255 and commands that never complete, in one queue after the other: each new one is a change that a stall is
 * counted from. */
#include "priority.h"

static void attack(struct scene *s)
{
    struct raw_client c;
    uint32_t cell = 0;

    priority_join(&c, s, 255);
    while (!s->shared->stop) {
        usleep(400000);
        raw_add(&c, cell + 1, DEVICE, 255);
        raw_submit(&c, cell + 1);
        raw_remove(&c, cell++);
    }
    pause();
}

int main(void)
{
    struct scene s;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    return scene_end(&s, "priority_idle", 2, PRIORITY_BOUND_MS);
}
