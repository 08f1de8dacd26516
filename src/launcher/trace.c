/* SPDX-License-Identifier: Apache-2.0 */
/* xsched trace: runs a program with XSCHED_TRACE and sums up what was written. */
#include "launcher/commands.h"
#include "launcher/say.h"

int xs_command_trace(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    xs_say_error("trace: not there yet");
    return XS_EXIT_USAGE;
}
