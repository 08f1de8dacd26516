/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/state.h"

#include "xqueue/interface.h"

#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
_Atomic(struct xs_root *) xs_root;
_Atomic bool xs_root_stays;

struct xs_server_cell xs_open_cell = {.permitted = XS_PERMIT_OPEN};

#ifdef __SANITIZE_THREAD__
#define XS_TLS_MODEL
#else
#define XS_TLS_MODEL __attribute__((tls_model("initial-exec")))
#endif
_Thread_local XS_TLS_MODEL struct xs_tls xs_tls;
_Static_assert(sizeof(struct xs_tls) <= 64, "more may not fit into the static TLS of a running program");

int xsched_priv_depth(void)
{
    return xs_tls.depth;
}

void xsched_priv_depth_add(int delta)
{
    xs_tls.depth += delta;
}

struct xs_root *xs_root_get(void)
{
    struct xs_root *r = atomic_load_explicit(&xs_root, memory_order_acquire), *other = NULL;

    if (XS_LIKELY(r != NULL))
        return r;
    r = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (r == MAP_FAILED)
        return NULL;
    if (madvise(r, 4096, MADV_WIPEONFORK) < 0)
        atomic_store(&xs_root_stays, true); /* Linux before 4.14 */
    if (atomic_compare_exchange_strong(&xs_root, &other, r))
        return r;
    munmap(r, 4096);
    return other;
}

bool xs_root_is_ours(const struct xs_root *r)
{
    return r->pid == (int32_t)getpid();
}
