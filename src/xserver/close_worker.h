/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that can take as long as another user likes, which the main loop therefore leaves to
 * threads. A task closes a descriptor that another process made (one that came in a message, a
 * connection with unread messages). Or it reads a program's command line, which lies in the program's
 * own memory. Each user has a thread for his tasks, so that only he waits for them. */
#ifndef XS_XSERVER_CLOSE_WORKER_H
#define XS_XSERVER_CLOSE_WORKER_H

#include "xserver/records/history.h"

#include <stdbool.h>
#include <stdint.h>

struct xs_close_worker;

/** A command line, read by a task. */
struct xs_close_worker_answer {
    struct xs_close_worker_answer *next;
    uint64_t session;
    char cmdline[XS_CMDLINE_BYTES];
};

/** @param event_fd  signalled whenever an answer is there
 *  @return NULL: out of memory */
struct xs_close_worker *xs_close_worker_new(int event_fd);
/** Waits for tasks under way, a tenth of a second at most; a thread that waits longer ends with the process. */
void xs_close_worker_free(struct xs_close_worker *e);

/** Closes *fd, which came from a program of that user, or is a connection of his; *fd is -1 then. Main loop only.
 *  A thread of e closes it. The caller's thread does so where e is NULL; also, within some microseconds, where the user is
 *  behind or no thread is left. */
void xs_close_worker_close(struct xs_close_worker *e, uint32_t uid, int *fd);
/** The same for a descriptor that came in a message. Closing it here could wait for ever, so only a
 *  thread closes it. */
void xs_close_worker_close_passed(struct xs_close_worker *e, uint32_t uid, int *fd);
/** From now on (on) the main loop's thread waits for at most some microseconds inside a call; to receive messages in. */
void xs_close_worker_interrupt(struct xs_close_worker *e, bool on);
/** So many tasks of that user wait that the caller should take nothing more from him. */
bool xs_close_worker_behind(struct xs_close_worker *e, uint32_t uid);

/** Reads a command line. The answer comes later, or never if the program does not let xserver read it.
 *  @return false: no answer will come */
bool xs_close_worker_read_cmdline(struct xs_close_worker *e, uint32_t uid, int32_t pid, uint64_t session);
/** @return an answer, which the caller frees, or NULL */
struct xs_close_worker_answer *xs_close_worker_take(struct xs_close_worker *e);

#endif
