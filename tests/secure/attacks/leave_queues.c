/* SPDX-License-Identifier: Apache-2.0 */
/* A program with as many queues as it may have, all of them held, ends, again and again. */
#include "leaving.h"

static void queues(struct scene *s)
{
    static struct raw_client c[2];

    for (int i = 0; i < 2; i++) {
        raw_join(&c[i], s->server.socket);
        raw_add_many(&c[i], 16000, DEVICE, -5);
        for (uint32_t k = 0; k < 16000; k++)
            raw_submit(&c[i], k);
    }
    leaving_waits(s);
}

int main(void)
{
    return leaving("leave_queues", 10, queues);
}
