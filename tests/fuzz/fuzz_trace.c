/* SPDX-License-Identifier: Apache-2.0 */
/* The three kinds of text that are read line by line: a trace of decisions (xsched-replay), a
 * scenario (xsched-sim), and a trace of vendor calls (xsched trace). */
#include "fuzz.h"

#include "launcher/trace_summary.h"
#include "sim/replay.h"
#include "sim/scenario.h"

#include <errno.h>

_Atomic uint64_t fuzz_steps;
const char *const fuzz_steps_name = "lines accepted";

static void decided(void *ctx, uint64_t time_ns, const char *queue, bool run)
{
    uint64_t *last = ctx;

    (void)run;
    FUZZ_CHECK(queue[0] && time_ns >= *last); /* told in order */
    *last = time_ns;
}

static void each_line(char *text, bool (*fn)(void *ctx, char *line), void *ctx)
{
    for (char *next; text; text = next) {
        next = strchr(text, '\n');
        if (next)
            *next++ = 0;
        if (!fn(ctx, text))
            return;
    }
}

static bool replay_line(void *ctx, char *line)
{
    char error[XS_ERROR_BYTES] = "";
    int r = xs_replay_line(ctx, line, error);

    FUZZ_CHECK(r == 0 || (r == -EINVAL && error[0]));
    fuzz_steps += r == 0;
    return r == 0;
}

static bool scenario_line(void *ctx, char *line)
{
    char error[XS_ERROR_BYTES] = "";
    int r = xs_scenario_line(ctx, line, error);

    FUZZ_CHECK(r == 0 || (r == -EINVAL && error[0]));
    fuzz_steps += r == 0;
    return r == 0;
}

static bool trace_line(void *ctx, char *line)
{
    FUZZ_CHECK(xs_trace_sum_add(ctx, line) == 0);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *null;
    char *text = fuzz_text(data, size), error[XS_ERROR_BYTES];
    uint64_t last = 0;
    struct xs_replay *replay = xs_replay_new(NULL, decided, &last);
    struct xs_trace_sum *sum = xs_trace_sum_new();
    struct xs_trace_totals totals;
    struct xs_scenario sc;

    if (!null)
        null = fopen("/dev/null", "w");
    each_line(text, replay_line, replay);
    xs_replay_end(replay);
    xs_replay_free(replay);
    free(text);
    text = fuzz_text(data, size);
    xs_scenario_init(&sc);
    each_line(text, scenario_line, &sc);
    if (xs_scenario_finish(&sc, error) == 0)
        for (size_t i = 0; i < sc.nqueues; i++)
            FUZZ_CHECK(sc.queues[i].process_index < sc.nprocesses && sc.queues[i].device_index < sc.ndevices);
    xs_scenario_fini(&sc);
    free(text);
    text = fuzz_text(data, size);
    each_line(text, trace_line, sum);
    xs_trace_sum_totals(sum, &totals);
    FUZZ_CHECK(totals.failed <= totals.calls);
    xs_trace_sum_print(sum, null);
    xs_trace_sum_free(sum);
    free(text);
    return 0;
}
