/* SPDX-License-Identifier: Apache-2.0 */
/* Nobody attacks: what the victim waits for by itself. by_turns.py compares attacks with this. */
#include "scene.h"

#define SECONDS 5

int main(void)
{
    struct scene s;

    scene_begin(&s);
    return scene_end(&s, "nobody", SECONDS, 50);
}
