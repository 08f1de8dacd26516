/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tune.h"

#include "base/env.h"
#include "base/log.h"
#include "base/str.h"
#include "base/settings/value.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *key;
    struct xs_value_type type;
} k_rows[XS_TUNE_COUNT] = {
#define X(symbol, key, type, help) {key, XS_TYPE type},
#include "base/tune.def"
#undef X
};

/* One line a process, for whichever item is wrong. */
static void complain(const char *what)
{
    static _Atomic bool said;

    if (!atomic_exchange(&said, true))
        XS_WARN("XSCHED_TUNE: %s; it has no effect", what);
}

/* One "key=value". @return whether it gives the constant `id` a value */
static bool take(const char *item, size_t bytes, enum xs_tune_id id, int64_t *ret)
{
    char key[40], text[XS_VALUE_ERROR_BYTES + 64], error[XS_VALUE_ERROR_BYTES];
    const char *value = "";
    char *equals;
    struct xs_value v;

    xs_str_copy(key, XS_MIN(sizeof(key), bytes + 1), item);
    equals = strchr(key, '=');
    if (equals) {
        *equals = 0;
        value = equals + 1;
    }
    for (unsigned i = 0; i < XS_TUNE_COUNT; i++) {
        if (strcmp(k_rows[i].key, key) != 0)
            continue;
        if (bytes < sizeof(key) && xs_value_parse(&k_rows[i].type, value, &v) == 0) {
            *ret = i == id ? v.number : *ret;
            return i == id;
        }
        snprintf(text, sizeof(text), "%s: %s", key, xs_value_error(&k_rows[i].type, value, error, sizeof(error)));
        complain(text);
        return false;
    }
    snprintf(text, sizeof(text), "'%s' is not a known key", key);
    complain(text);
    return false;
}

int64_t xs_tune_i64(enum xs_tune_id id, int64_t usual)
{
    const char *text = xs_env_get(XS_ENV_XSCHED_TUNE);
    int64_t value = usual;

    while (text && *text) {
        const char *comma = strchr(text, ',');
        size_t bytes = comma ? (size_t)(comma - text) : strlen(text);

        if (bytes)
            take(text, bytes, id, &value);
        text += bytes + (text[bytes] == ',');
    }
    return value;
}

int64_t xs_tune_keep(enum xs_tune_id id, int64_t usual, _Atomic int64_t *ret_kept)
{
    int64_t value = xs_tune_i64(id, usual);

    atomic_store_explicit(ret_kept, value, memory_order_relaxed); /* a value by itself */
    return value;
}
