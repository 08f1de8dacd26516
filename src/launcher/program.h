/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the program before its start: where it is, and whether a preload reaches it. */
#ifndef XS_LAUNCHER_PROGRAM_H
#define XS_LAUNCHER_PROGRAM_H

#include "base/xs_base.h"

/** Finds the file that execvp would start. @return 0, -ENOENT, or -EACCES (found, but not executable) */
int xs_program_find(const char *name, char *ret_path, size_t size);

/** Whether execvp would not start it, as far as that can be seen before.
 *  @param ret_why  "./x: not found", for people
 *  @return 0; XS_EXIT_NOT_FOUND or XS_EXIT_NOT_EXECUTABLE of launcher/commands.h */
int xs_program_absent(const char *name, char *ret_why, size_t size);

enum xs_program_issue {
    XS_PROGRAM_FINE = 0,
    XS_PROGRAM_STATIC,     /* no dynamic loader starts it: it takes no preload */
    XS_PROGRAM_FOREIGN,    /* 32-bit, or of another machine */
    XS_PROGRAM_PRIVILEGED, /* set-user-id, set-group-id or file capabilities: ld.so ignores us */
};

/** Judges a program file; for a script, its interpreter.
 *  @param ret_path  the judged file; may be NULL */
enum xs_program_issue xs_program_check(const char *path, char *ret_path, size_t size);

/** The same for a command: where it is the dynamic linker that runs a program (ld.so OPTIONS ./program), judges that program.
 *  @param path  the file of argv[0] */
enum xs_program_issue xs_program_check_command(char *const *argv, const char *path, char *ret_path,
                                               size_t size);

/** Judges a process by its file (/proc/PID/exe).
 *  @param secure  the kernel started it with more rights than its caller has (AT_SECURE) */
enum xs_program_issue xs_program_check_running(const char *exe, bool secure);

/** One sentence for people. */
const char *xs_program_issue_text(enum xs_program_issue issue);

#endif
