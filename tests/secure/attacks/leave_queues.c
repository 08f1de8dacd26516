/* SPDX-License-Identifier: Apache-2.0 */
/* A program with as many queues as it may have, all of them held, ends, again and again. */
#include "leaving.h"

static void queues(struct scene *s)
{
    static struct raw_client c[2];
    union xs_msg m;

    for (int i = 0; i < 2; i++) {
        raw_join(&c[i], s->server.socket);
        for (uint32_t k = 0; k < 16000; k++) {
            raw_add_fill(&c[i], &m, k, DEVICE, -5);
            raw_send(&c[i], &m, XS_MSG_queue_add);
            if (k % 64 == 63)
                raw_settle(&c[i]);
        }
        raw_settle(&c[i]);
        for (uint32_t k = 0; k < 16000; k++)
            raw_submit(&c[i], k);
    }
    leaving_waits(s);
}

int main(void)
{
    return leaving("leave_queues", 10, queues, 3);
}
