/* SPDX-License-Identifier: Apache-2.0 */
/* A private xserver, and clients that speak its protocol over real pages without libpreempt. */
#ifndef XS_TESTS_RAW_H
#define XS_TESTS_RAW_H

#include "transport/socket.h"
#include "wire/page.h"
#include "wire/wire.h"

#include <jansson.h>
#include <sys/types.h>

struct raw_server {
    pid_t pid;
    char dir[64], socket[96], http[96], log[96];
    int port; /* of HTTP on TCP; 0: not asked yet */
};

/** Starts xserver in a folder of its own with these further arguments (ended by NULL), and waits
 *  until it listens. Fails the test when it does not. */
void raw_server_start(struct raw_server *s, const char *const *args);
/** SIGTERM, waits. @return exit status */
int raw_server_stop(struct raw_server *s);
/** The same two as the setup and the teardown of a cmocka test or group; the state is the server. @return 0 */
int raw_server_setup(void **state, struct raw_server *s, const char *const *args);
int raw_server_teardown(void **state);
/** The whole log so far, allocated. */
char *raw_server_log(const struct raw_server *s);
/** Waits until the log has the words, five seconds at most. Fails else. */
void raw_server_says(const struct raw_server *s, const char *words);
/** What its threads did so far. Equal before and after means that none of them ran: one that sleeps and wakes is switched
 *  to and away, one that never sleeps uses ticks. */
struct raw_ran {
    unsigned long switches, ticks, threads;
};
void raw_server_ran(const struct raw_server *s, struct raw_ran *ret);

struct raw_client {
    int fd, page_fd, bell;
    struct xs_client_page *page;
    struct xs_server_page *server;
    uint64_t session, prefix;
    uint32_t serial, server_minor;
};

/** Connects and makes the pages; says nothing yet. */
void raw_connect(struct raw_client *c, const char *socket_path);
/** Fills a hello as a good client would. */
void raw_hello_fill(const struct raw_client *c, union xs_msg *m);
/** Sends a hello and takes the answer. @return 0, or the reason of the refusal; -1 hung up */
int raw_hello(struct raw_client *c, union xs_msg *m, const int *fds, unsigned n_fds);
/** Takes the answer alone. @return as raw_hello */
int raw_hello_answer(struct raw_client *c);
/** raw_connect and a good hello. @return as raw_hello */
int raw_try_join(struct raw_client *c, const char *socket_path);
/** The same; fails the test where it is refused. */
void raw_join(struct raw_client *c, const char *socket_path);
/** Closes everything, without a word. */
void raw_leave(struct raw_client *c);

void raw_send(struct raw_client *c, union xs_msg *m, enum xs_msg_id id);
/** The next message. @return its id, 0 when the server hung up, -1 when none came in time */
int raw_receive(struct raw_client *c, union xs_msg *ret, int timeout_ms);
void raw_add_fill(const struct raw_client *c, union xs_msg *m, uint32_t cell, uint64_t device,
                  int32_t priority);
uint64_t raw_handle(const struct raw_client *c, uint32_t cell);
/** A queue on cell `cell`; waits until the server has it. */
void raw_add(struct raw_client *c, uint32_t cell, uint64_t device, int32_t priority);
/** Queues on cells 0 to n - 1; waits until the server has them. */
void raw_add_many(struct raw_client *c, uint32_t n, uint64_t device, int32_t priority);
void raw_remove(struct raw_client *c, uint32_t cell);
/** Waits until the server has handled everything that was sent. */
void raw_settle(struct raw_client *c);

/** What libpreempt does at a submit and at a completion: counts, and rings if asked to. */
void raw_submit(struct raw_client *c, uint32_t cell);
void raw_complete(struct raw_client *c, uint32_t cell);
bool raw_permitted(const struct raw_client *c, uint32_t cell);
/** Waits until it is so, at most timeout_ms. @return whether it is */
bool raw_wait_permitted(const struct raw_client *c, uint32_t cell, bool permitted, int timeout_ms);

/** A connection to the Unix socket of HTTP on which nothing was said. @param flags  SOCK_NONBLOCK or 0
 *  @return the socket, or -1 */
int raw_http_connect(const struct raw_server *s, int flags);
/** HTTP on the Unix socket. @return status; *ret_json (may be NULL) is the caller's */
long raw_http(const struct raw_server *s, const char *method, const char *path, const char *body,
              json_t **ret_json);
/** A raw HTTP request on TCP; the answer's text. @return status */
long raw_tcp(struct raw_server *s, const char *request, char *ret_answer, size_t size);
int64_t raw_status(const struct raw_server *s, const char *name);

#endif
