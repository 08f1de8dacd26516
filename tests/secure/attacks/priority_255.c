/* SPDX-License-Identifier: Apache-2.0 */
/* Priority 255, no device used, and an invented command each 0.4 s: it looks urgent, and never stalls. */
#include "priority.h"

static void attack(struct scene *s)
{
    struct raw_client c;

    priority_join(&c, s, 255);
    priority_pretend(&c, 1, s);
}

int main(void)
{
    struct scene s;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    return scene_end(&s, "priority_255", 2, PRIORITY_BOUND_MS);
}
