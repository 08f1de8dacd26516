/* SPDX-License-Identifier: Apache-2.0 */
/* A program with a fake device in real time, for tests that run it against xserver:
 *
 *   client --device FILE --role low|high --seconds S [--kernel-us U] [--touch-mib M] [--priority P]
 *
 * low launches kernels without end, high four of them every 30 ms, until S seconds are over or SIGTERM comes. Processes
 * that name the same FILE share one device. Prints a line "ready", then one "request MS" for each of high's, then
 * "result LAUNCHED COMPLETED SCHEDULED IN-ORDER". With --listen 1 lines "priority QUEUE N" and "deadline QUEUE N" of its
 * standard input are carried out, and answered with "said N". A line "tick US COMPLETED" comes every 100 ms, a
 * line "released US" when a launch was held for more than 200 ms; US is the monotonic clock. */
#include "fake_hal.h"
#include "vtime.h"

#include "base/clock.h"
#include "xsched/hint.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct fake_stream *g_stream;
static _Atomic bool g_stop;
static volatile sig_atomic_t g_asked; /* to end before its time */
static pthread_mutex_t g_print = PTHREAD_MUTEX_INITIALIZER;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    va_list ap;

    pthread_mutex_lock(&g_print);
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
    fflush(stdout);
    pthread_mutex_unlock(&g_print);
}

static void ask(int sig)
{
    (void)sig;
    g_asked = 1;
}

static const char *option(int argc, char **argv, const char *name, const char *def)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return argv[i + 1];
    return def;
}

static void *listener(void *arg)
{
    char line[128];

    (void)arg;
    while (fgets(line, sizeof(line), stdin)) {
        char what[16];
        unsigned long long queue;
        int value;

        if (sscanf(line, "%15s %llu %d", what, &queue, &value) != 3)
            continue;
        if ((strcmp(what, "priority") == 0 ? XHintPriority(queue, value) : XHintDeadline(queue, value)) == kXSchedSuccess)
            say("said %d\n", value);
    }
    return NULL;
}

static void *ticker(void *arg)
{
    (void)arg;
    while (!atomic_load(&g_stop)) {
        usleep(100000);
        say("tick %llu %llu\n", (unsigned long long)(xs_now_ns() / 1000),
            (unsigned long long)fake_stream_completed(g_stream));
    }
    return NULL;
}

/* Kernels end in the order in which they were launched, each once. */
static bool in_order(void)
{
    uint64_t next = 1;

    for (size_t i = 0; i < fake_trace_count(); i++) {
        struct fake_record r = fake_trace_get(i);

        if (r.what == FAKE_T_END && r.number != next++)
            return false;
    }
    return next - 1 == fake_stream_launched(g_stream);
}

int main(int argc, char **argv)
{
    uint64_t seconds = strtoull(option(argc, argv, "--seconds", "5"), NULL, 10);
    uint64_t kernel_ns = 1000 * strtoull(option(argc, argv, "--kernel-us", "1000"), NULL, 10);
    size_t touch = strtoull(option(argc, argv, "--touch-mib", "0"), NULL, 10) << 20;
    const char *device = option(argc, argv, "--device", NULL), *role = option(argc, argv, "--role", "low");
    int priority = atoi(option(argc, argv, "--priority", "0"));
    struct fake_device *d;
    char *memory;
    uint64_t until, launched = 0;
    pthread_t t, hear;

    fake_world_reset(true);
    d = fake_device_create(FAKE_EXCLUSIVE);
    if (device && fake_device_share(d, device) < 0)
        return 2;
    memory = touch ? malloc(touch) : NULL;
    for (size_t i = 0; memory && i < touch; i += 4096)
        memory[i] = 1;
    fake_stream_create(d, &g_stream);
    setenv("XSCHED_AUTO_XQUEUE", "ON", 0);
    if (fake_queue_auto(g_stream, priority) != kXSchedSuccess)
        return 3;
    pthread_create(&t, NULL, ticker, NULL);
    if (atoi(option(argc, argv, "--listen", "0")) && pthread_create(&hear, NULL, listener, NULL) == 0)
        pthread_detach(hear);
    signal(SIGTERM, ask);
    say("ready\n");
    until = xs_now_ns() + seconds * XS_NS_PER_S;
    while (!g_asked && xs_now_ns() < until) {
        uint64_t began = xs_now_ns();

        if (strcmp(role, "high") == 0) {
            struct timespec ts = {0, 30000000};

            nanosleep(&ts, NULL);
            began = xs_now_ns();
            for (int i = 0; i < 4; i++, launched++)
                fake_api_launch(g_stream, kernel_ns, 2);
            fake_api_synchronize(g_stream);
            say("request %.3f\n", (double)(xs_now_ns() - began) / 1e6);
        } else {
            fake_api_launch(g_stream, kernel_ns, 1);
            if (xs_now_ns() - began > 200000000)
                say("released %llu\n", (unsigned long long)(xs_now_ns() / 1000));
            if (++launched % 64 == 0)
                fake_api_synchronize(g_stream);
        }
    }
    fake_api_synchronize(g_stream);
    atomic_store(&g_stop, true);
    pthread_join(t, NULL);
    say("result %llu %llu %llu %d\n", (unsigned long long)launched, (unsigned long long)fake_stream_completed(g_stream),
        (unsigned long long)xsched_priv_scheduled_count(), in_order());
    return 0;
}
