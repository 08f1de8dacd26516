/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of the lines of a trace file (format: src/shim/common/trace.h). */
#ifndef XS_LAUNCHER_TRACE_SUMMARY_H
#define XS_LAUNCHER_TRACE_SUMMARY_H

#include "base/xs_base.h"

#include <stdio.h>

enum { XS_TRACE_PASS, XS_TRACE_SUBMIT, XS_TRACE_SYNC, XS_TRACE_HAND, XS_TRACE_HOWS };

struct xs_trace_sum;

struct xs_trace_totals {
    uint64_t calls, failed; /* failed: a result other than 0 that is no address */
    uint64_t by_how[XS_TRACE_HOWS];
    uint64_t scheduled; /* commands that took the scheduled path, all processes together */
    uint64_t processes, queues;
    uint64_t unreadable; /* other lines */
};

/** @return NULL when out of memory */
struct xs_trace_sum *xs_trace_sum_new(void);
void xs_trace_sum_free(struct xs_trace_sum *s);
/** Adds one line, with or without its newline. @return 0 or -ENOMEM */
int xs_trace_sum_add(struct xs_trace_sum *s, const char *line);
void xs_trace_sum_totals(const struct xs_trace_sum *s, struct xs_trace_totals *ret);
/** Table by function, most frequent first, and the totals. */
void xs_trace_sum_print(struct xs_trace_sum *s, FILE *f);

#endif
