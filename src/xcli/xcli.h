/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of xcli share. One thread. */
#ifndef XS_XCLI_H
#define XS_XCLI_H

#include "base/xs_base.h"

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
extern struct xcli_options g_xcli; /* written by main() before any command runs */

/* ask.c */
/** Says what went wrong on stderr. @return an exit code; on XCLI_OK *ret is the answer, the caller's */
int xcli_ask(const char *method, const char *path, const char *body, json_t **ret);
/** The same without a word. @param ret_why  what went wrong */
int xcli_try(const char *method, const char *path, const char *body, char *ret_why, size_t size, json_t **ret);
/** For --json: the answer as it came, indented. */
void xcli_print_json(const json_t *json);
int64_t xcli_int(const json_t *o, const char *name);
const char *xcli_text(const json_t *o, const char *name);
bool xcli_true(const json_t *o, const char *name);

/* list.c */
/** "GPU:0000:3b:00.0" */
void xcli_device_text(uint64_t device, char *ret, size_t size);
/** "GPU" */
void xcli_device_type(uint64_t device, char *ret, size_t size);

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

#endif
