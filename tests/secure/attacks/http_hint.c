/* SPDX-License-Identifier: Apache-2.0 */
/* A user's program with as many queues as one may have is given another priority over HTTP, again and again: one request changes
 * all queues. */
#include "scene.h"

#include <stdio.h>
#include <unistd.h>

#define QUEUES 16384u

static void attack(struct scene *s)
{
    struct raw_client c;
    union xs_msg m;
    char body[96];

    raw_join(&c, s->server.socket);
    raw_add_many(&c, QUEUES, DEVICE + 1, 0);
    s->shared->notes[0] = 1;
    for (int i = 0;; i++) {
        snprintf(body, sizeof(body), "{\"hint_type\":1,\"pid\":%d,\"priority\":%d}", (int)getpid(), i % 7);
        if (raw_http(&s->server, "POST", "/hint", body, NULL) == 200)
            s->shared->notes[1]++;
        while (raw_receive(&c, &m, 0) > 0) /* its socket has room for more then */
            ;
    }
}

int main(void)
{
    struct scene s;
    int bad;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    scene_await(&s, 0, 1);
    bad = scene_end(&s, "http_hint", 3, 15);
    printf("http_hint: %d changes of %u queues\n", (int)s.shared->notes[1], QUEUES);
    return bad || !s.shared->notes[1];
}
