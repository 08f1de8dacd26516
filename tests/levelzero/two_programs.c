/* SPDX-License-Identifier: Apache-2.0 */
/* Half of two programs that share a device; two.py starts both.
 *
 *   two_programs loop US              kernels of US on an immediate list, some in flight, until its input ends; a line with the
 *                                     time at which each is complete
 *   two_programs bursts US N COUNT    COUNT times, on a line of its input each: N lists with a kernel of US each on a command
 *                                     queue; a line with the times at which they begin and are complete
 *   two_programs many N list|queue    N commands that take no time, 50 at a time
 */
#include "ze_program.h"

#include <poll.h>
#include <unistd.h>

#define FLIGHT 2                  /* of the loop */

static void loop(struct program *p, uint64_t us)
{
    ze_command_list_handle_t list = program_immediate(p, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    ze_event_handle_t done[FLIGHT];

    for (int i = 0; i < FLIGHT; i++)
        done[i] = program_event(p);
    for (unsigned i = 0; poll(&in, 1, 0) == 0; i++) {
        ze_event_handle_t e = done[i % FLIGHT];

        if (i >= FLIGHT) {
            MUST(zeEventHostSynchronize(e, UINT64_MAX));
            MUST(zeEventHostReset(e));
            printf("%llu\n", (unsigned long long)now_us());
        }
        MUST(program_work(p, list, NULL, 0, us * 1000, e, 0, NULL));
    }
    for (int i = 0; i < FLIGHT; i++)
        MUST(zeEventHostSynchronize(done[i], UINT64_MAX));
    MUST(zeCommandListDestroy(list));
}

static void bursts(struct program *p, uint64_t us, int n, int count)
{
    ze_command_queue_handle_t queue = program_queue(p, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    ze_command_list_handle_t lists[64];
    char line[16];

    for (int i = 0; i < n; i++) {
        lists[i] = program_list(p);
        MUST(program_work(p, lists[i], NULL, 0, us * 1000, NULL, 0, NULL));
        MUST(zeCommandListClose(lists[i]));
    }
    for (int k = 0; k < count; k++) {
        uint64_t t = now_us();

        for (int i = 0; i < n; i++)
            MUST(zeCommandQueueExecuteCommandLists(queue, 1, &lists[i], NULL));
        MUST(zeCommandQueueSynchronize(queue, UINT64_MAX));
        printf("%llu %llu\n", (unsigned long long)t, (unsigned long long)now_us());
        if (k < count - 1)
            CHECK(fgets(line, sizeof(line), stdin));
    }
    for (int i = 0; i < n; i++)
        MUST(zeCommandListDestroy(lists[i]));
    MUST(zeCommandQueueDestroy(queue));
}

static void many(struct program *p, int n, int on_list)
{
    ze_command_queue_handle_t queue = program_queue(p, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    ze_command_list_handle_t list = on_list ? program_immediate(p, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS) : program_list(p);
    ze_event_handle_t done = program_event(p);

    if (!on_list) {
        MUST(program_work(p, list, NULL, 0, 0, NULL, 0, NULL));
        MUST(zeCommandListClose(list));
    }
    for (int i = 1; i <= n; i++) {
        if (on_list)
            MUST(program_work(p, list, NULL, 0, 0, i % 50 ? NULL : done, 0, NULL));
        else
            MUST(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
        if (i % 50 == 0 && on_list) {
            MUST(zeEventHostSynchronize(done, UINT64_MAX));
            MUST(zeEventHostReset(done));
        } else if (i % 50 == 0) {
            MUST(zeCommandQueueSynchronize(queue, UINT64_MAX));
        }
    }
    MUST(zeCommandListDestroy(list));
    MUST(zeCommandQueueDestroy(queue));
}

int main(int argc, char **argv)
{
    uint64_t us = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    struct program p;
    char line[16];

    setvbuf(stdout, NULL, _IOLBF, 0);
    program_begin(&p);
    if (argc > 3 && strcmp(argv[1], "many") == 0) {
        many(&p, atoi(argv[2]), strcmp(argv[3], "list") == 0);
        return 0;
    }
    printf("ready\n");
    CHECK(fgets(line, sizeof(line), stdin));
    if (argc > 4)
        bursts(&p, us, atoi(argv[3]), atoi(argv[4]));
    else
        loop(&p, us);
    program_end(&p);
    return 0;
}
