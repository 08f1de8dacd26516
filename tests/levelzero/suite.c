/* SPDX-License-Identifier: Apache-2.0 */
/* A Level Zero program that does what such programs do with queues and lists, and checks each result: suite [CASE]
 *
 * It knows nothing of XSched. run.py runs it with and without, and with faults. */
#include "ze_program.h"

#include <pthread.h>

static void log_is(const uint32_t *log, uint32_t n)
{
    CHECK(log[0] == n);
    for (uint32_t i = 1; i <= n; i++)
        CHECK(log[i] == i);
}

/* Lists on a queue, with the program's fence and without. */
static void case_queue(void)
{
    struct program p;
    ze_command_queue_handle_t queue;
    ze_command_list_handle_t lists[50];
    ze_fence_handle_t fence;
    uint32_t *log;

    program_begin(&p);
    queue = program_queue(&p, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    fence = program_fence(queue);
    log = program_memory(&p, LOG_WORDS);
    for (uint32_t i = 0; i < 50; i++) {
        lists[i] = program_list(&p);
        MUST(program_work(&p, lists[i], log, i + 1, i % 7 * 10000, NULL, 0, NULL));
        MUST(zeCommandListClose(lists[i]));
    }
    for (uint32_t i = 0; i < 50;) {
        uint32_t n = i % 3 + 1;

        n = i + n > 50 ? 50 - i : n;
        if (i % 4 == 1) {
            MUST(zeCommandQueueExecuteCommandLists(queue, n, &lists[i], fence));
            MUST(zeFenceHostSynchronize(fence, UINT64_MAX));
            CHECK(log[0] >= i + n);
            MUST(zeFenceReset(fence));
            CHECK(zeFenceQueryStatus(fence) == ZE_RESULT_NOT_READY);
        } else {
            MUST(zeCommandQueueExecuteCommandLists(queue, n, &lists[i], NULL));
        }
        i += n;
    }
    MUST(zeCommandQueueSynchronize(queue, UINT64_MAX));
    log_is(log, 50);
    for (uint32_t i = 0; i < 50; i++)
        MUST(zeCommandListDestroy(lists[i]));
    MUST(zeFenceDestroy(fence));
    MUST(zeCommandQueueDestroy(queue));
    MUST(zeMemFree(p.context, log));
    program_end(&p);
}

/* An immediate list, asynchronous and not, with events and without. */
static void immediate(ze_command_queue_mode_t mode)
{
    struct program p;
    ze_command_list_handle_t list;
    ze_event_handle_t done;
    uint32_t *log;

    program_begin(&p);
    list = program_immediate(&p, mode);
    done = program_event(&p);
    log = program_memory(&p, LOG_WORDS);
    for (uint32_t i = 1; i <= 60; i++) {
        MUST(program_work(&p, list, log, i, i % 5 * 10000, i % 10 ? NULL : done, 0, NULL));
        if (mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
            log_is(log, i);
        if (i % 10 == 0) {
            MUST(zeEventHostSynchronize(done, UINT64_MAX));
            log_is(log, i);
            MUST(zeEventHostReset(done));
        }
    }
    MUST(zeCommandListAppendBarrier(list, done, 0, NULL));
    MUST(zeEventHostSynchronize(done, UINT64_MAX));
    log_is(log, 60);
    MUST(zeEventDestroy(done));
    MUST(zeCommandListDestroy(list));
    MUST(zeMemFree(p.context, log));
    program_end(&p);
}

static void case_immediate(void)
{
    immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    immediate(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
}

/* Copies and fills, through a regular list and an immediate one, on the group of engines for copies. */
static void case_copies(void)
{
    ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .ordinal = 1,
                                    .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    struct program p;
    ze_command_list_handle_t list;
    uint32_t *a, *b, pattern = 0x01020304;

    program_begin(&p);
    a = program_memory(&p, 1000);
    b = program_memory(&p, 1000);
    MUST(zeCommandListCreateImmediate(p.context, p.device, &desc, &list));
    MUST(zeCommandListAppendMemoryFill(list, a, &pattern, sizeof(pattern), 4000, NULL, 0, NULL));
    MUST(zeCommandListAppendMemoryCopy(list, b, a, 4000, NULL, 0, NULL));
    MUST(zeCommandListAppendMemoryPrefetch(list, b, 4000));
    for (int i = 0; i < 1000; i++)
        CHECK(b[i] == pattern);
    MUST(zeCommandListDestroy(list));
    MUST(zeMemFree(p.context, a));
    MUST(zeMemFree(p.context, b));
    program_end(&p);
}

/* What is handed over waits for an event that this very thread signals later, after more than any bound lets be in flight: what
 * waits for the first one waits for ever. */
static void case_wait_before_signal(void)
{
    struct program p;
    ze_command_list_handle_t list;
    ze_event_handle_t go;
    uint32_t *log;

    program_begin(&p);
    list = program_immediate(&p, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    go = program_event(&p);
    log = program_memory(&p, LOG_WORDS);
    MUST(program_work(&p, list, log, 1, 0, NULL, 1, &go));
    for (uint32_t i = 2; i <= 24; i++)
        MUST(program_work(&p, list, log, i, 0, NULL, 0, NULL));
    CHECK(log[0] == 0);
    MUST(zeEventHostSignal(go));
    MUST(zeEventHostReset(program_event(&p)));
    while (*(volatile uint32_t *)log < 24)
        nanosleep(&(struct timespec){0, 100000}, NULL);
    log_is(log, 24);
    MUST(zeCommandListDestroy(list));
    program_end(&p);
}

/* Two queues, one of which waits for the other on the device. */
static void case_across(void)
{
    struct program p;
    ze_command_list_handle_t one, two;
    ze_event_handle_t e[20], last;
    uint32_t *data;

    program_begin(&p);
    one = program_immediate(&p, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    two = program_immediate(&p, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    data = program_memory(&p, 10);
    for (int i = 0; i < 20; i++)
        e[i] = program_event(&p);
    last = program_event(&p);
    for (uint32_t i = 0; i < 20; i++)
        MUST(program_mix(&p, i & 1 ? two : one, data, 10, i + 1, e[i], i > 0, i ? &e[i - 1] : NULL));
    MUST(zeCommandListAppendBarrier(two, last, 0, NULL));
    MUST(zeEventHostSynchronize(last, UINT64_MAX));
    for (int k = 0; k < 10; k++) {
        uint32_t want = 0;

        for (uint32_t i = 0; i < 20; i++)
            want = want * 5 + i + 1;
        CHECK(data[k] == want);
    }
    MUST(zeCommandListDestroy(one));
    MUST(zeCommandListDestroy(two));
    program_end(&p);
}

struct one_of_several {
    struct program *p;
    ze_command_queue_handle_t queue;
    ze_command_list_handle_t list;
};

static void *execute(void *opaque)
{
    struct one_of_several *s = opaque;

    for (int i = 0; i < 50; i++) {
        MUST(zeCommandQueueExecuteCommandLists(s->queue, 1, &s->list, NULL));
        MUST(zeCommandQueueSynchronize(s->queue, UINT64_MAX));
    }
    return NULL;
}

/* One queue, several threads: the interface allows that. */
static void case_threads(void)
{
    struct program p;
    struct one_of_several s[4];
    pthread_t threads[4];
    uint32_t *logs[4];

    program_begin(&p);
    s[0].queue = program_queue(&p, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    for (int i = 0; i < 4; i++) {
        s[i] = (struct one_of_several){&p, s[0].queue, program_list(&p)};
        logs[i] = program_memory(&p, LOG_WORDS);
        MUST(program_work(&p, s[i].list, logs[i], 1, 10000, NULL, 0, NULL));
        MUST(zeCommandListClose(s[i].list));
    }
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, execute, &s[i]) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) {
        CHECK(logs[i][0] == 50);
        MUST(zeCommandListDestroy(s[i].list));
    }
    MUST(zeCommandQueueDestroy(s[0].queue));
    program_end(&p);
}

/* Queues and lists that come and go while marks may be in flight. */
static void case_come_and_go(void)
{
    struct program p;
    uint32_t *log;

    program_begin(&p);
    log = program_memory(&p, LOG_WORDS);
    for (uint32_t i = 0; i < 40; i++) {
        ze_command_queue_handle_t queue = program_queue(&p, i & 1 ? ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS
                                                                  : ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
        ze_command_list_handle_t list = program_list(&p), other = program_immediate(&p, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
        ze_event_handle_t e = program_event(&p);

        MUST(program_work(&p, list, log, 2 * i + 1, 10000, NULL, 0, NULL));
        MUST(zeCommandListClose(list));
        MUST(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
        MUST(zeCommandQueueSynchronize(queue, UINT64_MAX));
        MUST(program_work(&p, other, log, 2 * i + 2, 10000, e, 0, NULL));
        MUST(zeEventHostSynchronize(e, UINT64_MAX));
        MUST(zeCommandListDestroy(list));
        MUST(zeCommandListDestroy(other));
        MUST(zeCommandQueueDestroy(queue));
        MUST(zeEventDestroy(e));
    }
    log_is(log, 80);
    program_end(&p);
}

/* What the driver refuses comes back as it is. With a fault in FAKE_ZE, what does not fail still gives its result. */
static void case_refused(void)
{
    ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    struct program p;
    ze_command_queue_handle_t queue = NULL;
    ze_command_list_handle_t list, other;
    uint32_t *log, done = 0, refused = 0;

    program_begin(&p);
    log = program_memory(&p, LOG_WORDS);
    if (zeCommandQueueCreate(p.context, p.device, &desc, &queue) != ZE_RESULT_SUCCESS) {
        refused++;
        MUST(zeCommandQueueCreate(p.context, p.device, &desc, &queue));
    }
    other = program_immediate(&p, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    for (uint32_t i = 0; i < 30; i++) {
        list = program_list(&p);
        if (program_work(&p, list, log, done + 1, 0, NULL, 0, NULL) == ZE_RESULT_SUCCESS) {
            MUST(zeCommandListClose(list));
            if (zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL) == ZE_RESULT_SUCCESS)
                done++;
            else
                refused++;
        } else {
            refused++;
        }
        MUST(zeCommandQueueSynchronize(queue, UINT64_MAX));
        if (program_work(&p, other, log, done + 1, 0, NULL, 0, NULL) == ZE_RESULT_SUCCESS)
            done++;
        else
            refused++;
        MUST(zeCommandListDestroy(list));
    }
    log_is(log, done);
    printf("%u refused\n", refused);
    MUST(zeCommandListDestroy(other));
    MUST(zeCommandQueueDestroy(queue));
    program_end(&p);
}

/* Not one of all: the device is lost, which every call says from then on. */
static void case_lost(void)
{
    struct program p;
    ze_command_list_handle_t list;
    ze_event_handle_t e;
    uint32_t *log;
    ze_result_t r;

    program_begin(&p);
    list = program_immediate(&p, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    log = program_memory(&p, LOG_WORDS);
    e = program_event(&p);
    for (uint32_t i = 1; i <= 40; i++)
        MUST(program_work(&p, list, log, i, 0, NULL, 0, NULL));
    MUST(zeCommandListAppendBarrier(list, e, 0, NULL));
    r = zeEventHostSynchronize(e, UINT64_MAX);
    printf("%x\n", (unsigned)r);
    CHECK(r == ZE_RESULT_ERROR_DEVICE_LOST);
    zeCommandListDestroy(list);
}

static const struct {
    const char *name;
    void (*run)(void);
} k_cases[] = {
    {"queue", case_queue},     {"immediate", case_immediate}, {"copies", case_copies},
    {"across", case_across},   {"threads", case_threads},     {"come_and_go", case_come_and_go},
    {"refused", case_refused}, {"wait_before_signal", case_wait_before_signal},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(k_cases) / sizeof(k_cases[0]); i++) {
        if (argc > 1 && strcmp(argv[1], k_cases[i].name) != 0)
            continue;
        k_cases[i].run();
        printf("%s\n", k_cases[i].name);
        fflush(stdout);
    }
    if (argc > 1 && strcmp(argv[1], "lost") == 0)
        case_lost();
    return 0;
}
