/* SPDX-License-Identifier: Apache-2.0 */
/* Priority 255, and a pause of a moment in each millisecond: whoever was given a turn would lose it at each return. */
#include "priority.h"

static void attack(struct scene *s)
{
    struct raw_client c;

    raw_join(&c, s->server.socket);
    raw_add(&c, 0, DEVICE, 255);
    while (!s->shared->stop) {
        raw_submit(&c, 0);
        usleep(1000);
        raw_complete(&c, 0);
    }
    pause();
}

int main(void)
{
    struct scene s;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    return scene_end(&s, "priority_flapping", 2, PRIORITY_BOUND_MS);
}
