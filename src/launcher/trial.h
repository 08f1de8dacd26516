/* SPDX-License-Identifier: Apache-2.0 */
/* A program of ours that tries a thing which may hang or crash. */
#ifndef XS_LAUNCHER_TRIAL_H
#define XS_LAUNCHER_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct xs_trial {
    const char *program, *argument;  /* argument: NULL: none */
    const char *without;             /* a variable that it does not see, besides LD_PRELOAD; NULL: no more */
    bool quiet;                      /* its errors go nowhere, and it has no input */
    uint64_t limit_ns;               /* kills it after this time, or when its output does not fit */
    void (*before_kill)(pid_t pid);  /* called then, while it still lives; NULL: nothing */
};

/** Runs it to its end. @param ret_text  its output, as far as it fits
 *  @return its exit status (127: not executable); -1: it crashed, ended by a signal, or did not start */
int xs_trial_run(const struct xs_trial *t, char *ret_text, size_t size);

#endif
