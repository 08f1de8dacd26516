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
#define X(name, values, def, help) {#name, values, def, help},
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

/* Shows the values of the row if they are a choice or a range. */
static void complain(enum xs_env_id id, const char *value, const char *range)
{
    const char *values = xs_env_rows[id].values;
    static _Atomic uint64_t said; /* one bit a variable: one line a process and cause */

    _Static_assert(XS_ENV_COUNT <= 64, "the bit set is one word");
    if (atomic_fetch_or_explicit(&said, 1ull << id, memory_order_relaxed) & (1ull << id))
        return;
    XS_WARN("%s=%s is not valid (it takes %s); the default holds", xs_env_rows[id].name, value,
            range && !strchr(values, '|') && !strchr(values, '.') ? range : values);
}

int64_t xs_env_i64(enum xs_env_id id, int64_t def, int64_t min, int64_t max)
{
    const char *value = xs_env_get(id);
    int64_t v;

    if (!value)
        return def;
    if (xs_str_parse_i64(value, &v) < 0 || v < min || v > max) {
        char range[64];

        if (max == INT64_MAX)
            snprintf(range, sizeof(range), "a number of at least %lld", (long long)min);
        else
            snprintf(range, sizeof(range), "%lld..%lld", (long long)min, (long long)max);
        complain(id, value, range);
        return def;
    }
    return v;
}

bool xs_env_bool(enum xs_env_id id, bool def)
{
    const char *value = xs_env_get(id);
    bool v;

    if (!value)
        return def;
    if (xs_str_parse_bool(value, &v) < 0) {
        complain(id, value, NULL);
        return def;
    }
    return v;
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
