/* SPDX-License-Identifier: Apache-2.0 */
/* Options take effect: at the start, and again whenever the configuration file is read again. */
#include "xserver/server.h"

#include "base/log.h"
#include "config/pod_limits.h"
#include "host/operators.h"
#include "host/subuids.h"
#include "sched/policy_load.h"
#include "xserver/shares/user_quota.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Of an NVIDIA GPU, with slices of 2 ms: two closed loops that share an H200 make 0.906 of the work of
 * one alone (docs/results/2026-11-21-h200-suite, D). So the device itself needs 0.19 ms for a switch.
 * The time until the next program notices its turn comes on top. A turn of 20 times this loses less
 * than 2 %. */
#define LV3_SWITCH_US 500u
/* Elsewhere: the time until xserver sees the end of one program's work, and the next one has woken up.
 * Both sides pay alike for a turn, so short turns favour the larger share. */
#define SWITCH_US     200u

static uint64_t switch_ns(const struct xs_options *o, bool level3)
{
    return (o->switch_us ? o->switch_us : level3 ? LV3_SWITCH_US : SWITCH_US) * XS_NS_PER_US;
}

static void params_of(const struct xs_options *o, struct xs_policy_params *p)
{
    p->timeslice_ns = o->timeslice_us == UINT64_MAX ? UINT64_MAX : o->timeslice_us * XS_NS_PER_US;
    p->k = (uint32_t)o->k;
    p->starvation_ns = o->starvation_ms * XS_NS_PER_MS;
}

/* Whether a name that no user or group has is an error. At a start from a file it is none: accounts go, the
 * directory service of a cluster may come up later, and the service must start all the same. On a command line,
 * and at a reload, somebody reads the error. */
static bool is_strict(const struct xs_options *o, enum xs_option_id id, bool reload)
{
    return reload || o->given & 1ull << id;
}

static int find_operators(const struct xs_options *o, bool reload, int64_t *ret, char *ret_error,
                          size_t error_size)
{
    int r = xs_operators_find(o->operator_group, ret);

    if (r == 0)
        return 0;
    snprintf(ret_error, error_size, "operator-group: there is no group '%.40s'", o->operator_group);
    if (is_strict(o, XS_OPT_operator_group, reload))
        return r;
    XS_WARN("%s: until the configuration is read again, nobody is an operator but root", ret_error);
    *ret = -1;
    return 0;
}

static int set_limits(const struct xs_options *o, bool reload, char *ret_error, size_t error_size)
{
    struct xs_limits_text limits = {o->priority_limits, is_strict(o, XS_OPT_priority_limits, reload)};
    struct xs_limits_text exempt = {o->user_share_exempt, is_strict(o, XS_OPT_user_share_exempt, reload)};
    struct xs_limits_text weights = {o->user_shares, is_strict(o, XS_OPT_user_shares, reload)};
    int r = xs_limits_set(&limits, &exempt, &weights, ret_error, error_size);

    if (r == 0)
        xs_pod_limits_set_file(o->pod_limits_file);
    return r;
}

int xs_server_take_rules(struct xs_server *s, char *ret_error, size_t error_size)
{
    int64_t operators;
    int r = find_operators(&s->options, false, &operators, ret_error, error_size);

    if (r < 0)
        return r;
    xs_operators_set(operators);
    return set_limits(&s->options, false, ret_error, error_size);
}

/* One line about a policy whose xsched/policy.h differs from this program's. */
static void log_difference(const struct xs_policy_module *module, const char *path)
{
    char text[256];

    if (module && xs_policy_module_differs(module, text, sizeof(text)))
        XS_WARN("%s belongs to another xsched/policy.h: it %s", path, text);
}

int xs_server_make_scheduler(struct xs_server *s, char *ret_error, size_t error_size)
{
    struct xs_sched_config config;
    const struct xs_policy_ops *policy = xs_policy_find(s->options.policy, &s->module, ret_error, error_size);

    if (!policy)
        return -EINVAL;
    log_difference(s->module, s->options.policy);
    xs_sched_config_defaults(&config);
    config.linger_ns = s->options.linger_us * XS_NS_PER_US;
    config.gather = (enum xs_sched_gather)s->options.gather;
    config.stall_ns = s->options.stall_ms * XS_NS_PER_MS;
    config.user_share = s->options.user_share;
    config.inflight_shared_us = s->options.inflight_us;
    config.inflight_alone_us = s->options.inflight_alone_us;
    config.inflight_top_us = s->options.inflight_top_us;
    params_of(&s->options, &config.params);
    config.params.switch_ns = switch_ns(&s->options, false);
    s->sched = xs_sched_new(policy, &config, &xs_scheduler_hooks, s);
    return s->sched ? 0 : -ENOMEM;
}

void xs_server_update_switch(struct xs_server *s)
{
    struct xs_policy_params params = *xs_sched_params(s->sched);

    params.switch_ns = switch_ns(&s->options, s->level3.n_programs > 0);
    xs_sched_set_params(s->sched, &params);
}

void xs_server_set_policy(struct xs_server *s, const struct xs_policy_ops *policy)
{
    xs_sched_set_policy(s->sched, policy);
    s->class_session = 0;
    s->house_ns = s->now_ns;
    xs_server_note(s, NULL, XS_TIMELINE_policy, policy->type, s->now_ns);
    XS_INFO("policy %s", policy->name);
}

static int check_rules(enum xs_option_id id, const char *rules, char *ret_error, size_t error_size)
{
    struct xs_limits_list list;
    char why[160];
    enum xs_limits_values values = id == XS_OPT_priority_limits ? XS_LIMITS_RANGES
                                     : id == XS_OPT_user_shares  ? XS_LIMITS_WEIGHTS
                                                                 : XS_LIMITS_NAMES;
    int r = xs_limits_parse(&list, rules, values, false, why, sizeof(why));

    if (r < 0)
        snprintf(ret_error, error_size, "%s: %s", xs_option_rows[id].name, why);
    return r;
}

int xs_server_check_option(enum xs_option_id id, const char *value, char *ret_error, size_t error_size)
{
    struct xs_policy_module *module;
    bool found;

    switch (id) {
    case XS_OPT_priority_limits:
    case XS_OPT_user_share_exempt:
    case XS_OPT_user_shares:
        return check_rules(id, value, ret_error, error_size);
    case XS_OPT_policy:
        found = xs_policy_find(value, &module, ret_error, error_size) != NULL;
        xs_policy_unload(module);
        return found ? 0 : -EINVAL;
    default:
        return 0;
    }
}

/* What a reload takes over and what may be wrong about it. */
struct prepared {
    const struct xs_policy_ops *policy;
    struct xs_policy_module *module;
    int64_t operators;
};

/* Rules are the last: xs_limits_set takes both over, or none. @return 0 or -errno with the reason */
static int prepare(struct xs_server *s, const struct xs_options *o, struct prepared *ret, char *ret_error,
                   size_t error_size)
{
    int r = find_operators(o, true, &ret->operators, ret_error, error_size);

    if (r < 0)
        return r;
    ret->policy = xs_sched_policy(s->sched);
    ret->module = NULL;
    if (strcmp(o->policy, s->options.policy) != 0) /* else keeps a policy that a request has set since */
        ret->policy = xs_policy_find(o->policy, &ret->module, ret_error, error_size);
    if (!ret->policy)
        return -EINVAL;
    r = set_limits(o, true, ret_error, error_size);
    if (r < 0)
        xs_policy_unload(ret->module);
    return r;
}

static void take_policy(struct xs_server *s, const struct prepared *p)
{
    if (p->policy == xs_sched_policy(s->sched)) {
        xs_policy_unload(p->module);
        return;
    }
    xs_server_set_policy(s, p->policy);
    xs_policy_unload(s->module);
    s->module = p->module;
    log_difference(s->module, s->options.policy);
}

int xs_server_apply_options(struct xs_server *s, const struct xs_options *o, char *ret_error,
                            size_t error_size)
{
    struct xs_policy_params params = *xs_sched_params(s->sched);
    enum xs_log_level level;
    struct prepared p;
    int r = prepare(s, o, &p, ret_error, error_size);

    if (r < 0)
        return r;
    xs_options_take_live(&s->options, o);
    xs_operators_set(p.operators);
    xs_subuids_load();
    xs_user_quota_configure(s);
    XS_LIST_FOR(c, &s->clients, struct xs_client, link) {
        c->operates = xs_client_operates(s, c);
        xs_client_take_limits(s, c);
    }
    xs_sched_set_user_share(s->sched, s->options.user_share);
    xs_prewake_configure(s);
    params_of(&s->options, &params);
    params.switch_ns = switch_ns(&s->options, s->level3.n_programs > 0);
    xs_sched_set_params(s->sched, &params);
    take_policy(s, &p);
    if (xs_log_level_parse(s->options.log_level, &level))
        xs_log_set_level(level);
    return 0;
}
