/* SPDX-License-Identifier: Apache-2.0 */
/* Messages as structs, made from messages.def; no I/O here. */
#ifndef XS_WIRE_H
#define XS_WIRE_H

#include "base/settings/value.h"

#define XS_WIRE_MAJOR 1u
/** Protocol minor of this build. A build with XS_WIRE_MINOR_FORCED 0 knows only the first
 *  fields: the test of two real versions against each other uses it. */
#define XS_WIRE_MINOR_NEWEST 8u
#ifdef XS_WIRE_MINOR_FORCED
#define XS_WIRE_MINOR XS_WIRE_MINOR_FORCED
#else
#define XS_WIRE_MINOR XS_WIRE_MINOR_NEWEST
#endif
#define XS_WIRE_MAX_BYTES 1024u   /* no packet is longer */
#define XS_WIRE_MAX_FDS   8u

/* nv_group.flags: SLICES: xserver may give it time slices. PROBED: its driver is newer than those that
 * xserver knows, and the probe saw that slices work under it. Bit 1 (2u) stays free: older processes
 * set it where xserver may switch their channels off, and an older xserver switches off only channels
 * of groups that have it. */
enum { XS_NV_GROUP_SLICES = 1u, XS_NV_GROUP_PROBED = 4u };
/* welcome.flags. MASKS: xserver says by kfd_hold.part to which part of a device masks confine a process.
 * Without it a process has no such lanes. Bit 0 (1u) stays free: an older xserver sets it where it may
 * switch channels off. */
enum { XS_WELCOME_MASKS = 2u };
/* hello.space of processes that share in space by masks of compute units. The numbers of MPS servers are odd. */
#define XS_SPACE_MASKS 2u

/* queue_config.gates: whether a queue at level 3 has gates in its stream, as level 2 has; KEEP: as before */
enum { XS_GATES_KEEP = 0u, XS_GATES_OFF = 1u, XS_GATES_ON = 2u };

/* DRAIN: after a suspension of the process the next ones wait for its commands on the device; NO_DRAIN:
 * not even under a policy that gives turns. MPS_HIGHER, MPS_LOWER: which of its two priorities MPS gave the
 * process at its start; neither from an older process, and from one that shares in time */
enum {
    XS_HELLO_INTRA = 1u,
    XS_HELLO_UTILIZATION = 2u,
    XS_HELLO_DRAIN = 4u,
    XS_HELLO_NO_DRAIN = 8u,
    XS_HELLO_MPS_HIGHER = 16u,
    XS_HELLO_MPS_LOWER = 32u,
};

/* ask.flags. FOR: the asker asks for the user that the message names; only who may change everything can, since that takes
 * no right that he has not. KNOWN, ALL: of that user, see struct xs_asker. HOLD, OUT, LOADS: struct xs_request_params.
 * REPEAT: xserver answers it again each for_ms, until the next question */
enum {
    XS_ASK_FOR = 1u,
    XS_ASK_KNOWN = 2u,
    XS_ASK_ALL = 4u,
    XS_ASK_HOLD = 8u,
    XS_ASK_OUT = 16u,
    XS_ASK_LOADS = 32u,
    XS_ASK_REPEAT = 64u,
};
/* answer.flags. STATE, SETTINGS: that record comes first. MORE: there are events at which xserver did not look.
 * ALL: the asker may see and change everything */
enum { XS_ANSWER_STATE = 1u, XS_ANSWER_MORE = 2u, XS_ANSWER_SETTINGS = 4u, XS_ANSWER_ALL = 8u };

enum xs_refused_reason {
    XS_REFUSED_NONE = 0,
    XS_REFUSED_VERSION = 1,       /* no common protocol major */
    XS_REFUSED_MALFORMED = 2,
    XS_REFUSED_QUOTA = 3,         /* too many clients or queues of this user */
    XS_REFUSED_PAGE = 4,          /* the client page has no seals, or another layout */
    XS_REFUSED_DUPLICATE = 5,     /* another queue has the handle or cell */
    XS_REFUSED_UNKNOWN = 6,       /* no such queue */
    XS_REFUSED_ORDER = 7,         /* hello must come first, and once */
    XS_REFUSED_DENIED = 8,        /* only an operator may change this */
};

struct xs_wire_head {
    uint16_t id;                  /* enum xs_msg_id */
    uint16_t bytes;               /* of the whole packet */
    uint32_t serial;              /* counts per sender; for logs */
};

#define U(type, name, lo, hi) type name;
#define I(type, name, lo, hi) type name;
#define S(name, bytes)        char name[bytes];
#define A(type, name, n, lo, hi) type name[n];
#define LATER(minor)
#define MSG(name, id)         struct xs_msg_##name { struct xs_wire_head head;
#define END(name)             };
#include "wire/messages.def"
#undef MSG
#undef END

#define MSG(name, id) XS_MSG_##name = id,
#define END(name)
#undef U
#undef I
#undef S
#undef A
#define U(type, name, lo, hi)
#define I(type, name, lo, hi)
#define S(name, bytes)
#define A(type, name, n, lo, hi)
enum xs_msg_id {
#include "wire/messages.def"
};
#undef MSG
#undef END
#undef U
#undef I
#undef S
#undef A
#undef LATER

union xs_msg {
    struct xs_wire_head head;
#define U(type, name, lo, hi)
#define I(type, name, lo, hi)
#define S(name, bytes)
#define A(type, name, n, lo, hi)
#define LATER(minor)
#define MSG(name, id) struct xs_msg_##name name;
#define END(name)
#include "wire/messages.def"
#undef MSG
#undef END
#undef U
#undef I
#undef S
#undef A
#undef LATER
};

/** Fills in the head of a message that has its fields. @return bytes to send */
size_t xs_wire_seal(union xs_msg *m, enum xs_msg_id id, uint32_t serial);

/** Checks a received packet and copies it: id, length, every range, text that ends with a zero. Missing
 *  later fields read as zero; drops unknown later fields.
 *  @param ret_error  on failure the reason, static text; may be NULL
 *  @return 0, -EBADMSG (malformed), -ENOMSG (an id that this build does not know: skip it) */
int xs_wire_open(const void *packet, size_t bytes, union xs_msg *ret, const char **ret_error);

/** "hello", or "?" */
const char *xs_wire_name(unsigned id);

#endif
