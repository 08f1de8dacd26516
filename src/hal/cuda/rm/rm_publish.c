/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to xserver about the groups: one for each 64 channels, an end, and descriptors. */
#include "hal/cuda/rm/rm.h"

#include "wire/wire.h"
#include "xqueue/interface.h"

#include <errno.h>
#include <string.h>

static int group_packet(const struct xs_rm_group *g, uint32_t part, union xs_msg *ret, int *ret_id, int ret_fds[2])
{
    struct xs_msg_nv_group *m = &ret->nv_group;
    uint32_t address, first = part * 64;
    uint64_t default_us;
    int r = xs_rm_group_facts(g, &address, &default_us);

    if (r < 0)
        return r;
    memset(ret, 0, sizeof(*ret));
    m->group_id = g->id;
    /* not 2u: an older xserver that may switch channels off leaves these on */
    m->flags = XS_NV_GROUP_SLICES | (xs_rm_by_probe() ? XS_NV_GROUP_PROBED : 0);
    m->device = (uint64_t)kDeviceTypeGPU << 32 | address;
    m->default_slice_us = default_us;
    m->client = g->handles.group_client;
    m->group = g->handles.group;
    m->subdevice_client = g->handles.subdevice_client;
    m->subdevice = g->handles.subdevice;
    m->first = first;
    m->count = XS_MIN(g->n_channels - first, 64u);
    memcpy(m->channels, g->channels + first, m->count * sizeof(uint32_t));
    (void)xs_nvrm_version(m->driver, sizeof(m->driver));
    *ret_id = XS_MSG_nv_group;
    ret_fds[0] = g->handles.group_fd;
    ret_fds[1] = g->handles.subdevice_fd;
    return part == 0 ? 2 : 0;
}

/* Control thread of libpreempt. */
static int packet(uint32_t index, union xs_msg *ret, int *ret_id, int ret_fds[2])
{
    static struct xs_rm_group g;  /* owner: that thread; too large for its stack */
    uint32_t at = 0, told = 0;

    for (uint32_t i = 0;; i++) {
        uint32_t parts, address;
        uint64_t us;
        int r = xs_rm_group_get(i, &g);

        if (r == -ENOENT)
            break;
        if (r < 0)
            return r;
        r = xs_rm_group_facts(&g, &address, &us);
        if (r == -EAGAIN)
            return r;
        if (r < 0)
            continue;             /* about to end, or denied: nothing to give */
        told++;
        parts = g.n_channels == 0 ? 1 : (g.n_channels + 63) / 64;
        if (index < at + parts)
            return group_packet(&g, index - at, ret, ret_id, ret_fds);
        at += parts;
    }
    if (index > at)
        return -ENOENT;
    memset(ret, 0, sizeof(*ret));
    ret->nv_groups_end.groups = told;
    *ret_id = XS_MSG_nv_groups_end;
    return 0;
}

static const struct xs_interrupt_ops k_ops = {
    .abi = XS_HAL_ABI, .size = sizeof(struct xs_interrupt_ops),
    .generation = xs_rm_generation, .packet = packet, .restore = xs_rm_restore,
};

void xs_rm_publish(void)
{
    xs_rm_set_listener(xsched_priv_interrupt_changed);
    xsched_priv_interrupt_ops(&k_ops);
}
