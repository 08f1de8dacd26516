/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/options.h"

#include "base/log.h"
#include "base/str.h"
#include "policy/policies.h"
#include "sched/policy_load.h"
#include "transport/token.h"
#include "wire/page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct xs_option_row xs_option_rows[XS_OPT_COUNT] = {
#define NUMBER(tier_, section_, field, name_, def_, min_, max_, live_, arg_, help_)                                 \
    {XS_OPTION_NUMBER,                                                                                       \
     tier_,                                                                                                  \
     section_,                                                                                               \
     name_,                                                                                                  \
     arg_,                                                                                                   \
     help_,                                                                                                  \
     def_,                                                                                                   \
     min_,                                                                                                   \
     max_,                                                                                                   \
     "",                                                                                                     \
     live_,                                                                                                  \
     offsetof(struct xs_options, field)},
#define TEXT(tier_, section_, field, name_, def_, live_, arg_, help_)                                               \
    {XS_OPTION_TEXT, tier_, section_, name_, arg_, help_, 0, 0, 0, def_, live_, offsetof(struct xs_options, field)},
#define ONOFF(tier_, section_, field, name_, def_, live_, help_)                                                    \
    {XS_OPTION_ONOFF,                                                                                        \
     tier_,                                                                                                  \
     section_,                                                                                               \
     name_,                                                                                                  \
     "ON|OFF",                                                                                               \
     help_,                                                                                                  \
     def_,                                                                                                   \
     0,                                                                                                      \
     1,                                                                                                      \
     "",                                                                                                     \
     live_,                                                                                                  \
     offsetof(struct xs_options, field)},
#include "xserver/options.def"
#undef NUMBER
#undef TEXT
#undef ONOFF
};

const struct xs_withdrawn_row xs_withdrawn_rows[XS_WITHDRAWN_COUNT] = {
#define WITHDRAWN(field, name, instead) {name, instead},
#include "xserver/withdrawn.def"
#undef WITHDRAWN
};

_Static_assert(XS_OPT_COUNT <= 64, "`given` is one word");
_Static_assert(XS_WITHDRAWN_COUNT <= 64, "`withdrawn` is one word");

static void *field(struct xs_options *o, enum xs_option_id id)
{
    return (char *)o + xs_option_rows[id].offset;
}

void xs_options_defaults(struct xs_options *o)
{
    memset(o, 0, sizeof(*o));
    for (unsigned i = 0; i < XS_OPT_COUNT; i++) {
        const struct xs_option_row *r = &xs_option_rows[i];

        if (r->kind == XS_OPTION_NUMBER)
            *(uint64_t *)field(o, i) = r->def;
        else if (r->kind == XS_OPTION_ONOFF)
            *(bool *)field(o, i) = r->def != 0;
        else
            xs_str_copy(field(o, i), XS_OPTION_TEXT_BYTES, r->text);
    }
}

/* Checks a text beyond its length. @return 0 or -EINVAL with the reason */
static int check_text(enum xs_option_id id, const char *value, char *ret_why, size_t size)
{
    enum xs_log_level level;

    /* a shared object is loaded when the scheduler takes it */
    if (id == XS_OPT_policy && !xs_policy_is_path(value) && !xs_policy_by_name(value)) {
        char names[XS_POLICY_NAMES_BYTES];

        snprintf(ret_why, size, "there is no such policy (%s), and it is no path of a shared object",
                 xs_policy_names(names, sizeof(names), ", "));
        return -EINVAL;
    }
    if (id == XS_OPT_token && value[0] && xs_token_wrong(value)) {
        snprintf(ret_why, size, "%s", xs_token_wrong(value));
        return -EINVAL;
    }
    if (id == XS_OPT_log_level && !xs_log_level_parse(value, &level)) {
        snprintf(ret_why, size, "it takes DEBG, INFO, WARN, ERRO or OFF");
        return -EINVAL;
    }
    if (id == XS_OPT_share_by && strcmp(value, "user") != 0 && strcmp(value, "pod") != 0) {
        snprintf(ret_why, size, "it takes user or pod");
        return -EINVAL;
    }
    return 0;
}

int xs_options_set(struct xs_options *o, enum xs_option_id id, const char *value, char *ret_error,
                   size_t error_size)
{
    const struct xs_option_row *r = &xs_option_rows[id];
    char why[XS_POLICY_NAMES_BYTES + 80] = "it is too long";
    uint64_t number;
    bool on;

    switch (r->kind) {
    case XS_OPTION_NUMBER:
        if (id == XS_OPT_timeslice_us && xs_str_equal_nocase(value, "UNLIMITED")) {
            o->timeslice_us = UINT64_MAX;
            return 0;
        }
        if (xs_str_parse_u64(value, 10, &number) < 0 || number < r->min || number > r->max) {
            snprintf(ret_error, error_size, "%s: '%.40s' is not a number from %llu to %llu", r->name, value,
                     (unsigned long long)r->min, (unsigned long long)r->max);
            return -EINVAL;
        }
        *(uint64_t *)field(o, id) = number;
        return 0;
    case XS_OPTION_ONOFF:
        if (xs_str_parse_bool(value, &on) < 0) {
            snprintf(ret_error, error_size, "%s: '%.40s' is neither ON nor OFF", r->name, value);
            return -EINVAL;
        }
        *(bool *)field(o, id) = on;
        return 0;
    case XS_OPTION_TEXT:
        if (strlen(value) >= XS_OPTION_TEXT_BYTES || check_text(id, value, why, sizeof(why)) < 0) {
            snprintf(ret_error, error_size, "%s: '%.40s': %s", r->name, id == XS_OPT_token ? "..." : value, why);
            return -EINVAL;
        }
        xs_str_copy(field(o, id), XS_OPTION_TEXT_BYTES, value);
        return 0;
    }
    return -EINVAL;
}

int xs_options_tune(struct xs_options *o, const char *text, char *ret_error, size_t error_size)
{
    const char *equals = strchr(text, '=');
    size_t bytes = equals ? (size_t)(equals - text) : 0;

    for (unsigned i = 0; bytes && i < XS_OPT_COUNT; i++) {
        const struct xs_option_row *r = &xs_option_rows[i];

        if (r->tier != XS_TIER_TUNE || strlen(r->name) != bytes || strncmp(r->name, text, bytes) != 0)
            continue;
        return xs_options_set(o, i, equals + 1, ret_error, error_size) < 0 ? -EINVAL : (int)i;
    }
    snprintf(ret_error, error_size, "--tune: '%.40s' is no KEY=VALUE with a key that there is; --tune=help lists them", text);
    return -EINVAL;
}

static size_t bytes_of(const struct xs_option_row *r)
{
    return r->kind == XS_OPTION_NUMBER  ? sizeof(uint64_t)
           : r->kind == XS_OPTION_ONOFF ? sizeof(bool)
                                        : XS_OPTION_TEXT_BYTES;
}

void xs_options_take_live(struct xs_options *o, const struct xs_options *from)
{
    for (unsigned i = 0; i < XS_OPT_COUNT; i++) {
        const struct xs_option_row *r = &xs_option_rows[i];

        if (r->live)
            memcpy(field(o, i), (const char *)from + r->offset, bytes_of(r));
    }
}

bool xs_options_equal(const struct xs_options *a, const struct xs_options *b, enum xs_option_id id)
{
    const struct xs_option_row *r = &xs_option_rows[id];
    const char *x = (const char *)a + r->offset, *y = (const char *)b + r->offset;

    return r->kind == XS_OPTION_TEXT ? !strcmp(x, y) : !memcmp(x, y, bytes_of(r));
}

void xs_options_warn_withdrawn(uint64_t withdrawn)
{
    for (unsigned i = 0; i < XS_WITHDRAWN_COUNT; i++)
        if (withdrawn & 1ull << i)
            XS_WARN("%s no longer exists and has no effect: %s", xs_withdrawn_rows[i].name, xs_withdrawn_rows[i].instead);
}

bool xs_options_note_withdrawn(struct xs_options *o, const char *name)
{
    size_t bytes = strcspn(name, "=");

    for (unsigned i = 0; i < XS_WITHDRAWN_COUNT; i++) {
        const char *row = xs_withdrawn_rows[i].name;

        if (strlen(row) == bytes && !strncmp(row, name, bytes)) {
            o->withdrawn |= 1ull << i;
            return true;
        }
    }
    return false;
}
