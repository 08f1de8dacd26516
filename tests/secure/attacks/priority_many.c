/* SPDX-License-Identifier: Apache-2.0 */
/* Twenty such programs of one user, each of a priority of its own. */
#include "priority.h"

#define MANY 20

static void attack(struct scene *s)
{
    static struct raw_client c[MANY];

    for (int i = 0; i < MANY; i++)
        priority_join(&c[i], s, 255 - i);
    priority_pretend(c, MANY, s);
}

int main(void)
{
    struct scene s;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    return scene_end(&s, "priority_many", 2, PRIORITY_BOUND_MS);
}
