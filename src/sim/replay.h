/* SPDX-License-Identifier: Apache-2.0 */
/* A trace of facts in, decisions out. docs/man/xsched-replay.1 has the words of a trace. */
#ifndef XS_SIM_REPLAY_H
#define XS_SIM_REPLAY_H

#include "sched/sched.h"
#include "sim/words.h"

struct xs_replay;

/** One decision that changed. */
typedef void (*xs_replay_fn)(void *ctx, uint64_t time_ns, const char *queue, bool run);

/** @param policy  before the trace names one; NULL: HPF
 *  @return NULL when out of memory */
struct xs_replay *xs_replay_new(const struct xs_policy_ops *policy, xs_replay_fn fn, void *ctx);
/** Takes one line. Calls fn with the decisions up to its time first.
 *  @return 0, -EINVAL with a text in error, -ENOMEM */
int xs_replay_line(struct xs_replay *r, char *line, char error[XS_ERROR_BYTES]);
/** Decides upon the last lines; timers behind the last line do not come. */
void xs_replay_end(struct xs_replay *r);
void xs_replay_free(struct xs_replay *r);

#endif
