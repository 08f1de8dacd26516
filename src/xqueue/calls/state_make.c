/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/calls/state_make.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/map.h"
#include "base/str.h"
#include "wire/wire.h"
#include "xqueue/announce/announce_collectives.h"
#include "xqueue/announce/announce_memory.h"
#include "xqueue/control/awaited.h"
#include "xqueue/control/control_thread.h"
#include "xqueue/inherit.h"
#include "xqueue/shim_presence.h"
#include "xqueue/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Leak checkers do not look into the root's page: here they find the state. Written under the root's lock. */
static struct xs_state *volatile g_last_made;

static uint64_t random_prefix(void)
{
    uint64_t bits = 0;

    if (syscall(SYS_getrandom, &bits, sizeof(bits), 1 /* GRND_NONBLOCK */) != (long)sizeof(bits))
        bits = xs_hash_u64(xs_now_ns() ^ (uint64_t)getpid() << 32);
    bits &= 0x7fffffffu;
    return bits ? bits : 1;
}

static int make_client_page(struct xs_state *st)
{
    void *map;
    int fd = xs_fd_memfd("xsched-client", sizeof(struct xs_client_page));

    if (fd >= 0 && xs_fd_map_sealed(fd, sizeof(struct xs_client_page), 1, &map) < 0)
        xs_fd_close(&fd);
    if (fd < 0) {
        map = mmap(NULL, sizeof(struct xs_client_page), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map == MAP_FAILED)
            return -ENOMEM;
    }
    madvise(map, sizeof(struct xs_client_page), MADV_DONTFORK);
    st->client = map;
    st->client_fd = fd < 0 ? fd : xs_fd_high(fd);
    st->client->h.magic = XS_PAGE_MAGIC;
    st->client->h.version = XS_PAGE_VERSION;
    st->client->h.queues = XS_PAGE_QUEUES;
    st->client->h.cell_bytes = sizeof(struct xs_client_cell);
    return 0;
}

/* Three names for one thing: ON if one of them says so; else OFF if one does. */
static enum xs_drain drain_from_env(void)
{
    static const enum xs_env_id names[] = {XS_ENV_XSCHED_SCHEDULER_SUSPEND_SYNC_HWQ,
                                           XS_ENV_XSCHED_SCHEDULER_SUSPEND_WAIT_ALL,
                                           XS_ENV_XSCHED_SCHEDULER_SUSPEND_WAIT_IDLE};
    enum xs_drain drain = XS_DRAIN_BY_POLICY;

    for (size_t i = 0; i < XS_ARRAY_LEN(names); i++) {
        if (xs_env_bool(names[i], false))
            drain = XS_DRAIN_ON;
        else if (!xs_env_bool(names[i], true)) /* set, to OFF */
            drain = XS_MAX(drain, XS_DRAIN_OFF);
    }
    return drain;
}

/* Programs share in space when they have one MPS server; its folder names it. xsched run has seen that it
 * serves. A container that asks for space may have met no daemon: then the driver does without. On AMD's driver
 * there is none: masks share the device (xs_interrupt_ops.lanes). */
static uint64_t space_from_env(bool asks)
{
    const char *folder = xs_env_mps_folder();
    uint64_t hash = 1;

    if (!asks)
        return 0;
    if (!xs_mps_has_pipes(folder)) {
        if (access("/dev/kfd", R_OK | W_OK) < 0)
            XS_WARN("XSCHED_SHARE=SPACE, and no MPS daemon has its pipes in %s: the program shares in time", folder);
        return 0;
    }
    for (; *folder; folder++)
        hash = xs_hash_u64(hash ^ (unsigned char)*folder);
    return hash | 1;
}

static uint32_t mps_priority_from_env(void)
{
    const char *value = getenv("CUDA_MPS_CLIENT_PRIORITY"); /* NVIDIA's own variable; 0 by default */

    return value && value[0] && strcmp(value, "0") != 0 ? XS_HELLO_MPS_LOWER : XS_HELLO_MPS_HIGHER;
}

static void read_environment(struct xs_state *st)
{
    const char *policy = xs_env_get(XS_ENV_XSCHED_POLICY);
    static const enum xs_mode k_modes[] = {XS_MODE_APP, XS_MODE_LOCAL, XS_MODE_GLOBAL}; /* in the row's order */
    const char *group = xs_env_get(XS_ENV_XSCHED_GROUP);
    const struct xs_policy_ops *ops = policy ? xs_policy_by_name(policy) : NULL;
    char names[XS_POLICY_NAMES_BYTES];
    bool implied = xs_env_get(XS_ENV_XSCHED_PRIORITY) && !xs_env_get(XS_ENV_XSCHED_SCHEDULER);
    int mode = ops ? XS_MODE_LOCAL : k_modes[xs_env_i64(XS_ENV_XSCHED_SCHEDULER, implied ? 2 : 0)];

    xs_env_warn_withdrawn();
    if (policy && !ops)
        XS_WARN("XSCHED_POLICY=%s is not a policy (%s); it has no effect", policy,
                xs_policy_names(names, sizeof(names), "|"));
    atomic_store(&st->mode, mode);
    atomic_store(&st->local_policy, ops ? ops->type : kPolicyHighestPriorityFirst);
    if (xs_env_get(XS_ENV_XSCHED_AUTO_XQUEUE_TIMESLICE))
        atomic_store(&st->timeslice_us, (uint64_t)xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_TIMESLICE, TIMESLICE_DEFAULT));
    atomic_store(&st->k, (uint32_t)xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_KDEADLINE, 0));
    if (atomic_load(&st->timeslice_us) || atomic_load(&st->k))
        atomic_store(&st->sched_hints_changes, 1);
    st->intra = xs_env_bool(XS_ENV_XSCHED_INTRA, false);
    st->asks_space = xs_env_is(XS_ENV_XSCHED_SHARE, "SPACE");
    st->space = space_from_env(st->asks_space);
    st->mps_priority = st->space ? mps_priority_from_env() : 0;
    st->drain = drain_from_env();
    for (unsigned i = 0; st->sockets_count < XS_ARRAY_LEN(st->sockets); i++) {
        int r = xs_socket_path(i, st->sockets[st->sockets_count], sizeof(st->sockets[0]));

        if (r == -ENOENT)
            break;
        st->sockets_count += r == 0;
    }
    if (group && !xs_str_copy(st->group, sizeof(st->group), group))
        XS_WARN_ONCE("XSCHED_GROUP is longer than %zu characters: the first of them count", sizeof(st->group) - 1);
    xs_job_name(NULL, NULL, st->job);
    st->utilization = (int32_t)xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_UTILIZATION, -1);
    xs_state_update_intra(st);
    xs_scheduler_say(mode, ops ? ops->name : "HPF");
}

static struct xs_state *state_new(void)
{
    struct xs_state *st = calloc(1, sizeof(*st));

    if (!st)
        return NULL;
    st->client_fd = -1;
    st->handle_prefix = random_prefix();
    atomic_store(&st->next_handle, 1);
    atomic_store(&st->next_command, 1);
    xs_list_init(&st->free_queues);
    xs_list_init(&st->gone_hwqs);
    st->bell_fd = xs_fd_high(xs_fd_eventfd());
    st->kick_fd = xs_fd_high(xs_fd_eventfd());
    if (st->bell_fd < 0 || st->kick_fd < 0 || make_client_page(st) < 0) {
        XS_WARN_ONCE("no descriptors or memory for an XQueue; programs run unscheduled");
        xs_fd_close(&st->bell_fd);
        xs_fd_close(&st->kick_fd);
        free(st);
        return NULL;
    }
    st->kick = xs_control_kick;
    read_environment(st);
    xs_state_await(st);
    return st;
}

struct xs_state *xs_state_get_or_make(void)
{
    struct xs_state *st = xs_state_get();
    struct xs_root *r;

    if (XS_LIKELY(st != NULL))
        return st;
    r = xs_root_get();
    if (!r)
        return NULL;
    if (atomic_load(&xs_root_stays) && !xs_root_is_ours(r)) {
        atomic_store(&r->state, NULL); /* a child where the kernel could not wipe the page */
        atomic_store(&r->lock.word, 0);
        r->pid = (int32_t)getpid();
    }
    xs_lock_acquire(&r->lock);
    st = atomic_load_explicit(&r->state, memory_order_acquire);
    if (!st) {
        st = state_new();
        if (st) {
            st->made_before = g_last_made; /* in a forked child: the parent's state, unused here */
            g_last_made = st;
        }
        r->pid = (int32_t)getpid();
        atomic_store(&r->state, st);
        if (st) {
            xs_collectives_tell(st);
            xs_memory_tell(st);
        }
    }
    xs_lock_release(&r->lock);
    return st;
}
