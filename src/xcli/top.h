/* SPDX-License-Identifier: Apache-2.0 */
/* xcli top, between its files: top.c (options, plain text, questions), top_rows.c (from two answers to rows),
 * top_detail.c (all about one program), top_screen.c (terminal). One thread. */
#ifndef XS_XCLI_TOP_H
#define XS_XCLI_TOP_H

#include "xcli/text_table.h"
#include "xcli/xcli.h"

enum top_sort {
    TOP_BY_SHARE,
    TOP_BY_WAIT,
    TOP_BY_PREEMPTIONS,
    TOP_BY_PRIORITY,
    TOP_BY_PID,
    TOP_BY_COMMANDS,
    TOP_BY_COMMAND,
    TOP_SORTS
};
/** The values of `--sort`, as the screen shows them. */
extern const char *const top_sort_names[TOP_SORTS];

struct top_options {
    double interval_s;
    uint64_t rounds; /* 0: for ever */
    bool once;       /* one picture, of a first interval */
    bool plain;      /* plain text on a terminal too */
    bool queues;     /* queues below their programs */
    bool reverse;
    int sort;        /* enum top_sort */
    struct xcli_filter only;
    char filter[64]; /* it shows rows that contain this text, in any case; "" all */
};

/** Two looks at the server, an interval apart. */
struct top_facts {
    json_t *queues, *before; /* answers to /xqueues; before: NULL at first */
    bool estimates;          /* the shares of the last rows are estimates: xcli_scale_shares() */
    json_t *status;          /* answer to /status; NULL: none */
    uint64_t at_ns, before_ns;
    int state; /* of the last question: an exit code */
    char why[2304];
};
void top_ask(struct top_facts *f);
void top_facts_free(struct top_facts *f);

/** A program, or one of its queues. */
struct top_row {
    bool is_queue;
    int64_t pid, uid;
    uint64_t handle, device; /* device: UINT64_MAX: several */
    int64_t level, priority; /* of a program: the highest of its queues' */
    enum xcli_state state; /* of a program: that of its queue that has most of the device */
    int64_t lane, reserve; /* multiprocessors; 0: none, not known */
    size_t queues;
    double share, waiting; /* parts of the interval; share: device time */
    double preemptions_a_second, commands_a_second;
    int64_t waited_us, preemptions, commands; /* since it is there */
    const char *command, *way;                /* of the answer; way: it shares in "time" or in "space" */
    const json_t *of;                         /* the program or queue in the answer */
};

struct top_rows {
    struct top_row *rows;
    size_t n;
};
/** Sorted and filtered; with the option queues, each program's queues below it. */
void top_rows_make(struct top_facts *f, const struct top_options *o, struct top_rows *ret);
void top_rows_free(struct top_rows *r);
void top_table(const struct top_rows *r, struct xs_table *ret);
/** "HPF, 3 programs, 12 queues: 2 running, 1 waiting" */
void top_summary(const struct top_facts *f, char *ret, size_t size);

/** Device time in the interval, of each device. @return how many, at most max */
struct top_device {
    uint64_t device;
    double share;
};
size_t top_devices(const struct top_facts *f, struct top_device *ret, size_t max);

/** A line about a program. */
struct top_line {
    char *text;
    bool head;             /* titles of columns */
    enum xcli_state state; /* of what it tells; XCLI_IDLE: of nothing */
    uint64_t handle;       /* of a queue; 0: none */
};
struct top_lines {
    struct top_line *lines;
    size_t n;
};
/** What the program is, why it runs or waits, its waits, its memory and its queues. No lines: it is not there. */
void top_detail(struct top_facts *f, int64_t pid, size_t width, struct top_lines *ret);
void top_lines_free(struct top_lines *l);
/** "35ms", "12.3s", "2h05" */
void top_time_text(int64_t us, char *ret, size_t size);

/** @return exit code; -1: there is no terminal to draw on */
int top_screen(struct top_facts *f, struct top_options *o);

#endif
