/* SPDX-License-Identifier: Apache-2.0 */
/* A user joins and leaves until nothing is remembered of others: what their programs did, and what operators wished for them. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int join_and_leave(struct scene *s)
{
    struct raw_client c;

    raw_join(&c, s->server.socket);
    raw_add(&c, 0, DEVICE + 1, 0);
    raw_leave(&c);
    return 0;
}

static void attack(struct scene *s)
{
    for (int i = 0; i < 300; i++)
        join_and_leave(s);
    s->shared->notes[0] = 1;
}

/* @return how many ended programs of the user are remembered */
static int remembered(struct scene *s, unsigned uid)
{
    json_t *all = NULL, *ended, *one;
    int n = 0;
    size_t i;

    if (raw_http(&s->server, "GET", "/clients", NULL, &all) != 200)
        return -1;
    ended = json_object_get(all, "ended");
    json_array_foreach(ended, i, one)
        n += json_integer_value(json_object_get(one, "uid")) == (json_int_t)uid;
    json_decref(all);
    return n;
}

int main(void)
{
    struct scene s;
    int before, after, bad;

    scene_begin(&s);
    for (int i = 0; i < 10; i++)
        scene_probe(&s, HELPER, join_and_leave);
    raw_status(&s.server, "queues");
    before = remembered(&s, HELPER);
    scene_attack(&s, ATTACKER, attack);
    scene_await(&s, 0, 1);
    after = remembered(&s, HELPER);
    bad = scene_end(&s, "history_flood", 1, 50);
    printf("history_flood: of %d ended programs of another user, %d are remembered\n", before, after);
    return bad || before != 10 || after != 10;
}
