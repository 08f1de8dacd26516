/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of xsched doctor: a tree of facts, and the problems among them. */
#ifndef XS_LAUNCHER_DOCTOR_H
#define XS_LAUNCHER_DOCTOR_H

#include "base/platforms.h"
#include "base/probed_levels.h"
#include "query/find_xserver.h"

#include <jansson.h>
#include <sys/types.h>

struct xs_doctor {
    json_t *facts;    /* an object; its sections appear in order of insertion */
    json_t *problems; /* array of {cause, text, hint} */
    json_t *hints;    /* array of text */
    json_t *devices;  /* the server's answer to /devices; NULL: it does not tell */
    bool schedules_itself; /* the process: by a local policy */
    bool unasked;          /* the process: it has joined a server that does not tell its queues */
    bool asked_driver;     /* the process: its calls reach a shim, and it has made no queue */
    char verdict[1280];    /* one line: the state of things */
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
/** Whether XSched schedules the process, and why not.
 *  @param ret_why  the reason where the result is -EACCES
 *  @return 0; -ENOENT, -ESRCH no such process; -EACCES doctor may not look into it, and no server tells of it */
int xs_doctor_process(struct xs_doctor *d, pid_t pid, char *ret_why, size_t size);

/** The job of a process, and whether it spans hosts. @param get  its environment (base/job.h); NULL: this
 *  process's own */
void xs_doctor_job(struct xs_doctor *d, const char *(*get)(void *ctx, const char *name), void *ctx);
/** One line of an environment, NAME=VALUE, if it is one of XSched's or loads a shim.
 *  @param to  the object that keeps those
 *  @param here  of this shell, not of a program that runs */
void xs_doctor_variable(struct xs_doctor *d, json_t *to, const char *line, bool here);

struct xs_proc;

/* ---- servers ---- */

struct xs_doctor_server {
    struct xs_place place;
    int err;        /* of the look as this user */
    int err_theirs; /* as the program's user, who may have other rights */
    pid_t pid;      /* of the server; 0: not known */
    uid_t uid;
    bool stopped;             /* by a signal, a debugger or its control group: the kernel takes connections all the same */
    json_t *status, *clients; /* its answers; NULL: it does not answer */
};

struct xs_doctor_servers {
    size_t count, places; /* the first ones are the places where the program looks */
    struct xs_doctor_server *items;
};

/** The places where a process looks, then the other servers of this machine.
 *  @param p  NULL: a program that this process would start */
void xs_doctor_servers_find(struct xs_doctor_servers *ret, const struct xs_proc *p);
void xs_doctor_servers_free(struct xs_doctor_servers *s);
/** Says so, if the server that programs find is stopped. @return whether it is */
bool xs_doctor_server_is_stopped(struct xs_doctor *d, const struct xs_doctor_servers *all);
json_t *xs_doctor_servers_json(const struct xs_doctor_servers *s);
/** The first place where a server is that the program may use. @return NULL: there is none */
const struct xs_doctor_server *xs_doctor_servers_first(const struct xs_doctor_servers *s);
/** "PATH: nobody listens any more; PATH: ...", of the places. */
void xs_doctor_servers_text(const struct xs_doctor_servers *s, char *ret, size_t size);
/** The row of a server's clients that is the process. @return NULL: it does not know it, or does not tell */
json_t *xs_doctor_server_row(const struct xs_doctor_server *s, const struct xs_proc *p);
/** GET path on the HTTP socket that belongs to a server's socket. @return a new reference or NULL */
json_t *xs_doctor_ask(const char *server_socket, const char *path);

/* ---- a process ---- */

/** What the environment at the start of the process asks for. */
struct xs_doctor_wish {
    bool disabled, automatic, local, global;
};
struct xs_doctor_wish xs_doctor_wish_of(const struct xs_proc *p);

/** The queues of the process and what they wait for.
 *  @param s  the server that knows it
 *  @param row  its row there */
void xs_doctor_queues(struct xs_doctor *d, const struct xs_proc *p, const struct xs_doctor_servers *all,
                      const struct xs_doctor_server *s, json_t *row);
/** Why no server knows the process. */
void xs_doctor_not_joined(struct xs_doctor *d, const struct xs_proc *p, const struct xs_doctor_servers *all);
/** Whether a shim is in the process, and whether what is there fits together. */
bool xs_doctor_shims(struct xs_doctor *d, const struct xs_proc *p);
/** Why no shim is in the process. */
void xs_doctor_no_shim(struct xs_doctor *d, const struct xs_proc *p);
/** A device that the process uses, and whose shim saw no call of it. */
void xs_doctor_unused_shims(struct xs_doctor *d, const struct xs_proc *p);
/** Why the Vulkan layer is not in a process that has Vulkan's loader. */
void xs_doctor_layer(struct xs_doctor *d, const struct xs_proc *p);
/** Other programs on the devices of the process that its server does not schedule.
 *  @param queues  of the process */
void xs_doctor_beside(struct xs_doctor *d, const struct xs_proc *p, const struct xs_doctor_servers *all,
                      const struct xs_doctor_server *s, const json_t *queues);
/** Of the machine: the servers beside the one that programs find first, and programs on its GPUs that no server here knows. */
void xs_doctor_beside_here(struct xs_doctor *d, const struct xs_doctor_servers *all);

/** Whether the vendor's loader took our shim as a layer or as a driver: then calls get there, whatever way they took to
 *  the loader. */
bool xs_doctor_is_layer(const struct xs_proc *p, const struct xs_platform *platform);
/** Which objects in the process call a vendor's library, which copy of it, and which calls bypass the
 *  shim. */
void xs_doctor_calls(struct xs_doctor *d, const struct xs_proc *p);
/** Functions that the process got and that no table of ours has. */
void xs_doctor_unseen(struct xs_doctor *d, const struct xs_proc *p);
/** Whether a shim has seen a call of the program. @return 1, 0, or -errno: -ENOENT unknown, -EACCES, -EPERM no right to look */
int xs_doctor_begun(const struct xs_proc *p, const struct xs_platform *platform);

/** Vendor libraries on this machine, with their platforms; run in a child of its own. */
json_t *xs_doctor_vendors(void);
/** What a child process finds out: loads other people's code, which may crash or hang.
 *  @param ret_end  how it ended where the answer is NULL: "crashed (signal 11)" */
json_t *xs_doctor_in_child(void (*work)(void *ctx, json_t *ret), void *ctx, char *ret_end, size_t size);
/** The processes on the GPUs here: [{"pid", "device"}], device as in xserver's answers, 0: not known. */
json_t *xs_doctor_gpu_processes(void);

#endif
