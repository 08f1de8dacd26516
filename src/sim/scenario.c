/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/scenario.h"

#include "base/str.h"
#include "sim/trace_keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const models[] = { "exclusive", "shared", NULL };
static const char *const arrivals[] = { "periodic", "poisson", "closed", NULL };
static const char *const lengths[] = { "fixed", "exponential", NULL };

static const struct xs_key param_keys[] = {
    XS_KEYS_CONFIG(struct xs_scenario, config, k),
    XS_KEY(struct xs_scenario, "react_us", XS_KEY_US, react_ns, 0, 1000000),
    XS_KEY(struct xs_scenario, "duration_ms", XS_KEY_MS, duration_ns, 1, 1000000000),
    XS_KEY(struct xs_scenario, "seed", XS_KEY_U64, seed, 0, INT64_MAX),
};

static const struct xs_key device_keys[] = {
    { .name = "model", .kind = XS_KEY_ENUM, .offset = offsetof(struct xs_sim_device, model),
      .names = models },
};

static const struct xs_key process_keys[] = {
    XS_KEY(struct xs_sim_process, "group", XS_KEY_NAME, group, 0, 0),
    XS_KEY(struct xs_sim_process, "utilization", XS_KEY_I32, utilization, 0, 100),
    XS_KEY(struct xs_sim_process, "cpu", XS_KEY_I32, cpu, -20, 1099),
    XS_KEY(struct xs_sim_process, "window", XS_KEY_BOOL, window, 0, 0),
    XS_KEY(struct xs_sim_process, "intra", XS_KEY_BOOL, intra, 0, 0),
    XS_KEY(struct xs_sim_process, "user", XS_KEY_U64, user, 0, UINT32_MAX),
    XS_KEY(struct xs_sim_process, "weight", XS_KEY_U64, weight, 1, XS_WEIGHT_MAX),
    XS_KEY(struct xs_sim_process, "exempt", XS_KEY_BOOL, exempt, 0, 0),
};

#define Q struct xs_sim_queue
static const struct xs_key queue_keys[] = {
    XS_KEY(Q, "process", XS_KEY_NAME, process, 0, 0),
    XS_KEY(Q, "device", XS_KEY_NAME, device, 0, 0),
#define QUEUE_HINT(symbol, number, field, type, ...) XS_KEY_HINT(Q, hints, field, type),
#define MORE(symbol, field, type, ...) XS_KEY_HINT(Q, hints, field, type),
#define LATER_HINT(since, fold, symbol, number, field, type, ...) XS_KEY_HINT(Q, later, field, type),
#include "base/settings/hints.def"
    XS_KEY(Q, "level", XS_KEY_I32, level, 1, 3),
    XS_KEY(Q, "interrupt_us", XS_KEY_US, interrupt_ns, 0, 1000000),
    { .name = "arrival", .kind = XS_KEY_ENUM, .offset = offsetof(Q, arrival), .names = arrivals },
    XS_KEY(Q, "period_us", XS_KEY_US, period_ns, 0, 1000000000),
    XS_KEY(Q, "think_us", XS_KEY_US, period_ns, 0, 1000000000),
    XS_KEY(Q, "start_ms", XS_KEY_MS, start_ns, 0, 1000000000),
    XS_KEY(Q, "stop_ms", XS_KEY_MS, stop_ns, 0, 1000000000),
    XS_KEY(Q, "commands", XS_KEY_U64, commands, 1, 1000000),
    XS_KEY(Q, "length_us", XS_KEY_US, length_ns, 1, 100000000),
    { .name = "lengths", .kind = XS_KEY_ENUM, .offset = offsetof(Q, length), .names = lengths },
    XS_KEY(Q, "inflight_us", XS_KEY_US, inflight_ns, 0, 100000000),
};
#undef Q

void xs_scenario_init(struct xs_scenario *sc)
{
    memset(sc, 0, sizeof(*sc));
    sc->policy = xs_policy_by_name("HPF");
    xs_sched_config_defaults(&sc->config);
    sc->k = sc->config.params.k;
    sc->react_ns = 20 * XS_NS_PER_US;
    sc->duration_ns = 10 * XS_NS_PER_S;
    sc->seed = 1;
}

void xs_scenario_fini(struct xs_scenario *sc)
{
    free(sc->devices);
    free(sc->processes);
    free(sc->queues);
    memset(sc, 0, sizeof(*sc));
}

/* One more element of an array that grows by doubling. */
static void *grow(void **array, size_t *n, size_t size)
{
    void *a = *array, *e;

    if ((*n & (*n - 1)) == 0) {
        a = realloc(*array, (*n ? *n * 2 : 1) * size);
        if (!a)
            return NULL;
        *array = a;
    }
    e = (char *)a + *n * size;
    memset(e, 0, size);
    (*n)++;
    return e;
}

/* Finds by name, which each of these structs begins with. */
static void *named(void *array, size_t n, size_t size, const char *name, size_t *ret_index)
{
    for (size_t i = 0; i < n; i++) {
        char *e = (char *)array + i * size;

        if (strcmp(e, name) == 0) {
            if (ret_index)
                *ret_index = i;
            return e;
        }
    }
    return NULL;
}

static int take_name(char *dst, const char *name, char *error)
{
    if (strchr(name, '=') || strlen(name) >= XS_NAME_BYTES) {
        snprintf(error, XS_ERROR_BYTES, "'%.40s' is no name", name);
        return -EINVAL;
    }
    memcpy(dst, name, strlen(name) + 1);
    return 0;
}

static int set_all(const struct xs_key *keys, size_t n, void *object, char **words, int count, char *error)
{
    for (int i = 0; i < count; i++) {
        int r = xs_words_set(keys, n, object, words[i], error);

        if (r < 0)
            return r;
    }
    return 0;
}

static struct xs_sim_process *add_process(struct xs_scenario *sc)
{
    struct xs_sim_process *p = grow((void **)&sc->processes, &sc->nprocesses, sizeof(*p));

    if (p)
        p->utilization = -1;
    return p;
}

static int add_queue(struct xs_scenario *sc, char **words, int count, char *error)
{
    struct xs_sim_queue *q;
    int r;

    if (named(sc->queues, sc->nqueues, sizeof(*q), words[0], NULL)) {
        snprintf(error, XS_ERROR_BYTES, "queue %.40s is there already", words[0]);
        return -EINVAL;
    }
    q = grow((void **)&sc->queues, &sc->nqueues, sizeof(*q));
    if (!q)
        return -ENOMEM;
    q->hints = xs_default_hints;
    q->later = xs_hints_later_none;
    q->level = 1;
    q->arrival = XS_SIM_CLOSED;
    q->commands = 1;
    q->length_ns = XS_NS_PER_MS;
    q->inflight_ns = sc->config.inflight_shared_us * XS_NS_PER_US;
    q->stop_ns = UINT64_MAX;
    xs_str_copy(q->device, sizeof(q->device), "device");
    r = take_name(q->name, words[0], error);
    if (r < 0)
        return r;
    xs_str_copy(q->process, sizeof(q->process), q->name);
    r = set_all(queue_keys, XS_ARRAY_LEN(queue_keys), q, words + 1, count - 1, error);
    if (r == 0 && q->stop_ns <= q->start_ns) {
        snprintf(error, XS_ERROR_BYTES, "queue %s: stop_ms must be after start_ms", q->name);
        r = -EINVAL;
    }
    if (r == 0 && q->arrival != XS_SIM_CLOSED && q->period_ns == 0) {
        snprintf(error, XS_ERROR_BYTES, "queue %s: arrivals that are no closed loop need period_us", q->name);
        r = -EINVAL;
    }
    return r;
}

static int add_named(void **array, size_t *n, size_t size, const struct xs_key *keys, size_t nkeys,
                     char **words, int count, char *error)
{
    void *e = named(*array, *n, size, words[0], NULL);

    if (!e) {
        e = grow(array, n, size);
        if (!e)
            return -ENOMEM;
        if (take_name(e, words[0], error) < 0)
            return -EINVAL;
    }
    return set_all(keys, nkeys, e, words + 1, count - 1, error);
}

int xs_scenario_line(struct xs_scenario *sc, char *line, char error[XS_ERROR_BYTES])
{
    char *words[XS_WORDS_MAX];
    int n = xs_words_split(line, words);

    if (n == 0)
        return 0;
    if (n < 2) {
        if (n < 0)
            snprintf(error, XS_ERROR_BYTES, "too many words");
        else
            snprintf(error, XS_ERROR_BYTES, "%s stands behind '%.40s'",
                     strcmp(words[0], "param") ? "no name" : "no key=value", words[0]);
        return -EINVAL;
    }
    if (strcmp(words[0], "policy") == 0) {
        sc->policy = xs_policy_by_name(words[1]);
        if (sc->policy && n == 2)
            return 0;
        snprintf(error, XS_ERROR_BYTES, "unknown policy '%.40s'%s", words[1],
                 strchr(words[1], '/') ? "; --policy takes a shared object" : "");
        return -EINVAL;
    }
    if (strcmp(words[0], "param") == 0)
        return set_all(param_keys, XS_ARRAY_LEN(param_keys), sc, words + 1, n - 1, error);
    if (strcmp(words[0], "device") == 0)
        return add_named((void **)&sc->devices, &sc->ndevices, sizeof(*sc->devices), device_keys,
                         XS_ARRAY_LEN(device_keys), words + 1, n - 1, error);
    if (strcmp(words[0], "process") == 0) {
        if (!named(sc->processes, sc->nprocesses, sizeof(*sc->processes), words[1], NULL)) {
            struct xs_sim_process *p = add_process(sc);

            if (!p)
                return -ENOMEM;
            if (take_name(p->name, words[1], error) < 0)
                return -EINVAL;
        }
        return add_named((void **)&sc->processes, &sc->nprocesses, sizeof(*sc->processes), process_keys,
                         XS_ARRAY_LEN(process_keys), words + 1, n - 1, error);
    }
    if (strcmp(words[0], "queue") == 0)
        return add_queue(sc, words + 1, n - 1, error);
    snprintf(error, XS_ERROR_BYTES, "unknown word '%.40s'", words[0]);
    return -EINVAL;
}

int xs_scenario_file(struct xs_scenario *sc, const char *path, char error[XS_ERROR_BYTES])
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    char line[1024], why[XS_ERROR_BYTES];
    unsigned long number = 0;
    int r = 0;

    if (!f) {
        snprintf(error, XS_ERROR_BYTES, "%.80s: %s", path, strerror(errno));
        return -EINVAL;
    }
    while (r == 0 && fgets(line, sizeof(line), f)) {
        number++;
        if (!strchr(line, '\n') && !feof(f)) {
            snprintf(why, sizeof(why), strlen(line) + 1 < sizeof(line) ? "there is a NUL in it" : "the line is too long");
            r = -EINVAL;
        } else {
            r = xs_scenario_line(sc, line, why);
        }
    }
    if (r == -EINVAL)
        snprintf(error, XS_ERROR_BYTES, "%.60s:%lu: %.90s", path, number, why);
    if (r == 0 && ferror(f)) {
        snprintf(error, XS_ERROR_BYTES, "%.80s: %s", path, strerror(errno));
        r = -EINVAL;
    }
    if (f != stdin)
        fclose(f);
    return r;
}

/* More than this takes hours, and gigabytes for the jobs' latencies. */
#define JOBS_MAX 1e9

/* About so many jobs: of a closed loop as many as follow each other, of other queues as many as arrive. */
static int check_amount(const struct xs_scenario *sc, char *error)
{
    double jobs = 0;

    for (size_t i = 0; i < sc->nqueues; i++) {
        const struct xs_sim_queue *q = &sc->queues[i];
        double job_ns = (double)q->period_ns, end_ns = (double)XS_MIN(q->stop_ns, sc->duration_ns);

        if (q->arrival == XS_SIM_CLOSED)
            job_ns += (double)q->length_ns * (double)q->commands;
        jobs += XS_MAX(end_ns - (double)q->start_ns, 0) / XS_MAX(job_ns, 1);
    }
    if (jobs <= JOBS_MAX)
        return 0;
    snprintf(error, XS_ERROR_BYTES, "%.0e jobs in %.0f s are too many, %.0e at most: a shorter duration, or longer ones", jobs,
             (double)sc->duration_ns / 1e9, JOBS_MAX);
    return -EINVAL;
}

static int unknown(const struct xs_sim_queue *q, const char *what, const char *name, char *error)
{
    snprintf(error, XS_ERROR_BYTES, "queue %.40s: there is no %s %.40s", q->name, what, name);
    return -EINVAL;
}

int xs_scenario_finish(struct xs_scenario *sc, char error[XS_ERROR_BYTES])
{
    bool devices_declared = sc->ndevices > 0, processes_declared = sc->nprocesses > 0;

    sc->config.params.k = (uint32_t)sc->k;
    for (size_t i = 0; i < sc->nqueues; i++) {
        struct xs_sim_queue *q = &sc->queues[i];

        if (!named(sc->processes, sc->nprocesses, sizeof(*sc->processes), q->process, &q->process_index)) {
            struct xs_sim_process *p;

            if (processes_declared && strcmp(q->process, q->name) != 0)
                return unknown(q, "process", q->process, error);
            p = add_process(sc);
            if (!p)
                return -ENOMEM;
            xs_str_copy(p->name, sizeof(p->name), q->process);
            q->process_index = sc->nprocesses - 1;
        }
        if (!named(sc->devices, sc->ndevices, sizeof(*sc->devices), q->device, &q->device_index)) {
            struct xs_sim_device *d;

            if (devices_declared && strcmp(q->device, "device") != 0)
                return unknown(q, "device", q->device, error);
            d = grow((void **)&sc->devices, &sc->ndevices, sizeof(*d));
            if (!d)
                return -ENOMEM;
            xs_str_copy(d->name, sizeof(d->name), q->device);
            q->device_index = sc->ndevices - 1;
        }
    }
    if (sc->nqueues == 0) {
        snprintf(error, XS_ERROR_BYTES, "there is no queue to simulate");
        return -EINVAL;
    }
    return check_amount(sc, error);
}
