/* SPDX-License-Identifier: Apache-2.0 */
#include "config/options.h"

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
#define OPTION(tier_, section_, field, name_, type_, def_, live_, arg_, help_) \
    {.tier = tier_, .section = section_, .name = name_, .arg = arg_, .help = help_, .type = XS_TYPE type_, .def = def_, \
     .live = live_, .offset = offsetof(struct xs_options, field)},
#include "config/options.def"
#undef OPTION
};
_Static_assert(XS_INFLIGHT_SHARED_US == 850, "the default of inflight-us in options.def");

const struct xs_withdrawn_row xs_withdrawn_rows[XS_WITHDRAWN_COUNT] = {
#define WITHDRAWN(field, name, instead) {name, instead},
#include "config/withdrawn.def"
#undef WITHDRAWN
};

_Static_assert(XS_OPT_COUNT <= 64, "`given` is one word");
_Static_assert(XS_WITHDRAWN_COUNT <= 64, "`withdrawn` is one word");

static void *field(struct xs_options *o, enum xs_option_id id)
{
    return (char *)o + xs_option_rows[id].offset;
}

static bool is_text(const struct xs_option_row *r)
{
    return r->type.kind == XS_VALUE_TEXT || r->type.kind == XS_VALUE_CHOICE;
}

static void keep(struct xs_options *o, enum xs_option_id id, const char *text, const struct xs_value *v)
{
    const struct xs_option_row *r = &xs_option_rows[id];

    if (r->type.kind == XS_VALUE_FLAG)
        *(bool *)field(o, id) = v->number != 0;
    else if (r->type.kind == XS_VALUE_CHOICE)
        xs_value_word(&r->type, v->number, field(o, id), XS_OPTION_TEXT_BYTES);
    else if (r->type.kind == XS_VALUE_TEXT)
        xs_str_copy(field(o, id), XS_OPTION_TEXT_BYTES, text);
    else
        *(uint64_t *)field(o, id) = (uint64_t)v->number; /* unlimited: the largest there is */
}

void xs_options_defaults(struct xs_options *o)
{
    memset(o, 0, sizeof(*o));
    for (unsigned i = 0; i < XS_OPT_COUNT; i++) {
        struct xs_value v = {0};

        xs_value_parse(&xs_option_rows[i].type, xs_option_rows[i].def, &v); /* tests/xserver: it is one */
        keep(o, i, xs_option_rows[i].def, &v);
    }
}

bool xs_options_is_default(const struct xs_options *o, enum xs_option_id id)
{
    const struct xs_option_row *r = &xs_option_rows[id];
    struct xs_value v = {0};

    xs_value_parse(&r->type, r->def, &v);
    return *(const uint64_t *)(const void *)((const char *)o + r->offset) == (uint64_t)v.number;
}

/* Checks a text beyond its length. @return 0 or -EINVAL with the reason */
static int check_text(enum xs_option_id id, const char *value, char *ret_why, size_t size)
{
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
    return 0;
}

int xs_options_set(struct xs_options *o, enum xs_option_id id, const char *value, char *ret_error,
                   size_t error_size)
{
    const struct xs_option_row *r = &xs_option_rows[id];
    char why[XS_POLICY_NAMES_BYTES + 80] = "it is too long";
    struct xs_value v;

    if (xs_value_parse(&r->type, value, &v) < 0) {
        snprintf(ret_error, error_size, "%s: %s", r->name, xs_value_error(&r->type, value, why, sizeof(why)));
        return -EINVAL;
    }
    if (r->type.kind == XS_VALUE_TEXT &&
        (strlen(value) >= XS_OPTION_TEXT_BYTES || check_text(id, value, why, sizeof(why)) < 0)) {
        snprintf(ret_error, error_size, "%s: '%.40s': %s", r->name, id == XS_OPT_token ? "..." : value, why);
        return -EINVAL;
    }
    keep(o, id, value, &v);
    return 0;
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
    return is_text(r) ? XS_OPTION_TEXT_BYTES : r->type.kind == XS_VALUE_FLAG ? sizeof(bool) : sizeof(uint64_t);
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

    return is_text(r) ? !strcmp(x, y) : !memcmp(x, y, bytes_of(r));
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
