/* SPDX-License-Identifier: Apache-2.0 */
/* A user takes as many queues as the quotas allow, all on the victim's device, and all of them have work. */
#include "scene.h"

#include <unistd.h>

static void attack(struct scene *s)
{
    struct raw_client c[4];
    union xs_msg m;

    for (unsigned i = 0; i < 4; i++) {
        raw_join(&c[i], s->server.socket);
        for (uint32_t k = 0; k < 16384; k++) {
            raw_add_fill(&c[i], &m, k, DEVICE, -(int32_t)(k % 5));
            raw_send(&c[i], &m, XS_MSG_queue_add);
            if (k % 64 == 63)
                raw_settle(&c[i]);
        }
        raw_settle(&c[i]);
    }
    for (unsigned i = 0; i < 4; i++)
        for (uint32_t k = 0; k < 16384; k++)
            raw_submit(&c[i], k);
    s->shared->notes[0] = 1;
    for (;;)
        for (unsigned i = 0; i < 4; i++) {
            for (uint32_t k = 0; k < 16384; k += 7)
                raw_complete(&c[i], k);
            for (uint32_t k = 0; k < 16384; k += 7)
                raw_submit(&c[i], k);
            usleep(1000);
        }
}

int main(void)
{
    struct scene s;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    scene_await(&s, 0, 1);
    return scene_end(&s, "queues", 1, 50);
}
