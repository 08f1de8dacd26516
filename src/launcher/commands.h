/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands. Each gets its own arguments (argv[0] is its name) and returns the exit status. */
#ifndef XS_LAUNCHER_COMMANDS_H
#define XS_LAUNCHER_COMMANDS_H

#include "base/xs_base.h"

/* Statuses as shells and env(1) have them. */
enum { XS_EXIT_USAGE = 64, XS_EXIT_NOT_EXECUTABLE = 126, XS_EXIT_NOT_FOUND = 127 };

int xs_command_run(int argc, char **argv);
int xs_command_trace(int argc, char **argv);
int xs_command_record(int argc, char **argv);
int xs_command_doctor(int argc, char **argv);
int xs_command_top(int argc, char **argv);
int xs_command_cdi(int argc, char **argv);

/** The common part of run and trace: judges the program, sets the shims' variables. */
void xs_prepare_program(char **program);
/** Becomes the program. Returns only when that fails, with the status to exit with. */
int xs_exec_program(char **program);

#endif
