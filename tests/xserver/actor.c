/* SPDX-License-Identifier: Apache-2.0 */
/* A program that does as it is told, for tests in other languages: joins the server at argv[1], then
 * reads lines and answers each with "ok". With SPACE in its environment it shares in space, in the MPS server of that number,
 * which gave it the MPS_PRIORITY (higher, lower) that is there, too:
 *
 *   queue CELL DEVICE PRIORITY    (DEVICE hexadecimal)
 *   lanes CELL WIDE NARROW ALL    multiprocessors of its two lanes and of the device
 *   submit CELL, complete CELL
 *   inside CELL, outside CELL     a submit of a millisecond whose vendor call does not come back; the end of the first of those
 *   work CELL PERCENT             has work from now on, and gets that much of the device when it may run
 *   gated CELL DEVICE PRIORITY    a queue, at level 2
 *   steps CELL COMMANDS           from now on it launches a command each millisecond; behind so many it waits for all of
 *                                 them, as a program's library does it (xqueue/wait.c, gates/gather_open.c)
 *   rest                          ends all of that work
 *   remove CELL
 *
 * The end of the input ends it. */
#include "raw.h"

#include "base/clock.h"
#include "base/fd.h"

#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define CELLS 16u

static struct raw_client g_client;
static unsigned g_percent[CELLS];
static uint64_t g_worked_ns[CELLS];
static struct {
    unsigned commands, came;
} g_step[CELLS];

static void ring(uint32_t cell)
{
    if (xs_page_ring(g_client.page, g_client.server, cell))
        xs_fd_eventfd_signal(g_client.bell);
}

/* Commands of a millisecond, one after the other, always one more than are done. */
static void work(uint64_t passed_ns)
{
    for (uint32_t i = 0; i < CELLS; i++) {
        struct xs_client_cell *cell = &g_client.page->cells[i];
        uint64_t done;

        if (!g_percent[i])
            continue;
        if (raw_permitted(&g_client, i))
            g_worked_ns[i] += passed_ns * g_percent[i] / 100;
        else
            atomic_fetch_add(&cell->held_ns, passed_ns);
        done = g_worked_ns[i] / XS_NS_PER_MS;
        atomic_store(&cell->est_entered_ns, (done + 1) * XS_NS_PER_MS);
        if (atomic_exchange(&cell->entered, done + 1) != done + 1 &&
            atomic_load(&g_client.server->cells[i].armed) & XS_ARMED_SUBMIT)
            ring(i);
        atomic_store(&cell->returned, done + 1);
        atomic_store(&cell->est_completed_ns, done * XS_NS_PER_MS);
        atomic_store(&cell->completed, done);
    }
}

static void complete_all(struct xs_client_cell *cell)
{
    uint64_t entered = atomic_load(&cell->entered);

    atomic_store(&cell->returned, entered);
    atomic_store(&cell->est_completed_ns, atomic_load(&cell->est_entered_ns));
    atomic_store(&cell->completed, entered);
}

/* @param to  the command that opens its word, or for which it waits */
static void open_word(uint32_t i, uint64_t to)
{
    struct xs_server_cell *word = &g_client.server->cells[i];
    uint64_t gathers_to = atomic_load(&word->gathers_to);

    if (gathers_to && to >= gathers_to)
        atomic_store(&word->permitted, XS_PERMIT_OPEN);
    if (gathers_to && (to >= gathers_to || to == atomic_load(&word->rings_at)))
        ring(i);
}

static void step(uint32_t i)
{
    struct xs_client_cell *cell = &g_client.page->cells[i];
    uint64_t n = atomic_load(&cell->entered) + 1;
    bool waits = ++g_step[i].came >= g_step[i].commands;

    atomic_fetch_add(&cell->est_entered_ns, XS_NS_PER_MS / 10);
    atomic_store(&cell->entered, n);
    if (atomic_load(&g_client.server->cells[i].armed) & XS_ARMED_SUBMIT)
        ring(i);
    open_word(i, waits ? UINT64_MAX : n);
    if (raw_permitted(&g_client, i))
        complete_all(cell);
    if (!waits)
        return;
    g_step[i].came = 0;
    if (atomic_load(&g_client.server->cells[i].armed) & XS_ARMED_WAITS) {
        atomic_store(&cell->waited_to, XS_WAITED(n, XS_WAITED_LAST));
        atomic_fetch_add(&cell->waited_ns, XS_NS_PER_MS / 10);
        ring(i);
    }
}

static void rest(void)
{
    for (uint32_t i = 0; i < CELLS; i++) {
        if (g_step[i].commands)
            complete_all(&g_client.page->cells[i]);
        g_step[i].commands = 0;
        if (!g_percent[i])
            continue;
        g_percent[i] = 0;
        atomic_store(&g_client.page->cells[i].completed, atomic_load(&g_client.page->cells[i].entered));
        atomic_store(&g_client.page->cells[i].est_completed_ns,
                     atomic_load(&g_client.page->cells[i].est_entered_ns));
        if (atomic_load(&g_client.server->cells[i].armed) & XS_ARMED_IDLE)
            ring(i);
    }
}

static void begin_inside(uint32_t i)
{
    struct xs_client_cell *cell = &g_client.page->cells[i];

    atomic_fetch_add(&cell->est_entered_ns, XS_NS_PER_MS);
    atomic_fetch_add(&cell->entered, 1);
    if (atomic_load(&g_client.server->cells[i].armed) & XS_ARMED_SUBMIT)
        ring(i);
}

static void end_inside(uint32_t i)
{
    struct xs_client_cell *cell = &g_client.page->cells[i];

    atomic_fetch_add(&cell->returned, 1);
    atomic_fetch_add(&cell->est_completed_ns, XS_NS_PER_MS);
    atomic_fetch_add(&cell->completed, 1);
    if (atomic_load(&g_client.server->cells[i].armed) & XS_ARMED_IDLE)
        ring(i);
}

static void obey(const char *line)
{
    uint64_t device;
    uint64_t used, limit;
    unsigned cell, percent, wide, narrow, all;
    int priority;

    if (sscanf(line, "queue %u %" SCNx64 " %d", &cell, &device, &priority) == 3) {
        raw_add(&g_client, cell, device, priority);
    } else if (sscanf(line, "gated %u %" SCNx64 " %d", &cell, &device, &priority) == 3) {
        union xs_msg m;

        raw_add_fill(&g_client, &m, cell, device, priority);
        m.queue_add.level = 2;
        raw_send(&g_client, &m, XS_MSG_queue_add);
        raw_settle(&g_client);
    } else if (sscanf(line, "steps %u %u", &cell, &all) == 2 && cell < CELLS) {
        g_step[cell].commands = all;
    } else if (sscanf(line, "lanes %u %u %u %u", &cell, &wide, &narrow, &all) == 4 && cell < CELLS) {
        atomic_store(&g_client.page->cells[cell].multiprocessors, all);
        atomic_store(&g_client.page->cells[cell].lanes, XS_LANES(wide, narrow));
        ring(cell);
    } else if (sscanf(line, "submit %u", &cell) == 1) {
        raw_submit(&g_client, cell);
    } else if (sscanf(line, "inside %u", &cell) == 1 && cell < CELLS) {
        begin_inside(cell);
    } else if (sscanf(line, "outside %u", &cell) == 1 && cell < CELLS) {
        end_inside(cell);
    } else if (sscanf(line, "complete %u", &cell) == 1) {
        raw_complete(&g_client, cell);
    } else if (sscanf(line, "remove %u", &cell) == 1) {
        raw_remove(&g_client, cell);
    } else if (sscanf(line, "work %u %u", &cell, &percent) == 2 && cell < CELLS) {
        g_percent[cell] = percent;
        work(0);
    } else if (sscanf(line, "memory %" SCNu64 " %" SCNu64, &used, &limit) == 2) {
        atomic_store(&g_client.page->h.memory_used, used);
        atomic_store(&g_client.page->h.memory_limit, limit);
    } else if (!strncmp(line, "rest", 4)) {
        rest();
    } else {
        printf("not understood: %s", line);
        return;
    }
    puts("ok");
}

static void join(const char *socket_path)
{
    const char *space = getenv("SPACE");
    union xs_msg m;

    raw_connect(&g_client, socket_path);
    raw_hello_fill(&g_client, &m);
    m.hello.space = space ? strtoull(space, NULL, 10) : 0;
    if (getenv("MPS_PRIORITY"))
        m.hello.flags |= !strcmp(getenv("MPS_PRIORITY"), "higher") ? XS_HELLO_MPS_HIGHER : XS_HELLO_MPS_LOWER;
    assert_int_equal(raw_hello(&g_client, &m, (int[]){g_client.page_fd, g_client.bell}, 2), 0);
}

int main(int argc, char **argv)
{
    uint64_t last = xs_now_ns();
    char line[256];
    union xs_msg m;

    if (argc < 2)
        return 64;
    join(argv[1]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    setvbuf(stdin, NULL, _IONBF, 0);
    puts("ok");
    for (;;) {
        struct pollfd p[2] = {{.fd = 0, .events = POLLIN}, {.fd = g_client.fd, .events = POLLIN}};
        bool working = false;
        uint64_t now;

        for (uint32_t i = 0; i < CELLS; i++)
            working |= g_percent[i] != 0 || g_step[i].commands;
        poll(p, 2, working ? 1 : -1);
        now = xs_now_ns();
        work(now - last);
        for (uint32_t i = 0; i < CELLS; i++)
            if (g_step[i].commands)
                step(i);
        last = now;
        if (p[1].revents && raw_receive(&g_client, &m, 0) == 0)
            break; /* the server ended */
        if (p[0].revents) {
            if (!fgets(line, sizeof(line), stdin))
                break;
            obey(line);
        }
    }
    raw_leave(&g_client);
    return 0;
}
