/* SPDX-License-Identifier: Apache-2.0 */
/* The facts in the form that xsched-replay(1) reads, so that it can show another policy's decisions on them.
 * The actual decisions are comments. */
#include "launcher/record/record.h"

#include <inttypes.h>

static void time_of(FILE *f, uint64_t ns)
{
    fprintf(f, "%" PRIu64 " ", ns / 1000);
}

static void begin(FILE *f, uint64_t began_ns)
{
    (void)began_ns;
    fputs("# recorded by xsched record\n", f);
}

static void process(FILE *f, int64_t pid, const char *command)
{
    fprintf(f, "# p%" PRId64 ": %s\n", pid, command);
}

/* Devices are small numbers there. */
static unsigned device_number(uint64_t device)
{
    static uint64_t known[64];
    static unsigned n;

    for (unsigned i = 0; i < n; i++)
        if (known[i] == device)
            return i;
    if (n == XS_ARRAY_LEN(known))
        return 0;
    known[n] = device;
    return n++;
}

static void queue(FILE *f, unsigned number, int64_t pid, uint64_t handle, uint64_t device, const char *device_name,
                  int64_t priority, uint64_t at_ns)
{
    (void)device_name;
    time_of(f, at_ns);
    fprintf(f, "queue q%u process=p%" PRId64 " device=%u priority=%" PRId64 " # 0x%" PRIx64 "\n", number, pid,
            device_number(device), priority, handle);
}

static void gone(FILE *f, unsigned number, uint64_t at_ns)
{
    time_of(f, at_ns);
    fprintf(f, "remove q%u\n", number);
}

static void ready(FILE *f, unsigned number, bool is_ready, uint64_t at_ns)
{
    time_of(f, at_ns);
    fprintf(f, "%s q%u\n", is_ready ? "ready" : "idle", number);
}

static void decision(FILE *f, unsigned number, int64_t pid, bool run, bool preempted, uint64_t at_ns)
{
    (void)pid;
    (void)preempted;
    fputs("# decided: ", f);
    time_of(f, at_ns);
    fprintf(f, "q%u %s\n", number, run ? "run" : "hold");
}

static void priority(FILE *f, unsigned number, int64_t value, uint64_t at_ns)
{
    time_of(f, at_ns);
    fprintf(f, "hint q%u priority=%" PRId64 "\n", number, value);
}

static void policy(FILE *f, const char *name, uint64_t at_ns)
{
    time_of(f, at_ns);
    fprintf(f, "policy %s\n", name);
}

static void slice(FILE *f, unsigned number, int64_t pid, enum record_state state, int64_t priority_,
                  int64_t lane, const char *why, uint64_t from_ns, uint64_t to_ns)
{
    (void)why;
    (void)f;
    (void)number;
    (void)pid;
    (void)state;
    (void)priority_;
    (void)lane;
    (void)from_ns;
    (void)to_ns;
}

static void share(FILE *f, int64_t pid, double percent, uint64_t from_ns, uint64_t to_ns)
{
    (void)f;
    (void)pid;
    (void)percent;
    (void)from_ns;
    (void)to_ns;
}

static void lost(FILE *f, uint64_t count, uint64_t at_ns)
{
    fprintf(f, "# %" PRIu64 " events lost before %" PRIu64 "\n", count, at_ns / 1000);
}

static void end(FILE *f, uint64_t at_ns, uint64_t lost_events)
{
    (void)lost_events;
    time_of(f, at_ns);
    fputs("end\n", f);
}

const struct record_writer record_replay = {
    .begin = begin,
    .process = process,
    .queue = queue,
    .gone = gone,
    .ready = ready,
    .decision = decision,
    .priority = priority,
    .policy = policy,
    .slice = slice,
    .device = record_no_device,
    .had = record_no_had,
    .share = share,
    .lost = lost,
    .end = end,
};
