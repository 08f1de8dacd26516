/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a step. An engine that decodes by CUDA graphs launches some copies and small kernels, one graph with nearly all
 * of the device's time, and some kernels that read its result; a helper thread waits, while the program prepares the next step.
 * The wait begins at another command in each step. The number of commands from one graph to the next stays the same.
 *
 *   commands   c c c c c c G s s s s c c c c c c G s s s s ...     c prepares, s reads the result
 *                          |<- length ---------->|
 *                          |<-tail->|                              the device has no work until the next graph
 *
 * Numbers are those of the commands of one queue. Pure: no clock, no lock. */
#ifndef XS_SCHED_STEP_GRAPH_H
#define XS_SCHED_STEP_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#define XS_STEP_TAILS 8u

/** All zero: nothing is known. */
struct xs_step_graph {
    uint64_t at, at_ns;           /* the last graph; it came just before then, 0: not known */
    uint64_t look_ns;             /* the last look */
    uint64_t took_ns, before_ns;  /* from the one before it to it; likewise that one. 0: not known */
    uint32_t length, same;        /* commands from one to the next; so many lengths in a row were nearly equal */
    uint16_t count, ended;        /* graphs so far; as a step ended last */
    bool several;                 /* the last step had some */
    uint32_t tails[XS_STEP_TAILS], ntails; /* commands from one to the wait for them, as they came last */
};

/** @param graphs  xs_client_cell.graphs of the queue */
void xs_step_graph_look(struct xs_step_graph *g, uint64_t graphs, uint64_t now_ns);
/** A wait ended that was for the first so many commands of the queue. */
void xs_step_graph_waited(struct xs_step_graph *g, uint64_t commands);
/** A step ended. */
void xs_step_graph_ended(struct xs_step_graph *g);
/** Whether each step has one, so many commands after that of the step before. */
bool xs_step_graph_is_known(const struct xs_step_graph *g);
/** @return the number of the next one; 0: not known */
uint64_t xs_step_graph_next(const struct xs_step_graph *g);
/** @return the command after which the device has no work until the next one; 0: not known */
uint64_t xs_step_graph_last(const struct xs_step_graph *g);

#endif
