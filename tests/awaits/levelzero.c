/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose work waits for the host, on Level Zero: levelzero SECONDS MODE.
 *
 *   kernel  a kernel of an immediate list waits for an event, which the host signals 2 ms later
 *   order   the same in a list in order, where the other kernels wait with it
 *   wait    the list waits for it by a command of its own
 *   list    the same, recorded in a list that a queue executes: the shim does not see what waits there
 *
 * Each round has two kernels more, and waits for them. Prints how many rounds a second it did. */
#include "rounds.h"
#include "../levelzero/ze_program.h"

#define IN_ORDER ZE_BIT(1)        /* ZE_COMMAND_QUEUE_FLAG_IN_ORDER of newer headers */

static ze_command_list_handle_t immediate(struct program *p, ze_command_queue_flags_t flags)
{
    ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .flags = flags,
                                    .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_command_list_handle_t list;

    MUST(zeCommandListCreateImmediate(p->context, p->device, &desc, &list));
    return list;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[2] : "";
    ze_command_list_handle_t list, recorded;
    ze_command_queue_handle_t queue;
    ze_event_handle_t go, end;
    struct program p;

    program_begin(&p);
    list = immediate(&p, mode[0] == 'o' ? IN_ORDER : 0);
    queue = program_queue(&p, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    recorded = program_list(&p);
    go = program_event(&p);
    end = program_event(&p);
    MUST(zeCommandListAppendWaitOnEvents(recorded, 1, &go));
    MUST(program_work(&p, recorded, NULL, 0, 5000, NULL, 0, NULL));
    MUST(zeCommandListClose(recorded));
    while (rounds_go_on(argc > 1 ? atof(argv[1]) : 1)) {
        if (mode[0] == 'l') {
            for (int i = 0; i < 3; i++)
                MUST(zeCommandQueueExecuteCommandLists(queue, 1, &recorded, NULL));
        } else {
            if (mode[0] == 'w')
                MUST(zeCommandListAppendWaitOnEvents(list, 1, &go));
            MUST(program_work(&p, list, NULL, 0, 5000, NULL, mode[0] != 'w', &go));
            MUST(program_work(&p, list, NULL, 0, 6000, NULL, 0, NULL));
            MUST(program_work(&p, list, NULL, 0, 7000, end, 0, NULL));
        }
        rounds_pause();
        MUST(zeEventHostSignal(go));
        if (mode[0] == 'l') {
            MUST(zeCommandQueueSynchronize(queue, UINT64_MAX));
        } else {
            MUST(zeEventHostSynchronize(end, UINT64_MAX));
            MUST(zeEventHostReset(end));
        }
        MUST(zeEventHostReset(go));
    }
    return rounds_end(0);
}
