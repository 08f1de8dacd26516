/* SPDX-License-Identifier: Apache-2.0 */
/* The server's own tables. They belong to the main loop's thread, except the words that
 * death_watch.h names. */
#ifndef XS_XSERVER_SERVER_H
#define XS_XSERVER_SERVER_H

#include "asks/request.h"
#include "base/list.h"
#include "config/options.h"
#include "config/priority_limits.h"
#include "sched/sched.h"
#include "transport/socket.h"
#include "wire/hints.h"
#include "wire/page.h"
#include "wire/wire.h"
#include "xserver/prewake/prewake.h"
#include "xserver/prewake/arrivals.h"
#include "xserver/death_watch.h"
#include "xserver/close_worker.h"
#include "xserver/activation.h"
#include "xserver/announced.h"
#include "xserver/asks.h"
#include "xserver/event_sources.h"
#include "xserver/handles.h"
#include "xserver/server_socket.h"
#include "xserver/records/history.h"
#include "xserver/records/loads.h"
#include "xserver/level3/lv3.h"
#include "xserver/realtime.h"
#include "xserver/shares/rate_limit.h"
#include "xserver/spin.h"
#include "xserver/swaps/swaps.h"
#include "xserver/records/timeline.h"

#define XS_LEAVES_A_ROUND 256u /* queues of a program that ends, see leave.c */
#define XS_FREES_A_ROUND  1024u /* queues whose storage it frees; a page of a program counts as many */

#define XS_CONTROL_NS     (200 * XS_NS_PER_US) /* the loop looks at doorbells again after that */

/** A program on a device that it has queues on. */
struct xs_client_device {
    struct xs_list in_client;
    XDevice device;
    struct xs_list queues; /* ready ones first */
    uint32_t n;
    struct xs_lv3_kfd *kfd; /* the kernel-driver queues that the program can suspend here by itself;
                               NULL: none */
};

/** One connection: first unjoined, then a program's session. */
struct xs_client {
    struct xs_list link; /* in the server's unjoined, askers, clients, leaving or dead */
    struct xs_list of_pid; /* joined: sessions of processes with such numbers, in order of session; see handles.h */
    struct xs_source socket_source, bell_source, pidfd_source;
    int fd, bell;
    struct xs_socket_peer peer;
    struct xs_quota_user *user;
    bool privileged; /* it operates, and is in no pod that has a share of its own: shares do not bind it */
    bool charged; /* its session */
    struct xs_limits limits;
    bool operates; /* it may see and change everything: see xs_client_operates */
    bool joined, waiting_to_send;
    bool dead; /* dropped: no request sees it. While it is in the server's leaving, the scheduler has its queues */
    struct xs_asking *asking; /* a user or tool asks over it; NULL: it is a program's. Not joined */
    bool expected; /* not joined, and its process may: see announced.h */
    uint64_t accepted_ns, session;
    struct xs_client_page *page;
    struct xs_server_page *server_page;
    struct xs_sched_process *process;
    struct xs_list queues, devices;
    struct xs_list unsent; /* queues with unsent messages, for when the socket has room */
    uint32_t n_devices, n_places; /* n_places: as XS_POOL_PLACES has them */
    uint64_t cells[XS_PAGE_QUEUES / 64]; /* bit i: cell i is in use */
    struct xs_client_record record;      /* its record for users; has the counts of queues that are gone */
    int death_slot;
    struct xs_load_of load;
    bool hot; /* in the server's hot list; asleep may be 0 */
    uint64_t rang_ns;
    uint64_t held_ns;             /* when a queue of it was last suspended */
    struct xs_arrivals arrivals;
    struct xs_swap_of swap;
    uint32_t serial, refusals;
    struct xs_rate_of rate;
    struct xs_lv3_of level3;
};

struct xs_server_queue {
    struct xs_list in_client, in_server, in_device;
    struct xs_list in_unsent; /* of its client */
    struct xs_client_device *on;
    struct xs_server_queue *next_of_hash;
    bool is_marker; /* marks the place of a walk in the server's list; no queue */
    bool ready;     /* as its program's arrivals have it */
    bool closed;    /* its word is */
    bool waits;     /* counted in the server's prewake.waits */
    uint64_t order; /* in the server's list; a marker has that of the last one before it */
    struct xs_client *client;
    struct xs_sched_queue *sched;
    uint64_t handle;
    XDevice device;
    uint32_t cell;
    int32_t level; /* in force, as the program reported */
    uint32_t levels, platform;
    int64_t threshold, batch_size;
    uint64_t changed_ns[XS_PARTS];     /* of its hints, by our clock: see wire/hints.h */
    bool send_hints, send_config;      /* not sent yet: the program does not read */
    struct xs_msg_queue_config config; /* the one to send */
};

/** Changes of whole processes in progress, one after the other: see change_requests.c. */
struct xs_changes {
    struct xs_request *first, **last; /* through next */
    struct xs_client *client;         /* the client with the queues that the first one changes now;
                                         NULL: the next session after `session` */
    uint64_t session;
    struct xs_list *at; /* the next queue of that client; the list's head: no more */
    uint64_t due_ns;    /* no suspension ends by itself before this; UINT64_MAX: none does */
};

struct xs_server {
    struct xs_options options;
    struct xs_sched *sched;
    struct xs_policy_module *module; /* the policy's, when it came from a shared object; else NULL */
    struct xs_server_socket socket;
    struct xs_event_sources sources;
    char http_path[XS_SOCKET_PATH_BYTES];
    uint16_t http_port; /* 0: none */
    int last_fd, most_fds; /* the number of the latest descriptor; how many there may be */
    bool stop, reload;
    unsigned turn; /* of events that the loop serves in turn */
    uint32_t own_uid;

    struct xs_list unjoined, askers, clients, leaving, dead, queues, windows;
    uint32_t n_unjoined, n_clients; /* with those that leave */
    uint64_t leave_ns; /* a step of those that leave is due then; UINT64_MAX: none does */
    struct xs_announced expected;  /* kept only when the server ends for want of programs */
    struct xs_quota quota;
    struct xs_handles handles;
    struct xs_spin spin;
    struct xs_prewake prewake;
    struct xs_swaps swaps;
    struct xs_level3 level3;
    struct xs_rates rates;

    struct xs_death_watch *death_watch; /* NULL: the kernel cannot */
    struct xs_close_worker *close_worker;
    int64_t clock_offset_ns;    /* its own, as xs_clock_offset_ns */
    struct xs_request *walking; /* snapshots in progress, through next */
    struct xs_changes changes;
    uint64_t queues_ever;

    uint64_t now_ns;        /* of this round */
    uint64_t lease_ns;      /* renew the leases then; UINT64_MAX: there is no closed word */
    uint64_t house_ns;      /* next look at slow changes; UINT64_MAX: none is due */
    uint64_t idle_since_ns; /* no program has been here since then */
    struct xs_watchdog watchdog;
    struct xs_realtime realtime;
    bool changed;           /* a decision changed something since the last clear */
    bool held;              /* ... closed a word */
    uint64_t class_session; /* CPU classes: read up to this session in this pass */

    struct xs_history history;
    struct xs_loads loads;
    struct xs_timeline timeline;
    struct xs_status_record counts;
    uint64_t started_ns;
};

/* server.c: setting up and taking down */
/** @return 0 or -errno with the reason in ret_error */
int xs_server_start(struct xs_server *s, const struct xs_options *o, char *ret_error, size_t error_size);
/** Stops listening, opens every queue and closes the programs' sockets, so that they notice. */
void xs_server_leave(struct xs_server *s);
/** Frees all. */
void xs_server_stop(struct xs_server *s);
/** Ends the listening when no program wants to join. @return true when the server may end */
bool xs_server_retire(struct xs_server *s);

/* scheduler_hooks.c */
extern const struct xs_sched_ops xs_scheduler_hooks;
/** Notes an event for `xsched record`, while that asks. q: NULL: of the server. */
void xs_server_note(struct xs_server *s, const struct xs_server_queue *q, enum xs_timeline_kind kind, int32_t value,
                    uint64_t now_ns);

/* apply_options.c */
/** The operators, and the limits of users, by s->options. @return 0 or -errno with the reason in ret_error */
int xs_server_take_rules(struct xs_server *s, char *ret_error, size_t error_size);
/** s->sched, with the policy and the constants of s->options. @return 0 or -errno; ret_error may have the reason */
int xs_server_make_scheduler(struct xs_server *s, char *ret_error, size_t error_size);
/** Sets another policy. Reads CPU classes at once, for a policy that uses them. */
void xs_server_set_policy(struct xs_server *s, const struct xs_policy_ops *policy);
/** Whether the host has what the value names: a group, users, a policy's shared object.
 *  As xs_option_check. */
int xs_server_check_option(enum xs_option_id id, const char *value, char *ret_error, size_t error_size);
/** Takes over the live options, all of them or, where one is wrong, none. Keeps a policy that a request
 *  has set, until the option names another one.
 *  @return 0 or -errno with the reason in ret_error */
int xs_server_apply_options(struct xs_server *s, const struct xs_options *o, char *ret_error,
                            size_t error_size);
/** The first program at level 3 came, or the last one left. */
void xs_server_update_switch(struct xs_server *s);

/* loop.c */
/** Runs until a signal or idleness ends it; calls reload on SIGHUP. */
void xs_server_run(struct xs_server *s, void (*reload)(struct xs_server *s));
/** Decides. @param since_ns  when the event came that may have caused a change; 0: none
 *  @return when to decide again at the latest */
uint64_t xs_server_decide(struct xs_server *s, uint64_t since_ns);

/* sessions.c */
void xs_client_accept(struct xs_server *s);
/** Receives a bounded number of packets. @param hung_up  the program closed its end */
void xs_client_readable(struct xs_server *s, struct xs_client *c, bool hung_up);
/** Events of its socket, as waiting_to_send and the rate ask for them. */
void xs_client_listen(struct xs_server *s, struct xs_client *c);
void xs_client_writable(struct xs_server *s, struct xs_client *c);
/** Hangs up. It leaves: see leave.c. */
void xs_client_drop(struct xs_server *s, struct xs_client *c, const char *why);
void xs_client_refuse(struct xs_server *s, struct xs_client *c, enum xs_refused_reason reason, unsigned of,
                      uint64_t handle, const char *text);
/** Sends the queue's hints, its configuration, or both; later if the program does not read. */
void xs_client_tell(struct xs_server *s, struct xs_server_queue *q);
/** Asks its process for a mark, if it knows how; once, and not again if that fails. */
void xs_client_ask_mark(struct xs_server_queue *q);
/** NULL: it has no queues there. */
struct xs_client_device *xs_client_device_find(const struct xs_client *c, XDevice device);
/** Its commands stand behind gates while it is suspended: at level 2, and at level 3 where we said so. */
static inline bool xs_client_has_gates(const struct xs_client *c, const struct xs_server_queue *q)
{
    return q->level == 2 || (q->level == 3 && c->level3.gates);
}
/** The program's own report of its device memory; nothing checks it. */
void xs_client_memory(const struct xs_client *c, struct xs_client_record *ret);
/** Its record for users, counted up to now. */
void xs_client_describe(struct xs_server *s, const struct xs_client *c, struct xs_client_record *ret);
void xs_client_counts_of_queue(struct xs_server *s, const struct xs_server_queue *q, struct xs_client_record *sum);
/* leave.c: a program's end */
/** A dropped session leaves: with up to XS_LEAVES_A_ROUND queues at once, else in steps. Frees the storage later. */
void xs_client_leave(struct xs_server *s, struct xs_client *c, const char *why);
/** One more step of those that leave, if it is time. */
void xs_client_leave_on(struct xs_server *s);
/** All that leave have left. */
void xs_client_leave_all(struct xs_server *s);
/** Of the latest session of the same process that leaves or has left; NULL: none is known. */
const struct xs_client_record *xs_client_last_record(const struct xs_server *s, const struct xs_client *c);
/** Frees storage, of so many queues at most, or one page of a program; UINT_MAX: all. */
void xs_client_free_dead(struct xs_server *s, unsigned limit);

/** Drops programs whose robust word shows their death, until that time. @return false: there may be
 *  more of them */
bool xs_client_reap(struct xs_server *s, uint64_t until_ns);
/** Whether its process may see and change everything: the server's own user may, and root and operators
 *  in the host's own namespaces. For the latter it reads some files of /proc. */
bool xs_client_operates(const struct xs_server *s, const struct xs_client *c);
/** Applies the configuration's rules for its user, from now on. c->operates is valid. */
void xs_client_take_limits(struct xs_server *s, struct xs_client *c);

/* join.c: a program's first message */
/** Checks it, makes the pages, adds the program to the scheduler and answers.
 *  @param fds  the client page and an eventfd; those that it keeps or closes become -1
 *  @return false when it refused and dropped the program */
bool xs_client_join(struct xs_server *s, struct xs_client *c, const struct xs_msg_hello *m, int *fds, unsigned n_fds);

/** Takes the command lines that close workers have read meanwhile. */
void xs_client_take_cmdlines(struct xs_server *s);

/* messages.c: a program's messages */
/** @param fds  the descriptors that it keeps become -1; the caller closes the others
 *  @return false when it dropped the program */
bool xs_message_handle(struct xs_server *s, struct xs_client *c, const void *packet, size_t bytes, int *fds,
                       unsigned n_fds);
void xs_server_queue_forget(struct xs_server *s, struct xs_server_queue *q);
struct xs_dated_hints xs_server_queue_hints(const struct xs_server_queue *q);
/** Bounds priorities that differ from those before. An operator's priority stays. */
void xs_client_bound_hints(const struct xs_client *c, const struct xs_hints *before, struct xs_hints *h);
void xs_server_queue_set_hints(struct xs_server *s, struct xs_server_queue *q, const struct xs_dated_hints *h);

/* answer_requests.c: users' questions */
void xs_requests_handle(struct xs_server *s, struct xs_request *r);
void xs_requests_answer(struct xs_server *s, struct xs_request *r, int status, const char *format, ...) XS_PRINTF(4, 5);
/** The handle that it names is none of a queue. */
void xs_requests_answer_no_queue(struct xs_server *s, struct xs_request *r);
/** Whether the asker may see and change the program. */
bool xs_requests_may(const struct xs_request *r, const struct xs_client *c);
/** So many queues and programs a snapshot has now. */
void xs_requests_need(struct xs_server *s, const struct xs_request *r, size_t *ret_queues, size_t *ret_clients);
/** Its connection is gone. Frees the request, at once or when its change is done. */
void xs_requests_abandon(struct xs_server *s, struct xs_request *r);
/** Goes on with some of the snapshots, a bounded step each. */
void xs_requests_walk(struct xs_server *s);
/** Refuses all snapshots in progress. */
void xs_requests_walk_end(struct xs_server *s);
/** A queue goes, or a program with its counts so far. Snapshots in progress still get its counts, so
 *  that no counter is smaller than in the one before. */
void xs_requests_queue_goes(struct xs_server *s, const struct xs_server_queue *q);
void xs_requests_client_goes(struct xs_server *s, const struct xs_client *c);
void xs_requests_cpu_classes(struct xs_server *s);

/* change_requests.c: users' changes */
void xs_requests_change(struct xs_server *s, struct xs_request *r);
/** Goes on with the change in progress, s->changes.first, by a bounded step. */
void xs_requests_change_step(struct xs_server *s);
/** A queue goes, or a program: the change in progress looks at it no more. */
void xs_changes_queue_goes(struct xs_server *s, const struct xs_server_queue *q);
void xs_changes_client_goes(struct xs_server *s, const struct xs_client *c);
/** A suspension ends by itself then. */
void xs_changes_end_at(struct xs_server *s, uint64_t at_ns);
/** Its queues follow what xs_sched_process_say_held and xs_sched_process_say_absent said. */
void xs_changes_follow(struct xs_server *s, struct xs_client *c);
/** Resumes processes whose suspension ends by now. @return when the next one does; UINT64_MAX: none */
uint64_t xs_changes_due(struct xs_server *s);
/** Refuses all changes in progress. */
void xs_changes_end(struct xs_server *s);

#endif
