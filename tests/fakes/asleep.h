/* SPDX-License-Identifier: Apache-2.0 */
/* Whether all threads of a process sleep: what the clock of a test waits for before it moves. One pass over the threads
 * that reads two files of /proc for each. What the passes before saw is kept, so that where nothing ran one pass is
 * enough. */
#ifndef XS_ASLEEP_H
#define XS_ASLEEP_H

#include <stdbool.h>
#include <stdint.h>

#define ASLEEP_THREADS 512u

struct asleep_thread {
    long tid;
    uint64_t ran;                 /* changes whenever the thread ran */
    bool slept;                   /* when `ran` was read */
    int state_fd, ran_fd;         /* -1: opened for each look */
};

/* One process. All zero: nothing seen yet. */
struct asleep {
    long pid;
    bool keep_open;               /* set by the caller: the files stay open from one pass to the next */
    bool open;                    /* task_fd is valid */
    bool stopped;                 /* its first thread was, when a pass last looked at it (SIGSTOP) */
    int task_fd;
    unsigned count;
    struct asleep_thread threads[ASLEEP_THREADS];
};

enum asleep_answer {
    ASLEEP_ALL,                   /* each thread slept from an earlier pass on until this one looked at it */
    ASLEEP_RAN,                   /* all sleep, and some ran since the last pass: another pass */
    ASLEEP_RUNS,                  /* some thread runs, or could not be looked at */
    ASLEEP_GONE,                  /* there is no such process */
};

/** One pass. Where it answers ASLEEP_ALL, every thread slept when it began: none was on a processor since an earlier pass saw it
 *  asleep, and none waits for one. Were the earlier one content with what a thread ran, one that runs all the while and is
 *  about to sleep would be taken for one that slept.
 *  @param but   whether a thread does not count; NULL: all count */
enum asleep_answer asleep_look(struct asleep *a, long pid, bool (*but)(long tid));
/** Closes what is open. */
void asleep_forget(struct asleep *a);

#endif
