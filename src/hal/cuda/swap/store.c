/* SPDX-License-Identifier: Apache-2.0 */
/* Pinning costs more than copying, and one thread touches new pages far more slowly than the bus copies. So several
 * threads touch pages ahead of the copies, and what is pinned stays. The driver pins a piece at a time: many at once
 * stall a neighbour's allocations. */
#include "hal/cuda/swap/store.h"

#include "base/clock.h"
#include "base/futex.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/sys.h"
#include "hal/common/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TOUCHERS     8u
#define HUGE         ((size_t)2 << 20)
#define PAGE         4096u
#define LEAVE_PART   16u          /* of the room that there is, one part in so many is left alone */

struct piece {
    char *at;
    CUcontext pinned;             /* in this context; NULL: nowhere */
    bool refused;                 /* the driver does not pin it */
};

/* Lock 7: changes of the array of pieces, and where they are pinned, while the program runs. The mover holds it for a few
 * stores, and a thread that ends a context. */
static struct xs_lock g_lock;
static struct piece *g_pieces;
static size_t g_count;

/* ---- room ---- */

static size_t number_behind(const char *text, const char *name)
{
    const char *at = text ? strstr(text, name) : NULL;
    size_t n = 0;

    if (!at)
        return SIZE_MAX;
    at += strlen(name);
    while (*at == ' ')
        at++;
    if (*at < '0' || *at > '9')
        return SIZE_MAX;
    while (*at >= '0' && *at <= '9')
        n = n * 10 + (size_t)(*at++ - '0');
    return n;
}

size_t xs_swap_store_room_of(const char *meminfo, const char *limit, const char *used)
{
    size_t host = number_behind(meminfo, "MemAvailable:"), most = number_behind(limit, ""), now = number_behind(used, "");
    size_t room = host == SIZE_MAX ? SIZE_MAX : host * 1024;

    if (most == SIZE_MAX || now == SIZE_MAX) /* "max": the group has no limit */
        return room;
    return XS_MIN(room, most > now ? most - now : 0);
}

static const char *read_file(const char *path, char *to, size_t size)
{
    int fd = xs_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
    long n = fd < 0 ? -1 : xs_sys_read(fd, to, size - 1);

    if (fd >= 0)
        xs_sys_close(fd);
    if (n < 0)
        return NULL;
    to[n] = '\0';
    return to;
}

/* The room of this process's group (version 2) and of each one above it. */
static size_t group_room(size_t room)
{
    static const char root[] = "/sys/fs/cgroup";
    char own[512], path[640], limit[64], used[64], *group, *end;

    if (!read_file("/proc/self/cgroup", own, sizeof(own)))
        return room;
    group = strstr(own, "0::/");
    if (!group)
        return room;
    group += strlen("0::");
    end = strchr(group, '\n');
    if (end)
        *end = '\0';
    for (;;) {
        const char *most, *now;

        snprintf(path, sizeof(path), "%s%s/memory.max", root, group);
        most = read_file(path, limit, sizeof(limit));
        snprintf(path, sizeof(path), "%s%s/memory.current", root, group);
        now = read_file(path, used, sizeof(used));
        room = XS_MIN(room, xs_swap_store_room_of(NULL, most, now));
        end = strrchr(group, '/');
        if (!end || !*group)
            return room;
        *end = '\0';
    }
}

size_t xs_swap_store_room(void)
{
    char meminfo[1024];

    return group_room(xs_swap_store_room_of(read_file("/proc/meminfo", meminfo, sizeof(meminfo)), NULL, NULL));
}

/* ---- pieces ---- */

static char *map_piece(void)
{
    char *all = mmap(NULL, XS_SWAP_PIECE + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at;

    if (all == MAP_FAILED)
        return NULL;
    at = (char *)(((uintptr_t)all + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
    if (at > all)
        munmap(all, (size_t)(at - all));
    if (all + HUGE > at)
        munmap(at + XS_SWAP_PIECE, (size_t)(all + HUGE - at));
    madvise(at, XS_SWAP_PIECE, MADV_HUGEPAGE);
    madvise(at, XS_SWAP_PIECE, MADV_DONTDUMP);
    madvise(at, XS_SWAP_PIECE, MADV_DONTFORK); /* a child would have the program's bytes, and copy pinned pages */
    return at;
}

/* Pieces that threads touch. */
static struct {
    struct piece *pieces;
    size_t count;
    _Atomic size_t next;
    _Atomic uint32_t threads;     /* at work; the last wakes the mover */
} g_touch;

static void touch(void)
{
    size_t i;

    while ((i = atomic_fetch_add(&g_touch.next, 1)) < g_touch.count)
        for (size_t at = 0; at < XS_SWAP_PIECE; at += PAGE)
            ((volatile char *)g_touch.pieces[i].at)[at] = 0;
}

static void *touch_main(void *none)
{
    (void)none;
    touch();
    if (atomic_fetch_sub(&g_touch.threads, 1) == 1)
        xs_futex_wake(&g_touch.threads, 1);
    return NULL;
}

static unsigned processors(void)
{
    unsigned long mask[128] = {0};
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
    unsigned n = 0;

    for (long i = 0; i < bytes / (long)sizeof(mask[0]); i++)
        n += (unsigned)__builtin_popcountl(mask[i]);
    return XS_MAX(n, 1u);
}

static void touch_all(struct piece *pieces, size_t count)
{
    unsigned threads = XS_MIN(XS_MIN(processors(), TOUCHERS), (unsigned)XS_MIN(count, TOUCHERS));
    uint32_t left;

    g_touch.pieces = pieces;
    g_touch.count = count;
    atomic_store(&g_touch.next, 0);
    for (unsigned i = 1; i < threads; i++) {
        atomic_fetch_add(&g_touch.threads, 1);
        if (xs_worker_start(touch_main, NULL) != 0)
            atomic_fetch_sub(&g_touch.threads, 1);
    }
    touch();
    while ((left = atomic_load(&g_touch.threads)) != 0)
        xs_futex_wait(&g_touch.threads, left, UINT64_MAX);
}

int xs_swap_store_prepare(size_t bytes)
{
    size_t count = (bytes + XS_SWAP_PIECE - 1) / XS_SWAP_PIECE, made = g_count, room;
    struct piece *all, *old;

    if (count <= g_count)
        return 0;
    room = xs_swap_store_room();
    if (room != SIZE_MAX && (count - g_count) * XS_SWAP_PIECE > room - room / LEAVE_PART)
        return -ENOMEM;
    all = calloc(count, sizeof(*all));
    if (!all)
        return -ENOMEM;
    for (; made < count; made++) {
        all[made].at = map_piece();
        if (!all[made].at)
            break;
    }
    if (made < count) {
        while (made > g_count)
            munmap(all[--made].at, XS_SWAP_PIECE);
        free(all);
        return -ENOMEM;
    }
    touch_all(all + g_count, count - g_count);
    xs_lock_acquire(&g_lock);
    if (g_count)
        memcpy(all, g_pieces, g_count * sizeof(*all));
    old = g_pieces;
    g_pieces = all;
    g_count = count;
    xs_lock_release(&g_lock);
    free(old);
    return 0;
}

char *xs_swap_store_at(const struct xs_cuda_api *api, CUcontext ctx, size_t offset, size_t *ret_bytes)
{
    struct piece *p = &g_pieces[offset / XS_SWAP_PIECE];
    size_t in = offset % XS_SWAP_PIECE;

    if (!p->pinned && !p->refused) {
        if (api->cuMemHostRegister_v2(p->at, XS_SWAP_PIECE, XS_CU_HOST_REGISTER_PORTABLE) == XS_CU_SUCCESS) {
            p->pinned = ctx;
        } else {
            p->refused = true;
            XS_WARN_ONCE("swap: the driver does not pin host memory here; copies are slower");
        }
    }
    *ret_bytes = XS_SWAP_PIECE - in;
    return p->at + in;
}

void xs_swap_store_context_gone(CUcontext ctx)
{
    xs_lock_acquire(&g_lock);
    for (size_t i = 0; i < g_count; i++)
        if (g_pieces[i].pinned == ctx)
            g_pieces[i].pinned = NULL;
    xs_lock_release(&g_lock);
}
