/* SPDX-License-Identifier: Apache-2.0 */
/* Slices in the process itself: for the probe, and as the last resort when the scheduler outside is gone. */
#include "hal/cuda/rm/rm_objects.h"

#include <errno.h>
#include <unistd.h>

/* One look at a group for a call: decides under the lock; the caller acts without it. */
static int take(uint32_t index, bool may_wait, struct xs_rm_group *ret, struct xs_rm_tsg *ret_state)
{
    struct xs_rm_table *t = &xs_rm_table;
    int r = -ENOENT;

    if (may_wait)
        xs_lock_acquire(&t->lock);
    else if (!xs_lock_try(&t->lock))
        return -EAGAIN;
    if (t->groups[index].id) {
        xs_rm_fill(&t->groups[index], ret);
        *ret_state = t->groups[index];
        r = 0;
    }
    xs_lock_release(&t->lock);
    return r;
}

/* Stores the changes of a call, if the group is still the same. */
static void store(uint32_t id, const uint64_t *slice_us, const uint64_t *default_us, const uint32_t *address)
{
    struct xs_rm_tsg *g;

    xs_lock_acquire(&xs_rm_table.lock);
    g = xs_rm_tsg_by_id(id);
    if (g) {
        g->slice_us = slice_us ? *slice_us : g->slice_us;
        g->default_us = default_us ? *default_us : g->default_us;
        g->address = address ? *address : g->address;
        g->address_known = g->address_known || address;
    }
    xs_lock_release(&xs_rm_table.lock);
}

/* Whether the descriptors are the driver's. The program may have closed one, and the number may be another
 * file's by now: then send nothing there, and give that file to no process. Another open file of the driver's
 * under this number refuses the client's handle. */
static bool fds_ours(const struct xs_rm_group *g)
{
    const int fds[] = {g->handles.group_fd, g->handles.subdevice_fd};

    for (size_t i = 0; i < XS_ARRAY_LEN(fds); i++) {
        if (fds[i] < 0 || (i && fds[i] == fds[0]) || xs_nvrm_is_control_device(fds[i]))
            continue;
        xs_rm_closed(fds[i]);
        return false;
    }
    return true;
}

int xs_rm_group_address(const struct xs_rm_group *g, uint32_t *ret_address)
{
    struct xs_rm_tsg *t;
    bool known = false;
    int r;

    xs_lock_acquire(&xs_rm_table.lock);
    t = xs_rm_tsg_by_id(g->id);
    if (t && t->address_known) {
        *ret_address = t->address;
        known = true;
    }
    xs_lock_release(&xs_rm_table.lock);
    if (known)
        return 0;
    if (g->handles.subdevice_fd < 0)
        return -ENOENT;
    r = xs_nvrm_pci_address(&g->handles, ret_address, NULL);
    if (r == 0)
        store(g->id, NULL, NULL, ret_address);
    return r;
}

int xs_rm_group_facts(const struct xs_rm_group *g, uint32_t *ret_address, uint64_t *ret_default_us)
{
    struct xs_rm_tsg *t;
    uint32_t address = 0;
    uint64_t us = 0;
    bool known;
    int r;

    if (!xs_lock_try(&xs_rm_table.lock))
        return -EAGAIN;
    t = xs_rm_tsg_by_id(g->id);
    known = t && t->address_known && t->default_us;
    if (known) {
        *ret_address = t->address;
        *ret_default_us = t->default_us;
    }
    xs_lock_release(&xs_rm_table.lock);
    if (!t || g->handles.subdevice_fd < 0 || !fds_ours(g))
        return -ESTALE;
    if (known)
        return 0;
    r = xs_nvrm_pci_address(&g->handles, &address, NULL);
    if (r == 0)
        r = xs_nvrm_get_slice(&g->handles, &us, NULL);
    if (r < 0)
        return r;
    if (!xs_lock_try(&xs_rm_table.lock))
        return -EAGAIN;
    t = xs_rm_tsg_by_id(g->id);
    if (t) {
        t->address = address;
        t->address_known = true;
        t->default_us = t->default_us ? t->default_us : us;
    }
    xs_lock_release(&xs_rm_table.lock);
    *ret_address = address;
    *ret_default_us = us;
    return 0;
}

static bool on_device(const struct xs_rm_group *g, uint32_t pci_address)
{
    uint32_t address;

    return pci_address == UINT32_MAX || (xs_rm_group_address(g, &address) == 0 && address == pci_address);
}

static int count_result(int r)
{
    xs_lock_acquire(&xs_rm_table.lock);
    xs_rm_table.counts.controls++;
    xs_rm_table.counts.refused += r == -EPERM;
    xs_lock_release(&xs_rm_table.lock);
    if (r == -EPERM)
        xs_rm_demote("the driver denied a control");
    return r == -ESTALE ? 0 : r;  /* it ended meanwhile */
}

static int set_slice(const struct xs_rm_group *g, const struct xs_rm_tsg *state, uint64_t us)
{
    uint64_t before = state->default_us;
    int r;

    if (state->slice_us == us)
        return 0;
    if (!before) {
        r = xs_nvrm_get_slice(&g->handles, &before, NULL);
        if (r < 0)
            return r;
    }
    /* Recorded first: a channel that another thread makes meanwhile repeats it. */
    store(g->id, &us, &before, NULL);
    return xs_nvrm_set_slice(&g->handles, us ? us : before, NULL);
}

int xs_rm_set_slices(uint32_t pci_address, uint64_t us)
{
    struct xs_rm_group g;
    struct xs_rm_tsg state;
    int result = -ENOENT;

    if (xs_rm_level() != 3)
        return -EPERM;
    for (uint32_t i = 0; i < XS_RM_GROUPS; i++) {
        int r = take(i, true, &g, &state);

        if (r == -ENOENT || !fds_ours(&g) || !on_device(&g, pci_address))
            continue;
        r = count_result(set_slice(&g, &state, us));
        result = r < 0 ? r : result == -ENOENT ? 0 : result;
    }
    return result;
}

bool xs_rm_restore(void)
{
    static struct xs_rm_group g;  /* owner: busy; too large for a small stack */
    /* Lock 5: the storage of the group below. The control thread and the thread that ends the process take
     * it by try. */
    static struct xs_lock busy;
    struct xs_rm_tsg state;
    bool all = true;

    if (atomic_load(&xs_rm_table.pid) != (int)getpid())
        return true;
    if (!xs_lock_try(&busy))
        return false;
    for (uint32_t i = 0; i < XS_RM_GROUPS; i++) {
        int r = take(i, false, &g, &state);

        all = all && r != -EAGAIN;
        if (r < 0 || !fds_ours(&g))
            continue;
        /* Even if this side set none: xserver may have set one. */
        if (state.default_us)
            xs_nvrm_set_slice(&g.handles, state.default_us, NULL);
        if (xs_lock_try(&xs_rm_table.lock)) {
            struct xs_rm_tsg *t = xs_rm_tsg_by_id(g.id);

            if (t)
                t->slice_us = 0;
            xs_lock_release(&xs_rm_table.lock);
        } else {
            all = false;
        }
    }
    xs_lock_release(&busy);
    return all;
}
