/* SPDX-License-Identifier: Apache-2.0 */
/* A program of a world whose clock moves only when everybody sleeps (fakes/world); its calls take no time. Each begins
 * with one kernel and then waits until BEGIN_US: by then it has joined, and what happens is no longer a matter of which
 * thread was first.
 *
 *   exact low KERNEL_US UNTIL_US
 *     keeps launching, for so long, when it is known what a kernel takes; prints "kernels N took_us T in_flight_us M
 *     gates G between_gates_us A to_us B": how many; how long they took; the most that was in flight, if it has the
 *     device alone; how many waits for memory were put into its stream, and how far apart
 *   exact fills FILL_US UNTIL_US
 *     low, with synchronous fills of device memory instead of kernels (FAKE_CUDA_FILL_US says how long each takes)
 *   exact high KERNEL_US KERNELS GAP_US FIRST_US EACH_US REQUESTS
 *     a request each EACH_US: so many kernels, each waited for, with a pause between; prints what each took beyond its
 *     own kernels and pauses, in us
 *   exact eager KERNEL_US KERNELS LAUNCH_US FIRST_US EACH_US REQUESTS [FROM HOW]
 *     a request each EACH_US: so many kernels, a launch each LAUNCH_US and a third more in each second request, one wait at the
 *     end; prints what each took, in us. From request FROM on otherwise, by HOW: 1: a tenth of the time for each launch; 2: ten
 *     times as long kernels
 *   exact ahead KERNEL_US KERNELS LAUNCH_US FIRST_US BIG_US STEPS
 *     steps: so many kernels, a launch each LAUNCH_US, then one of BIG_US; each step waits for the end of the one before it, as a
 *     server of a language model does; prints what each took, in us
 *   exact serves KERNEL_US KERNELS LAUNCH_US FIRST_US BIG_US STEPS THINK_US
 *     steps: so many kernels, a launch each LAUNCH_US, then one of BIG_US and a third as many short ones; one wait for all of it,
 *     one in its midst for the step before, and THINK_US until the next step; prints what each took, in us
 *   exact hands KERNEL_US KERNELS LAUNCH_US FIRST_US BIG_US STEPS THINK_US [AFTER]
 *     steps: THINK_US, so many kernels, a launch each LAUNCH_US, then one of BIG_US; or a graph of it, and AFTER more like the
 *     first ones. A helper thread waits for each step, with AFTER from LATE_US on; the program needs what that one waits for
 *     only once the next step has been launched. Prints what each took, in us
 *   exact graph KERNEL_US KERNELS FIRST_US THINK_US STEPS
 *     steps: one launch of a graph of so many kernels, an event behind it, a wait for the event, and THINK_US until the next
 *     step, as a server decodes whose steps are CUDA graphs; prints what each took, in us
 *   exact both KERNEL_US KERNELS GAP_US FIRST_US EACH_US REQUESTS LOW_KERNEL_US LOW_UNTIL_US
 *     high, on a stream of priority -1, beside a thread that does what low does on another stream of the same context;
 *     prints what high prints, then what low prints
 *   exact each KERNEL_US UNTIL_US
 *     one kernel after the other; prints when each ended
 *   exact bad HOW AT_US UNTIL_US [FROM_US]
 *     always has work, from then on until something happens to it: killed, exits, lost (its device), destroys (its context, with
 *     work pending), idle, stopped (until SIGCONT); or kills, stops: the process VICTIM, and goes on until UNTIL_US.
 *     Prints "code N" of its last synchronisation
 *   exact meddles HOW AT_US
 *     kills, stops: the process VICTIM, then; it uses no device
 *
 * Times count from the beginning of the world. */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fakes/vtime.h"

#define BEGIN_US 10000
#define LEARN_US 6000             /* of kernels, after which it is known what one takes */

typedef void *P;
static int (*destroy)(P), (*init)(unsigned), (*retain)(P *, int), (*set)(P), (*create)(P *, unsigned), (*sync_stream)(P);
static int (*function)(P *, P, const char *), (*create_context)(P *, unsigned, int), (*create_urgent)(P *, unsigned, int);
static int (*launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static int (*allocate)(uint64_t *, size_t), (*fill)(uint64_t, unsigned char, size_t);
static int (*capture)(P, int), (*end_capture)(P, P *), (*instantiate)(P *, P, uint64_t), (*launch_graph)(P, P);
static int (*create_event)(P *, unsigned), (*record)(P, P), (*sync_event)(P), (*query_event)(P);
static uint64_t (*waits)(void);
static void (*lose)(void);
static __thread P g_stream;
static __thread uint64_t g_done_ns;
static P g_burn, g_context;
static uint64_t g_filled;          /* 0: kernels */

static uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec - VTIME_START_NS) / 1000;
}

static void sleep_us(uint64_t us)
{
    struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};

    nanosleep(&t, NULL);
}

static void check(int r, const char *what)
{
    if (!r)
        return;
    printf("FAILED %s -> %d\n", what, r);
    exit(1);
}
#define OK(call) check(call, #call)

static void burn(uint64_t us)
{
    static __thread uint32_t started, stamp;
    uint64_t ns = us * 1000, *sum = &g_done_ns;
    uint32_t *at = &started;
    void *params[] = {&ns, &at, &stamp, &sum};

    if (g_filled) {
        OK(fill(g_filled, 1, 64));
        return;
    }
    stamp++;
    OK(launch(g_burn, 1, 1, 1, 1, 1, 1, 0, g_stream, params, NULL));
}

static int low(uint64_t kernel_us, uint64_t until_us)
{
    int64_t most = 0, ahead;
    uint64_t n = 0, begin, before, last = 0, gap_min = UINT64_MAX, gap_max = 0;

    for (uint64_t i = 0; i < 4 || i * kernel_us < LEARN_US; i++)
        burn(kernel_us);
    OK(sync_stream(g_stream));
    begin = now_us();
    before = waits();
    for (uint64_t seen = before; now_us() < until_us;) {
        burn(kernel_us);
        n++;
        ahead = (int64_t)(n * kernel_us) - (int64_t)(now_us() - begin); /* the device always has something to do */
        most = ahead > most ? ahead : most;
        if (waits() == seen)
            continue;
        seen = waits();
        if (last && n - last < gap_min)
            gap_min = n - last;
        if (last && n - last > gap_max)
            gap_max = n - last;
        last = n;
    }
    OK(sync_stream(g_stream));
    printf("kernels %" PRIu64 " took_us %" PRIu64 " in_flight_us %" PRId64 " gates %" PRIu64
           " between_gates_us %" PRIu64 " to_us %" PRIu64 "\n", n, now_us() - begin, most, waits() - before,
           last ? gap_min * kernel_us : 0, gap_max * kernel_us);
    return 0;
}

/* The first kernels are short. Waits for the last one but DEPTH before each of the others, and says how many of those were in
 * flight at most in the second half of its time. */
static int changed(uint64_t short_us, uint64_t until_us, uint64_t kernel_us)
{
    enum { DEPTH = 8 };
    P events[DEPTH];
    uint64_t n = 0, half_us = (now_us() + until_us) / 2, done = 0, most = 0;

    for (int i = 0; i < 20; i++) {
        burn(short_us);
        OK(sync_stream(g_stream));
    }
    for (int i = 0; i < DEPTH; i++)
        OK(create_event(&events[i], 2));
    for (; now_us() < until_us; n++) {
        if (n >= DEPTH) {
            OK(sync_event(events[n % DEPTH]));
            done = done > n - DEPTH ? done : n - DEPTH + 1;
        }
        burn(kernel_us);
        OK(record(events[n % DEPTH], g_stream));
        while (done <= n && query_event(events[done % DEPTH]) == 0)
            done++;
        if (now_us() > half_us && n + 1 - done > most)
            most = n + 1 - done;
    }
    OK(sync_stream(g_stream));
    printf("kernels %" PRIu64 " in_flight %" PRIu64 "\n", n, most);
    return 0;
}

static int each(uint64_t kernel_us, uint64_t until_us)
{
    while (now_us() < until_us) {
        burn(kernel_us);
        OK(sync_stream(g_stream));
        printf("%" PRIu64 "\n", now_us());
    }
    return 0;
}

static int bad(const char *how, uint64_t at_us, uint64_t until_us, uint64_t from_us, P ctx)
{
    int r = 0;

    if (from_us > now_us())
        sleep_us(from_us - now_us());
    while (now_us() < at_us)
        burn(1000);
    if (strcmp(how, "killed") == 0)
        kill(getpid(), SIGKILL);
    else if (strcmp(how, "exits") == 0)
        _exit(0);
    else if (strcmp(how, "stopped") == 0)
        kill(getpid(), SIGSTOP);
    else if (strcmp(how, "lost") == 0)
        lose();
    else if (strcmp(how, "destroys") == 0)
        OK(destroy(ctx));
    if (strcmp(how, "kills") == 0 || strcmp(how, "stops") == 0)
        for (kill(atoi(getenv("VICTIM")), *how == 'k' ? SIGKILL : SIGSTOP); now_us() < until_us;)
            burn(1000);
    if (strcmp(how, "destroys") != 0)
        r = sync_stream(g_stream);
    printf("code %d\n", r);
    if (until_us > now_us())
        sleep_us(until_us - now_us());
    return 0;
}

static int high(uint64_t kernel_us, uint64_t kernels, uint64_t gap_us, uint64_t first_us, uint64_t each_us,
                uint64_t requests)
{
    for (uint64_t i = 0; i < requests; i++) {
        uint64_t begin = first_us + i * each_us;

        if (begin > now_us())
            sleep_us(begin - now_us());
        begin = now_us();
        for (uint64_t k = 0; k < kernels; k++) {
            if (k)
                sleep_us(gap_us);
            burn(kernel_us);
            OK(sync_stream(g_stream));
        }
        printf("%" PRIu64 "\n", now_us() - begin - kernels * kernel_us - (kernels - 1) * gap_us);
    }
    return 0;
}

static void launch_each(uint64_t kernel_us, uint64_t kernels, uint64_t launch_us)
{
    for (uint64_t k = 0; k < kernels; k++) {
        burn(kernel_us);
        sleep_us(launch_us);
    }
}

static int eager(uint64_t kernel_us, uint64_t kernels, uint64_t launch_us, uint64_t first_us, uint64_t each_us,
                 uint64_t requests, uint64_t from, uint64_t how)
{
    for (uint64_t i = 0; i < requests; i++) {
        uint64_t begin = first_us + i * each_us, sum = g_done_ns;

        if (how == 1 && i == from)
            launch_us /= 10;
        if (how == 2 && i == from)
            kernel_us *= 10;

        if (begin > now_us())
            sleep_us(begin - now_us());
        begin = now_us();
        launch_each(kernel_us, kernels, i % 2 ? launch_us * 4 / 3 : launch_us);
        OK(sync_stream(g_stream));
        printf("%" PRIu64 "\n", now_us() - begin);
        check(g_done_ns - sum != kernels * kernel_us * 1000, "what was computed");
    }
    return 0;
}

static int ahead(uint64_t kernel_us, uint64_t kernels, uint64_t launch_us, uint64_t first_us, uint64_t big_us, uint64_t steps)
{
    P events[2];

    OK(create_event(&events[0], 2));
    OK(create_event(&events[1], 2));
    sleep_us(first_us - now_us());
    for (uint64_t i = 0; i < steps; i++) {
        uint64_t begin = now_us();

        launch_each(kernel_us, kernels, launch_us);
        burn(big_us);
        OK(record(events[i % 2], g_stream));
        if (i)
            OK(sync_event(events[(i - 1) % 2]));
        printf("%" PRIu64 "\n", now_us() - begin);
    }
    OK(sync_stream(g_stream));
    check(g_done_ns != steps * (kernels * kernel_us + big_us) * 1000, "what was computed");
    return 0;
}

static int serves(uint64_t kernel_us, uint64_t kernels, uint64_t launch_us, uint64_t first_us, uint64_t big_us, uint64_t steps,
                  uint64_t think_us)
{
    P event;

    OK(create_event(&event, 2));
    sleep_us(first_us - now_us());
    for (uint64_t i = 0; i < steps; i++) {
        uint64_t begin = now_us();

        sleep_us(think_us);
        launch_each(kernel_us, kernels, launch_us);
        if (i)
            OK(sync_event(event));
        burn(big_us);
        for (uint64_t k = 0; k < kernels / 3; k++) {
            sleep_us(launch_us);
            burn(kernel_us);
        }
        OK(record(event, g_stream));
        OK(sync_stream(g_stream));
        printf("%" PRIu64 "\n", now_us() - begin);
    }
    check(g_done_ns != steps * ((kernels + kernels / 3) * kernel_us + big_us) * 1000, "what was computed");
    return 0;
}

/* What the helper thread waits for. */
static struct {
    P events[2];
    uint64_t steps, late_us;
    _Atomic uint64_t launched, complete;
} g_handed;

#define LOOK_US 40
#define LATE_US 300

static void *helper(void *arg)
{
    (void)arg;
    OK(set(g_context));
    for (uint64_t i = 0; i < g_handed.steps; i++) {
        while (g_handed.launched <= i)
            sleep_us(LOOK_US);
        sleep_us(g_handed.late_us);
        OK(sync_event(g_handed.events[i % 2]));
        g_handed.complete = i + 1;
    }
    return NULL;
}

static int hands(uint64_t kernel_us, uint64_t kernels, uint64_t launch_us, uint64_t first_us, uint64_t big_us, uint64_t steps,
                 uint64_t think_us, uint64_t after)
{
    pthread_t t;
    P big;

    OK(capture(g_stream, 2));
    burn(big_us);
    OK(end_capture(g_stream, &big));
    OK(instantiate(&big, big, 0));
    OK(create_event(&g_handed.events[0], 2));
    OK(create_event(&g_handed.events[1], 2));
    g_handed.steps = steps;
    g_handed.late_us = after ? LATE_US : 0;
    if (pthread_create(&t, NULL, helper, NULL) != 0)
        return 2;
    sleep_us(first_us - now_us());
    for (uint64_t i = 0; i < steps; i++) {
        uint64_t begin = now_us();

        sleep_us(think_us);
        launch_each(kernel_us, kernels, launch_us);
        if (after)
            OK(launch_graph(big, g_stream));
        else
            burn(big_us);
        launch_each(kernel_us, after, launch_us);
        OK(record(g_handed.events[i % 2], g_stream));
        g_handed.launched = i + 1;
        while (g_handed.complete < i)
            sleep_us(LOOK_US);
        printf("%" PRIu64 "\n", now_us() - begin);
    }
    pthread_join(t, NULL);
    check(g_done_ns != steps * ((kernels + after) * kernel_us + big_us) * 1000, "what was computed");
    return 0;
}

static int graph(uint64_t kernel_us, uint64_t kernels, uint64_t first_us, uint64_t think_us, uint64_t steps)
{
    P captured, executable, event;

    OK(create_event(&event, 2));
    OK(capture(g_stream, 2));
    for (uint64_t k = 0; k < kernels; k++)
        burn(kernel_us);
    OK(end_capture(g_stream, &captured));
    OK(instantiate(&executable, captured, 0));
    sleep_us(first_us - now_us());
    for (uint64_t i = 0; i < steps; i++) {
        uint64_t begin = now_us();

        OK(launch_graph(executable, g_stream));
        OK(record(event, g_stream));
        OK(sync_event(event));
        printf("%" PRIu64 "\n", now_us() - begin);
        sleep_us(think_us);
    }
    check(g_done_ns != steps * kernels * kernel_us * 1000, "what was computed");
    return 0;
}

/* One kernel, then a wait, at whose end the program has joined. */
static void begin(uint64_t kernel_us)
{
    burn(kernel_us);
    OK(sync_stream(g_stream));
    sleep_us(BEGIN_US - now_us());
    g_done_ns = 0;
}

static void *beside(void *arg)
{
    const uint64_t *number = arg;

    OK(set(g_context));
    OK(create(&g_stream, 1));
    begin(number[0]);
    low(number[0], number[1]);
    return NULL;
}

static int both(uint64_t *number)
{
    pthread_t t;

    OK(create_urgent(&g_stream, 1, -1));
    if (pthread_create(&t, NULL, beside, number + 6) != 0)
        return 2;
    begin(number[0]);
    high(number[0], number[1], number[2], number[3], number[4], number[5]);
    pthread_join(t, NULL);
    return 0;
}

/* Of the process VICTIM. */
static int meddles(const char *how, uint64_t at_us)
{
    pid_t victim = atoi(getenv("VICTIM"));

    sleep_us(at_us - now_us());
    kill(victim, strcmp(how, "kills") == 0 ? SIGKILL : SIGSTOP);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t number[8] = {0};
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *fake = dlopen(getenv("FAKE"), RTLD_NOW), *p;
    P ctx, made;

    if (!lib || !fake || argc < 4)
        return 2;
    for (int i = 2; i < argc && i < 10; i++)
        number[i - 2] = strtoull(argv[i], NULL, 10);
    if (strcmp(argv[1], "meddles") == 0)
        return meddles(argv[2], number[1]);
#define GET(fn, from, name) p = dlsym(from, name), memcpy(&fn, &p, sizeof(p))
    GET(init, lib, "cuInit");
    GET(retain, lib, "cuDevicePrimaryCtxRetain");
    GET(set, lib, "cuCtxSetCurrent");
    GET(create, lib, "cuStreamCreate");
    GET(create_urgent, lib, "cuStreamCreateWithPriority");
    GET(sync_stream, lib, "cuStreamSynchronize");
    GET(launch, lib, "cuLaunchKernel");
    GET(function, lib, "cuModuleGetFunction");
    GET(create_context, lib, "cuCtxCreate_v2");
    GET(destroy, lib, "cuCtxDestroy_v2");
    GET(allocate, lib, "cuMemAlloc_v2");
    GET(fill, lib, "cuMemsetD8_v2");
    GET(capture, lib, "cuStreamBeginCapture_v2");
    GET(end_capture, lib, "cuStreamEndCapture");
    GET(instantiate, lib, "cuGraphInstantiateWithFlags");
    GET(launch_graph, lib, "cuGraphLaunch");
    GET(create_event, lib, "cuEventCreate");
    GET(record, lib, "cuEventRecord");
    GET(sync_event, lib, "cuEventSynchronize");
    GET(query_event, lib, "cuEventQuery");
    GET(waits, fake, "fake_cuda_waits");
    GET(lose, fake, "fake_lose_device");
    sleep_us(strcmp(argv[1], "low") == 0 || strcmp(argv[1], "fills") == 0 ||
             strcmp(argv[1], "each") == 0 || strcmp(argv[1], "changed") == 0 ? 1000 : 3000);
    OK(init(0));
    OK(retain(&ctx, 0));
    OK(set(ctx));
    if (strcmp(argv[1], "bad") == 0 && strcmp(argv[2], "destroys") == 0) {
        OK(create_context(&made, 0, 0));
        ctx = made;
    }
    g_context = ctx;
    OK(function(&g_burn, NULL, "burn"));
    if (strcmp(argv[1], "both") == 0)
        return both(number);
    if (strcmp(argv[1], "fills") == 0) /* in the null stream */
        OK(allocate(&g_filled, 64));
    else
        OK(create(&g_stream, 1));
    begin(strcmp(argv[1], "bad") == 0 ? 1000 : number[0]);
    if (strcmp(argv[1], "low") == 0 || g_filled)
        return low(number[0], number[1]);
    if (strcmp(argv[1], "changed") == 0)
        return changed(number[0], number[1], number[2]);
    if (strcmp(argv[1], "each") == 0)
        return each(number[0], number[1]);
    if (strcmp(argv[1], "bad") == 0)
        return bad(argv[2], number[1], number[2], number[3], ctx);
    if (strcmp(argv[1], "serves") == 0)
        return serves(number[0], number[1], number[2], number[3], number[4], number[5], number[6]);
    if (strcmp(argv[1], "hands") == 0)
        return hands(number[0], number[1], number[2], number[3], number[4], number[5], number[6], number[7]);
    if (strcmp(argv[1], "graph") == 0)
        return graph(number[0], number[1], number[2], number[3], number[4]);
    if (strcmp(argv[1], "ahead") == 0)
        return ahead(number[0], number[1], number[2], number[3], number[4], number[5]);
    if (strcmp(argv[1], "eager") == 0)
        return eager(number[0], number[1], number[2], number[3], number[4], number[5], number[6], number[7]);
    return high(number[0], number[1], number[2], number[3], number[4], number[5]);
}
