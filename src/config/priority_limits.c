/* SPDX-License-Identifier: Apache-2.0 */
#include "config/priority_limits.h"

#include "base/log.h"
#include "base/str.h"
#include "host/procinfo.h"
#include "sched/sched.h"
#include "config/pod_limits.h"

#include "xsched/types.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

#define GROUPS_MAX 4096

/* The main thread's. */
static struct xs_limits_list g_limits, g_exempt, g_weights;

static int wrong(char *ret_error, size_t size, const char *rule, const char *why, int r)
{
    snprintf(ret_error, size, "'%.60s': %s", rule, why);
    return r;
}

/* "-20..100", "..100" or "-20.." */
int xs_limits_parse_range(const char *text, int32_t *ret_least, int32_t *ret_most)
{
    const char *dots = strstr(text, "..");
    int64_t least = PRIORITY_MIN, most = PRIORITY_MAX;
    char first[16];

    if (!dots || (size_t)(dots - text) >= sizeof(first))
        return -EINVAL;
    memcpy(first, text, (size_t)(dots - text));
    first[dots - text] = 0;
    if ((first[0] && xs_str_parse_i64(first, &least) < 0) || (dots[2] && xs_str_parse_i64(dots + 2, &most) < 0))
        return -EINVAL;
    if (least < PRIORITY_MIN || most > PRIORITY_MAX || least > most)
        return -EINVAL;
    *ret_least = (int32_t)least;
    *ret_most = (int32_t)most;
    return 0;
}

/* A number stands for itself, whether there is such an account or not. */
static int parse_account(const char *name, bool group, uint32_t *ret)
{
    uint64_t number;

    if (xs_str_parse_u64(name, 10, &number) == 0 && number < UINT32_MAX) {
        *ret = (uint32_t)number;
        return 0;
    }
    if (group) {
        const struct group *g = getgrnam(name); /* the main thread alone comes here */

        *ret = g ? g->gr_gid : 0;
        return g ? 0 : -ENOENT;
    } else {
        const struct passwd *u = getpwnam(name); /* likewise */

        *ret = u ? u->pw_uid : 0;
        return u ? 0 : -ENOENT;
    }
}

_Static_assert(XS_WEIGHT_MAX == 10000, "parse_value says so");

static int parse_weight(const char *text, struct xs_limits_rule *rule)
{
    uint64_t weight;

    if (xs_str_parse_u64(text, 10, &weight) < 0 || weight < 1 || weight > XS_WEIGHT_MAX)
        return -EINVAL;
    rule->weight = (uint32_t)weight;
    return 0;
}

/* Which of two weights counts, nobody could know. */
static bool is_named_before(const struct xs_limits_list *l, const struct xs_limits_rule *r)
{
    for (unsigned i = 0; i < l->n; i++)
        if (l->rules[i].kind == r->kind && l->rules[i].id == r->id)
            return true;
    return false;
}

/* The part behind the '=', which is there where it must be. @return NULL, or what is wrong */
static const char *parse_value(const char *text, enum xs_limits_values values, struct xs_limits_rule *rule)
{
    if (values == XS_LIMITS_RANGES && xs_limits_parse_range(text, &rule->least, &rule->most) < 0)
        return "a range is LEAST..MOST, within -255..255";
    if (values == XS_LIMITS_WEIGHTS && parse_weight(text, rule) < 0)
        return "a weight is a whole number from 1 to 10000";
    return NULL;
}

static int parse_rule(struct xs_limits_list *l, char *rule, enum xs_limits_values values, bool strict,
                      char *ret_error, size_t size)
{
    static const char *const forms[] = {"it has a range", "it is not WHO=LEAST..MOST", "it is not NAME=WEIGHT"};
    struct xs_limits_rule *r = &l->rules[l->n];
    char whole[sizeof(l->text)], *equals = strrchr(rule, '=');
    bool group = rule[0] == '@', valued = values != XS_LIMITS_NAMES;
    const char *bad;

    xs_str_copy(whole, sizeof(whole), rule);
    if (l->n == XS_LIMITS_RULES)
        return wrong(ret_error, size, rule, "there are too many rules", -EINVAL);
    if (valued != (equals != NULL) || equals == rule)
        return wrong(ret_error, size, rule, forms[values], -EINVAL);
    if (equals) {
        *equals = 0;
        bad = parse_value(equals + 1, values, r);
        if (bad)
            return wrong(ret_error, size, whole, bad, -EINVAL);
    }
    if (values == XS_LIMITS_WEIGHTS && (group || rule[0] == '/'))
        return wrong(ret_error, size, whole, "a part is a user's: NAME=WEIGHT, or *=WEIGHT", -EINVAL);
    if (!strcmp(rule, "*")) {
        r->kind = XS_LIMITS_ANY;
    } else if (rule[0] == '/') {
        size_t n = strlen(rule);

        while (n > 1 && rule[n - 1] == '/')
            n--;
        r->kind = XS_LIMITS_CGROUP;
        r->path_at = (uint16_t)(rule - l->text);
        r->path_size = (uint16_t)n;
    } else {
        const char *why = group ? "there is no such group" : "there is no such user";

        r->kind = group ? XS_LIMITS_GROUP : XS_LIMITS_USER;
        if (parse_account(rule + group, group, &r->id) < 0) {
            if (strict)
                return wrong(ret_error, size, whole, why, -ENOENT);
            if (!l->absent[0])
                wrong(l->absent, sizeof(l->absent), whole, why, 0);
            return 0;
        }
    }
    if (values == XS_LIMITS_WEIGHTS && is_named_before(l, r))
        return wrong(ret_error, size, whole, "another rule names this user", -EINVAL);
    l->n++;
    return 0;
}

int xs_limits_parse(struct xs_limits_list *l, const char *text, enum xs_limits_values values, bool strict,
                      char *ret_error, size_t error_size)
{
    char *save = NULL;

    memset(l, 0, sizeof(*l));
    if (strlen(text) >= sizeof(l->text))
        return wrong(ret_error, error_size, text, "it is too long", -EINVAL);
    xs_str_copy(l->text, sizeof(l->text), text);
    for (char *rule = strtok_r(l->text, " ,\t", &save); rule; rule = strtok_r(NULL, " ,\t", &save)) {
        int r = parse_rule(l, rule, values, strict, ret_error, error_size);

        if (r < 0)
            return r;
    }
    return 0;
}

static bool is_member(const struct xs_limits_of *who, uint32_t gid)
{
    if (who->gid == gid)
        return true;
    for (size_t i = 0; i < who->n_groups; i++)
        if (who->groups[i] == gid)
            return true;
    return false;
}

/* The group itself, and those within it. */
static bool lies_within(const char *cgroup, const char *path, size_t n)
{
    return !strncmp(cgroup, path, n) && (n == 1 || cgroup[n] == '/' || cgroup[n] == 0);
}

const struct xs_limits_rule *xs_limits_find(const struct xs_limits_list *l, const struct xs_limits_of *who)
{
    for (unsigned i = 0; i < l->n; i++) {
        const struct xs_limits_rule *r = &l->rules[i];

        if (r->kind == XS_LIMITS_ANY || (r->kind == XS_LIMITS_USER && r->id == who->uid) ||
            (r->kind == XS_LIMITS_GROUP && is_member(who, r->id)) ||
            (r->kind == XS_LIMITS_CGROUP && lies_within(who->cgroup, l->text + r->path_at, r->path_size)))
            return r;
    }
    return NULL;
}

static void warn_absent(const char *option, const struct xs_limits_list *l)
{
    if (l->absent[0])
        XS_WARN("%s: %s: until the configuration is read again, that rule holds for nobody", option, l->absent);
}

int xs_limits_set(const struct xs_limits_text *limits, const struct xs_limits_text *exempt,
                    const struct xs_limits_text *weights, char *ret_error, size_t error_size)
{
    const struct {
        const char *option;
        const struct xs_limits_text *from;
        enum xs_limits_values values;
        struct xs_limits_list *to;
    } rows[] = {
        {"priority-limits", limits, XS_LIMITS_RANGES, &g_limits},
        {"user-share-exempt", exempt, XS_LIMITS_NAMES, &g_exempt},
        {"user-shares", weights, XS_LIMITS_WEIGHTS, &g_weights},
    };
    struct xs_limits_list lists[XS_ARRAY_LEN(rows)];
    char why[160];

    for (size_t i = 0; i < XS_ARRAY_LEN(rows); i++) {
        int r = xs_limits_parse(&lists[i], rows[i].from->text, rows[i].values, rows[i].from->strict, why, sizeof(why));

        if (r < 0) {
            snprintf(ret_error, error_size, "%s: %s", rows[i].option, why);
            return r;
        }
    }
    for (size_t i = 0; i < XS_ARRAY_LEN(rows); i++) {
        *rows[i].to = lists[i];
        warn_absent(rows[i].option, &lists[i]);
    }
    return 0;
}

/* The user's own rule comes before the one for everybody, wherever it stands. */
static uint32_t weight_of(uint32_t uid)
{
    uint32_t others = 1;

    for (unsigned i = 0; i < g_weights.n; i++) {
        const struct xs_limits_rule *r = &g_weights.rules[i];

        if (r->kind == XS_LIMITS_USER && r->id == uid)
            return r->weight;
        if (r->kind == XS_LIMITS_ANY)
            others = r->weight;
    }
    return others;
}

static bool asks_for(enum xs_limits_kind kind)
{
    for (unsigned i = 0; i < g_limits.n; i++)
        if (g_limits.rules[i].kind == kind)
            return true;
    for (unsigned i = 0; i < g_exempt.n; i++)
        if (g_exempt.rules[i].kind == kind)
            return true;
    return false;
}

/* Both hold; where they exclude each other, the bound from above counts. */
static void narrow(struct xs_limits *l, int32_t least, int32_t most)
{
    l->most = XS_MIN(l->most, most);
    l->least = XS_MIN(XS_MAX(l->least, least), l->most);
}

/* Those of its pod besides. */
static void take_pod_limits(int32_t pid, struct xs_limits *l)
{
    struct xs_container container;
    int32_t least, most;

    if (!xs_pod_limits_are_wanted())
        return;
    xs_proc_container(pid, &container);
    if (xs_pod_limits_get(container.pod, &least, &most))
        narrow(l, least, most);
}

void xs_limits_get(int fd, int32_t pid, uint32_t uid, uint32_t gid, uint32_t owner, struct xs_limits *ret)
{
    struct xs_limits_of who = {.uid = uid, .gid = gid, .cgroup = ""};
    const struct xs_limits_rule *limits;
    socklen_t size = GROUPS_MAX * sizeof(uint32_t);
    uint32_t *groups = NULL;
    char cgroup[1024];

    *ret = (struct xs_limits){.least = PRIORITY_MIN, .most = PRIORITY_MAX, .weight = weight_of(owner)};
    take_pod_limits(pid, ret);
    if (g_limits.n == 0 && g_exempt.n == 0)
        return;
    if (asks_for(XS_LIMITS_GROUP))
        groups = malloc(size);
    if (groups && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) == 0) {
        who.groups = groups;
        who.n_groups = size / sizeof(*groups);
    }
    if (asks_for(XS_LIMITS_CGROUP) && xs_proc_cgroup(pid, cgroup, sizeof(cgroup)) == 0)
        who.cgroup = cgroup;
    ret->exempt = xs_limits_find(&g_exempt, &who) != NULL;
    limits = xs_limits_find(&g_limits, &who);
    if (limits)
        narrow(ret, limits->least, limits->most);
    free(groups);
}
