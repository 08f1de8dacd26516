/* SPDX-License-Identifier: Apache-2.0 */
/* Sharing in space: programs of one user run at one time on a device. On AMD's driver masks of compute units do that,
 * and only the rights on /dev/kfd matter here. On NVIDIA's it is MPS. A helper
 * (xsched-space) keeps one MPS daemon for each user and device. `xsched run` starts the helper, as the user,
 * with the first program; the helper ends after the last.
 *
 * space_run.c      `xsched run`: asks the helper, tries it all in a child, sets the environment or says why not
 * visible.c        which value of CUDA_VISIBLE_DEVICES a program in space gets
 * space_helper.c   the helper: which programs use the daemon, its start, its end, its faults
 * mps_control.c    NVIDIA's control program
 *
 * The launcher and the helper exchange packets of text over SPACE_SOCKET: "join" -> "ok", the daemon's pipe
 * folder and a note, or "no" and the reason. Then the launcher sends "stays", or ends the connection if it
 * will not use the daemon. A process that joined counts for as long as it lives, whichever program it
 * becomes. */
#ifndef XS_LAUNCHER_SPACE_H
#define XS_LAUNCHER_SPACE_H

#include "base/xs_base.h"

#include <sys/types.h>

#define XS_SPACE_SOCKET   "space.sock"
#define XS_SPACE_PACKET   4096u
#define XS_SPACE_MOST     60u            /* programs that one MPS daemon serves */

/* Rules that keep a daemon's life and a program's device right; tests leave out one by one, and must notice. */
#define XS_SPACE_RULE_ONE   1u           /* use one that runs already */
#define XS_SPACE_RULE_LAST  2u           /* it stays while a program uses it, and ends after the last */
#define XS_SPACE_RULE_MOST  4u           /* no more programs than it serves */
#define XS_SPACE_RULE_FAULT 8u           /* after a fault, the next program gets a new one */
#define XS_SPACE_RULE_FORM  16u          /* a program without CUDA_VISIBLE_DEVICES, or with a UUID there, keeps that */
#define XS_SPACE_RULE_ZERO  32u          /* a number becomes 0, the only one that the daemon has */
#define XS_SPACE_RULE_KIND  64u          /* not where NVML's number 0 is a device of another kind */
#define XS_SPACE_RULE_SAME  128u         /* the daemon's device is the one that the program would have without it */
#ifndef XS_SPACE_RULES
#define XS_SPACE_RULES      255u
#endif

/** An MPS daemon, by its folders. */
struct xs_mps {
    const char *pipe, *log, *device;     /* device: UUID; NULL: it is not ours to start */
};
/** Starts it. @param ret_why  one line when it does not start  @return 0 or -errno */
int xs_mps_start(const struct xs_mps *m, char *ret_why, size_t size);
/** @return 0 and the answer of the daemon, or -errno: it does not answer */
int xs_mps_ask(const struct xs_mps *m, const char *command, char *ret, size_t size);
/** Its process, or -errno. */
pid_t xs_mps_pid(const struct xs_mps *m);
/** The number of programs that its servers serve now. @param ret_fault  a server has had a fault; may be NULL
 *  @return the number, or -errno */
int xs_mps_programs(const struct xs_mps *m, bool *ret_fault);
/** Has its server end one program's work on the device, and the program's context. For a program of ours that a
 *  signal will end: a signal to one with work on the device may end the others, too.
 *  @return 0, -ESRCH: no server serves it, or -errno */
int xs_mps_end_program(const struct xs_mps *m, pid_t pid);
/** The same in the daemon that programs with this environment meet; does nothing where there is none. */
void xs_mps_end_own(pid_t pid);

/** @param native  CUDA_VISIBLE_DEVICES of a program that sees one device, not a part of one (MIG); NULL: it is not set
 *  @return its value under a daemon that has this device alone (decision 0043); NULL: not set */
const char *xs_space_visible(const char *native);

/** `xsched run --share=space`: sets the environment of the program that this process becomes, or says why it
 *  shares in time.
 *  @param priority  of the program
 *  @param idle_s    the helper ends so long after the last program; 0: never
 *  @return whether it shares in space */
bool xs_space_begin(int priority, unsigned idle_s);

#endif
