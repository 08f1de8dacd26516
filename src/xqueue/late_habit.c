/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/late_habit.h"

#include "base/clock.h"

#define DELAY_LEAST_NS (100 * XS_NS_PER_US) /* less is not worth a gate */
#define DELAY_MOST_NS  (4 * XS_NS_PER_MS)
#define COMMANDS_LEAST 8u
#define LATE_NS        (100 * XS_NS_PER_US)
#define STEPS          4u                   /* a delay is tried in quarters of the time that launching takes */
#define PROBE          32u                  /* and then by this part of it */
#define LOOK_AT        4u                   /* bursts that are judged together ... */
#define TOO_MANY       2u                   /* ... of which so many may not end late */
#define TRY_AGAIN      512u                 /* bursts */
#define MARGIN         16u                  /* part of the launch time that is left */
#define STRANGE_EACH   4u                   /* a burst of another size counts that much, and one like the others makes up for 1 */
#define STRANGE_MOST   8u

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

/* A delay is found by trying longer ones until a burst ends late: then what it took on the device is what it takes in one
 * piece. Before that it is known only to be less. */
static void judge(struct xs_late_habit *h, uint64_t device_ns, bool late)
{
    h->looked++;
    if (h->step < STEPS) {
        h->device_ns = h->device_ns ? XS_MIN(h->device_ns, device_ns) : device_ns;
        h->step = late ? STEPS : h->step + 1;
        h->found = late;
        h->late = 0;
        return;
    }
    if (late) {
        h->late_ns = h->late ? XS_MIN(h->late_ns, device_ns) : device_ns;
        h->late++;
    }
    if (h->looked % LOOK_AT)
        return;
    if (h->late >= (h->found ? TOO_MANY : 1)) {
        h->device_ns = XS_MAX(h->device_ns, h->late_ns);
        h->found = true;
    } else if (!h->found) {
        h->device_ns -= XS_MIN(h->device_ns - 1, least_launch_ns(h) / PROBE);
    }
    h->late = 0;
    if (h->looked >= TRY_AGAIN) {
        h->looked = 0;
        h->found = false;
    }
}

void xs_late_learn(struct xs_late_habit *h, const struct xs_late_burst *b)
{
    uint64_t waited_ns = b->end_ns - XS_MIN(b->launch_ns, b->end_ns);

    if (!alike(b->commands, h->commands)) { /* one now and then says nothing */
        h->strange += STRANGE_EACH;
        if (h->commands && h->strange <= STRANGE_MOST)
            return;
        *h = (struct xs_late_habit){.commands = b->commands};
    }
    h->strange -= h->strange > 0;
    h->launch_ns[h->bursts++ % XS_LATE_BURSTS] = b->launch_ns;
    if (h->bursts > XS_LATE_BURSTS)
        judge(h, b->end_ns - XS_MIN(b->delay_ns, b->end_ns), waited_ns > LATE_NS + b->launch_ns / 16);
}

uint64_t xs_late_delay_ns(const struct xs_late_habit *h)
{
    uint64_t most_ns, delay_ns;

    if (h->bursts < XS_LATE_BURSTS || h->commands < COMMANDS_LEAST)
        return 0;
    most_ns = least_launch_ns(h);
    if (h->step < STEPS)
        delay_ns = most_ns / STEPS * h->step;
    else
        delay_ns = most_ns - XS_MIN(most_ns, h->device_ns + most_ns / MARGIN);
    return delay_ns < DELAY_LEAST_NS ? 0 : XS_MIN(delay_ns, DELAY_MOST_NS);
}
