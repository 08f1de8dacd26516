/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/level3/lv3_kfd.h"

#include "base/log.h"
#include "transport/socket.h"
#include "xserver/server.h"

#include <errno.h>
#include <string.h>

static struct xs_lv3_kfd *find(struct xs_client *c, XDevice device)
{
    for (size_t i = 0; i < XS_LV3_KFD_DEVICES; i++)
        if (c->level3.kfd[i].device == device)
            return &c->level3.kfd[i];
    return NULL;
}

const char *xs_lv3_kfd_device(struct xs_server *s, struct xs_client *c, const struct xs_msg_kfd_device *m)
{
    struct xs_lv3_kfd *k;

    if (!s->options.lv3_queues)
        return NULL;
    if (!m->device)
        return "a device has a number";
    k = find(c, m->device);
    if (!k)
        k = find(c, 0);
    if (!k)
        return "too many devices";
    if (!k->device) {
        if (!xs_lv3_steer(s, c))
            return "too many programs at level 3, of which each user gets a share";
        *k = (struct xs_lv3_kfd){.device = m->device, .on = xs_client_device_find(c, m->device)};
        if (k->on)
            k->on->kfd = k;
        s->level3.n_kfd++;
    }
    k->queues = m->queues;
    xs_lv3_touch_program(s, c);
    return NULL;
}

void xs_lv3_kfd_on(struct xs_server *s, struct xs_client *c, struct xs_client_device *on)
{
    struct xs_lv3_kfd *k = on->device ? find(c, on->device) : NULL;

    if (k)
        k->on = on;
    on->kfd = k;
    xs_lv3_touch_program(s, c);
}

void xs_lv3_kfd_off(struct xs_server *s, struct xs_client *c, struct xs_client_device *on)
{
    if (on->kfd)
        on->kfd->on = NULL;
    on->kfd = NULL;
    xs_lv3_touch_program(s, c);
}

void xs_lv3_kfd_held(struct xs_server *s, struct xs_client *c, const struct xs_msg_kfd_held *m)
{
    struct xs_lv3_kfd *k = m->device ? find(c, m->device) : NULL;

    if (!k)
        return;
    if (m->error && !k->denied) {
        k->denied = true;
        s->level3.kfd_counts.denied++;
        XS_WARN("pid %d: the driver does not let it suspend its queues (%s); xserver leaves them alone", (int)c->peer.pid,
                strerror((int)m->error));
    }
    if (!m->queues)
        return;
    if (m->off) {
        s->level3.kfd_counts.offs++;
        s->level3.kfd_counts.off_ns = m->took_us * XS_NS_PER_US;
    } else {
        s->level3.kfd_counts.ons++;
        s->level3.kfd_counts.on_ns = m->took_us * XS_NS_PER_US;
    }
}

struct xs_lv3_kfd *xs_lv3_kfd_of(struct xs_client *c, XDevice device)
{
    struct xs_lv3_kfd *k = device ? find(c, device) : NULL;

    return k && (k->on || k->off || k->part) && k->queues && !k->denied ? k : NULL;
}

uint32_t xs_lv3_kfd_part(const struct xs_client *c, const struct xs_lv3_kfd *k)
{
    uint32_t part = 0, looks = 0;

    if (!k->on || !c->record.space)
        return 0;
    XS_LIST_FOR(q, &k->on->queues, struct xs_server_queue, in_device) {
        uint32_t word = atomic_load_explicit(&c->server_page->cells[q->cell].lane, memory_order_relaxed); /* our own */

        if (word > XS_LANE_MAKE)
            part = XS_MAX(part, XS_LANE_WIDTH(word));
        if (++looks == XS_LV3_LOOKS)
            break;
    }
    return part;
}

/* A part that ends stays in force for a while. @param wanted  as the scheduler says, then what is in force
 * @return when it ends; UINT64_MAX: none stays */
static uint64_t keep_for_a_while(const struct xs_server *s, struct xs_lv3_kfd *k, uint32_t *wanted)
{
    if (*wanted || !k->part) {
        k->free_ns = 0;
        return UINT64_MAX;
    }
    if (!k->free_ns)
        k->free_ns = s->now_ns;
    if (s->now_ns >= k->free_ns + XS_LV3_KFD_WIDEN_NS)
        return UINT64_MAX;
    *wanted = k->part;
    return k->free_ns + XS_LV3_KFD_WIDEN_NS;
}

uint64_t xs_lv3_kfd_want(struct xs_server *s, struct xs_client *c, struct xs_lv3_kfd *k, bool off, uint32_t part)
{
    union xs_msg m = {.kfd_hold = {.device = k->device, .off = off, .lease_ms = XS_LV3_KFD_LEASE_MS}};
    uint64_t next;

    if (c->dead || c->record.protocol_minor < 4)
        return UINT64_MAX;
    next = keep_for_a_while(s, k, &part);
    m.kfd_hold.part = part;
    if (off != k->off || part != k->part || ((off || part) && s->now_ns >= k->said_ns + XS_LEASE_TICK_NS)) {
        k->said_ns = s->now_ns;
        /* A program that reads nothing is in a stop. The next tick says it again, and the program ends
         * the old wish by itself when it goes on. */
        if (xs_socket_send(c->fd, &m, XS_MSG_kfd_hold, ++c->serial, NULL, 0) == 0) {
            k->off = off;
            k->part = part;
        }
    }
    return off || part || k->off || k->part ? XS_MIN(next, k->said_ns + XS_LEASE_TICK_NS) : UINT64_MAX;
}

void xs_lv3_kfd_forget(struct xs_server *s, struct xs_client *c)
{
    for (size_t i = 0; i < XS_LV3_KFD_DEVICES; i++)
        s->level3.n_kfd -= c->level3.kfd[i].device != 0;
    XS_LIST_FOR(on, &c->devices, struct xs_client_device, in_client)
        on->kfd = NULL;
    memset(c->level3.kfd, 0, sizeof(c->level3.kfd));
}
