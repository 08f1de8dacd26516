/* SPDX-License-Identifier: Apache-2.0 */
/* No priority asked for: the page says that something of priority 255 waits for the queue. */
#include "priority.h"

static void attack(struct scene *s)
{
    struct raw_client c;

    priority_join(&c, s, -255);
    atomic_store(&c.page->cells[0].inherit_priority, 255);
    atomic_store(&c.page->cells[0].inherit, 1);
    priority_pretend(&c, 1, s);
}

int main(void)
{
    struct scene s;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    return scene_end(&s, "priority_inherited", 2, PRIORITY_BOUND_MS);
}
