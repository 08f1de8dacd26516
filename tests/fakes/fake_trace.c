/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Grows by blocks that never move, so that a record can be read without the world's lock. */
#define BLOCK 4096u
#define BLOCKS 4096u

static struct fake_record *g_blocks[BLOCKS];
static _Atomic size_t g_count; /* writer: holders of the world's lock */

void fake_trace_reset(void)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        free(g_blocks[i]);
        g_blocks[i] = NULL;
    }
    atomic_store(&g_count, 0);
}

void fake_trace_add(enum fake_what what, struct fake_stream *s, uint32_t tag, uint64_t number)
{
    size_t n = atomic_load(&g_count);

    if (n / BLOCK >= BLOCKS)
        return;
    if (!g_blocks[n / BLOCK])
        g_blocks[n / BLOCK] = calloc(BLOCK, sizeof(struct fake_record));
    g_blocks[n / BLOCK][n % BLOCK] = (struct fake_record){fake_now_ns(), what, s ? s->id : 0, tag, number};
    atomic_store(&g_count, n + 1);
}

size_t fake_trace_count(void)
{
    return atomic_load(&g_count);
}

struct fake_record fake_trace_get(size_t i)
{
    return g_blocks[i / BLOCK][i % BLOCK];
}

size_t fake_trace_count_of(enum fake_what what, uint32_t tag)
{
    size_t n = 0;

    for (size_t i = 0; i < fake_trace_count(); i++) {
        struct fake_record r = fake_trace_get(i);

        n += r.what == what && (!tag || r.tag == tag);
    }
    return n;
}

const char *fake_trace_order(enum fake_what what, char *buffer, size_t size)
{
    size_t at = 0;

    buffer[0] = 0;
    for (size_t i = 0; i < fake_trace_count(); i++) {
        struct fake_record r = fake_trace_get(i);

        if (r.what == what && at + 12 < size)
            at += (size_t)snprintf(buffer + at, size - at, at ? " %u" : "%u", r.tag);
    }
    return buffer;
}

uint64_t fake_trace_time(enum fake_what what, uint32_t tag, size_t nth)
{
    for (size_t i = 0; i < fake_trace_count(); i++) {
        struct fake_record r = fake_trace_get(i);

        if (r.what == what && r.tag == tag && nth-- == 0)
            return r.t_ns;
    }
    return UINT64_MAX;
}

void fake_trace_print(int fd)
{
    static const char *const names[] = {"launch", "start", "end", "mark", "sync", "refused"};

    for (size_t i = 0; i < fake_trace_count(); i++) {
        struct fake_record r = fake_trace_get(i);

        dprintf(fd, "%14.3f us  %-7s stream %u tag %u number %llu\n", (double)r.t_ns / 1e3, names[r.what],
                r.stream, r.tag, (unsigned long long)r.number);
    }
}
