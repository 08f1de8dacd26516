/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of xsched doctor: a tree of facts, and the problems among them. */
#ifndef XS_LAUNCHER_DOCTOR_H
#define XS_LAUNCHER_DOCTOR_H

#include "base/probed_levels.h"
#include "query/find_xserver.h"

#include <jansson.h>
#include <sys/types.h>

struct xs_doctor {
    json_t *facts;    /* an object; its sections appear in order of insertion */
    json_t *problems; /* array of {cause, text, hint} */
    json_t *hints;    /* array of text */
    json_t *devices;  /* the server's answer to /devices; NULL: it does not tell */
    bool schedules_itself, unasked; /* the process: by a local policy; joined a server that answers no questions */
    char verdict[1280]; /* one line: the state of things */
};

int xs_doctor_init(struct xs_doctor *d);
void xs_doctor_fini(struct xs_doctor *d);

/** Something is wrong. @param cause  one word for programs; @param hint  a remedy, "" for none */
void xs_doctor_problem(struct xs_doctor *d, const char *cause, const char *hint, const char *format, ...)
    XS_PRINTF(4, 5);
/** Good to know or to do; no problem. */
void xs_doctor_hint(struct xs_doctor *d, const char *format, ...) XS_PRINTF(2, 3);
/** Text, with a replacement for bytes that are no UTF-8. @return a new reference, never NULL for text */
json_t *xs_doctor_text(const char *text);

/** Everything as one JSON document; or text for people: the verdict, the problems, and with details the
 *  facts. */
void xs_doctor_print_json(const struct xs_doctor *d);
void xs_doctor_print_text(const struct xs_doctor *d, bool details);
/** Sets the verdict from the findings. */
void xs_doctor_verdict_of_process(struct xs_doctor *d, pid_t pid);
void xs_doctor_verdict_of_system(struct xs_doctor *d);

/** The installed parts here. */
void xs_doctor_system(struct xs_doctor *d);
/** Tries which preemption levels work on the devices here, and keeps the answer for `xsched run`.
 *  @param seconds  the time limit */
void xs_doctor_probe(struct xs_doctor *d, unsigned seconds);
/** The probe's answer for the present drivers, and its meaning. */
void xs_doctor_levels(struct xs_doctor *d);
/** Replaces the earlier answers for a platform's devices. @return 0 or -errno */
int xs_doctor_keep_levels(const struct xs_platform *of, const struct xs_probed_row *rows, size_t n);
/** Whether XSched schedules the process, and why not. @return 0, or -errno when it cannot read the process */
int xs_doctor_process(struct xs_doctor *d, pid_t pid);

/** The job of a process, and whether it spans hosts. @param get  its environment (base/job.h); NULL: this
 *  process's own */
void xs_doctor_job(struct xs_doctor *d, const char *(*get)(void *ctx, const char *name), void *ctx);

struct xs_proc;
/** Which objects in the process call a vendor's library, which copy of it, and which calls bypass the
 *  shim. */
void xs_doctor_calls(struct xs_doctor *d, const struct xs_proc *p);
/** Functions that the process got and that no table of ours has. */
void xs_doctor_unseen(struct xs_doctor *d, const struct xs_proc *p);

/** Vendor libraries on this machine, with their platforms; run in a child of its own. */
json_t *xs_doctor_vendors(void);
/** {"socket", "answers", "pid", "uid", ...} for each place. */
json_t *xs_doctor_servers(const struct xs_places *places);
/** GET path on the HTTP socket that belongs to a server's socket. @return a new reference or NULL */
json_t *xs_doctor_ask(const char *server_socket, const char *path);

#endif
