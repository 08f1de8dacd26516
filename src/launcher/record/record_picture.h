/* SPDX-License-Identifier: Apache-2.0 */
/* A picture of a recording, which any browser shows: -o who.svg, who.html. record_picture.c collects, record_bins.c
 * keeps the times of a row, record_svg.c draws, record_html.c puts a page around it, record_xml.c writes foreign text.
 * Memory and file are bounded, however long the recording: a row has PICTURE_BINS bins, which grow wider. */
#ifndef XS_LAUNCHER_RECORD_PICTURE_H
#define XS_LAUNCHER_RECORD_PICTURE_H

#include "launcher/record/record.h"

#include <uthash.h>

#define PICTURE_BINS        2048u
#define PICTURE_PROGRAMS    1024u /* of which it knows anything */
#define PICTURE_QUEUES      1024u
#define PICTURE_ROWS        60u /* that it draws: those with the most time */
#define PICTURE_ROWS_OF_ONE 8u  /* of one program */
#define PICTURE_DEVICES     16u
#define PICTURE_NOTES       12u /* changes of the policy, places of lost events */

/** In the order in which they stand on each other. */
enum picture_ink { INK_RUN, INK_BESIDE, INK_PREEMPTED, INK_WAIT, INK_SUSPENDED, INKS };

/** How long a row was in each state, bin by bin. All rows of a picture have bins of one width. */
struct picture_bins {
    float (*ns)[INKS]; /* PICTURE_BINS of them; NULL: none yet */
    double total_ns[INKS];
};
/** Adds a part (0 to 1, more for several) of a time. The bins must reach that far: picture_bins_widen(). */
void picture_bins_add(struct picture_bins *b, uint64_t bin_ns, enum picture_ink ink, double part,
                      uint64_t from_ns, uint64_t to_ns);
/** Two bins become one. */
void picture_bins_widen(struct picture_bins *b);

struct picture_program {
    int64_t pid;
    char name[200];
    unsigned order;             /* of its first queue */
    unsigned queues, drawn;     /* all of them; those with a row */
    int64_t priority;           /* the highest that it had */
    struct picture_bins device; /* INK_RUN: device time of its queues */
    unsigned color;
    UT_hash_handle hh;
};

struct picture_queue {
    struct picture_program *program;
    unsigned number; /* among the program's queues */
    uint64_t handle;
    unsigned device; /* index */
    int64_t first_priority, priority;
    uint64_t preemptions;
    struct picture_bins bins;
    bool drawn;
};

struct picture_note {
    uint64_t at_ns;
    char text[40];
};

struct picture {
    struct picture_program *programs;
    struct picture_queue *queues[PICTURE_QUEUES];
    unsigned n_queues;
    char devices[PICTURE_DEVICES][128];
    uint64_t device_ids[PICTURE_DEVICES];
    unsigned n_devices;
    struct picture_note notes[PICTURE_NOTES];
    unsigned n_notes;
    char policy[32]; /* at first */
    uint64_t bin_ns, end_ns, lost;
    double wall_s; /* of the beginning, since 1970 */
    /* what it leaves out */
    unsigned queues_left_out, rows_left_out, notes_left_out;
    /* the rows to draw, in order */
    struct picture_queue *rows[PICTURE_ROWS];
    unsigned n_rows;
};

void picture_svg(FILE *f, const struct picture *p);
void picture_html(FILE *f, const struct picture *p);
/** "12.5 ms" */
void picture_time_text(double ns, char *ret, size_t size);
/** "5", or "1, later 3" */
void picture_priority_text(const struct picture_queue *q, char *ret, size_t size);
/** The lines below the picture: what it leaves out. @return how many */
size_t picture_remarks(const struct picture *p, char (*ret)[160], size_t max);

/** Writes text as content or attribute of XML and HTML, without characters that these forbid and without those that
 *  turn the direction of the text around them. @param width  cuts it to so many columns, with "..." */
void picture_text(FILE *f, const char *text, unsigned width);

#endif
