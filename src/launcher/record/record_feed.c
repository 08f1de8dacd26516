/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/record/record_feed.h"

#include "base/clock.h"
#include "query/ask_socket.h"
#include "query/find_xserver.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PERIOD_MS 100u
#define SILENT_NS (3 * XS_NS_PER_S) /* a server that runs is late, but not for so long */

void record_feed_begin(struct record_feed *f, const char *socket, uint64_t since)
{
    static struct xs_places places; /* large, and stacks may be small */
    char path[64];
    int i;

    if (f->feed || f->never)
        return;
    if (!socket) {
        xs_places_get(&places);
        i = xs_places_first(&places);
        socket = i >= 0 ? places.items[i].path : NULL;
    }
    snprintf(path, sizeof(path), "/timeline?since=%" PRIu64, since);
    f->feed = socket ? xs_socket_feed_begin(socket, path, PERIOD_MS) : NULL;
    f->never = !f->feed;
    f->fed_ns = xs_now_ns();
}

void record_feed_wait(const struct record_feed *f, uint64_t at_ns)
{
    struct pollfd in = {.fd = f->feed ? xs_socket_feed_fd(f->feed) : -1, .events = POLLIN};
    uint64_t now = xs_now_ns(), ns = at_ns > now ? XS_MIN(at_ns - now, XS_NS_PER_S - 1) : 0;
    struct timespec pause = {.tv_nsec = (long)ns};

    (void)ppoll(&in, 1, &pause, NULL);
}

int record_feed_take(struct record_feed *f, json_t **ret)
{
    struct pollfd in = {.fd = xs_socket_feed_fd(f->feed), .events = POLLIN};
    struct xs_http_answer answer;
    int err;

    if (poll(&in, 1, 0) <= 0)
        return xs_now_ns() - f->fed_ns < SILENT_NS ? 0 : -ETIMEDOUT;
    err = xs_socket_feed_next(f->feed, &answer);
    if (err < 0) {
        f->never = true;
        return err;
    }
    f->fed_ns = xs_now_ns();
    *ret = json_loadb(answer.body, answer.bytes, 0, NULL);
    free(answer.body);
    return *ret ? 1 : -EBADMSG;
}

void record_feed_end(struct record_feed *f)
{
    xs_socket_feed_end(f->feed);
    f->feed = NULL;
}
