/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome's trace event format (JSON object form), which Perfetto's viewer opens too: a track for each
 * queue below its process, a slice for each time that it ran or waited, a counter of device time. */
#include "launcher/record.h"

#include <inttypes.h>

static bool g_any; /* an event was written */

static void next(FILE *f)
{
    fputs(g_any ? ",\n" : "\n", f);
    g_any = true;
}

static void time_of(FILE *f, const char *name, uint64_t ns)
{
    fprintf(f, "\"%s\":%" PRIu64 ".%03u", name, ns / 1000, (unsigned)(ns % 1000));
}

static void begin(FILE *f)
{
    g_any = false;
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", f);
}

static void process(FILE *f, int64_t pid, const char *command)
{
    json_t *name = json_string(command);
    char *text = name ? json_dumps(name, JSON_ENCODE_ANY) : NULL;

    next(f);
    fprintf(f,
            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%" PRId64 ",\"tid\":0,\"args\":{\"name\":%s}}",
            pid, text ? text : "\"?\"");
    free(text);
    json_decref(name);
}

static void queue(FILE *f, unsigned number, int64_t pid, uint64_t handle, uint64_t device, int64_t priority,
                  uint64_t at_ns)
{
    (void)priority;
    (void)at_ns;
    next(f);
    fprintf(f,
            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%" PRId64
            ",\"tid\":%u,\"args\":{\"name\":\"queue 0x%" PRIx64 " on 0x%" PRIx64 "\"}}",
            pid, number, handle, device);
}

static void slice(FILE *f, unsigned number, int64_t pid, enum record_state state, int64_t priority,
                  uint64_t from_ns, uint64_t to_ns)
{
    static const char *const k_names[] = {NULL, NULL, "run", "wait", "preempted"};
    static const char *const k_colors[] = {NULL, NULL, "good", "bad", "terrible"};

    if (!k_names[state])
        return;
    next(f);
    fprintf(f,
            "{\"ph\":\"X\",\"cat\":\"queue\",\"name\":\"%s\",\"cname\":\"%s\",\"pid\":%" PRId64
            ",\"tid\":%u,",
            k_names[state], k_colors[state], pid, number);
    time_of(f, "ts", from_ns);
    fputc(',', f);
    time_of(f, "dur", to_ns - from_ns);
    fprintf(f, ",\"args\":{\"priority\":%" PRId64 "}}", priority);
}

static void decision(FILE *f, unsigned number, int64_t pid, bool run, bool preempted, uint64_t at_ns)
{
    (void)run;
    if (!preempted)
        return;
    next(f);
    fprintf(f,
            "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"decision\",\"name\":\"preempt\",\"pid\":%" PRId64
            ",\"tid\":%u,",
            pid, number);
    time_of(f, "ts", at_ns);
    fputc('}', f);
}

static void share(FILE *f, int64_t pid, double percent, uint64_t at_ns)
{
    next(f);
    fprintf(f, "{\"ph\":\"C\",\"name\":\"device time\",\"pid\":%" PRId64 ",\"tid\":0,", pid);
    time_of(f, "ts", at_ns);
    fprintf(f, ",\"args\":{\"percent\":%.1f}}", percent);
}

static void lost(FILE *f, uint64_t count, uint64_t at_ns)
{
    next(f);
    fprintf(f,
            "{\"ph\":\"i\",\"s\":\"g\",\"cat\":\"record\",\"name\":\"%" PRIu64
            " events lost\",\"pid\":0,\"tid\":0,",
            count);
    time_of(f, "ts", at_ns);
    fputc('}', f);
}

static void policy(FILE *f, const char *name, uint64_t at_ns)
{
    next(f);
    fprintf(f, "{\"ph\":\"i\",\"s\":\"g\",\"cat\":\"decision\",\"name\":\"policy %s\",\"pid\":0,\"tid\":0,",
            name);
    time_of(f, "ts", at_ns);
    fputc('}', f);
}

static void end(FILE *f, uint64_t at_ns, uint64_t lost_events)
{
    fprintf(f,
            "\n],\"otherData\":{\"program\":\"xsched record %s\",\"duration_us\":\"%" PRIu64
            "\",\"lost\":\"%" PRIu64 "\"}}\n",
            XSCHED_VERSION, at_ns / 1000, lost_events);
}

static void nothing_gone(FILE *f, unsigned number, uint64_t at_ns)
{
    (void)f;
    (void)number;
    (void)at_ns;
}

static void nothing_ready(FILE *f, unsigned number, bool ready, uint64_t at_ns)
{
    (void)ready;
    nothing_gone(f, number, at_ns);
}

static void nothing_priority(FILE *f, unsigned number, int64_t priority, uint64_t at_ns)
{
    (void)priority;
    nothing_gone(f, number, at_ns);
}

const struct record_writer record_chrome = {
    .begin = begin,
    .process = process,
    .queue = queue,
    .gone = nothing_gone,
    .ready = nothing_ready,
    .decision = decision,
    .priority = nothing_priority,
    .policy = policy,
    .slice = slice,
    .share = share,
    .lost = lost,
    .end = end,
};
