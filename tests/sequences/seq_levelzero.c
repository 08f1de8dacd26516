/* SPDX-License-Identifier: Apache-2.0 */
/* Random Level Zero programs under the real loader: queues and immediate lists of several kinds, fences, events, memory, and
 * calls that the driver refuses. */
#include "hal/levelzero/ze_abi.h"
#include "seq.h"

#include <dlfcn.h>
#include <level_zero/ze_api.h>

enum row {
#define ZE(kind, table, slot, since, name, params, args, key) ROW_##name,
#include "shim/levelzero/levelzero_api.def"
#undef ZE
    ROWS
};

const struct seq_row seq_rows[] = {
#define ZE(kind, table, slot, since, name, params, args, key) {#name, #params, NULL},
#include "shim/levelzero/levelzero_api.def"
#undef ZE
};
const unsigned seq_row_count = ROWS;
void *seq_fn[ROWS];
unsigned long seq_called[ROWS];
const char *const seq_library = "libze_loader.so.1";

#define WORDS     64u
#define LOG_WORDS 320u
#define LISTS     8u              /* that a queue executes between two waits */
#define EVENTS    48u             /* that commands signal, before all is waited for */
#define REFUSED   0xbadu          /* the fake driver refuses what is so long (tests/fakes/levelzero/internal.h) */
#define REFUSED_LATER 0xbaeu      /* a list with a copy of so many bytes, when it is executed */
enum { QUEUE, QUEUE_SYNCHRONOUS, LIST, LIST_SYNCHRONOUS, LIST_OF_COPIES, SLOTS };

/* Each queue and immediate list has memory and a log of its own, so that what it computes does not hang on time. */
struct slot {
    ze_command_queue_handle_t queue; /* one of them */
    ze_command_list_handle_t list;
    ze_command_list_handle_t lists[LISTS];
    ze_fence_handle_t fence;
    uint32_t *words, *log;
    uint32_t host[WORDS], back[WORDS];
    unsigned used, pending;       /* lists; entries of the log since the last wait */
    bool synchronous;
    bool fenced, fence_used;      /* the last execution has the fence; one since the last wait has it */
    uint64_t stamp;               /* which no two runs have alike */
    ze_kernel_timestamp_result_t stamps[2];
    ze_event_handle_t fresh[4];   /* of commands that are not handed in yet */
    unsigned fresh_count;
};
static struct slot g_slots[SLOTS];
static ze_driver_handle_t g_driver;
static ze_device_handle_t g_device;
static ze_context_handle_t g_context;
static ze_module_handle_t g_module;
static ze_kernel_handle_t g_work, g_mix;
static ze_event_pool_handle_t g_pool;
static ze_event_handle_t g_events[EVENTS], g_host, g_done;
static unsigned g_events_used;
static ze_event_handle_t g_told[EVENTS]; /* what was handed in signals them, so others may wait for them */
static unsigned g_told_count;
static bool g_blocked;            /* something waits for g_host */
static uint32_t g_tag;

#define WAITS ze_event_handle_t, uint32_t, ze_event_handle_t *

/* The program is linked with the loader, and may be preloaded with what stands before it. An older loader lacks the rest. */
static int absent(void)
{
    return (int)ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

static void *find(unsigned row)
{
    void *p = dlsym(RTLD_DEFAULT, seq_rows[row].symbol);

    return p ? p : (void *)absent;
}
void *(*const seq_find)(unsigned row) = find;

/* Which functions the loader or the driver's tables lack. */
static bool is_weak(unsigned row)
{
    static const struct {
        const char *table;
        unsigned slot;
    } rows[] = {
#define ZE(kind, table, slot, since, name, params, args, key) {#table, slot},
#include "shim/levelzero/levelzero_api.def"
#undef ZE
    };
    static const char *const tables[][2] = {
#define ZE_TABLE(table, getter, late) {#table, #getter},
#include "shim/levelzero/tables.def"
#undef ZE_TABLE
    };
    void *driver = dlopen(seq_real, RTLD_NOW), *loader = dlopen(seq_library, RTLD_NOW), *entries[256] = {NULL};
    int (*get)(uint32_t, void **) = NULL;

    for (size_t i = 0; driver && i < sizeof(tables) / sizeof(tables[0]); i++) {
        if (strcmp(tables[i][0], rows[row].table) == 0)
            get = (int (*)(uint32_t, void **))dlsym(driver, tables[i][1]);
    }
    return !loader || !dlsym(loader, seq_rows[row].symbol) || !get || get(1u << 16 | 17, entries) != 0 ||
           !entries[rows[row].slot];
}
bool (*const seq_is_weak)(unsigned row) = is_weak;

void seq_start(void)
{
    ze_context_desc_t context = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_module_desc_t module = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC};
    ze_kernel_desc_t kernel = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "work"};
    ze_event_pool_desc_t pool = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                                 .count = EVENTS + 2};
    uint32_t one = 1;

    OK(zeInit(0));
    OK(zeDriverGet(&one, &g_driver));
    OK(zeDeviceGet(g_driver, &one, &g_device));
    OK(zeContextCreate(g_driver, &context, &g_context));
    OK(zeModuleCreate(g_context, g_device, &module, &g_module, NULL));
    OK(zeKernelCreate(g_module, &kernel, &g_work));
    kernel.pKernelName = "mix";
    OK(zeKernelCreate(g_module, &kernel, &g_mix));
    OK(zeEventPoolCreate(g_context, &pool, 1, &g_device, &g_pool));
    for (uint32_t i = 0; i < EVENTS + 2; i++) {
        ze_event_desc_t event = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = i, .signal = ZE_EVENT_SCOPE_FLAG_HOST};

        OK(zeEventCreate(g_pool, &event, i < EVENTS ? &g_events[i] : i == EVENTS ? &g_host : &g_done));
    }
}

/* Groups of threads go by value in two places. */
bool seq_argument(const char *type, uintptr_t *ret, unsigned *ret_slots)
{
    *ret = 0;
    if (strchr(type, '*'))
        return false;
    if (strstr(type, "struct xs_ze_groups"))
        *ret = 1, *ret_slots = 2;
    else if (strstr(type, "xs_ze_handle list"))
        *ret = (uintptr_t)(seq_chance(2) ? g_slots[LIST].list : g_slots[LIST_SYNCHRONOUS].list);
    else if (strstr(type, "xs_ze_handle signal") || strstr(type, "_count"))
        return true;
    else if (strstr(type, "xs_ze_handle"))
        *ret = (uintptr_t)seq_scratch;
    else
        return false;
    return true;
}

/* Older loaders have no wait for an immediate list. */
static void wait_for_list(ze_command_list_handle_t list)
{
    static int has = -1;

    if (has < 0)
        has = !is_weak(ROW_zeCommandListHostSynchronize);
    if (has) {
        OK(CALL(zeCommandListHostSynchronize, (ze_command_list_handle_t, uint64_t), list, UINT64_MAX));
        return;
    }
    OK(CALL(zeCommandListAppendBarrier, (ze_command_list_handle_t, WAITS), list, g_done, 0, NULL));
    OK(zeEventHostSynchronize(g_done, UINT64_MAX));
    OK(zeEventHostReset(g_done));
}

static void unblock(void)
{
    if (g_blocked)
        OK(CALL(zeEventHostSignal, (ze_event_handle_t), g_host));
}

static ze_event_handle_t new_event(void)
{
    return g_events_used < EVENTS ? g_events[g_events_used++] : NULL;
}

/* The list for the next commands: the immediate one, or one that the queue will execute. */
static ze_command_list_handle_t open_list(struct slot *s)
{
    ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};

    if (s->synchronous)
        unblock();                /* the call itself waits for what others wait for */
    if (s->list)
        return s->list;
    if (!s->lists[s->used])
        OK(zeCommandListCreate(g_context, g_device, &desc, &s->lists[s->used]));
    else
        OK(zeCommandListReset(s->lists[s->used]));
    return s->lists[s->used];
}

static void synchronise(struct slot *s, unsigned how);

static void told(struct slot *s, bool ok)
{
    for (unsigned i = 0; ok && i < s->fresh_count; i++)
        g_told[g_told_count++] = s->fresh[i];
    s->fresh_count = 0;
}

static void hand_in(struct slot *s)
{
    bool fenced = seq_chance(3) == 0 && !s->fence_used;
    int r;

    if (s->list) {
        told(s, true);
        return;
    }
    OK(zeCommandListClose(s->lists[s->used]));
    if (fenced)
        OK(zeFenceReset(s->fence));
    r = CALL(zeCommandQueueExecuteCommandLists,
             (ze_command_queue_handle_t, uint32_t, ze_command_list_handle_t *, ze_fence_handle_t), s->queue, 1,
             &s->lists[s->used], fenced ? s->fence : NULL);
    s->fenced = fenced && r == 0;
    s->fence_used |= s->fenced;
    s->used++;
    told(s, r == 0);
}

static const ze_group_count_t k_groups = {2, 1, 1}; /* read when the kernel runs */

static int launch(struct slot *s, ze_command_list_handle_t list, unsigned how, ze_event_handle_t signal, uint32_t n,
                   ze_event_handle_t *waits)
{
    uint64_t ns = how == 31 ? REFUSED : seq_chance(8) ? 0 : seq_chance(3000);
    uint32_t tag = ++g_tag, count = WORDS;
    ze_group_count_t groups = {1 + seq_chance(4), 1, 1};
    bool work = s->pending < 200 && seq_chance(3);
    ze_kernel_handle_t kernel = work ? g_work : g_mix;
    int r;

    if (work) {
        OK(zeKernelSetArgumentValue(g_work, 0, sizeof(s->log), &s->log));
        OK(zeKernelSetArgumentValue(g_work, 1, sizeof(tag), &tag));
        OK(zeKernelSetArgumentValue(g_work, 2, sizeof(ns), &ns));
    } else {
        OK(zeKernelSetArgumentValue(g_mix, 0, sizeof(s->words), &s->words));
        OK(zeKernelSetArgumentValue(g_mix, 1, sizeof(count), &count));
        OK(zeKernelSetArgumentValue(g_mix, 2, sizeof(tag), &tag));
    }
    if (how % 5 == 0)
        r = CALL(zeCommandListAppendLaunchCooperativeKernel,
                 (ze_command_list_handle_t, ze_kernel_handle_t, ze_group_count_t *, WAITS), list, kernel, &groups, signal, n,
                 waits);
    else if (how % 5 == 1)
        r = CALL(zeCommandListAppendLaunchKernelIndirect,
                 (ze_command_list_handle_t, ze_kernel_handle_t, const ze_group_count_t *, WAITS), list,
                 kernel, &k_groups, signal, n, waits);
    else
        r = CALL(zeCommandListAppendLaunchKernel,
                 (ze_command_list_handle_t, ze_kernel_handle_t, const ze_group_count_t *, WAITS), list, kernel, &groups,
                 signal, n, waits);
    s->pending += work && r == 0;
    return r;
}

static void note_event(struct slot *s, ze_event_handle_t event, int r)
{
    if (event && r == 0)
        s->fresh[s->fresh_count++] = event;
}

#define COPY (ze_command_list_handle_t, void *, const void *, size_t, WAITS)

/* What programs do less often. */
static void put_rare(struct slot *s, ze_command_list_handle_t list, ze_event_handle_t signal, uint32_t n,
                     ze_event_handle_t *waits)
{
    ze_copy_region_t region = {.originX = 4 * seq_chance(4),
                               .originY = seq_chance(4),
                               .width = 4 + 4 * seq_chance(3),
                               .height = 1 + seq_chance(4),
                               .depth = 1};
    size_t bytes = 4 + 4 * seq_chance(WORDS - 1);
    const void *range = s->words;

    switch (seq_chance(6)) {
    case 0: /* rows of eight words */
        note_event(s, signal,
                   CALL(zeCommandListAppendMemoryCopyRegion,
                        (ze_command_list_handle_t, void *, const ze_copy_region_t *, uint32_t, uint32_t,
                         const void *, const ze_copy_region_t *, uint32_t, uint32_t, WAITS),
                        list, s->words, &region, 32, 0, s->host, &region, 32, 0, signal, n, waits));
        break;
    case 1:
        note_event(s, signal,
                   CALL(zeCommandListAppendMemoryCopyFromContext,
                        (ze_command_list_handle_t, void *, ze_context_handle_t, const void *, size_t, WAITS),
                        list, s->words, g_context, s->host, bytes, signal, n, waits));
        break;
    case 2:
        note_event(s, signal,
                   CALL(zeCommandListAppendMemoryRangesBarrier,
                        (ze_command_list_handle_t, uint32_t, const size_t *, const void **, WAITS), list, 1,
                        &bytes, &range, signal, n, waits));
        break;
    case 3:
        CALL(zeCommandListAppendMemAdvise,
             (ze_command_list_handle_t, ze_device_handle_t, const void *, size_t, ze_memory_advice_t), list,
             g_device, s->words, bytes, ZE_MEMORY_ADVICE_SET_READ_MOSTLY);
        break;
    case 4:
        note_event(s, signal,
                   CALL(zeCommandListAppendWriteGlobalTimestamp,
                        (ze_command_list_handle_t, uint64_t *, WAITS), list, &s->stamp, signal, n, waits));
        break;
    default:
        note_event(s, signal,
                   CALL(zeCommandListAppendQueryKernelTimestamps,
                        (ze_command_list_handle_t, uint32_t, ze_event_handle_t *, void *, const size_t *,
                         WAITS),
                        list, n, waits, s->stamps, NULL, signal, n, waits));
        break;
    }
}

/* One command that writes into the slot's memory alone, or none. It waits for what was handed in before alone, so that
 * nothing waits in a circle, and for an event that this thread signals later. */
static void put(struct slot *s, ze_command_list_handle_t list, unsigned how)
{
    uint32_t n = 0, value = seq_chance(1000), words = 1 + seq_chance(WORDS - 1);
    ze_event_handle_t waits[2], signal = NULL;

    if (g_told_count && seq_chance(4) == 0)
        waits[n++] = g_told[seq_chance(g_told_count)];
    if (!s->synchronous && !g_blocked && seq_chance(25) == 0) {
        waits[n++] = g_host;
        g_blocked = true;
    }
    if (how % 4 == 0 && s->fresh_count < 4)
        signal = new_event();
    if (seq_chance(5) == 0) {
        put_rare(s, list, signal, n, waits);
        return;
    }
    switch (seq_chance(s == &g_slots[LIST_OF_COPIES] ? 7 : 10)) {
    case 0:
        note_event(s, signal, CALL(zeCommandListAppendMemoryCopy, COPY, list, s->words, s->host,
                                   how == 31 ? REFUSED : how == 30 && s->queue ? REFUSED_LATER : 4 * words, signal, n, waits));
        break;
    case 1:
        note_event(s, signal, CALL(zeCommandListAppendMemoryCopy, COPY, list, s->words + WORDS / 2, s->words, 2 * words,
                                   signal, n, waits));
        break;
    case 2:
        note_event(s, signal, CALL(zeCommandListAppendMemoryFill,
                                   (ze_command_list_handle_t, void *, const void *, size_t, size_t, WAITS), list, s->words,
                                   &value, 4, 4 * words, signal, n, waits));
        break;
    case 3:
        note_event(s, signal, CALL(zeCommandListAppendBarrier, (ze_command_list_handle_t, WAITS), list, signal, n, waits));
        break;
    case 4:
        CALL(zeCommandListAppendMemoryPrefetch, (ze_command_list_handle_t, const void *, size_t), list, s->words, 64);
        break;
    case 5:
        if (signal)
            note_event(s, signal, CALL(zeCommandListAppendSignalEvent, (ze_command_list_handle_t, ze_event_handle_t), list,
                                       signal));
        break;
    case 6:
        CALL(zeCommandListAppendWaitOnEvents, (ze_command_list_handle_t, uint32_t, ze_event_handle_t *), list, n, waits);
        break;
    default:
        note_event(s, signal, launch(s, list, how, signal, n, waits));
        break;
    }
}

static void reuse_events(void)
{
    for (int i = 0; i < SLOTS; i++)
        synchronise(&g_slots[i], 2);
    for (unsigned i = 0; i < g_events_used; i++)
        OK(zeEventHostReset(g_events[i]));
    g_events_used = g_told_count = 0;
    if (g_blocked)
        OK(zeEventHostReset(g_host));
    g_blocked = false;
}

static void commands(struct slot *s, unsigned how)
{
    ze_command_list_handle_t list;

    if (s->pending > 180 || s->used == LISTS)
        synchronise(s, how);
    if (g_events_used > EVENTS - 8)
        reuse_events();
    list = open_list(s);
    for (unsigned n = 1 + seq_chance(s->queue ? 4 : 2); n > 0; n--)
        put(s, list, seq_chance(64));
    hand_in(s);
}

/* From one slot to another and back, ordered by events. */
static void hand_over(struct slot *from, struct slot *to)
{
    ze_event_handle_t there, back;
    ze_command_list_handle_t list;

    if (from == to || from->used + 2 > LISTS || to->used == LISTS || g_events_used + 2 > EVENTS)
        return;
    unblock();                        /* else a synchronous one waits for ever */
    there = new_event();
    back = new_event();
    list = open_list(from);
    CALL(zeCommandListAppendSignalEvent, (ze_command_list_handle_t, ze_event_handle_t), list, there);
    hand_in(from);
    list = open_list(to);
    CALL(zeCommandListAppendWaitOnEvents, (ze_command_list_handle_t, uint32_t, ze_event_handle_t *), list, 1, &there);
    CALL(zeCommandListAppendMemoryCopy, COPY, list, to->words, from->words, 4 * (1 + seq_chance(WORDS - 1)), back, 0,
         NULL);
    CALL(zeCommandListAppendEventReset, (ze_command_list_handle_t, ze_event_handle_t), list, there);
    hand_in(to);
    list = open_list(from);
    CALL(zeCommandListAppendWaitOnEvents, (ze_command_list_handle_t, uint32_t, ze_event_handle_t *), list, 1, &back);
    hand_in(from);
}

/* What the slot did becomes part of the digest: the order of its kernels, its memory. */
static void synchronise(struct slot *s, unsigned how)
{
    ze_command_list_handle_t list;

    unblock();
    if (s->used == LISTS) {           /* no list left to copy by */
        OK(zeCommandQueueSynchronize(s->queue, UINT64_MAX));
        s->used = 0;
        s->fence_used = false;
    }
    list = open_list(s);
    OK(CALL(zeCommandListAppendMemoryCopy, COPY, list, s->back, s->words, sizeof(s->back), NULL, 0, NULL));
    hand_in(s);
    CALL_TIMED(zeCommandQueueSynchronize, (ze_command_queue_handle_t, uint64_t), g_slots[QUEUE].queue, 0);
    if (s->fenced && how % 2)
        OK(CALL(zeFenceHostSynchronize, (ze_fence_handle_t, uint64_t), s->fence, UINT64_MAX));
    else if (s->queue)
        OK(CALL(zeCommandQueueSynchronize, (ze_command_queue_handle_t, uint64_t), s->queue, UINT64_MAX));
    else
        wait_for_list(s->list);
    seq_note(s->log, sizeof(s->log[0]) * (1 + s->pending));
    seq_note(s->back, sizeof(s->back));
    memset(s->log, 0, sizeof(s->log[0]) * LOG_WORDS);
    s->pending = 0;
    s->used = 0;
    s->fenced = s->fence_used = false;
}

static ze_command_queue_desc_t desc_of(int slot)
{
    return (ze_command_queue_desc_t){
        .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
        .ordinal = slot == LIST_OF_COPIES,
        .mode = slot == QUEUE_SYNCHRONOUS || slot == LIST_SYNCHRONOUS ? ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS
                                                                      : ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
        .priority = slot == LIST ? ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW : ZE_COMMAND_QUEUE_PRIORITY_NORMAL};
}

#define MAKE (ze_context_handle_t, ze_device_handle_t, const ze_command_queue_desc_t *, void *)

/* Queues, lists, fences and memory that come and go, and some that the driver refuses. */
static void come_and_go(unsigned how)
{
    ze_command_queue_desc_t desc = desc_of((int)(how % SLOTS));
    ze_device_mem_alloc_desc_t device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_fence_desc_t fence_desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    size_t bytes = how % 8 == 7 ? REFUSED : 64 + 64 * seq_chance(100);
    ze_command_queue_handle_t queue;
    ze_command_list_handle_t list;
    ze_fence_handle_t fence;
    uint32_t value = how;
    void *at;

    desc.index = how % 8 == 6 ? REFUSED : 0;
    if (how % 2 ? CALL(zeMemAllocDevice,
                       (ze_context_handle_t, const ze_device_mem_alloc_desc_t *, size_t, size_t, ze_device_handle_t, void **),
                       g_context, &device, bytes, 64, g_device, &at)
                : CALL(zeMemAllocShared,
                       (ze_context_handle_t, const ze_device_mem_alloc_desc_t *, const ze_host_mem_alloc_desc_t *, size_t,
                        size_t, ze_device_handle_t, void **),
                       g_context, &device, &host, bytes, 64, g_device, &at))
        return;
    if (how % 3 == 0) {
        if (CALL(zeCommandQueueCreate, MAKE, g_context, g_device, &desc, &queue) == 0) {
            OK(CALL(zeFenceCreate, (ze_command_queue_handle_t, const ze_fence_desc_t *, ze_fence_handle_t *), queue,
                    &fence_desc, &fence));
            OK(CALL(zeFenceDestroy, (ze_fence_handle_t), fence));
            OK(CALL(zeCommandQueueDestroy, (ze_command_queue_handle_t), queue));
        }
    } else if (CALL(zeCommandListCreateImmediate, MAKE, g_context, g_device, &desc, &list) == 0) {
        CALL(zeCommandListAppendMemoryFill,
             (ze_command_list_handle_t, void *, const void *, size_t, size_t, WAITS), list, at, &value, 4, 64, NULL, 0, NULL);
        wait_for_list(list);
        seq_note(at, 64);
        OK(CALL(zeCommandListDestroy, (ze_command_list_handle_t), list));
    }
    OK(CALL(zeMemFree, (ze_context_handle_t, void *), g_context, at));
}

static void ask(void)
{
    ze_driver_properties_t driver = {.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES};
    ze_device_memory_properties_t memory = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES};
    uint32_t one = 1;

    CALL(zeDriverGetProperties, (ze_driver_handle_t, ze_driver_properties_t *), g_driver, &driver);
    CALL(zeDeviceGetMemoryProperties, (ze_device_handle_t, uint32_t *, ze_device_memory_properties_t *), g_device, &one,
         &memory);
    seq_note(&driver.driverVersion, sizeof(driver.driverVersion));
    seq_note(&memory.totalSize, sizeof(memory.totalSize));
}

static void open_slot(int i)
{
    ze_command_queue_desc_t desc = desc_of(i);
    ze_fence_desc_t fence = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_device_mem_alloc_desc_t device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    struct slot *s = &g_slots[i];

    memset(s, 0, sizeof(*s));
    for (uint32_t k = 0; k < WORDS; k++)
        s->host[k] = (uint32_t)i * 1000 + k;
    s->synchronous = desc.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    OK(zeMemAllocShared(g_context, &device, &host, WORDS * 4, 64, g_device, (void **)&s->words));
    OK(zeMemAllocShared(g_context, &device, &host, LOG_WORDS * 4, 64, g_device, (void **)&s->log));
    memset(s->words, 0, WORDS * 4);
    memset(s->log, 0, LOG_WORDS * 4);
    if (i == QUEUE || i == QUEUE_SYNCHRONOUS) {
        OK(CALL(zeCommandQueueCreate, MAKE, g_context, g_device, &desc, &s->queue));
        OK(CALL(zeFenceCreate, (ze_command_queue_handle_t, const ze_fence_desc_t *, ze_fence_handle_t *), s->queue, &fence,
                &s->fence));
    } else {
        OK(CALL(zeCommandListCreateImmediate, MAKE, g_context, g_device, &desc, &s->list));
    }
}

static void close_slot(struct slot *s)
{
    for (unsigned i = 0; i < LISTS; i++)
        if (s->lists[i])
            OK(CALL(zeCommandListDestroy, (ze_command_list_handle_t), s->lists[i]));
    if (s->queue) {
        OK(CALL(zeFenceDestroy, (ze_fence_handle_t), s->fence));
        OK(CALL(zeCommandQueueDestroy, (ze_command_queue_handle_t), s->queue));
    } else {
        OK(CALL(zeCommandListDestroy, (ze_command_list_handle_t), s->list));
    }
    OK(zeMemFree(g_context, s->words));
    OK(zeMemFree(g_context, s->log));
}

void seq_program(unsigned long until)
{
    g_tag = 0;
    for (int i = 0; i < SLOTS; i++)
        open_slot(i);
    while (seq_steps < until) {
        struct slot *s = &g_slots[seq_chance(SLOTS)];
        unsigned how = seq_chance(64), what = seq_chance(24);

        if (what < 14)
            commands(s, how);
        else if (what < 16)
            synchronise(s, how);
        else if (what < 18)
            hand_over(s, &g_slots[seq_chance(SLOTS)]);
        else if (what == 18)
            come_and_go(how);
        else if (what == 19)
            ask();
        else
            seq_by_prototype();
    }
    reuse_events();
    for (int i = 0; i < SLOTS; i++)
        close_slot(&g_slots[i]);
}
