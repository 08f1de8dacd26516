/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of xcli share. One thread. */
#ifndef XS_XCLI_H
#define XS_XCLI_H

#include "base/xs_base.h"

#include <jansson.h>

/** Exit codes. */
enum { XCLI_OK = 0, XCLI_REFUSED = 1, XCLI_ABSENT = 2, XCLI_USAGE = 64 };

struct xcli_options {
    const char *address; /* NULL: the Unix socket of the first server that answers */
    const char *socket;  /* xserver's; its HTTP socket is beside it */
    const char *token;
    uint16_t port; /* 0: not given */
    bool json;
};
extern struct xcli_options g_xcli; /* written by main() before any command runs */

/* ask.c */
/** @param quiet  says nothing on failure
 *  @return an exit code; on XCLI_OK *ret is the answer, the caller's */
int xcli_ask(const char *method, const char *path, const char *body, bool quiet, json_t **ret);
/** For --json: the answer as it came, indented. */
void xcli_print_json(const json_t *json);
int64_t xcli_int(const json_t *o, const char *name);
const char *xcli_text(const json_t *o, const char *name);
bool xcli_true(const json_t *o, const char *name);

/* list.c */
struct xs_table;
/** Fills the table of queues.
 *  @param before  the answer `interval_s` ago, for rates; NULL: none */
void xcli_queue_table(const json_t *answer, const json_t *before, double interval_s, struct xs_table *t);

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
