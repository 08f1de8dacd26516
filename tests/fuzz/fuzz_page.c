/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler over pages that a hostile program writes: any word, any time, in half of the inputs
 * also by a thread of its own while the scheduler reads. Nothing
 * completes that was not entered, no time is more than what has passed, a word is open or closed
 * as the scheduler says, a closed one has a lease, and the work stays in proportion. */
#include "fuzz.h"

#include "base/log.h"
#include "sched/sched.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

_Atomic uint64_t fuzz_steps;
const char *const fuzz_steps_name = "decisions";

#define PROGRAMS 3
#define CELLS    6u

static struct program {
    struct xs_client_page *client;
    struct xs_server_page *server;
    struct xs_sched_process *process;
    struct xs_sched_queue *queues[CELLS];
} g_programs[PROGRAMS];

static pthread_t g_thread;
static _Atomic int g_scribbling; /* 0: off, and the thread is out; 1: on; 2: to be ended, which the thread does */

/* xorshift over everything that a program may write, and back to zero */
static void *scribbler(void *arg)
{
    uint64_t x = 88172645463325252ull;

    (void)arg;
    for (;;) {
        int on = atomic_load(&g_scribbling);

        if (on != 1) {
            struct timespec ts = {0, 200000};

            if (on == 2)
                atomic_store(&g_scribbling, 0);
            nanosleep(&ts, NULL);
            continue;
        }
        for (int i = 0; i < 64; i++) {
            struct program *p;
            _Atomic uint64_t *words;

            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            p = &g_programs[x % PROGRAMS];
            words = (_Atomic uint64_t *)(void *)&p->client->cells[(x >> 8) % CELLS];
            atomic_store(&words[(x >> 16) % 16], x & 1 ? x : x >> 40);
            if (i % 8 == 0) {
                p->client->h.bell[(x >> 24) % XS_BELL_SLOTS] = x;
                atomic_fetch_add(&p->client->h.bell_count, x & 2 ? x >> 32 : 1);
            }
        }
    }
    return NULL;
}

static void *map(size_t bytes)
{
    void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    FUZZ_CHECK(m != MAP_FAILED);
    return m;
}

static void set_up(void)
{
    xs_log_set_level(XS_LOG_OFF);
    for (int i = 0; i < PROGRAMS; i++) {
        g_programs[i].client = map(sizeof(struct xs_client_page));
        g_programs[i].server = map(sizeof(struct xs_server_page));
    }
    FUZZ_CHECK(pthread_create(&g_thread, NULL, scribbler, NULL) == 0);
}

static void clear(struct program *p)
{
    memset(p->client->cells, 0, CELLS * sizeof(p->client->cells[0]));
    memset((void *)&p->client->h, 0, sizeof(p->client->h));
    memset(p->server->cells, 0, CELLS * sizeof(p->server->cells[0]));
    memset((void *)&p->server->h, 0, sizeof(p->server->h));
    memset(p->queues, 0, sizeof(p->queues));
    p->process = NULL;
}

static struct xs_hints hints(struct fuzz_in *in)
{
    struct xs_hints h = {.utilization = fuzz_u8(in) % 101, .deadline_us = -1, .laxity_us = -1};
    uint8_t how = fuzz_u8(in);

    h.priority = how == 255 ? -256 : (int32_t)(how % 8);
    if (how & 8)
        h.deadline_us = (int64_t)(fuzz_number(in) >> 1);
    if (how & 16) {
        h.laxity_us = (int64_t)(fuzz_number(in) >> 1);
        h.lax_priority = (int32_t)(fuzz_u8(in) % 9) - 4;
        h.critical_priority = (int32_t)(fuzz_u8(in) % 9) - 4;
    }
    return h;
}

static void write_words(struct program *p, struct fuzz_in *in)
{
    struct xs_client_cell *cell = &p->client->cells[fuzz_u8(in) % CELLS];
    uint8_t what = fuzz_u8(in);

    if (what < 128) { /* what a program would do */
        atomic_fetch_add(&cell->entered, 1 + what % 3);
        atomic_store(&cell->est_entered_ns, cell->est_entered_ns + 1000ull * fuzz_u32(in) % XS_NS_PER_S);
        if (what & 4)
            atomic_store(&cell->returned, cell->entered);
        if (what & 8)
            atomic_store(&cell->completed, cell->entered);
        if (what & 16)
            atomic_store(&cell->marked, cell->entered);
    } else {
        ((_Atomic uint64_t *)(void *)cell)[what % 16] = fuzz_number(in);
    }
    if (what & 32) {
        uint64_t k = atomic_fetch_add(&p->client->h.bell_count, what & 64 ? fuzz_number(in) : 1);

        p->client->h.bell[k % XS_BELL_SLOTS] =
            what & 1 ? (k + 1) << 16 | (uint64_t)((cell - p->client->cells)) : fuzz_number(in);
    }
}

struct seen {
    uint64_t waiting_ns, running_ns;
};

static void look(struct xs_sched *s, uint64_t now, struct seen seen[PROGRAMS][CELLS])
{
    for (int i = 0; i < PROGRAMS; i++) {
        struct program *p = &g_programs[i];

        for (unsigned c = 0; p->process && c < CELLS; c++) {
            struct xs_sched_queue_status st;
            uint64_t permitted = atomic_load(&p->server->cells[c].permitted);

            if (!p->queues[c])
                continue;
            xs_sched_queue_status(p->queues[c], now, &st);
            FUZZ_CHECK(st.completed <= st.entered);
            FUZZ_CHECK(st.waiting_ns >= seen[i][c].waiting_ns && st.waiting_ns <= now);
            FUZZ_CHECK(st.running_ns >= seen[i][c].running_ns && st.running_ns <= now);
            seen[i][c] = (struct seen){st.waiting_ns, st.running_ns};
            /* what the program lets through itself may be anything */
            FUZZ_CHECK(permitted <= XS_PERMIT_OPEN);
            FUZZ_CHECK(!st.permitted || permitted == XS_PERMIT_OPEN);
            FUZZ_CHECK(st.service_ns <= now);
            /* closed: then there is a lease, which ends */
            if (!st.permitted)
                FUZZ_CHECK(p->server->h.lease_until_ns <= now + XS_LEASE_NS);
        }
    }
    (void)s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_in in = {data, size};
    struct xs_sched_config config;
    struct xs_sched_counters before, after;
    uint64_t now = XS_NS_PER_S;
    struct seen seen[PROGRAMS][CELLS] = {{{0}}};
    static bool ready;
    struct xs_sched *s;
    uint8_t how, more;

    if (!ready)
        set_up();
    ready = true;
    how = fuzz_u8(&in);
    more = fuzz_u8(&in);
    xs_sched_config_defaults(&config);
    config.params.starvation_ns = how & 128 ? 20 * XS_NS_PER_MS : 0;
    config.user_share = (config.user_share + more / 2) % 101;
    s = xs_sched_new(xs_policies[how % xs_policies_count], &config, NULL, NULL);
    FUZZ_CHECK(s != NULL);
    for (int i = 0; i < PROGRAMS; i++)
        clear(&g_programs[i]);
    if (more & 1)
        atomic_store(&g_scribbling, 1);
    for (int i = 0; i < 400 && in.left; i++) {
        uint8_t op = fuzz_u8(&in);
        struct program *p = &g_programs[op % PROGRAMS];
        unsigned cell = op / 8 % CELLS;
        struct xs_hints h;

        if (!p->process) {
            struct xs_sched_process_info info = {.id = (uint64_t)i + 1,
                                                 .user = op / 32 % 2,
                                                 .intra = op & 64,
                                                 .group = op & 128 ? "g" : NULL,
                                                 .client = p->client,
                                                 .server = p->server};

            p->process = xs_sched_process_add(s, &info, NULL);
            FUZZ_CHECK(p->process != NULL);
        }
        switch (op % 11) {
        case 0:
            if (!p->queues[cell]) {
                h = hints(&in);
                p->queues[cell] =
                    xs_sched_queue_add(s, p->process, (uint64_t)i + 1, op / 64 % 2, cell, &h, now, NULL);
                FUZZ_CHECK(p->queues[cell] != NULL);
                seen[p - g_programs][cell] = (struct seen){0};
            }
            break;
        case 1:
            if (p->queues[cell] && fuzz_u8(&in) % 4 == 0) {
                xs_sched_queue_remove(s, p->queues[cell], now);
                p->queues[cell] = NULL;
            }
            break;
        case 2:
            h = hints(&in);
            if (p->queues[cell])
                xs_sched_queue_set_hints(s, p->queues[cell], &h);
            break;
        case 3:
            xs_sched_process_set_held(s, p->process, fuzz_u8(&in) & 1);
            break;
        case 4:
            if (fuzz_u8(&in) % 16 == 0) {
                xs_sched_process_remove(s, p->process, now);
                p->process = NULL;
                memset(p->queues, 0, sizeof(p->queues));
            }
            break;
        case 5:
            if (fuzz_u8(&in) % 8 == 0)
                xs_sched_set_policy(s, xs_policies[fuzz_u8(&in) % xs_policies_count]);
            break;
        case 6:
        case 7:
            write_words(p, &in);
            break;
        default: {
            uint64_t next;

            now += fuzz_number(&in) % (3 * XS_NS_PER_S);
            xs_sched_counters(s, &before);
            for (int k = 0; k < PROGRAMS; k++)
                if (g_programs[k].process)
                    xs_sched_process_poll(s, g_programs[k].process, now);
            next = xs_sched_run(s, now);
            fuzz_steps++;
            /* a time that has come means "again, at once": that settles while nobody writes */
            for (int again = 0; next <= now && !g_scribbling; again++) {
                FUZZ_CHECK(again < 100);
                next = xs_sched_run(s, now);
            }
            (void)xs_sched_renew_leases(s, now);
            xs_sched_counters(s, &after);
            FUZZ_CHECK(after.work - before.work < 20000); /* 18 queues: bounded, whatever the pages say */
            look(s, now, seen);
            break;
        }
        }
    }
    if (atomic_load(&g_scribbling)) {
        atomic_store(&g_scribbling, 2);
        while (atomic_load(&g_scribbling))
            sched_yield();
    }
    xs_sched_free(s);
    for (int i = 0; i < PROGRAMS; i++)
        for (unsigned c = 0; c < CELLS; c++)
            FUZZ_CHECK(g_programs[i].server->cells[c].permitted != XS_PERMIT_CLOSED ||
                       !g_programs[i].queues[c]);
    return 0;
}
