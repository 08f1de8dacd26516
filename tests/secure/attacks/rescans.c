/* SPDX-License-Identifier: Apache-2.0 */
/* A program with as many queues as a page has cells tells, with each ring, that it rang more often than the ring of slots can
 * say: all of its queues had to be read each time. */
#include "scene.h"

#include <unistd.h>

static void attack(struct scene *s)
{
    struct raw_client c;
    uint64_t one = 1;

    raw_join(&c, s->server.socket);
    raw_add_many(&c, 16384, DEVICE, 0);
    s->shared->notes[0] = 1;
    for (;;) {
        atomic_fetch_add(&c.page->h.bell_count, 1000);
        (void)!write(c.bell, &one, sizeof(one));
    }
}

int main(void)
{
    struct scene s;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    scene_await(&s, 0, 1);
    return scene_end(&s, "rescans", 1, 50);
}
