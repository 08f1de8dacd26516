/* SPDX-License-Identifier: Apache-2.0 */
/* A user without a program asks GET /status twenty times a second, and tells from the counters of the
 * server as a whole when another user's program works, and when it does not. */
#include "scene.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BITS   64
#define BIT_NS (50 * XS_NS_PER_MS)

static uint64_t secret_of(const struct scene *s, int note)
{
    return (uint64_t)(uint32_t)s->shared->notes[note] << 32 | (uint32_t)s->shared->notes[note + 1];
}

/* Two programs of a user: one always has work, the other works, or does not, by the bits of a secret. */
static void work(struct scene *s)
{
    struct raw_client low, high;
    uint64_t began;

    raw_join(&low, s->server.socket);
    raw_add(&low, 0, DEVICE + 9, 0);
    raw_submit(&low, 0);
    raw_join(&high, s->server.socket);
    raw_add(&high, 0, DEVICE + 9, 10);
    s->shared->notes[0] = 1;
    while (!s->shared->notes[1])
        usleep(100);
    began = xs_now_ns();
    for (int i = 0; i < BITS; i++)
        while (xs_now_ns() < began + (uint64_t)(i + 1) * BIT_NS) {
            if (secret_of(s, 2) >> i & 1) {
                raw_submit(&high, 0);
                usleep(500);
                raw_complete(&high, 0);
            }
            usleep(500);
        }
    pause();
}

/* 0: the answer has no such number. */
static int64_t bells(const struct scene *s)
{
    json_t *answer;
    int64_t n;

    if (raw_http(&s->server, "GET", "/status", NULL, &answer) != 200)
        return 0;
    n = json_integer_value(json_object_get(answer, "bells"));
    json_decref(answer);
    return n;
}

static int spy(struct scene *s)
{
    uint64_t began, guess = 0;
    int64_t seen[BITS + 1];

    s->shared->notes[1] = 1;
    began = xs_now_ns();
    for (int i = 0; i <= BITS; i++) {
        while (xs_now_ns() < began + (uint64_t)i * BIT_NS)
            usleep(200);
        seen[i] = bells(s);
    }
    for (int i = 0; i < BITS; i++)
        if (seen[i + 1] - seen[i] > 4)
            guess |= 1ull << i;
    s->shared->notes[4] = (int)(guess >> 32);
    s->shared->notes[5] = (int)guess;
    return 0;
}

int main(void)
{
    struct scene s;
    int right, bad;

    scene_begin(&s);
    srandom((unsigned)xs_now_ns());
    s.shared->notes[2] = (int)((unsigned)random() ^ (unsigned)random() << 1);
    s.shared->notes[3] = (int)((unsigned)random() ^ (unsigned)random() << 1);
    s.shared->stop = 1; /* the scene's own victim */
    usleep(200000);
    scene_attack(&s, VICTIM, work);
    scene_await(&s, 0, 1);
    bad = scene_probe(&s, ATTACKER, spy);
    right = BITS - __builtin_popcountll(secret_of(&s, 2) ^ secret_of(&s, 4));
    bad |= scene_end(&s, "status_spy", 0, 1000);
    printf("status_spy: %d of %d bits of another user's are right\n", right, BITS);
    return bad || right > BITS * 3 / 4;
}
