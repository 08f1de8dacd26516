/* SPDX-License-Identifier: Apache-2.0 */
/* Random legal programs: random SEED PROGRAMS [STEPS]
 *
 * A command queue, an immediate list and a synchronous one, each with memory of its own on which kernels, copies and
 * fills work in order, so that what must come out is known; it is compared whenever one is waited for. They carry the
 * program's fences and events or none, wait for events of each other, and for some that this thread signals later.
 * Prints a hash of all that came out. */
#include "ze_program.h"

#define WORDS 16
#define SLOTS 3
#define LISTS 8

static uint64_t g_random;

static uint32_t below(uint32_t n)
{
    g_random ^= g_random << 13;
    g_random ^= g_random >> 7;
    g_random ^= g_random << 17;
    return (uint32_t)(g_random >> 33) % n;
}

struct slot {
    ze_command_queue_handle_t queue; /* or a list: */
    ze_command_list_handle_t list;
    ze_command_list_handle_t lists[LISTS]; /* each in use once between two waits */
    uint32_t used;
    uint32_t *data, want[WORDS];
    ze_event_handle_t done, told; /* told: is signalled by some command, others may wait for it */
    ze_fence_handle_t fence;
    int telling;                  /* told will be signalled */
    int synchronous;
};

struct world {
    struct program p;
    struct slot slots[SLOTS];
    uint32_t *source;
    ze_event_handle_t host;
    int blocked;                  /* something waits for host */
    uint64_t hash;
};

static void unblock(struct world *w)
{
    if (w->blocked)
        MUST(zeEventHostSignal(w->host));
}

/* One command, into the slot's list or into one that its queue will execute. */
static void put(struct world *w, struct slot *s, ze_command_list_handle_t list)
{
    ze_event_handle_t waits[3];
    uint32_t n = 0, value = below(1000) + 1;
    struct slot *other = &w->slots[below(SLOTS)];
    ze_event_handle_t signal = NULL;

    if (!s->telling && below(4) == 0) {
        signal = s->told;
        s->telling = 1;
    }
    if (other != s && other->telling && below(3) == 0 && !(w->blocked && s->synchronous))
        waits[n++] = other->told;
    if (!s->synchronous && !w->blocked && below(15) == 0) {
        waits[n++] = w->host;
        w->blocked = 1;
    }
    if (s->synchronous)
        unblock(w);               /* this call itself waits for what others wait for */
    switch (below(4)) {
    case 0:
        MUST(zeCommandListAppendMemoryCopy(list, s->data, w->source + below(100), WORDS / 2 * 4, signal, n, n ? waits : NULL));
        break;
    case 1:
        MUST(zeCommandListAppendMemoryFill(list, s->data + 4, &value, 4, 16, signal, n, n ? waits : NULL));
        for (int i = 4; i < 8; i++)
            s->want[i] = value;
        return;
    case 2:
        MUST(program_mix(&w->p, list, s->data, WORDS, value, signal, n, n ? waits : NULL));
        for (int i = 0; i < WORDS; i++)
            s->want[i] = s->want[i] * 5 + value;
        return;
    default:
        MUST(zeCommandListAppendBarrier(list, signal, n, n ? waits : NULL));
        return;
    }
    /* the copy: its source has one value everywhere, see begin() */
    for (int i = 0; i < WORDS / 2; i++)
        s->want[i] = 0x5eed;
}

static void look(struct world *w, struct slot *s)
{
    for (int i = 0; i < WORDS; i++) {
        CHECK(s->data[i] == s->want[i]);
        w->hash = (w->hash ^ s->data[i]) * 0x100000001b3ull;
    }
}

static void wait_for(struct world *w, struct slot *s)
{
    unblock(w);
    if (s->queue && below(2)) {
        MUST(zeFenceReset(s->fence));
        if (!s->lists[s->used % LISTS])
            s->lists[s->used % LISTS] = program_list(&w->p);
        MUST(zeCommandListReset(s->lists[s->used % LISTS]));
        MUST(zeCommandListClose(s->lists[s->used % LISTS]));
        MUST(zeCommandQueueExecuteCommandLists(s->queue, 1, &s->lists[s->used % LISTS], s->fence));
        MUST(zeFenceHostSynchronize(s->fence, UINT64_MAX));
    } else if (s->queue) {
        MUST(zeCommandQueueSynchronize(s->queue, UINT64_MAX));
    } else {
        MUST(zeCommandListAppendBarrier(s->list, s->done, 0, NULL));
        MUST(zeEventHostSynchronize(s->done, UINT64_MAX));
        MUST(zeEventHostReset(s->done));
    }
    s->used = 0;
    look(w, s);
}

/* All is waited for, so events may be used again. */
static void wait_for_all(struct world *w)
{
    for (int i = 0; i < SLOTS; i++)
        wait_for(w, &w->slots[i]);
    for (int i = 0; i < SLOTS; i++) {
        if (w->slots[i].telling)
            MUST(zeEventHostReset(w->slots[i].told));
        w->slots[i].telling = 0;
    }
    if (w->blocked)
        MUST(zeEventHostReset(w->host));
    w->blocked = 0;
}

static void step(struct world *w)
{
    struct slot *s = &w->slots[below(SLOTS)];

    if (below(8) == 0 || (s->queue && s->used == LISTS - 1)) {
        wait_for_all(w);
    } else if (s->queue) {
        ze_command_list_handle_t list;

        if (!s->lists[s->used])
            s->lists[s->used] = program_list(&w->p);
        list = s->lists[s->used++];
        MUST(zeCommandListReset(list));
        for (uint32_t n = below(4); n; n--)
            put(w, s, list);
        MUST(zeCommandListClose(list));
        MUST(zeCommandQueueExecuteCommandLists(s->queue, 1, &list, NULL));
    } else {
        put(w, s, s->list);
    }
}

static void begin(struct world *w)
{
    uint32_t seed = 0x5eed;

    program_begin(&w->p);
    w->source = program_memory(&w->p, 200);
    for (int i = 0; i < 200; i++)
        w->source[i] = seed;
    w->host = program_event(&w->p);
    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &w->slots[i];

        s->data = program_memory(&w->p, WORDS);
        s->done = program_event(&w->p);
        s->told = program_event(&w->p);
        s->synchronous = i == 2;
        if (i == 0) {
            s->queue = program_queue(&w->p, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
            s->fence = program_fence(s->queue);
        } else {
            s->list = program_immediate(&w->p, i == 1 ? ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS : ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
        }
    }
}

static void finish(struct world *w)
{
    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &w->slots[i];

        for (int k = 0; k < LISTS; k++)
            if (s->lists[k])
                MUST(zeCommandListDestroy(s->lists[k]));
        if (s->queue) {
            MUST(zeFenceDestroy(s->fence));
            MUST(zeCommandQueueDestroy(s->queue));
        } else {
            MUST(zeCommandListDestroy(s->list));
        }
        MUST(zeMemFree(w->p.context, s->data));
    }
    program_end(&w->p);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1, programs = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    uint32_t steps = argc > 3 ? (uint32_t)atoi(argv[3]) : 40;
    struct world w = {.hash = 0xcbf29ce484222325ull};

    begin(&w);
    for (uint64_t i = 0; i < programs; i++) {
        g_random = (seed + i) * 0x9E3779B97F4A7C15ull | 1;
        for (uint32_t k = 0; k < steps; k++)
            step(&w);
        wait_for_all(&w);
    }
    printf("%llu programs, %016llx\n", (unsigned long long)programs, (unsigned long long)w.hash);
    finish(&w);
    return 0;
}
