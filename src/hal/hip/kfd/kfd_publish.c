/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to xserver about the queues, and its answers: libpreempt's control thread. */
#include "hal/hip/kfd/kfd.h"

#include "wire/wire.h"
#include "xqueue/interface.h"

#include <string.h>

#define IDENTITY(address) ((uint64_t)kDeviceTypeGPU << 32 | (address))

static int packet(uint32_t index, union xs_msg *ret, int *ret_id, int ret_fds[2])
{
    struct xs_kfd_device d;
    int r = xs_kfd_device(index, &d);

    (void)ret_fds;
    if (r < 0)
        return r;
    memset(ret, 0, sizeof(*ret));
    ret->kfd_device.device = IDENTITY(d.address);
    ret->kfd_device.queues = d.queues;
    *ret_id = XS_MSG_kfd_device;
    return 0;
}

static void told(const union xs_msg *m, uint64_t now_ns)
{
    struct xs_kfd_wish w = {.off = m->kfd_hold.off,
                            .until_ns = now_ns + (uint64_t)m->kfd_hold.lease_ms * XS_NS_PER_MS,
                            .part = m->kfd_hold.part};

    if (m->head.id == XS_MSG_kfd_hold)
        xs_kfd_wish((uint32_t)m->kfd_hold.device, &w); /* another's: the device left meanwhile */
}

static bool report(union xs_msg *ret, int *ret_id)
{
    struct xs_kfd_report r;

    if (!xs_kfd_report(&r))
        return false;
    memset(ret, 0, sizeof(*ret));
    ret->kfd_held.device = IDENTITY(r.address);
    ret->kfd_held.off = r.off;
    ret->kfd_held.queues = r.queues;
    ret->kfd_held.error = (uint32_t)-r.error;
    ret->kfd_held.took_us = (uint32_t)XS_MIN(r.took_ns / 1000, (uint64_t)UINT32_MAX);
    *ret_id = XS_MSG_kfd_held;
    return true;
}

static uint32_t lanes(XDevice device, uint32_t *ret_units)
{
    *ret_units = 0;
    return device >> 32 == kDeviceTypeGPU ? xs_kfd_lanes((uint32_t)device, ret_units) : 0;
}

static void unfit(void)
{
    xs_kfd_refuse_masks("a kernel ended nothing for a second on a part of the device", 0);
}

static const struct xs_interrupt_ops k_ops = {
    .abi = XS_HAL_ABI, .size = sizeof(struct xs_interrupt_ops),
    .generation = xs_kfd_generation, .packet = packet, .restore = xs_kfd_restore,
    .server_minor = 4, .told = told, .due = xs_kfd_due, .report = report, .lanes = lanes, .unfit = unfit,
};

void xs_kfd_publish(void)
{
    xs_kfd_set_listener(xsched_priv_interrupt_changed);
    xsched_priv_interrupt_ops(&k_ops);
}
