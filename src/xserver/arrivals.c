/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/arrivals.h"

#define KNOWN    8u   /* with fewer times nothing is known */
#define BEYOND  16u   /* one in so many of the span of times seen is added on both sides */

static void note(struct xs_arrivals_times *t, uint64_t n, uint64_t ns)
{
    uint64_t sum = 0, known = XS_MIN(n + 1, (uint64_t)XS_ARRIVALS);

    t->ns[n % XS_ARRIVALS] = ns;
    t->least_ns = UINT64_MAX;
    t->most_ns = 0;
    for (uint64_t i = 0; i < known; i++) {
        t->least_ns = XS_MIN(t->least_ns, t->ns[i]);
        t->most_ns = XS_MAX(t->most_ns, t->ns[i]);
        sum += t->ns[i] / known;
    }
    t->mean_ns = sum;
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

/* How long before the least of these times one has to begin, so that few come earlier. */
static uint64_t from_ns(const struct xs_arrivals_times *t)
{
    uint64_t before = (t->most_ns - t->least_ns) / BEYOND + XS_ARRIVALS_EARLY_NS;

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
    *ret_until_ns = since_ns + t->most_ns + (t->most_ns - t->least_ns) / BEYOND + XS_ARRIVALS_EARLY_NS;
    return true;
}
