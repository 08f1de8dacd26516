/* SPDX-License-Identifier: Apache-2.0 */
/* xsched record: from the server's events to a file. record_main.c asks the server and runs the program.
 * record_queues.c follows each queue's state, record_devices.c each device's; record_chrome.c, record_replay.c and
 * record_picture.c write, record_file.c opens what they write to. One thread. */
#ifndef XS_LAUNCHER_RECORD_H
#define XS_LAUNCHER_RECORD_H

#include "base/xs_base.h"

#include <jansson.h>
#include <stdio.h>

enum record_state { RECORD_UNKNOWN, RECORD_IDLE, RECORD_RUN, RECORD_BESIDE, RECORD_WAIT, RECORD_PREEMPTED, RECORD_SUSPENDED };

/** The calls of all formats. Times are nanoseconds since the recording began. They never go back, but for
 *  slices: the call for a slice comes at its end. */
struct record_writer {
    /** @param began_ns  the beginning, by this host's clock that never goes back */
    void (*begin)(FILE *f, uint64_t began_ns);
    void (*process)(FILE *f, int64_t pid, const char *command);
    void (*queue)(FILE *f, unsigned number, int64_t pid, uint64_t handle, uint64_t device, const char *device_name,
                  int64_t priority, uint64_t at_ns);
    void (*gone)(FILE *f, unsigned number, uint64_t at_ns);
    /** From here on it has work, or has none. */
    void (*ready)(FILE *f, unsigned number, bool ready, uint64_t at_ns);
    void (*decision)(FILE *f, unsigned number, int64_t pid, bool run, bool preempted, uint64_t at_ns);
    void (*priority)(FILE *f, unsigned number, int64_t priority, uint64_t at_ns);
    void (*policy)(FILE *f, const char *name, uint64_t at_ns);
    /** @param lane  multiprocessors to which its kernels were confined; 0: they had the device
     *  @param why   the reason for which it waited, in one word (xcli(1), REASONS); "": it did not wait, or it is not known */
    void (*slice)(FILE *f, unsigned number, int64_t pid, enum record_state state, int64_t priority,
                  int64_t lane, const char *why, uint64_t from_ns, uint64_t to_ns);
    /** A track of its own for each device: the programs that ran there in that time, and nothing else. */
    void (*device)(FILE *f, unsigned number, const char *name);
    void (*had)(FILE *f, unsigned device_number, const char *programs, uint64_t from_ns, uint64_t to_ns);
    /** Device time of all its queues, in percent of that time. */
    void (*share)(FILE *f, int64_t pid, double percent, uint64_t from_ns, uint64_t to_ns);
    void (*lost)(FILE *f, uint64_t count, uint64_t at_ns);
    void (*end)(FILE *f, uint64_t at_ns, uint64_t lost);
};
extern const struct record_writer record_chrome, record_replay, record_svg, record_html;

/** For formats that do not show it. */
static inline void record_no_gone(FILE *f, unsigned number, uint64_t at_ns)
{
    (void)f;
    (void)number;
    (void)at_ns;
}
static inline void record_no_ready(FILE *f, unsigned number, bool ready, uint64_t at_ns)
{
    (void)ready;
    record_no_gone(f, number, at_ns);
}
static inline void record_no_device(FILE *f, unsigned number, const char *name)
{
    (void)f;
    (void)number;
    (void)name;
}
static inline void record_no_had(FILE *f, unsigned device_number, const char *programs, uint64_t from_ns, uint64_t to_ns)
{
    (void)from_ns;
    (void)to_ns;
    record_no_device(f, device_number, programs);
}

struct record {
    FILE *f;
    const struct record_writer *to;
    uint64_t began_ns; /* the server's clock, which is this host's */
    uint64_t at_ns;    /* of the last event, since then */
    uint64_t written, lost;
    struct record_queue *queues;
    struct record_process *processes;
    struct record_device *devices; /* record_devices.c */
    json_t *device_names;          /* the server's answer to /devices; NULL: no request yet */
    json_t *(*ask)(void *ctx, const char *path); /* asks the server; @return NULL: no answer */
    void *ctx;
    bool names_asked; /* since the last answer of events */
    unsigned next_number, next_device;
    char policy[32];
};

/* ---- record_file.c ---- */

/** Whether the file could be written, as far as a look without a touch shows it. @return 0 or -errno */
int record_file_check(const char *path);
struct record_file {
    const char *path;
    FILE *f;
    int fd, err;  /* err: 0, or -errno of the first failure */
    bool created; /* there was no such file */
};

/** Opens and empties it. A FIFO waits for its reader. SIGPIPE and SIGXFSZ do not end this process any more.
 *  @return 0 or -errno */
int record_file_open(struct record_file *file, const char *path);
/** After a failure, removes a file that this process created. @return 0, or -errno of the first failure */
int record_file_close(struct record_file *file);

/* ---- record_devices.c ---- */

/** The device's name, as the server tells it. */
void record_device_name(struct record *r, uint64_t device, char *ret, size_t size);
/** From here on one queue more, or one less, of the program runs on the device. */
void record_device_change(struct record *r, uint64_t device, int64_t pid, const char *program, bool runs);
/** Ends open slices. */
void record_devices_end(struct record *r);

/* ---- record_queues.c ---- */

/** Events of an answer to /timeline. */
void record_events(struct record *r, const json_t *answer);
/** An answer to /xqueues: names, shares of device time, and, if requested, the states.
 *  @param now_ns  of the server, when it answered */
void record_snapshot(struct record *r, const json_t *answer, uint64_t now_ns, bool states);
/** An answer to /clients, the last: names of programs that no snapshot had, or had with a short name. */
void record_names(struct record *r, const json_t *answer);
/** Ends open slices. */
void record_end(struct record *r, uint64_t now_ns);

#endif
