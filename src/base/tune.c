/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tune.h"

#include "base/env.h"
#include "base/log.h"
#include "base/str.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

static const struct {
    const char *key;
    int64_t least, most;
} k_rows[XS_TUNE_COUNT] = {
#define X(symbol, key, least, most, help) {key, least, most},
#include "base/tune.def"
#undef X
};

static bool is_key(const char *item, size_t bytes, unsigned row)
{
    return strlen(k_rows[row].key) == bytes && strncmp(item, k_rows[row].key, bytes) == 0;
}

/* One line a process, for whichever item is wrong. */
static void complain(const char *item, size_t bytes, const char *what)
{
    static _Atomic bool said;

    if (!atomic_exchange(&said, true))
        XS_WARN("XSCHED_TUNE: '%.*s' %s; it has no effect", (int)(bytes < 64 ? bytes : 64), item, what);
}

/* One "key=value". @return whether it gives the constant `id` a value */
static bool take(const char *item, size_t bytes, enum xs_tune_id id, int64_t *ret)
{
    const char *equals = memchr(item, '=', bytes);
    size_t key = equals ? (size_t)(equals - item) : bytes;
    char value[32];
    int64_t v;

    for (unsigned i = 0; i < XS_TUNE_COUNT; i++) {
        if (!is_key(item, key, i))
            continue;
        if (!equals || bytes - key - 1 >= sizeof(value)) {
            complain(item, bytes, "has no number");
            return false;
        }
        xs_str_copy(value, bytes - key, equals + 1);
        if (xs_str_parse_i64(value, &v) < 0 || v < k_rows[i].least || v > k_rows[i].most) {
            complain(item, bytes, "has no number in its range");
            return false;
        }
        if (i != id)
            return false;
        *ret = v;
        return true;
    }
    complain(item, bytes, "is not a known key");
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
