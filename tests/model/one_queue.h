/* SPDX-License-Identifier: Apache-2.0 */
/* The submit path on one queue, whose server is there and keeps its lease. */
#ifndef XS_MODEL_ONE_QUEUE_H
#define XS_MODEL_ONE_QUEUE_H

#include "submit_path.h"

#include "gates_stubs.h"
#include "mark_stubs.h"

static struct xs_state g_state;
static struct xs_queue g_queue;
static struct xs_client_page g_client;
static struct xs_server_page g_server;
static struct xs_server_cell *const g_cell = &g_server.cells[0];

struct xs_server_cell xs_open_cell;
_Thread_local struct xs_tls xs_tls;

void xs_state_fail_open(struct xs_state *st, struct xs_server_page *page)
{
    (void)st, (void)page;
    mc_check(false, "failed open while the lease held");
}
void xs_queue_unref(struct xs_queue *q)
{
    atomic_fetch_sub(&q->refs, 1);
}

uint64_t xsched_priv_queue_id(struct xs_queue *q)
{
    (void)q;
    mc_check(false, __func__); /* of waits at gates of the host alone */
    return 0;
}

/* A run must not depend on the ones before. */
static void one_queue_init(void)
{
    memset(&g_queue, 0, sizeof(g_queue));
    memset(&g_state, 0, sizeof(g_state));
    memset(&g_client.h, 0, sizeof(g_client.h));
    memset(g_client.cells, 0, sizeof(g_client.cells[0]));
    memset(&g_server.h, 0, sizeof(g_server.h));
    memset(g_server.cells, 0, sizeof(g_server.cells[0]));
    *MC_PLAIN(&g_cell->permitted) = XS_PERMIT_OPEN;
    *MC_PLAIN(&xs_open_cell.permitted) = XS_PERMIT_OPEN;
    *MC_PLAIN(&g_server.h.lease_until_ns) = UINT64_MAX;
    *MC_PLAIN(&g_queue.app_permitted) = XS_PERMIT_OPEN;
    *MC_PLAIN(&g_queue.sc) = g_cell;
    *MC_PLAIN(&g_state.server) = &g_server;
    g_state.client = &g_client;
    g_queue.cc = &g_client.cells[0];
    g_queue.state = &g_state;
}

static void one_queue_regions(void)
{
    mc_region(&g_queue, sizeof(g_queue));
    mc_region(g_client.cells, sizeof(g_client.cells[0]));
    mc_region(&g_server.h, sizeof(g_server.h));
    mc_region(g_server.cells, sizeof(g_server.cells[0]));
    mc_thread_local(&xs_tls, sizeof(xs_tls));
}

#endif
