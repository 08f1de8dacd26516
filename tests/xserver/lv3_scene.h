/* SPDX-License-Identifier: Apache-2.0 */
/* xserver without its sockets, at a time that is the test's: what the tests of level 3 on both vendors' drivers begin with.
 * Included after cmocka.h. */
#ifndef XS_FAKES_LV3_SCENE_H
#define XS_FAKES_LV3_SCENE_H

#include "xserver/level3/lv3.h"
#include "xserver/server.h"
#include "xserver/shares/user_quota.h"

#include <stdlib.h>

static inline void lv3_scene_begin(struct xs_server *s)
{
    xs_options_defaults(&s->options);
    xs_list_init(&s->clients);
    xs_list_init(&s->level3.steered);
    xs_user_quota_configure(s);
    s->now_ns = XS_NS_PER_S;
    s->level3.next_ns = UINT64_MAX;
    s->sched = xs_sched_new(xs_policy_by_name("HPF"), NULL, NULL, NULL);
}

/** A program with one queue at level 3. */
static inline void lv3_scene_add(struct xs_server *s, struct xs_client *client, struct xs_server_queue *q, XDevice device,
                                 int32_t priority)
{
    struct xs_sched_process_info info = {.id = (uint64_t)priority + 100};
    struct xs_hints hints = {.priority = priority, .utilization = 100, .deadline_us = -1, .laxity_us = -1};

    client->page = calloc(1, sizeof(*client->page));
    assert_non_null(client->page);
    xs_list_init(&client->queues);
    xs_list_init(&client->devices);
    xs_list_init(&client->level3.steered_link);
    xs_list_init(&client->unsent);
    xs_list_init(&q->in_unsent);
    client->user = xs_quota_user_get(&s->quota, 0);
    client->privileged = true;
    client->process = xs_sched_process_add(s->sched, &info, client);
    assert_null(xs_user_quota_queue(s, client, q, device));
    assert_true(xs_lv3_steer(s, client));
    q->client = client;
    q->level = 3;
    q->order = ++s->queues_ever;
    q->sched = xs_sched_queue_add(s->sched, client->process, (uint64_t)priority + 1, device, 0, &hints, s->now_ns, q);
    xs_list_add(&client->queues, &q->in_client);
    xs_list_add(&s->clients, &client->link);
}

static inline void lv3_scene_end(struct xs_server *s, struct xs_client *a, struct xs_client *b)
{
    xs_sched_free(s->sched);
    xs_user_quota_free_devices(a);
    xs_user_quota_free_devices(b);
    xs_quota_fini(&s->quota);
}

#endif
