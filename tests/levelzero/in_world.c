/* SPDX-License-Identifier: Apache-2.0 */
/* A Level Zero program of a world whose clock moves only when everybody sleeps (tests/fakes/world); its calls take no time. Each
 * begins with one kernel and then waits until BEGIN_US: by then it has joined.
 *
 *   in_world low KERNEL_US UNTIL_US
 *     always has eight kernels on an immediate list; prints "kernels N": how many are complete by then
 *   in_world high KERNEL_US KERNELS FIRST_US EACH_US REQUESTS
 *     a request each EACH_US: so many lists with a kernel each, executed on a command queue, and one wait; prints what each took
 *
 * Times are in us and count from the beginning of the world. */
#include "ze_program.h"

#include "fakes/vtime.h"

#define BEGIN_US 10000
#define FLIGHT   8

static uint64_t world_us(void)
{
    return now_us() - VTIME_START_NS / 1000;
}

static void until(uint64_t us)
{
    uint64_t now = world_us();

    if (now < us)
        nanosleep(&(struct timespec){(time_t)((us - now) / 1000000), (long)((us - now) % 1000000 * 1000)}, NULL);
}

static void low(struct program *p, uint64_t kernel_us, uint64_t until_us)
{
    ze_command_list_handle_t list = program_immediate(p, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    ze_event_handle_t done[FLIGHT];
    unsigned complete = 0;

    for (int i = 0; i < FLIGHT; i++)
        done[i] = program_event(p);
    for (unsigned i = 0; world_us() < until_us; i++) {
        ze_event_handle_t e = done[i % FLIGHT];

        if (i >= FLIGHT) {
            MUST(zeEventHostSynchronize(e, UINT64_MAX));
            MUST(zeEventHostReset(e));
            complete += world_us() <= until_us;
        }
        MUST(program_work(p, list, NULL, 0, kernel_us * 1000, e, 0, NULL));
        if (i == 0) {
            MUST(zeEventHostSynchronize(e, UINT64_MAX));
            until(BEGIN_US);
        }
    }
    for (int i = 0; i < FLIGHT; i++)
        MUST(zeEventHostSynchronize(done[i], UINT64_MAX));
    MUST(zeCommandListDestroy(list));
    printf("kernels %u\n", complete);
}

static void high(struct program *p, uint64_t kernel_us, int kernels, uint64_t first_us, uint64_t each_us, int requests)
{
    ze_command_queue_handle_t queue = program_queue(p, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    ze_command_list_handle_t lists[100];

    CHECK(kernels > 0 && kernels <= 100);
    for (int i = 0; i < kernels; i++) {
        lists[i] = program_list(p);
        MUST(program_work(p, lists[i], NULL, 0, kernel_us * 1000, NULL, 0, NULL));
        MUST(zeCommandListClose(lists[i]));
    }
    for (int k = -1; k < requests; k++) {
        uint64_t begin_us;

        if (k >= 0)
            until(first_us + (uint64_t)k * each_us);
        begin_us = world_us();
        for (int i = 0; i < (k < 0 ? 1 : kernels); i++)
            MUST(zeCommandQueueExecuteCommandLists(queue, 1, &lists[i], NULL));
        MUST(zeCommandQueueSynchronize(queue, UINT64_MAX));
        if (k >= 0)
            printf("%llu\n", (unsigned long long)(world_us() - begin_us));
        else
            until(BEGIN_US);
    }
    for (int i = 0; i < kernels; i++)
        MUST(zeCommandListDestroy(lists[i]));
    MUST(zeCommandQueueDestroy(queue));
}

int main(int argc, char **argv)
{
    struct program p;
    uint64_t n[5];

    CHECK(argc == 4 || argc == 7);
    for (int i = 0; i < argc - 2; i++)
        n[i] = strtoull(argv[i + 2], NULL, 10);
    program_begin(&p);
    if (argc == 4)
        low(&p, n[0], n[1]);
    else
        high(&p, n[0], (int)n[1], n[2], n[3], (int)n[4]);
    program_end(&p);
    return 0;
}
