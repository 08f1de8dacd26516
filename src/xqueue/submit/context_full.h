/* SPDX-License-Identifier: Apache-2.0 */
/* A context whose streams take no further entry. */
#ifndef XS_XQUEUE_CONTEXT_FULL_H
#define XS_XQUEUE_CONTEXT_FULL_H

#include <stdbool.h>

struct xs_queue;

/** As xs_gates_full(), after a look at the completions of the context's other queues. */
bool xs_context_full(struct xs_queue *q, bool shut);

#endif
