/* SPDX-License-Identifier: Apache-2.0 */
/* The explorer. This file uses no atomics: the model's threads are coroutines of one thread. */
#include "mc.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES (128u * 1024u)
#define BUFFER      8
#define REGIONS     16
#define DEPTH       100000
#define PLACES      4096

enum status { READY, ASLEEP, DONE };

struct pending {
    volatile void *at;
    unsigned char value[8];
    size_t bytes;
};

struct thread {
    ucontext_t context;           /* for its start; later switches are jumps, which make no system call */
    jmp_buf jump;
    bool started;
    char *stack;
    enum status status;
    uint64_t learnt;
    uint64_t points;
    struct pending buffer[BUFFER];
    int buffered;
    _Atomic uint32_t *word;       /* asleep on */
    bool timed, timed_out;
    unsigned char tls[256];
};

struct choice {
    uint16_t taken, count;
};

struct event {
    int8_t thread, op;
    int16_t line;
    const volatile void *at;
};

/* A place in memory and who used it so far. Only places that two threads use and one of them
 * writes are points; when a place turns out to be one, the exploration starts again. At the end
 * every operation that was no point commutes with everything that any other thread does. */
struct place {
    const volatile void *at;
    uint32_t readers, writers;
    bool shared;
};

static struct {
    const struct mc_model *m;
    struct place places[PLACES];
    bool again;
    int n, self;
    struct thread t[MC_THREADS];
    ucontext_t main;
    jmp_buf main_jump;
    struct choice *stack;
    size_t depth, known;
    struct event *events;
    size_t n_events;
    uint64_t *seen;
    size_t seen_size, seen_count;
    uint64_t runs, pruned, transitions;
    uint32_t timeouts_left;
    uint64_t patience_left;
    const char *violation;
    bool over;                    /* this run ends now */
    struct { void *memory; size_t bytes; } regions[REGIONS];
    size_t n_regions;
    void *tls;
    size_t tls_bytes;
} g;

uint64_t mc_now_ns;

int mc_self(void)
{
    return g.self;
}

const volatile void *mc_asleep_on(int thread)
{
    return thread < g.n && g.t[thread].status == ASLEEP ? (const volatile void *)g.t[thread].word : NULL;
}

void mc_region(void *memory, size_t bytes)
{
    g.regions[g.n_regions].memory = memory;
    g.regions[g.n_regions++].bytes = bytes;
}

void mc_thread_local(void *memory, size_t bytes)
{
    g.tls = memory;
    g.tls_bytes = bytes;
}

void mc_check(bool ok, const char *what)
{
    if (!ok && !g.violation)
        g.violation = what;
}

static inline uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdull;
    h ^= h >> 29;
    return h;
}

static uint64_t mix_bytes(uint64_t h, const void *p, size_t n)
{
    const unsigned char *c = p;

    while (n >= 8) {
        uint64_t v;

        memcpy(&v, c, 8);
        h = mix(h, v);
        c += 8;
        n -= 8;
    }
    while (n--)
        h = mix(h, *c++);
    return h;
}

/* ---- operations of the threads ---- */

static void to_main(void)
{
    if (!_setjmp(g.t[g.self].jump))
        _longjmp(g.main_jump, 1);
}

static struct place *place_of(const volatile void *at)
{
    size_t i = ((uintptr_t)at >> 2) * 0x9e3779b97f4a7c15ull >> 40 & (PLACES - 1);

    while (g.places[i].at && g.places[i].at != at)
        i = (i + 1) & (PLACES - 1);
    g.places[i].at = at;
    return &g.places[i];
}

/* Notes the use. @return true when the place is shared */
static bool use(enum mc_op op, const volatile void *at)
{
    struct place *p = place_of(at);
    uint32_t me = 1u << g.self, all;

    if (op != MC_LOAD && op != MC_FUTEX_WAIT)
        p->writers |= me;
    p->readers |= me;
    all = p->readers | p->writers;
    if (!p->shared && p->writers && (all & (all - 1))) {
        p->shared = true;
        g.again = true;
    }
    return p->shared;
}

void mc_point(enum mc_op op, const volatile void *at, int line)
{
    struct thread *t = &g.t[g.self];

    if (at && !use(op, at))
        return;
    if (op == MC_FENCE && !t->buffered)
        return;
    t->points++;
    t->learnt = mix(t->learnt, (uint64_t)line);
    to_main();
    if (g.n_events < DEPTH)
        g.events[g.n_events++] = (struct event){(int8_t)g.self, (int8_t)op, (int16_t)line, at};
}

void mc_learn(const void *value, size_t bytes)
{
    g.t[g.self].learnt = mix_bytes(g.t[g.self].learnt, value, bytes);
}

static void flush_one(struct thread *t)
{
    memcpy((void *)(uintptr_t)t->buffer[0].at, t->buffer[0].value, t->buffer[0].bytes);
    t->buffered--;
    memmove(t->buffer, t->buffer + 1, (size_t)t->buffered * sizeof(t->buffer[0]));
}

void mc_buffer_flush(void)
{
    while (g.t[g.self].buffered)
        flush_one(&g.t[g.self]);
}

void mc_buffers_flush(void)
{
    for (int i = 0; i < g.n; i++)
        while (g.t[i].buffered)
            flush_one(&g.t[i]);
}

void mc_buffer_write(volatile void *at, const void *value, size_t bytes)
{
    struct thread *t = &g.t[g.self];

    if (!place_of(at)->shared) {
        memcpy((void *)(uintptr_t)at, value, bytes);
        return;
    }
    if (t->buffered == BUFFER)
        flush_one(t);
    t->buffer[t->buffered].at = at;
    t->buffer[t->buffered].bytes = bytes;
    memset(t->buffer[t->buffered].value, 0, 8);
    memcpy(t->buffer[t->buffered].value, value, bytes);
    t->buffered++;
}

bool mc_buffer_read(const volatile void *at, void *value, size_t bytes)
{
    struct thread *t = &g.t[g.self];

    for (int i = t->buffered - 1; i >= 0; i--) {
        if (t->buffer[i].at == at && t->buffer[i].bytes == bytes) {
            memcpy(value, t->buffer[i].value, bytes);
            return true;
        }
    }
    return false;
}

int mc_futex_wait(_Atomic uint32_t *word, uint32_t expected, bool timed)
{
    struct thread *t = &g.t[g.self];
    uint32_t now;

    mc_point(MC_FUTEX_WAIT, word, 0);
    mc_buffer_flush();
    memcpy(&now, (void *)word, 4);
    mc_learn(&now, 4);
    if (now != expected)
        return -EAGAIN;
    t->status = ASLEEP;
    t->word = word;
    t->timed = timed;
    t->timed_out = false;
    to_main();                    /* comes back when woken */
    t->learnt = mix(t->learnt, t->timed_out);
    return t->timed_out ? -ETIMEDOUT : 0;
}

int mc_futex_wake(_Atomic uint32_t *word, int count)
{
    int woken = 0;

    mc_point(MC_FUTEX_WAKE, word, 0);
    mc_buffer_flush();
    for (int i = 0; i < g.n && woken < count; i++) {
        if (g.t[i].status == ASLEEP && g.t[i].word == word) {
            g.t[i].status = READY;
            woken++;
        }
    }
    mc_learn(&woken, sizeof(woken));
    return woken;
}

static void thread_main(void)
{
    g.m->threads[g.self]();       /* what is left in its buffer arrives when it arrives */
    g.t[g.self].status = DONE;
    to_main();
}

/* ---- the explorer ---- */

static bool seen_add(uint64_t key)
{
    size_t i;

    if (!key)
        key = 1;
    if (g.seen_count * 2 >= g.seen_size) {
        uint64_t *old = g.seen;
        size_t old_size = g.seen_size;

        g.seen_size = old_size ? old_size * 2 : 1 << 16;
        g.seen = calloc(g.seen_size, sizeof(*g.seen));
        for (size_t k = 0; k < old_size; k++) {
            if (!old[k])
                continue;
            for (i = old[k] & (g.seen_size - 1); g.seen[i]; i = (i + 1) & (g.seen_size - 1))
                ;
            g.seen[i] = old[k];
        }
        free(old);
    }
    for (i = key & (g.seen_size - 1); g.seen[i]; i = (i + 1) & (g.seen_size - 1))
        if (g.seen[i] == key)
            return false;
    g.seen[i] = key;
    g.seen_count++;
    return true;
}

static uint64_t state_key(void)
{
    uint64_t h = (uint64_t)g.timeouts_left << 32 | g.patience_left;

    for (size_t i = 0; i < g.n_regions; i++)
        h = mix_bytes(h, g.regions[i].memory, g.regions[i].bytes);
    for (int i = 0; i < g.n; i++) {
        struct thread *t = &g.t[i];

        h = mix(h, t->learnt);
        h = mix(h, (uint64_t)t->status << 32 | (uint64_t)t->buffered);
        h = mix(h, t->points);
        for (int k = 0; k < t->buffered; k++) {
            h = mix(h, (uintptr_t)t->buffer[k].at);
            h = mix_bytes(h, t->buffer[k].value, 8);
        }
    }
    return mix(h, mc_now_ns);
}

enum move_kind { MOVE_RUN, MOVE_FLUSH, MOVE_TIMEOUT };

struct move {
    enum move_kind kind;
    int thread;
};

static int moves_with(struct move *list, bool timeouts)
{
    int n = 0;

    for (int i = 0; i < g.n; i++) {
        if (g.t[i].status == READY)
            list[n++] = (struct move){MOVE_RUN, i};
        if (g.t[i].buffered)
            list[n++] = (struct move){MOVE_FLUSH, i};
        if (g.t[i].status == ASLEEP && g.t[i].timed && timeouts)
            list[n++] = (struct move){MOVE_TIMEOUT, i};
    }
    return n;
}

static int moves(struct move *list)
{
    int n = moves_with(list, g.timeouts_left > 0);

    if (n == 0 && g.patience_left) {
        n = moves_with(list, true);
        if (n) {
            g.patience_left--;
            g.timeouts_left++;    /* this one costs nothing */
        }
    }
    return n;
}

static void run_thread(int i)
{
    g.self = i;
    if (g.tls)
        memcpy(g.tls, g.t[i].tls, g.tls_bytes);
    if (!_setjmp(g.main_jump)) {
        if (g.t[i].started)
            _longjmp(g.t[i].jump, 1);
        g.t[i].started = true;
        setcontext(&g.t[i].context);
    }
    if (g.tls)
        memcpy(g.t[i].tls, g.tls, g.tls_bytes);
}

static void start(void)
{
    g.m->init();
    g.timeouts_left = g.m->timeouts;
    g.patience_left = g.m->patience;
    g.n_events = 0;
    for (int i = 0; i < g.n; i++) {
        struct thread *t = &g.t[i];
        char *stack = t->stack ? t->stack : malloc(STACK_BYTES);

        memset(t, 0, sizeof(*t));
        t->stack = stack;
        getcontext(&t->context);
        t->context.uc_stack.ss_sp = stack;
        t->context.uc_stack.ss_size = STACK_BYTES;
        t->context.uc_link = &g.main;
        makecontext(&t->context, thread_main, 0);
        run_thread(i);            /* up to its first point */
    }
}

/* One run along the known choices and then the first of each. */
static void run(void)
{
    start();
    g.depth = 0;
    while (!g.violation && !g.again) {
        struct move list[MC_THREADS * 3];
        int n = moves(list);
        struct move mv;

        if (g.m->always)
            g.m->always();
        if (n == 0) {
            for (int i = 0; i < g.n; i++)
                mc_check(g.t[i].status == DONE || (g.m->daemons >> i & 1), "a thread sleeps for ever");
            if (g.m->final)
                g.m->final();
            return;
        }
        if (g.depth == g.known) {
            if (!seen_add(state_key())) {
                g.pruned++;
                return;
            }
            if (g.depth >= DEPTH) {
                mc_check(false, "a run without end");
                return;
            }
            g.stack[g.known++] = (struct choice){0, (uint16_t)n};
        }
        mv = list[g.stack[g.depth++].taken];
        g.transitions++;
        if (mv.kind == MOVE_FLUSH) {
            flush_one(&g.t[mv.thread]);
        } else {
            if (mv.kind == MOVE_TIMEOUT) {
                g.timeouts_left--;
                mc_now_ns += g.m->tick_ns;
                g.t[mv.thread].timed_out = true;
                g.t[mv.thread].status = READY;
            }
            run_thread(mv.thread);
        }
    }
}

static void print_violation(void)
{
    static const char *const names[] = {"load", "store", "rmw", "fence", "futex-wait", "futex-wake", "step"};
    size_t from = g.n_events > 80 ? g.n_events - 80 : 0;

    printf("  violated: %s\n", g.violation);
    for (size_t i = from; i < g.n_events; i++) {
        const struct event *e = &g.events[i];
        size_t r = 0;
        long offset = -1;

        for (; r < g.n_regions; r++) {
            offset = (long)((const char *)(uintptr_t)e->at - (char *)g.regions[r].memory);
            if (offset >= 0 && (size_t)offset < g.regions[r].bytes)
                break;
        }
        if (r < g.n_regions)
            printf("    thread %d %-10s line %d, region %zu + %ld\n", e->thread, names[e->op], e->line, r, offset);
        else
            printf("    thread %d %-10s line %d\n", e->thread, names[e->op], e->line);
    }
}

int mc_run(const struct mc_model *m)
{
    bool failed;

    g.m = m;
    for (g.n = 0; g.n < MC_THREADS && m->threads[g.n]; g.n++)
        ;
    g.stack = malloc(sizeof(*g.stack) * (DEPTH + 1));
    g.events = malloc(sizeof(*g.events) * DEPTH);
    free(g.seen);
    g.seen = NULL;
    g.seen_size = 0;
    memset(g.places, 0, sizeof(g.places));
again:
    if (g.seen)
        memset(g.seen, 0, g.seen_size * sizeof(*g.seen));
    g.seen_count = 0;
    g.runs = g.pruned = g.transitions = 0;
    g.known = 0;
    g.violation = NULL;
    g.again = false;
    for (;;) {
        run();
        g.runs++;
        if (g.again)
            goto again;
        if (g.violation)
            break;
        while (g.known && g.stack[g.known - 1].taken + 1 == g.stack[g.known - 1].count)
            g.known--;
        if (!g.known)
            break;
        g.stack[g.known - 1].taken++;
    }
    failed = (g.violation != NULL) != m->expect_violation;
    printf("%s %s: %llu interleavings run (%llu to the end), %zu states, %llu transitions%s\n",
           failed ? "FAIL" : "ok  ", m->name, (unsigned long long)g.runs,
           (unsigned long long)(g.runs - g.pruned), g.seen_count, (unsigned long long)g.transitions,
           m->expect_violation ? (g.violation ? "; found, as it must be" : "; found NOTHING in a wrong variant") : "");
    if (m->expect_violation && g.violation)
        printf("     (%s)\n", g.violation);
    else if (g.violation)
        print_violation();
    fflush(stdout);
    free(g.stack);
    free(g.events);
    return failed;
}
