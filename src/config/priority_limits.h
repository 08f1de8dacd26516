/* SPDX-License-Identifier: Apache-2.0 */
/* How far the priorities of a user's programs go, and the user's part beside others (options priority-limits,
 * user-share-exempt, user-shares and pod-limits-file). Main thread. */
#ifndef XS_CONFIG_PRIORITY_LIMITS_H
#define XS_CONFIG_PRIORITY_LIMITS_H

#include "base/xs_base.h"

#define XS_LIMITS_RULES 32u

/** The programs for which a rule holds. */
enum xs_limits_kind { XS_LIMITS_ANY, XS_LIMITS_USER, XS_LIMITS_GROUP, XS_LIMITS_CGROUP };

struct xs_limits_rule {
    enum xs_limits_kind kind;
    uint32_t id;                 /* of a user or a group */
    uint16_t path_at, path_size; /* of a control group, in the list's text */
    int32_t least, most;
    uint32_t weight;
};

/** What stands behind the names of a list. */
enum xs_limits_values {
    XS_LIMITS_NAMES,   /* nothing */
    XS_LIMITS_RANGES,  /* =LEAST..MOST, one or both of them may be empty */
    XS_LIMITS_WEIGHTS, /* =WEIGHT, of users alone, each once */
};

/** The text of an option, parsed. */
struct xs_limits_list {
    char text[256];
    struct xs_limits_rule rules[XS_LIMITS_RULES];
    unsigned n;
    char absent[100]; /* the first name that no user or group has; "": all are there */
};

/** @param strict  whether a name that no user or group has is an error; else its rule is left out
 *  @return 0, or -EINVAL or -ENOENT with the reason */
int xs_limits_parse(struct xs_limits_list *l, const char *text, enum xs_limits_values values, bool strict,
                      char *ret_error, size_t error_size);

/** "LEAST..MOST", one of them may be left out. @return 0 or -EINVAL */
int xs_limits_parse_range(const char *text, int32_t *ret_least, int32_t *ret_most);

/** The facts at which rules look. */
struct xs_limits_of {
    uint32_t uid, gid;
    const uint32_t *groups; /* supplementary ones */
    size_t n_groups;
    const char *cgroup; /* path in the unified hierarchy; "": not known */
};
/** The first rule that fits, or NULL. */
const struct xs_limits_rule *xs_limits_find(const struct xs_limits_list *l, const struct xs_limits_of *who);

/** The standing of a program's user by the configuration. */
struct xs_limits {
    bool exempt;         /* the shares of other users do not bound it */
    int32_t least, most; /* of its priorities */
    uint32_t weight;     /* of its user */
};
/** An option's text, and whether the parse of it is strict. */
struct xs_limits_text {
    const char *text;
    bool strict;
};
/** Sets all options. If one is wrong, the earlier rules stay. Logs a warning about a rule that it leaves out.
 *  @return as xs_limits_parse */
int xs_limits_set(const struct xs_limits_text *limits, const struct xs_limits_text *exempt,
                    const struct xs_limits_text *weights, char *ret_error, size_t error_size);
/** Of the program at the other end of that socket.
 *  @param owner  the user whose weight counts: that of a subordinate id is its owner's */
void xs_limits_get(int fd, int32_t pid, uint32_t uid, uint32_t gid, uint32_t owner, struct xs_limits *ret);

/** PRIORITY_NO_EXECUTE stays. */
static inline int32_t xs_limits_clamp(const struct xs_limits *s, int32_t priority)
{
    return priority <= -256 ? priority : XS_MAX(s->least, XS_MIN(s->most, priority));
}

#endif
