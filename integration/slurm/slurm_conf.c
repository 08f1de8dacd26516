/* SPDX-License-Identifier: Apache-2.0 */
#include "slurm_conf.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int number(const char *text, int *ret)
{
    int64_t n;

    if (xs_str_parse_i64(text, &n) < 0 || n < -255 || n > 255)
        return -EINVAL;
    *ret = (int)n;
    return 0;
}

static int rule(struct xs_slurm_conf *c, int kind, const char *text)
{
    const char *colon = strrchr(text, ':');
    struct xs_slurm_rule *r = &c->rules[c->rules_count];

    if (c->rules_count == XS_SLURM_RULES_MAX || !colon || colon == text ||
        (size_t)(colon - text) >= sizeof(r->name) || number(colon + 1, &r->priority) < 0)
        return -EINVAL;
    snprintf(r->name, sizeof(r->name), "%.*s", (int)(colon - text), text);
    r->kind = kind;
    c->rules_count++;
    return 0;
}

/* LOW:N or LOW-HIGH:N */
static int range(struct xs_slurm_conf *c, const char *text)
{
    struct xs_slurm_range *r = &c->ranges[c->ranges_count];
    uint64_t low, high = UINT32_MAX;
    char copy[64], *colon, *dash;

    if (c->ranges_count == XS_SLURM_RULES_MAX || !xs_str_copy(copy, sizeof(copy), text) || !(colon = strchr(copy, ':')))
        return -EINVAL;
    *colon++ = 0;
    dash = strchr(copy, '-');
    if (dash)
        *dash++ = 0;
    if (xs_str_parse_u64(copy, 10, &low) < 0 || (dash && xs_str_parse_u64(dash, 10, &high) < 0) || low > high ||
        high > UINT32_MAX || number(colon, &r->priority) < 0)
        return -EINVAL;
    r->low = (uint32_t)low;
    r->high = (uint32_t)high;
    c->ranges_count++;
    return 0;
}

static int path(char *ret, const char *text)
{
    return text[0] == '/' && xs_str_copy(ret, PATH_MAX, text) ? 0 : -EINVAL;
}

static int word(struct xs_slurm_conf *c, const char *w)
{
    const char *value = strchr(w, '=');
    size_t n = value ? (size_t)(value - w) : 0;

    if (!value)
        return -EINVAL;
    value++;
#define IS(name) (n == sizeof(name) - 1 && memcmp(w, name, n) == 0)
    if (IS("min"))
        return number(value, &c->min);
    if (IS("max"))
        return number(value, &c->max);
    if (IS("default")) {
        int err = number(value, &c->default_priority);

        c->has_default |= err == 0;
        return err;
    }
    if (IS("partition"))
        return rule(c, XS_SLURM_PARTITION, value);
    if (IS("qos"))
        return rule(c, XS_SLURM_QOS, value);
    if (IS("jobpriority"))
        return range(c, value);
    if (IS("libdir"))
        return path(c->libdir, value);
    if (IS("socket"))
        return path(c->socket, value);
    if (IS("account"))
        return path(c->account, value);
    if (IS("launcher"))
        return path(c->launcher, value);
#undef IS
    return -EINVAL;
}

int xs_slurm_conf_read(struct xs_slurm_conf *ret, int count, char **words, char *ret_error, size_t size)
{
    int err = 0;

    memset(ret, 0, sizeof(*ret));
    ret->min = -255;
    ret->max = 255;
    xs_str_copy(ret->libdir, sizeof(ret->libdir), XSCHED_FULL_LIBDIR "/xsched");
    xs_str_copy(ret->launcher, sizeof(ret->launcher), XSCHED_FULL_BINDIR "/xsched");
    for (int i = 0; i < count; i++) {
        if (word(ret, words[i]) == 0)
            continue;
        if (!err)
            snprintf(ret_error, size,
                     "\"%s\" is none of min=N max=N default=N partition=NAME:N qos=NAME:N jobpriority=LOW[-HIGH]:N "
                     "libdir=DIR socket=PATH account=FILE launcher=PATH with N from -255 to 255 and absolute paths",
                     words[i]);
        err = -EINVAL;
    }
    if (ret->min > ret->max) {
        if (!err)
            snprintf(ret_error, size, "min=%d is above max=%d", ret->min, ret->max);
        ret->min = ret->max = 0; /* nothing but the ordinary priority */
        err = -EINVAL;
    }
    return err;
}

bool xs_slurm_conf_default(const struct xs_slurm_conf *c, const char *partition, const char *qos,
                           const uint32_t *job_priority, int *ret_priority)
{
    for (int kind = XS_SLURM_QOS; kind <= XS_SLURM_PARTITION; kind++) {
        const char *name = kind == XS_SLURM_QOS ? qos : partition;

        for (size_t i = 0; i < c->rules_count; i++) {
            if ((int)c->rules[i].kind == kind && name[0] && strcmp(c->rules[i].name, name) == 0) {
                *ret_priority = c->rules[i].priority;
                return true;
            }
        }
    }
    for (size_t i = 0; job_priority && i < c->ranges_count; i++) {
        if (*job_priority >= c->ranges[i].low && *job_priority <= c->ranges[i].high) {
            *ret_priority = c->ranges[i].priority;
            return true;
        }
    }
    if (c->has_default)
        *ret_priority = c->default_priority;
    return c->has_default;
}
