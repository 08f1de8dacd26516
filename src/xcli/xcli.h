/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of xcli share. One thread. */
#ifndef XS_XCLI_H
#define XS_XCLI_H

#include "base/settings/value.h"

#include <argp.h>
#include <jansson.h>

/** Exit codes. */
enum { XCLI_OK = 0, XCLI_REFUSED = 1, XCLI_ABSENT = 2, XCLI_USAGE = 64, XCLI_UNWRITTEN = 74 };

struct xcli_options {
    const char *address; /* NULL: the Unix socket of the first server that answers */
    const char *socket;  /* xserver's; its HTTP socket is beside it */
    const char *token;
    uint16_t port; /* 0: not given */
    bool json;
};
extern struct xcli_options g_xcli; /* main() writes it before any command runs */

/* ask.c */
/** Prints errors on stderr. @return an exit code; on XCLI_OK *ret is the answer, the caller's */
int xcli_ask(const char *method, const char *path, const char *body, json_t **ret);
/** The same without printing. @param ret_why  the error */
int xcli_try(const char *method, const char *path, const char *body, char *ret_why, size_t size, json_t **ret);
/** For --json: the whole answer, indented. */
void xcli_print_json(const json_t *json);
int64_t xcli_int(const json_t *o, const char *name);
const char *xcli_text(const json_t *o, const char *name);
bool xcli_true(const json_t *o, const char *name);

/* arguments.c; those with a state end the program when the argument is wrong */
uint64_t xcli_handle_arg(struct argp_state *state, const char *arg);
int64_t xcli_value_arg(struct argp_state *state, const char *what, const struct xs_value_type *type, const char *arg);
int64_t xcli_number_arg(struct argp_state *state, const char *what, const char *arg, int64_t min, int64_t max);
int64_t xcli_pid_arg(struct argp_state *state, const char *arg);
/** "500ms", "30s", "5m", "2h"; a number alone is seconds. @return milliseconds */
uint64_t xcli_duration_arg(struct argp_state *state, const char *arg);
/** The option --json behind a command. */
extern const struct argp_child xcli_json_child[];
/** The member of a list with that number. @return NULL: there is none */
const json_t *xcli_find(const json_t *list, const char *key, int64_t value);
const char *xcli_user_name(int64_t uid);

/** The filters --user and --device. */
struct xcli_filter {
    bool by_user;
    int64_t uid;
    const char *device; /* the driver's number, UUID, a part of address or model; NULL: all */
    json_t *devices;    /* answer to /devices */
};
/** @return false: there is no such user */
bool xcli_filter_user(struct xcli_filter *f, const char *arg);
/** Asks the server for the facts that the filter needs. Prints a line where no device can be meant.
 *  @param watches  the command goes on, and programs may come
 *  @return an exit code */
int xcli_filter_begin(struct xcli_filter *f, bool watches);
void xcli_filter_end(struct xcli_filter *f);
bool xcli_filter_passes(const struct xcli_filter *f, int64_t uid, uint64_t device);
bool xcli_filter_device(const struct xcli_filter *f, uint64_t device);
/** list_devices.c: `xcli list --devices` */
int xcli_list_devices(const struct xcli_filter *f, size_t width);
/** Removes members that do not pass from an answer to /xqueues. */
void xcli_filter_apply(const struct xcli_filter *f, json_t *answer);

/** Scales the shares of a device to 100 % where their sum is more. Programs can report more device time
 *  than the time that passed, if their threads wait for a CPU between a command's end and the look at
 *  it.
 *  @param devices, shares  of n queues
 *  @return whether it scaled any: those are estimates then */
bool xcli_scale_shares(const uint64_t *devices, double *shares, size_t n);

typedef int xcli_command(int argc, char **argv);

/* hosts.c */
bool xcli_host_valid(const char *host);
/** Runs the command for each host of the list "A,B:PORT", and writes into the list. An answer stands
 *  under its host's name; with --json all are one object. @return the highest exit code of them */
int xcli_on_hosts(char *list, xcli_command *run, int argc, char **argv);

/* queue_text.c */
enum xcli_state { XCLI_IDLE, XCLI_RUNNING, XCLI_BESIDE, XCLI_WAITING, XCLI_SUSPENDED, XCLI_SWAPPED };
extern const char *const xcli_state_names[];
/** @param process  the queue's; NULL: not known */
enum xcli_state xcli_queue_state(const json_t *q, const json_t *process);
/** "rank:4242": why it waits, in one word, and the process that runs instead; "": it does not wait, or an older xserver. */
void xcli_why_text(const json_t *q, char *ret, size_t size);
/** "1.5/8.0G": device memory of a program and its limit; "-": it has none. */
void xcli_memory_text(const json_t *process, char *ret, size_t size);
/** "GPU:0000:3b:00.0" */
void xcli_device_text(uint64_t device, char *ret, size_t size);
/** "116/132": of the device's multiprocessors those to which a queue is confined; "-": it is not. */
void xcli_lane_text(int64_t lane, int64_t reserve, char *ret, size_t size);
/** "GPU" */
void xcli_device_type(uint64_t device, char *ret, size_t size);

/* policy.c */
/** The request that changes to the policy of that name; one that the server loaded counts, too.
 *  @param ret_names  where there is none: those there are
 *  @return false: there is none */
bool xcli_policy_path(const char *name, char *ret, size_t size, char *ret_names, size_t names_size);

/* list_original.c */
/** Prints the n queues, each with its program's command line, as the original's xcli does. */
void xcli_list_original(const json_t *const *queues, const char *const *commands, size_t n);

/* The commands; argv[0] is the command's name. @return an exit code */
int xcli_list(int argc, char **argv);
int xcli_top(int argc, char **argv);
int xcli_config(int argc, char **argv);
int xcli_policy(int argc, char **argv);
int xcli_hint(int argc, char **argv);
int xcli_status(int argc, char **argv);
int xcli_suspend(int argc, char **argv);
int xcli_resume(int argc, char **argv);
int xcli_swap(int argc, char **argv);
int xcli_web(int argc, char **argv);
int xcli_logs(int argc, char **argv);

#endif
