/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/late_habit.h"

#include "base/clock.h"

#define DELAY_LEAST_NS (100 * XS_NS_PER_US) /* less is not worth a gate */
#define DELAY_MOST_NS  (12 * XS_NS_PER_MS)
#define COMMANDS_LEAST 8u
#define STRANGE_EACH   4u                   /* a burst of another size counts that much, and one like the others makes up for 1 */
#define STRANGE_MOST   8u
#define AGAIN          64u                  /* windows until a longer delay is tried once more */

/* Delays, in parts of the launch time. */
#define PARTS 16u
static const uint8_t k_parts[] = {0, 4, 8, 10, 11, 12, 13, 14};

static bool alike(uint64_t a, uint64_t b)
{
    return XS_MAX(a, b) - XS_MIN(a, b) <= XS_MAX(a, b) / 8;
}

static uint64_t least_launch_ns(const struct xs_late_habit *h)
{
    uint64_t ns = UINT64_MAX;

    for (uint32_t i = 0; i < XS_LATE_BURSTS; i++)
        ns = XS_MIN(ns, h->launch_ns[i]);
    return ns;
}

/* What programs wait for at the end of a burst, on average, is to stay about what it is without a delay. */
static uint64_t limit_ns(const struct xs_late_habit *h)
{
    return h->natural_ns + 30 * XS_NS_PER_US + least_launch_ns(h) / 64;
}

/* A window is over. Single bursts say little: what the others had on the device may be in the way of any. */
static void judge(struct xs_late_habit *h, bool late)
{
    if (h->tried == 0)
        h->natural_ns = XS_MIN(h->waited_ns / h->n, least_launch_ns(h) / 8);
    if (h->tried == 0 || !late) {
        h->good = h->tried;
        h->settled = h->settled && ++h->windows < AGAIN;
    } else {
        h->good -= h->settled && h->good > 0; /* it was good, and is so no more */
        h->settled = true;
    }
    if (!h->settled || late)
        h->windows = 0;
    if (!h->settled && h->good + 1 == sizeof(k_parts))
        h->settled = true;
    h->tried = h->settled ? h->good : h->good + 1;
    h->n = 0;
    h->waited_ns = 0;
}

void xs_late_learn(struct xs_late_habit *h, const struct xs_late_burst *b)
{
    if (!alike(b->commands, h->commands)) { /* one now and then says nothing */
        h->strange += STRANGE_EACH;
        if (h->commands && h->strange <= STRANGE_MOST)
            return;
        *h = (struct xs_late_habit){.commands = b->commands};
    }
    h->strange -= h->strange > 0;
    h->launch_ns[h->bursts++ % XS_LATE_BURSTS] = b->launch_ns;
    h->n++;
    h->waited_ns += b->end_ns - XS_MIN(b->launch_ns, b->end_ns);
    if (h->tried && h->waited_ns > XS_LATE_BURSTS * limit_ns(h))
        judge(h, true);           /* whatever comes */
    else if (h->n == XS_LATE_BURSTS)
        judge(h, false);
}

uint64_t xs_late_delay_ns(const struct xs_late_habit *h)
{
    uint64_t delay_ns;

    if (h->tried == 0 || h->commands < COMMANDS_LEAST)
        return 0;
    delay_ns = least_launch_ns(h) / PARTS * k_parts[h->tried];
    return delay_ns < DELAY_LEAST_NS ? 0 : XS_MIN(delay_ns, DELAY_MOST_NS);
}
