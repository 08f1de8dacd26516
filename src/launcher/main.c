/* SPDX-License-Identifier: Apache-2.0 */
/* xsched: runs programs under the scheduler, and says why it does not schedule some. */
#include "launcher/commands.h"
#include "launcher/say.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"run", xs_command_run, "run a program with its device work scheduled"},
    {"trace", xs_command_trace, "run a program and list its device calls and how XSched handles each"},
    {"record", xs_command_record, "write a timeline: when programs ran and waited, and when XSched preempted them"},
    {"doctor", xs_command_doctor, "say whether this machine is ready, or why XSched does not schedule a program"},
    {"top", xs_command_top, "show programs, shares and waits again and again (xcli top)"},
    {"cdi", xs_command_cdi, "write a specification by which containers get a priority"},
};

static void usage(FILE *f)
{
    fprintf(f, "usage: xsched COMMAND [OPTION...] [-- PROGRAM ARG...]\n\n");
    for (size_t i = 0; i < XS_ARRAY_LEN(commands); i++)
        fprintf(f, "  %-8s %s\n", commands[i].name, commands[i].help);
    fprintf(f, "\n`xsched COMMAND --help` says more; so does xsched(1).\n");
}

int main(int argc, char **argv)
{
    char help[] = "--help";

    if (argc < 2) {
        usage(stderr);
        return XS_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("xsched " XSCHED_VERSION);
        return xs_say_unwritten() ? EX_IOERR : 0;
    }
    if (argc == 3 &&
        (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0)) { /* as: xsched COMMAND --help */
        argv[1] = argv[2];
        argv[2] = help;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return xs_say_unwritten() ? EX_IOERR : 0;
    }
    for (size_t i = 0; i < XS_ARRAY_LEN(commands); i++) {
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    }
    xs_say_error("there is no command \"%s\"; there are run, trace, record, doctor, top and cdi", argv[1]);
    return XS_EXIT_USAGE;
}
