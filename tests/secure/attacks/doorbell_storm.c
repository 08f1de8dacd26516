/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that do nothing but ring. */
#include "scene.h"

#include <unistd.h>

static void attack(struct scene *s)
{
    struct raw_client c;
    uint64_t one = 1;

    raw_join(&c, s->server.socket);
    raw_add(&c, 0, DEVICE, 0);
    for (;;) {
        uint64_t k = atomic_fetch_add(&c.page->h.bell_count, 1);

        atomic_store(&c.page->h.bell[k % XS_BELL_SLOTS], (k + 1) << 16);
        (void)!write(c.bell, &one, sizeof(one));
    }
}

int main(void)
{
    struct scene s;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    return scene_end(&s, "doorbell_storm", 1, 50);
}
