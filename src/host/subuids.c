/* SPDX-License-Identifier: Apache-2.0 */
#include "host/subuids.h"

#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH       "/etc/subuid"
#define MOST_BYTES (1u << 20)
#define MOST       16384u /* ranges */

/* Owner: the main thread, which alone replaces it, under the lock. */
static struct xs_subuids g_subuids;
static pthread_rwlock_t g_lock = PTHREAD_RWLOCK_INITIALIZER;

static int add(struct xs_subuids *s, const struct xs_subuid_range *range)
{
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 16;
        struct xs_subuid_range *more = realloc(s->ranges, cap * sizeof(*more));

        if (!more)
            return -ENOMEM;
        s->ranges = more;
        s->cap = cap;
    }
    s->ranges[s->n++] = *range;
    return 0;
}

/* @return whether the line is one */
static bool parse_line(char *line, bool (*find_user)(const char *name, uint32_t *ret_uid), struct xs_subuid_range *ret)
{
    char *first = strchr(line, ':'), *count = first ? strchr(first + 1, ':') : NULL;
    uint64_t from, n, uid;

    if (!count || first == line)
        return false;
    *first++ = 0;
    *count++ = 0;
    if (xs_str_parse_u64(first, 10, &from) < 0 || xs_str_parse_u64(count, 10, &n) < 0 || n == 0 || from > UINT32_MAX)
        return false;
    if (from == 0) { /* root is its own */
        from = 1;
        n--;
    }
    if (n == 0)
        return false;
    ret->first = (uint32_t)from;
    ret->last = (uint32_t)XS_MIN(from + XS_MIN(n, (uint64_t)UINT32_MAX) - 1, (uint64_t)UINT32_MAX - 1);
    if (xs_str_parse_u64(line, 10, &uid) == 0 && uid < UINT32_MAX) {
        ret->owner = (uint32_t)uid;
        return true;
    }
    return find_user(line, &ret->owner);
}

static int by_first(const void *a, const void *b)
{
    const struct xs_subuid_range *x = a, *y = b;

    return x->first < y->first ? -1 : x->first > y->first;
}

static void drop_overlaps(struct xs_subuids *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n; i++) {
        struct xs_subuid_range r = s->ranges[i];

        if (kept && r.first <= s->ranges[kept - 1].last) {
            if (r.last <= s->ranges[kept - 1].last)
                continue;
            r.first = s->ranges[kept - 1].last + 1;
        }
        s->ranges[kept++] = r;
    }
    s->n = kept;
}

int xs_subuids_parse(char *text, bool (*find_user)(const char *name, uint32_t *ret_uid), struct xs_subuids *ret)
{
    char *next = NULL;

    memset(ret, 0, sizeof(*ret));
    for (char *line = strtok_r(text, "\n", &next); line && ret->n < MOST; line = strtok_r(NULL, "\n", &next)) {
        struct xs_subuid_range range;

        if (parse_line(line, find_user, &range) && add(ret, &range) < 0) {
            xs_subuids_fini(ret);
            return -ENOMEM;
        }
    }
    if (ret->n)
        qsort(ret->ranges, ret->n, sizeof(*ret->ranges), by_first);
    drop_overlaps(ret);
    return 0;
}

void xs_subuids_fini(struct xs_subuids *s)
{
    free(s->ranges);
    memset(s, 0, sizeof(*s));
}

uint32_t xs_subuids_find(const struct xs_subuids *s, uint32_t uid)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (s->ranges[mid].last < uid)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->n && s->ranges[low].first <= uid ? s->ranges[low].owner : uid;
}

/* Only the main thread comes here. */
static bool find_user(const char *name, uint32_t *ret_uid)
{
    const struct passwd *entry = getpwnam(name);

    if (entry)
        *ret_uid = (uint32_t)entry->pw_uid;
    return entry != NULL;
}

void xs_subuids_load(void)
{
    char *text = malloc(MOST_BYTES + 1);
    struct xs_subuids now = {0}, before;
    FILE *f = text ? fopen(PATH, "re") : NULL;

    if (f) {
        text[fread(text, 1, MOST_BYTES, f)] = 0;
        fclose(f);
        if (xs_subuids_parse(text, find_user, &now) < 0)
            XS_WARN("cannot read %s: out of memory", PATH);
    }
    free(text);
    pthread_rwlock_wrlock(&g_lock);
    before = g_subuids;
    g_subuids = now;
    pthread_rwlock_unlock(&g_lock);
    xs_subuids_fini(&before);
}

void xs_subuids_unload(void)
{
    pthread_rwlock_wrlock(&g_lock);
    xs_subuids_fini(&g_subuids);
    pthread_rwlock_unlock(&g_lock);
}

uint32_t xs_subuids_owner(uint32_t uid)
{
    uint32_t owner;

    pthread_rwlock_rdlock(&g_lock);
    owner = xs_subuids_find(&g_subuids, uid);
    pthread_rwlock_unlock(&g_lock);
    return owner;
}
