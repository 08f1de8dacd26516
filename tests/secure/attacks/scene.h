/* SPDX-License-Identifier: Apache-2.0 */
/* A host under attack: an xserver with the default options, a victim (user 2000) whose two programs compete, and attackers
 * (users 2001 and 2002). Needs root, which becomes these users. Each attack is a program of its own. */
#ifndef XS_TESTS_SCENE_H
#define XS_TESTS_SCENE_H

#include "raw.h"

#include <stdbool.h>
#include <stdint.h>

#define VICTIM   2000u
#define ATTACKER 2001u
#define HELPER   2002u
#define DEVICE   (1ull << 32 | 0xffff0007)

#define SCENE_WAITS 256

/** What the scene lets the processes share. */
struct scene_shared {
    _Atomic int ready, stop;
    _Atomic uint64_t worst_ns; /* that the victim waited for a decision that was due */
    _Atomic uint64_t rounds;
    uint32_t waits[SCENE_WAITS]; /* how many of its waits took so long: element i up to 1.09^i us */
    uint32_t busy_waits[SCENE_WAITS]; /* the same with that part of each in which xserver computed */
    _Atomic int notes[8];      /* the attack's own */
};

struct scene {
    struct raw_server server;
    struct scene_shared *shared;
    pid_t victim, attackers[16];
    unsigned n_attackers;
    uint64_t cpu_ns, loop_ns, cpu_since_ns; /* what xserver, and its main loop, had used when the victim ran */
    uint64_t quiet_rounds;                  /* of the victim until then, */
    double quiet_round_ns;                  /* ... and what the main loop used for each: see scene_quiet */
    double loop_share;
};

/** Starts xserver and the victim. Ends the process with 77 when this is not root. With XSCHED_ATTACK_STRICT=1 in the
 *  environment, on a machine of sixteen cores, xserver does not look at doorbells by itself (spin-cpu 0), and scene_end
 *  is strict. */
void scene_begin(struct scene *s);
/** The same with one more option of xserver's. */
void scene_begin_with(struct scene *s, const char *option);
/** Runs in a process of that user until it returns, or the scene ends. */
void scene_attack(struct scene *s, unsigned uid, void (*attack)(struct scene *s));
/** Runs in a process of that user and waits for its end. @return what it returned; 98: it failed or took a minute */
int scene_probe(struct scene *s, unsigned uid, int (*probe)(struct scene *s));
/** Probes: a program joins, has a queue and leaves; GET /status is answered. */
int scene_join(struct scene *s);
int scene_ask(struct scene *s);
/** Lets another user and root probe, and prints how that went. @param yes, no  what they do, by what the probe returned
 *  @return whether it failed for one of them */
bool scene_others(struct scene *s, const char *name, int (*probe)(struct scene *s), const char *yes, const char *no);
/** A whole test: the attacker takes what it can and then sets note 0; does another user, or root, still get some? See
 *  scene_others. @return exit status */
int scene_taken(struct scene *s, const char *name, void (*attack)(struct scene *s), int (*probe)(struct scene *s),
                const char *yes, const char *no);
/** Waits until a note of the attackers' has that value, for 30 s at most. */
void scene_await(struct scene *s, unsigned note, int value);
/** Lets it go on for so long, ends all, prints two lines and returns the exit status: 1 where the victim waited
 *  longer than bound_ms for a decision, or xserver did not end well. A strict run also fails where one of 100 waits took
 *  more than 0.5 ms, or the main loop used more than 10 % of a core. */
int scene_end(struct scene *s, const char *name, unsigned seconds, double bound_ms);
/** Before the attack: lets the victim run alone for so long, to learn what its rounds cost xserver's main loop. */
void scene_quiet(struct scene *s, unsigned seconds);
/** After scene_end: percent of a core that the main loop used since then beside what the victim's rounds cost. */
double scene_loop_share(const struct scene *s);
/** Waits of the victim that took longer than so many milliseconds. *ret_all: how many there were. */
uint64_t scene_late_waits(const struct scene *s, double ms, uint64_t *ret_all);
/** Likewise those in which xserver computed for so long, and not those in which something else had the core. */
uint64_t scene_busy_waits(const struct scene *s, double ms, uint64_t *ret_all);
/** Becomes that user, in a process of its own. */
void scene_become(unsigned uid);

/** A connected TCP socket that nobody reads from, full of data, whose close waits for so many seconds.
 *  @return the socket, or -1 when there are no descriptors left; *ret_peer must stay open */
int scene_lingering(int *ret_peer, int seconds);
/** Sends bytes with descriptors on a connection, as they are. @return 0 or -errno */
int scene_send(int fd, const void *bytes, size_t n, const int *fds, unsigned n_fds);
/** Keeps xserver busy with this connection for a moment, so that what is sent next is closed here before it is read there,
 *  and the last reference is xserver's. */
void scene_delay(int fd);
/** The head of a message of a kind that this xserver does not know. */
struct xs_wire_head scene_unknown(void);

/** @return whether this run has a quiet machine of many cores (XSCHED_ATTACK_STRICT=1) */
bool scene_is_strict(void);

#endif
