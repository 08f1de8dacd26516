/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/words.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int xs_words_split(char *line, char *words[XS_WORDS_MAX])
{
    char *save = NULL;
    int n = 0;

    line[strcspn(line, "#\r\n")] = 0;
    for (char *w = strtok_r(line, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
        if (n == XS_WORDS_MAX)
            return -1;
        words[n++] = w;
    }
    return n;
}

int xs_words_time(const char *text, uint64_t unit_ns, uint64_t *ret_ns)
{
    uint64_t whole = 0, part = 0, scale = unit_ns;
    const char *p = text;
    bool digits = false;

    for (; *p >= '0' && *p <= '9'; p++, digits = true) {
        if (whole > (UINT64_MAX / unit_ns - 9) / 10)
            return -EINVAL;
        whole = whole * 10 + (uint64_t)(*p - '0');
    }
    if (*p == '.') {
        for (p++; *p >= '0' && *p <= '9'; p++, digits = true) {
            scale /= 10;
            part += (uint64_t)(*p - '0') * scale;
        }
    }
    if (*p || !digits)
        return -EINVAL;
    *ret_ns = whole * unit_ns + part;
    return 0;
}

static int set_number(const struct xs_key *k, void *field, const char *value, char *error)
{
    int64_t n;

    if (xs_str_parse_i64(value, &n) < 0) {
        snprintf(error, XS_ERROR_BYTES, "%s: '%.40s' is no number", k->name, value);
        return -EINVAL;
    }
    if (n < k->lo || n > k->hi) {
        snprintf(error, XS_ERROR_BYTES, "%s: %lld is outside %lld..%lld", k->name, (long long)n,
                 (long long)k->lo, (long long)k->hi);
        return -EINVAL;
    }
    if (k->kind == XS_KEY_I32)
        *(int32_t *)field = (int32_t)n;
    else if (k->kind == XS_KEY_I64)
        *(int64_t *)field = n;
    else
        *(uint64_t *)field = (uint64_t)n;
    return 0;
}

static int set_time(const struct xs_key *k, uint64_t *field, const char *value, char *error)
{
    uint64_t unit = k->kind == XS_KEY_US ? XS_NS_PER_US : XS_NS_PER_MS, ns;

    if (xs_str_equal_nocase(value, "unlimited")) {
        *field = UINT64_MAX;
        return 0;
    }
    if (xs_words_time(value, unit, &ns) < 0 || ns < (uint64_t)k->lo * unit || ns > (uint64_t)k->hi * unit) {
        snprintf(error, XS_ERROR_BYTES, "%s: '%.40s' is no time in %s from %lld to %lld", k->name, value,
                 k->kind == XS_KEY_US ? "microseconds" : "milliseconds", (long long)k->lo, (long long)k->hi);
        return -EINVAL;
    }
    *field = ns;
    return 0;
}

static int set_enum(const struct xs_key *k, int *field, const char *value, char *error)
{
    for (int i = 0; k->names[i]; i++) {
        if (xs_str_equal_nocase(k->names[i], value)) {
            *field = i;
            return 0;
        }
    }
    snprintf(error, XS_ERROR_BYTES, "%s: there is no value '%.40s'", k->name, value);
    return -EINVAL;
}

int xs_words_set(const struct xs_key *keys, size_t n, void *object, const char *word,
                 char error[XS_ERROR_BYTES])
{
    const char *eq = strchr(word, '='), *value;

    if (!eq) {
        snprintf(error, XS_ERROR_BYTES, "'%.40s' is not of the form key=value", word);
        return -EINVAL;
    }
    value = eq + 1;
    for (size_t i = 0; i < n; i++) {
        const struct xs_key *k = &keys[i];
        void *field = (char *)object + k->offset;

        if (strlen(k->name) != (size_t)(eq - word) || strncmp(k->name, word, (size_t)(eq - word)) != 0)
            continue;
        switch (k->kind) {
        case XS_KEY_US:
        case XS_KEY_MS:
            return set_time(k, field, value, error);
        case XS_KEY_ENUM:
            return set_enum(k, field, value, error);
        case XS_KEY_BOOL:
            if (xs_str_parse_bool(value, field) == 0)
                return 0;
            snprintf(error, XS_ERROR_BYTES, "%s: '%.40s' is neither on nor off", k->name, value);
            return -EINVAL;
        case XS_KEY_NAME:
            if (*value && xs_str_copy(field, XS_NAME_BYTES, value))
                return 0;
            snprintf(error, XS_ERROR_BYTES, "%s: a name has 1 to %d characters", k->name, XS_NAME_BYTES - 1);
            return -EINVAL;
        default:
            return set_number(k, field, value, error);
        }
    }
    snprintf(error, XS_ERROR_BYTES, "unknown key '%.*s'", (int)XS_MIN(eq - word, 40), word);
    return -EINVAL;
}
