/* SPDX-License-Identifier: Apache-2.0 */
/* A program gives each of its queues a device of its own: numbers that no host has, and each event looked at all of them. */
#include "scene.h"

#include <unistd.h>

static void attack(struct scene *s)
{
    struct raw_client c[4];
    union xs_msg m;

    for (unsigned i = 0; i < 4; i++) {
        raw_join(&c[i], s->server.socket);
        for (uint32_t k = 0; k < 16384; k++) {
            raw_add_fill(&c[i], &m, k, 1ull << 32 | (i * 16384 + k + 1), 0);
            raw_send(&c[i], &m, XS_MSG_queue_add);
            if (k % 64 == 63)
                raw_settle(&c[i]);
        }
        raw_settle(&c[i]);
    }
    s->shared->notes[0] = 1;
    pause();
}

int main(void)
{
    struct scene s;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    scene_await(&s, 0, 1);
    return scene_end(&s, "device_numbers", 1, 50);
}
