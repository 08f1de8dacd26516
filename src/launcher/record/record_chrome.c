/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome's trace event format (JSON object form), which Perfetto's viewer opens too. It has a track for each
 * queue below its process, a slice for each time that it ran or waited, and a counter of device time. */
#include "launcher/record/record.h"

#include "base/clock.h"

#include <inttypes.h>
#include <time.h>

/* Times are of the wall clock, as other profilers have them, so that a viewer can show files of both
 * together. They count from the base that torch.profiler uses, a multiple of three months: a number of JSON
 * is too short for nanoseconds since 1970. */
#define BASE_NS (7889238ull * XS_NS_PER_S)
/* Tracks of devices stand above the programs. No process has such a number. */
#define DEVICE_PID 0x40000000u

static bool g_any;         /* the file has an event */
static uint64_t g_zero_ns; /* the beginning of the recording, since that base */

static void next(FILE *f)
{
    fputs(g_any ? ",\n" : "\n", f);
    g_any = true;
}

static void time_of(FILE *f, const char *name, uint64_t ns)
{
    fprintf(f, "\"%s\":%" PRIu64 ".%03u", name, ns / 1000, (unsigned)(ns % 1000));
}

static void at(FILE *f, uint64_t ns)
{
    time_of(f, "ts", g_zero_ns + ns);
}

static void begin(FILE *f, uint64_t began_ns)
{
    struct timespec wall;
    uint64_t wall_ns;

    clock_gettime(CLOCK_REALTIME, &wall);
    wall_ns = (uint64_t)wall.tv_sec * XS_NS_PER_S + (uint64_t)wall.tv_nsec - (xs_now_ns() - began_ns);
    g_zero_ns = wall_ns % BASE_NS;
    g_any = false;
    fprintf(f, "{\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":%" PRIu64 ",\"traceEvents\":[", wall_ns - g_zero_ns);
}

static void name_track(FILE *f, const char *kind, uint64_t pid, unsigned tid, const char *name)
{
    json_t *text = json_string(name);
    char *dumped = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;

    next(f);
    fprintf(f, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%" PRIu64 ",\"tid\":%u,\"args\":{\"name\":%s}}", kind, pid, tid,
            dumped ? dumped : "\"?\"");
    free(dumped);
    json_decref(text);
}

static void device(FILE *f, unsigned number, const char *name)
{
    name_track(f, "process_name", DEVICE_PID + number, 0, name);
    name_track(f, "thread_name", DEVICE_PID + number, 1, "programs");
    next(f);
    fprintf(f, "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%u,\"tid\":0,\"args\":{\"sort_index\":%d}}",
            DEVICE_PID + number, (int)number - 1000);
}

static void had(FILE *f, unsigned device_number, const char *programs, uint64_t from_ns, uint64_t to_ns)
{
    json_t *text = json_string(programs);
    char *dumped = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;

    next(f);
    fprintf(f, "{\"ph\":\"X\",\"cat\":\"device\",\"name\":%s,\"pid\":%u,\"tid\":1,", dumped ? dumped : "\"?\"",
            DEVICE_PID + device_number);
    at(f, from_ns);
    fputc(',', f);
    time_of(f, "dur", to_ns - from_ns);
    fputs(",\"args\":{}}", f);
    free(dumped);
    json_decref(text);
}

static void process(FILE *f, int64_t pid, const char *command)
{
    name_track(f, "process_name", (uint64_t)pid, 0, command);
}

static void queue(FILE *f, unsigned number, int64_t pid, uint64_t handle, uint64_t device, const char *device_name,
                  int64_t priority, uint64_t at_ns)
{
    char name[192];

    (void)device;
    (void)priority;
    (void)at_ns;
    snprintf(name, sizeof(name), "queue 0x%" PRIx64 " on %s", handle, device_name);
    name_track(f, "thread_name", (uint64_t)pid, number, name);
}

static void slice(FILE *f, unsigned number, int64_t pid, enum record_state state, int64_t priority,
                  int64_t lane, const char *why, uint64_t from_ns, uint64_t to_ns)
{
    static const char *const k_names[] = {NULL, NULL, "run", "beside", "wait", "preempted", "suspended"};
    static const char *const k_colors[] = {NULL, NULL, "good", "yellow", "bad", "terrible", "grey"};

    if (!k_names[state])
        return;
    next(f);
    fprintf(f,
            "{\"ph\":\"X\",\"cat\":\"queue\",\"name\":\"%s\",\"cname\":\"%s\",\"pid\":%" PRId64
            ",\"tid\":%u,",
            k_names[state], k_colors[state], pid, number);
    at(f, from_ns);
    fputc(',', f);
    time_of(f, "dur", to_ns - from_ns);
    fprintf(f, ",\"args\":{\"priority\":%" PRId64, priority);
    if (lane)
        fprintf(f, ",\"multiprocessors\":%" PRId64, lane);
    if (why[0]) /* a word of xserver's own */
        fprintf(f, ",\"why\":\"%s\"", why);
    fputs("}}", f);
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
    at(f, at_ns);
    fputc('}', f);
}

static void share(FILE *f, int64_t pid, double percent, uint64_t from_ns, uint64_t to_ns)
{
    (void)from_ns;
    next(f);
    fprintf(f, "{\"ph\":\"C\",\"name\":\"device time\",\"pid\":%" PRId64 ",\"tid\":0,", pid);
    at(f, to_ns);
    fprintf(f, ",\"args\":{\"percent\":%.1f}}", percent);
}

static void lost(FILE *f, uint64_t count, uint64_t at_ns)
{
    next(f);
    fprintf(f,
            "{\"ph\":\"i\",\"s\":\"g\",\"cat\":\"record\",\"name\":\"%" PRIu64
            " events lost\",\"pid\":0,\"tid\":0,",
            count);
    at(f, at_ns);
    fputc('}', f);
}

static void policy(FILE *f, const char *name, uint64_t at_ns)
{
    next(f);
    fprintf(f, "{\"ph\":\"i\",\"s\":\"g\",\"cat\":\"decision\",\"name\":\"policy %s\",\"pid\":0,\"tid\":0,",
            name);
    at(f, at_ns);
    fputc('}', f);
}

static void end(FILE *f, uint64_t at_ns, uint64_t lost_events)
{
    fprintf(f,
            "\n],\"otherData\":{\"program\":\"xsched record %s\",\"clock\":\"CLOCK_REALTIME\",\"duration_us\":\"%" PRIu64
            "\",\"lost\":\"%" PRIu64 "\"}}\n",
            XSCHED_VERSION, at_ns / 1000, lost_events);
}

static void nothing_priority(FILE *f, unsigned number, int64_t priority, uint64_t at_ns)
{
    (void)priority;
    record_no_gone(f, number, at_ns);
}

const struct record_writer record_chrome = {
    .begin = begin,
    .process = process,
    .queue = queue,
    .gone = record_no_gone,
    .ready = record_no_ready,
    .decision = decision,
    .priority = nothing_priority,
    .policy = policy,
    .slice = slice,
    .device = device,
    .had = had,
    .share = share,
    .lost = lost,
    .end = end,
};
