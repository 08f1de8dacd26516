/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/prewake/arrivals.h"

#include <string.h>

#define KNOWN    8u   /* with fewer times the next one is unknown */
#define BEFORE   8u   /* adds one in so many of the span of times before it, ... */
#define AFTER    4u   /* ... and one in so many after it, which costs nothing unless a program comes late */
#define STRANGE  2u   /* so many of all of them may be longer than usual, and half as many shorter */

/* Puts ns in its place in a sorted array, the lowest first; the last number drops out. */
static void sort_in(uint64_t *sorted, unsigned n, uint64_t ns)
{
    for (unsigned i = 0; i < n; i++)
        if (ns < sorted[i]) {
            uint64_t was = sorted[i];

            sorted[i] = ns;
            ns = was;
        }
}

static void note(struct xs_arrivals_times *t, uint64_t n, uint64_t ns)
{
    uint64_t sum = 0, known = XS_MIN(n + 1, (uint64_t)XS_ARRIVALS);
    uint64_t low[STRANGE / 2 + 1], high[STRANGE + 1]; /* high: of the differences to the largest number */
    unsigned strange = known < XS_ARRIVALS / 2 ? 1 : STRANGE;

    t->ns[n % XS_ARRIVALS] = ns;
    memset(low, 0xff, sizeof(low));
    memset(high, 0xff, sizeof(high));
    for (uint64_t i = 0; i < known; i++) {
        sort_in(low, XS_ARRAY_LEN(low), t->ns[i]);
        sort_in(high, XS_ARRAY_LEN(high), UINT64_MAX - t->ns[i]);
        sum += t->ns[i];
    }
    for (unsigned i = 0; i < strange && i < known; i++)
        sum -= UINT64_MAX - high[i];
    t->least_ns = low[strange / 2];
    t->most_ns = XS_MAX(UINT64_MAX - high[strange], t->least_ns);
    t->mean_ns = XS_MAX(sum / XS_MAX(known - strange, 1ull), t->least_ns);
}

bool xs_arrivals_ready(struct xs_arrivals *a, uint64_t now_ns)
{
    if (a->ready++ || (a->left_ns && now_ns - a->left_ns < XS_ARRIVALS_REST_NS))
        return false;
    if (a->came_ns && a->left_ns) {
        note(&a->gaps, a->n, now_ns - a->left_ns);
        note(&a->periods, a->n, now_ns - a->came_ns);
        a->n++;
    }
    a->came_ns = now_ns;
    return true;
}

bool xs_arrivals_idle(struct xs_arrivals *a, uint64_t now_ns)
{
    if (!a->ready || --a->ready)
        return false;
    a->left_ns = now_ns;
    return true;
}

/* How long before the least of these times to begin, so that few arrivals come earlier. */
static uint64_t from_ns(const struct xs_arrivals_times *t)
{
    uint64_t before = (t->most_ns - t->least_ns) / BEFORE + XS_ARRIVALS_EARLY_NS;

    return t->least_ns - XS_MIN(t->least_ns, before);
}

bool xs_arrivals_next(const struct xs_arrivals *a, uint64_t percent, uint64_t *ret_from_ns, uint64_t *ret_until_ns)
{
    const struct xs_arrivals_times *t = &a->gaps;
    uint64_t since_ns = a->left_ns, looked_ns;

    if (a->n < KNOWN || a->ready)
        return false;
    looked_ns = t->mean_ns - from_ns(t);
    if (a->periods.mean_ns - from_ns(&a->periods) < looked_ns) {
        t = &a->periods;
        since_ns = a->came_ns;
        looked_ns = t->mean_ns - from_ns(t);
    }
    if (looked_ns * 100 > a->periods.mean_ns * percent)
        return false;
    *ret_from_ns = since_ns + from_ns(t);
    *ret_until_ns = since_ns + t->most_ns + (t->most_ns - t->least_ns) / AFTER + XS_ARRIVALS_EARLY_NS;
    return true;
}
