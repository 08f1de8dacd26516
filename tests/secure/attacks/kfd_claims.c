/* SPDX-License-Identifier: Apache-2.0 */
/* Programs with as many queues as the quotas allow say that they hold queues by themselves (level 3 on AMD's driver), on eight
 * devices each, of which one is the victim's. A decision read all of their queues for each such device. */
#include "scene.h"

#include <stdlib.h>
#include <unistd.h>

#define SESSIONS 8
#define QUEUES   8192u

static void attack(struct scene *s)
{
    struct raw_client *c = calloc(SESSIONS, sizeof(*c));
    union xs_msg m;

    for (int i = 0; i < SESSIONS; i++) {
        raw_join(&c[i], s->server.socket);
        for (uint32_t k = 0; k < QUEUES; k++) {
            raw_add_fill(&c[i], &m, k, k < 8 ? DEVICE + k : DEVICE, 0);
            m.queue_add.level = 3;
            raw_send(&c[i], &m, XS_MSG_queue_add);
            if (k % 64 == 63)
                raw_settle(&c[i]);
        }
        for (uint32_t k = 0; k < 8; k++) {
            m = (union xs_msg){.kfd_device = {.device = DEVICE + k, .queues = 4}};
            raw_send(&c[i], &m, XS_MSG_kfd_device);
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
    return scene_end(&s, "kfd_claims", 1, 50);
}
