/* SPDX-License-Identifier: Apache-2.0 */
/* The other way round: a program of the least priority pretends to have work at all times, so that its user's share of
 * waiting interrupts the victim. Its turns last for a slice. */
#include "priority.h"

static void attack(struct scene *s)
{
    struct raw_client c;

    priority_join(&c, s, -255);
    priority_pretend(&c, 1, s);
}

int main(void)
{
    struct scene s;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    return scene_end(&s, "claims_low", 2, 50);
}
