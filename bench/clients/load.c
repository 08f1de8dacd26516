/* SPDX-License-Identifier: Apache-2.0 */
/* One side of a benchmark, or several as threads of one process: an ordinary program of its platform that
 * knows nothing of a scheduler.
 *
 *   load probe                                  one JSON line: device, driver, memory, devices, rounds_per_ms
 *   load ROUNDS_PER_MS ROLE[:PRIORITY[:DEVICE]]...   a thread and a queue each; then obeys lines on stdin:
 *
 *     run ROLE MODE start=NS end=NS work_us=US kernels=N width=PERCENT depth=N fill_us=US at=US,US,...
 *
 * MODE is open (a request due at each time after start, latency from when it was due), gap (the next request
 * comes that long after the end of the last one) or closed (kernels without end, at most depth in flight).
 * Times are CLOCK_MONOTONIC. Answers with one JSON line a run; ends at the end of stdin. */
#include "load.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { ROLES = 16, REQUESTS = 20000, ENDS = 4000, BUCKETS = 600 };
#define BUCKET_NS 100000000ull

struct run {
    char mode[8];
    uint64_t start, end;
    double work_us, fill_us;
    unsigned kernels, width, depth, n;
    double at[REQUESTS];
};

struct role {
    char name[16];
    int priority, device;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool has_run, quit;
    struct run run;
    /* of the thread alone */
    struct load_queue *queue;
    uint32_t stamp;
    struct { uint64_t rounds, value; unsigned width; } known[16];
    unsigned n_known;
    double request[REQUESTS][4];      /* due, begun, first kernel started, ended; us after start */
    double ends[ENDS];
    unsigned buckets[BUCKETS];
};

static struct role s_roles[ROLES];
static unsigned s_n;
static double s_rounds_per_ms;
static pthread_mutex_t s_out = PTHREAD_MUTEX_INITIALIZER;

void load_die(const char *what, int code)
{
    fprintf(stderr, "load: %s: error %d\n", what, code);
    _exit(3);
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000ull), (long)(ns % 1000000000ull)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

static uint64_t rounds_of(double us)
{
    return (uint64_t)(s_rounds_per_ms * us / 1e3) + 1;
}

/* What one such kernel adds to the sum, found by running it. */
static uint64_t value_of(struct role *r, uint64_t rounds, unsigned width)
{
    uint64_t before;

    for (unsigned i = 0; i < r->n_known; i++)
        if (r->known[i].rounds == rounds && r->known[i].width == width)
            return r->known[i].value;
    load_finish(r->queue);
    before = load_sum(r->queue);
    load_launch(r->queue, rounds, width, 0);
    load_finish(r->queue);
    if (r->n_known == 16)
        load_die("too many kinds of kernels", 16);
    r->known[r->n_known].rounds = rounds;
    r->known[r->n_known].width = width;
    return r->known[r->n_known++].value = (uint32_t)(load_sum(r->queue) - before); /* some devices add 32 bits */
}

/* One request: its kernels, and when the first of them started. A launch may have to wait, so the start is
 * looked for between them. */
static uint64_t request(struct role *r, uint64_t rounds, bool timed)
{
    uint64_t started = 0, limit = now_ns() + 20000000000ull;
    uint32_t stamp = ++r->stamp;

    for (unsigned k = 0; k < r->run.kernels; k++) {
        load_launch(r->queue, rounds, r->run.width, timed && k == 0 ? stamp : 0);
        if (timed && !started && load_started(r->queue) == stamp)
            started = now_ns();
    }
    while (timed && !started && now_ns() < limit) {
        if (load_started(r->queue) == stamp)
            started = now_ns();
        else if (!load_may_spin())
            usleep(20);
    }
    load_finish(r->queue);
    return started;
}

static unsigned requests(struct role *r, uint64_t rounds, bool gap, unsigned *ret_launched)
{
    struct run *u = &r->run;
    uint64_t due = u->start;
    unsigned done = 0;

    sleep_until(u->start);
    for (unsigned i = 0; i < u->n; i++) {
        uint64_t begun, started, ended;

        due = (gap ? now_ns() : u->start) + (uint64_t)(u->at[i] * 1e3);
        if (due >= u->end && i)       /* who begins so late has one all the same */
            break;
        while (u->fill_us > 0 && due > now_ns() + (uint64_t)(3e3 * u->fill_us)) {
            request(r, rounds, false);
            *ret_launched += u->kernels;
            sleep_until(now_ns() + (uint64_t)(1e3 * u->fill_us));
        }
        sleep_until(due);
        begun = now_ns();
        if (gap)
            due = begun;              /* the sleeper's own lateness is no one's latency */
        started = request(r, rounds, true);
        ended = now_ns();
        *ret_launched += u->kernels;
        r->request[done][0] = ((double)due - (double)u->start) / 1e3;
        r->request[done][1] = ((double)begun - (double)u->start) / 1e3;
        r->request[done][2] = ((double)started - (double)u->start) / 1e3;
        r->request[done++][3] = ((double)ended - (double)u->start) / 1e3;
    }
    return done;
}

static unsigned closed(struct role *r, uint64_t rounds)
{
    struct run *u = &r->run;
    unsigned launched = 0, done = 0, depth = u->depth < 1 ? 1 : u->depth > LOAD_SLOTS ? LOAD_SLOTS : u->depth;

    memset(r->buckets, 0, sizeof(r->buckets));
    sleep_until(u->start);
    while (now_ns() < u->end) {
        if (launched >= depth) {
            uint64_t t;

            load_wait(r->queue, launched % depth);
            t = now_ns() - u->start;
            if (done < ENDS)
                r->ends[done] = (double)t / 1e3;
            if (t / BUCKET_NS < BUCKETS)
                r->buckets[t / BUCKET_NS]++;
            done++;
        }
        load_launch(r->queue, rounds, u->width, 0);
        load_mark(r->queue, launched % depth);
        launched++;
    }
    load_finish(r->queue);
    return launched;
}

static double cpu_ms(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static void run(struct role *r)
{
    struct run *u = &r->run;
    bool loop = strcmp(u->mode, "closed") == 0, wrong;
    uint64_t rounds = rounds_of(u->work_us), one = value_of(r, rounds, u->width), before = load_sum(r->queue);
    double cpu = cpu_ms();
    unsigned launched = 0, n;
    uint64_t ended;

    if (loop)
        n = launched = closed(r, rounds);
    else
        n = requests(r, rounds, strcmp(u->mode, "gap") == 0, &launched);
    ended = now_ns();
    wrong = (uint32_t)(load_sum(r->queue) - before) != (uint32_t)(launched * one);
    pthread_mutex_lock(&s_out);
    printf("{\"role\":\"%s\",\"n\":%u,\"seconds\":%.6f,\"wrong\":%d,\"checksum\":%llu,\"cpu_ms\":%.1f", r->name, n,
           (double)(ended - u->start) / 1e9, wrong, (unsigned long long)one, cpu_ms() - cpu);
    if (loop) {
        printf(",\"ends_us\":[");
        for (unsigned i = 0; i + (u->depth > 1 ? u->depth : 1) < n && i < ENDS; i++)
            printf("%s%.0f", i ? "," : "", r->ends[i]);
        printf("],\"per_100ms\":[");
        for (unsigned i = 0; i < BUCKETS && i * BUCKET_NS < ended - u->start; i++)
            printf("%s%u", i ? "," : "", r->buckets[i]);
        printf("]}\n");
    } else {
        printf(",\"requests_us\":[");
        for (unsigned i = 0; i < n; i++)
            printf("%s[%.1f,%.1f,%.1f,%.1f]", i ? "," : "", r->request[i][0], r->request[i][1], r->request[i][2],
                   r->request[i][3]);
        printf("]}\n");
    }
    fflush(stdout);
    pthread_mutex_unlock(&s_out);
}

static void *role_main(void *arg)
{
    struct role *r = arg;

    prctl(PR_SET_TIMERSLACK, 1);
    load_thread(r->device);
    for (;;) {
        pthread_mutex_lock(&r->lock);
        while (!r->has_run && !r->quit)
            pthread_cond_wait(&r->changed, &r->lock);
        r->has_run = false;       /* now: the next order may come as soon as the answer is out */
        pthread_mutex_unlock(&r->lock);
        if (r->quit)
            return NULL;
        run(r);
    }
}

static void field(struct run *u, char *word)
{
    char *value = strchr(word, '=');

    if (!value)
        return;
    *value++ = 0;
    if (strcmp(word, "start") == 0)
        u->start = strtoull(value, NULL, 10);
    else if (strcmp(word, "end") == 0)
        u->end = strtoull(value, NULL, 10);
    else if (strcmp(word, "work_us") == 0)
        u->work_us = atof(value);
    else if (strcmp(word, "fill_us") == 0)
        u->fill_us = atof(value);
    else if (strcmp(word, "kernels") == 0)
        u->kernels = (unsigned)atoi(value);
    else if (strcmp(word, "width") == 0)
        u->width = (unsigned)atoi(value);
    else if (strcmp(word, "depth") == 0)
        u->depth = (unsigned)atoi(value);
    else if (strcmp(word, "at") == 0)
        for (char *save, *t = strtok_r(value, ",", &save); t && u->n < REQUESTS; t = strtok_r(NULL, ",", &save))
            u->at[u->n++] = atof(t);
}

/* "run ROLE MODE name=value..." */
static void command(char *line)
{
    char *save, *word = strtok_r(line, " \n", &save), *name = strtok_r(NULL, " \n", &save);
    char *mode = strtok_r(NULL, " \n", &save);
    struct role *r = NULL;

    for (unsigned i = 0; name && i < s_n; i++)
        if (strcmp(s_roles[i].name, name) == 0)
            r = &s_roles[i];
    if (!word || strcmp(word, "run") != 0 || !r || !mode) {
        fprintf(stderr, "load: not understood: %s\n", word ? word : "");
        exit(2);
    }
    pthread_mutex_lock(&r->lock);
    memset(&r->run, 0, sizeof(r->run));
    r->run.width = 100;
    r->run.kernels = r->run.depth = 1;
    snprintf(r->run.mode, sizeof(r->run.mode), "%s", mode);
    while ((word = strtok_r(NULL, " \n", &save)))
        field(&r->run, word);
    r->has_run = true;
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

static double time_rounds(struct load_queue *q, uint64_t rounds, int tries)
{
    double best = 1e18;

    for (int i = 0; i < tries; i++) {
        uint64_t t = now_ns();

        load_launch(q, rounds, 100, 0);
        load_finish(q);
        t = now_ns() - t;
        best = (double)t < best ? (double)t : best;
    }
    return best;
}

/* The least time of several: whatever else the machine does only adds. Two lengths, so that what a launch
 * costs by itself is left out. */
static double calibrate(struct load_queue *q)
{
    double rounds = 1000, ns, once = 0;

    while ((ns = time_rounds(q, (uint64_t)rounds, 3)) < 2e6 && rounds < 1e12)
        rounds *= ns < 2e5 ? 4 : 1.5;
    for (int i = 0; i < 10; i++) {     /* again where a busy machine made the longer one take no longer */
        once = time_rounds(q, (uint64_t)rounds, 15);
        ns = time_rounds(q, (uint64_t)(2 * rounds), 15) - once;
        if (ns > 0.5 * once && ns < 1.5 * once)
            return rounds / ns * 1e6;
    }
    return rounds / once * 1e6;
}

static void hello(const char *more)
{
    const char *name, *driver;
    uint64_t bytes;

    load_about(&name, &driver, &bytes);
    printf("{\"ready\":true,\"pid\":%d,\"device\":\"%s\",\"driver\":\"%s\",\"memory_gib\":%.2f%s}\n", (int)getpid(),
           name, driver, (double)bytes / (1 << 30), more);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static char line[REQUESTS * 16];
    int devices;

    if (argc < 2 || (strcmp(argv[1], "probe") != 0 && (argc < 3 || argc - 2 > ROLES || atof(argv[1]) <= 0))) {
        fprintf(stderr, "usage: load probe | load ROUNDS_PER_MS ROLE[:PRIORITY[:DEVICE]]...\n");
        return 2;
    }
    devices = load_open();
    if (strcmp(argv[1], "probe") == 0) {
        char more[96];

        snprintf(more, sizeof(more), ",\"devices\":%d,\"rounds_per_ms\":%.3f", devices,
                 calibrate(load_queue_new(0, 0)));
        hello(more);
        return 0;
    }
    s_rounds_per_ms = atof(argv[1]);
    for (int i = 2; i < argc; i++) {
        struct role *r = &s_roles[s_n++];
        char *colon = strchr(argv[i], ':'), *second = colon ? strchr(colon + 1, ':') : NULL;

        r->priority = colon ? atoi(colon + 1) : 0;
        r->device = second ? atoi(second + 1) : 0;
        if (r->device < 0 || r->device >= devices || r->device >= LOAD_DEVICES)
            load_die("no such device", r->device);
        snprintf(r->name, sizeof(r->name), "%.*s", colon ? (int)(colon - argv[i]) : 15, argv[i]);
        r->queue = load_queue_new(r->device, r->priority);
        load_launch(r->queue, rounds_of(100), 100, 0);
        load_finish(r->queue);
    }
    for (unsigned i = 0; i < s_n; i++) {
        pthread_mutex_init(&s_roles[i].lock, NULL);
        pthread_cond_init(&s_roles[i].changed, NULL);
        if (pthread_create(&s_roles[i].thread, NULL, role_main, &s_roles[i]))
            load_die("pthread_create", errno);
    }
    hello("");
    while (fgets(line, sizeof(line), stdin))
        command(line);
    for (unsigned i = 0; i < s_n; i++) {
        pthread_mutex_lock(&s_roles[i].lock);
        s_roles[i].quit = true;
        pthread_cond_signal(&s_roles[i].changed);
        pthread_mutex_unlock(&s_roles[i].lock);
    }
    for (unsigned i = 0; i < s_n; i++)
        pthread_join(s_roles[i].thread, NULL);
    return 0;
}
