/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"

#include "base/log.h"
#include "base/str.h"
#include "base/xs_base.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#ifndef AT_SECURE
#define AT_SECURE 23
#endif

const struct xs_env_row xs_env_rows[XS_ENV_COUNT] = {
#define X(name, type, def, help) {#name, XS_TYPE type, def, help},
#include "base/env.def"
#undef X
};

const char *xs_env_get(enum xs_env_id id)
{
    const char *value;

    if (getauxval(AT_SECURE))
        return NULL;
    value = getenv(xs_env_rows[id].name);
    return value && value[0] ? value : NULL;
}

/* One line a process and variable. */
static void complain(enum xs_env_id id, const char *value)
{
    char error[XS_VALUE_ERROR_BYTES];
    static _Atomic uint64_t said[(XS_ENV_COUNT + 63) / 64]; /* one bit a variable */

    if (atomic_fetch_or_explicit(&said[id / 64], 1ull << id % 64, memory_order_relaxed) & 1ull << id % 64)
        return;
    XS_WARN("%s: %s; the default holds", xs_env_rows[id].name,
            xs_value_error(&xs_env_rows[id].type, value, error, sizeof(error)));
}

bool xs_env_value(enum xs_env_id id, struct xs_value *ret)
{
    const char *value = xs_env_get(id);

    if (!value)
        return false;
    if (xs_value_parse(&xs_env_rows[id].type, value, ret) == 0)
        return true;
    complain(id, value);
    return false;
}

int64_t xs_env_i64(enum xs_env_id id, int64_t def)
{
    struct xs_value v;

    return xs_env_value(id, &v) ? v.number : def;
}

bool xs_env_bool(enum xs_env_id id, bool def)
{
    return xs_env_i64(id, def) != 0;
}

bool xs_env_is(enum xs_env_id id, const char *word)
{
    const char *value = xs_env_get(id);

    return value && xs_str_equal_nocase(value, word);
}

static const struct {
    const char *name, *instead;
} k_withdrawn[] = {
#define X(name, instead) {name, instead},
#include "base/env_withdrawn.def"
#undef X
};

bool xs_env_withdrawn(unsigned i, char *ret_name, size_t size, const char **ret_instead)
{
    if (i >= XS_ARRAY_LEN(k_withdrawn))
        return false;
    snprintf(ret_name, size, "XSCHED_%s", k_withdrawn[i].name);
    for (char *at = ret_name; *at; at++)
        if (*at >= 'a' && *at <= 'z')
            *at = (char)(*at - 'a' + 'A');
    *ret_instead = k_withdrawn[i].instead;
    return true;
}

void xs_env_warn_withdrawn(void)
{
    const char *instead;
    char name[64];

    if (getauxval(AT_SECURE))
        return;
    for (unsigned i = 0; xs_env_withdrawn(i, name, sizeof(name), &instead); i++)
        if (getenv(name))
            XS_WARN("%s means nothing any more; instead: %s", name, instead);
}

const char *xs_env_mps_folder(void)
{
    const char *named = getenv("CUDA_MPS_PIPE_DIRECTORY");

    return named && named[0] ? named : XS_MPS_FOLDER;
}

bool xs_mps_has_pipes(const char *folder)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/control", folder);

    return n > 0 && (size_t)n < sizeof(path) && access(path, F_OK) == 0;
}
