/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/control/control_thread.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/sys.h"
#include "xqueue/control/agent.h"
#include "xqueue/control/announce_queues.h"
#include "xqueue/control/awaited.h"
#include "xqueue/control/local.h"
#include "xqueue/control/server_page.h"
#include "xqueue/state.h"
#include "xqueue/thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the thread ---- */

#define CONTROL_STACK_BYTES (256u * 1024u) /* memory only as used; static TLS lies on it, too */

/* The kernel walks this list when the thread dies, before it tears the process's memory down,
 * and marks owner_tid. So xserver learns of the death of a large process at once. */
static void register_death_notice(struct xs_state *st)
{
    static struct robust_list_head head; /* owner: the control thread of this process */
    static struct robust_list entry;
    uint32_t tid = (uint32_t)syscall(SYS_gettid);

    head.list.next = &entry;
    entry.next = &head.list;
    head.futex_offset = (long)((char *)&st->client->h.owner_tid - (char *)&entry);
    head.list_op_pending = NULL;
    atomic_store(&st->client->h.owner_tid, tid | FUTEX_WAITERS);
    syscall(SYS_set_robust_list, &head, sizeof(head));
}

static void *control_main(void *arg)
{
    struct xs_state *st = arg;

    register_death_notice(st);
    for (;;) {
        /* changes first: the application stores mode, then counts. In the other order a change between the two
         * reads would be taken for one that the mode has. */
        uint32_t changes = atomic_load(&st->mode_changes);
        int mode = atomic_load(&st->mode);

        if (mode == XS_MODE_GLOBAL && st->client_fd >= 0) {
            xs_agent_run(st, changes);
        } else if (mode == XS_MODE_LOCAL) {
            xs_local_run(st, changes);
        } else {
            struct pollfd p = {.fd = st->kick_fd, .events = POLLIN};

            if (mode == XS_MODE_GLOBAL)
                XS_WARN_ONCE("no sealed memory file of %zu bytes (error %d%s): the program runs unscheduled",
                             sizeof(struct xs_client_page), -st->client_fd,
                             st->client_fd == -EFBIG ? ", beyond ulimit -f" : "");
            xs_state_decided(st);
            xs_control_announce(st, NULL, NULL);
            xs_sys_poll(&p, 1, xs_control_retired_tick(st) ? 100 : -1);
            xs_fd_eventfd_drain(st->kick_fd);
        }
    }
    return NULL;
}

void xs_control_kick(struct xs_state *st)
{
    if (atomic_load(&st->control_runs)) {
        xs_fd_eventfd_signal(st->kick_fd);
        return;
    }
    if (atomic_load(&st->mode) == XS_MODE_APP) {
        xs_control_announce(st, NULL, NULL); /* no scheduler: only gives the references back */
        return;
    }
    if ((!atomic_load(&st->pool) && !atomic_load(&st->joins)) || atomic_exchange(&st->control_runs, true))
        return;
    if (xs_thread_start(control_main, st, CONTROL_STACK_BYTES) < 0) {
        atomic_store(&st->control_runs, false);
        xs_state_decided(st);
        XS_WARN_ONCE("cannot start a thread; programs run unscheduled");
    }
}
