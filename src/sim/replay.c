/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/replay.h"

#include "base/str.h"
#include "sim/trace_keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 2000000u /* timers from one line to the next */

struct replay_process {
    char name[XS_NAME_BYTES];
    struct replay_process *next;
    struct xs_sched_process *sched;
    uint32_t cells;
    size_t queues;
};

struct replay_queue {
    char name[XS_NAME_BYTES];
    struct replay_queue *next;
    struct replay_process *process;
    struct xs_sched_queue *sched;
    bool run, told;                /* as decided; as last printed */
};

struct xs_replay {
    struct xs_sched *sched;
    xs_replay_fn fn;
    void *ctx;
    struct replay_process *processes;
    struct replay_queue *queues, **queues_end;   /* in order of appearance */
    uint64_t now_ns, next_ns, ids;
    struct xs_sched_config config;
    const struct xs_policy_ops *policy;
};

static int fail(char *error, const char *what, const char *word)
{
    snprintf(error, XS_ERROR_BYTES, "%s '%.40s'", what, word);
    return -EINVAL;
}

static void on_permit(void *ctx, struct xs_sched_queue *sq, bool run, uint64_t now_ns)
{
    struct replay_queue *q = xs_sched_queue_user(sq);

    (void)ctx;
    (void)now_ns;
    if (q)
        q->run = run;
}

static int start(struct xs_replay *r)
{
    static const struct xs_sched_ops ops = { .on_permit = on_permit };

    if (r->sched)
        return 0;
    r->sched = xs_sched_new(r->policy, &r->config, &ops, r);
    return r->sched ? 0 : -ENOMEM;
}

static void tell(struct xs_replay *r)
{
    for (struct replay_queue *q = r->queues; q; q = q->next) {
        if (q->run == q->told)
            continue;
        q->told = q->run;
        if (r->fn)
            r->fn(r->ctx, r->now_ns, q->name, q->run);
    }
}

static void decide(struct xs_replay *r)
{
    if (!r->sched)
        return;
    r->next_ns = xs_sched_run(r->sched, r->now_ns);
    tell(r);
}

/* Lets time pass, with the timers in between. @return 0, or -ELOOP: there would be very many, in a gap
 * that is hours long */
static int advance(struct xs_replay *r, uint64_t to_ns)
{
    if (to_ns > r->now_ns)
        decide(r);
    for (unsigned steps = 0; r->next_ns < to_ns; steps++) {
        if (steps == STEPS_MAX)
            return -ELOOP;
        r->now_ns = XS_MAX(r->next_ns, r->now_ns + 1);
        if (r->now_ns >= to_ns)
            break;
        decide(r);
    }
    r->now_ns = to_ns;
    return 0;
}

static struct replay_process *find_process(struct xs_replay *r, const char *name)
{
    for (struct replay_process *p = r->processes; p; p = p->next) {
        if (strcmp(p->name, name) == 0)
            return p;
    }
    return NULL;
}

static struct replay_queue *find_queue(struct xs_replay *r, const char *name)
{
    for (struct replay_queue *q = r->queues; q; q = q->next) {
        if (strcmp(q->name, name) == 0)
            return q;
    }
    return NULL;
}

static int set_all(const struct xs_key *keys, size_t n, void *object, char **words, int count, char *error)
{
    for (int i = 0; i < count; i++) {
        int e = xs_words_set(keys, n, object, words[i], error);

        if (e < 0)
            return e;
    }
    return 0;
}

/* ---- the verbs of a line ---- */

static int do_policy(struct xs_replay *r, char **w, int n, char *error)
{
    const struct xs_policy_ops *p = xs_policy_by_name(w[0]);

    if (!p || n != 1)
        return fail(error, "unknown policy", w[0]);
    r->policy = p;
    if (r->sched)
        xs_sched_set_policy(r->sched, p);
    return 0;
}

struct params {
    struct xs_sched_config config;
    uint64_t k;
};

static int do_param(struct xs_replay *r, char **w, int n, char *error)
{
    static const struct xs_key keys[] = { XS_KEYS_CONFIG(struct params, config, k) };
    struct params p = { r->config, r->config.params.k };
    int e = set_all(keys, XS_ARRAY_LEN(keys), &p, w, n, error);

    if (e < 0)
        return e;
    if (r->sched && (p.config.linger_ns != r->config.linger_ns || p.config.stall_ns != r->config.stall_ns))
        return fail(error, "must stand before the first process or queue:", w[0]);
    r->config = p.config;
    r->config.params.k = (uint32_t)p.k;
    if (r->sched)
        xs_sched_set_params(r->sched, &r->config.params);
    if (r->sched)
        xs_sched_set_user_share(r->sched, r->config.user_share);
    return 0;
}

struct process_words {
    char group[XS_NAME_BYTES];
    int32_t utilization, cpu;
    uint64_t user, weight;
    bool window, intra, held, exempt;
};

static int do_process(struct xs_replay *r, char **w, int n, char *error)
{
    static const struct xs_key keys[] = {
        XS_KEY(struct process_words, "group", XS_KEY_NAME, group, 0, 0),
        XS_KEY(struct process_words, "utilization", XS_KEY_I32, utilization, 0, 100),
        XS_KEY(struct process_words, "cpu", XS_KEY_I32, cpu, -20, 1099),
        XS_KEY(struct process_words, "window", XS_KEY_BOOL, window, 0, 0),
        XS_KEY(struct process_words, "held", XS_KEY_BOOL, held, 0, 0),
        XS_KEY(struct process_words, "intra", XS_KEY_BOOL, intra, 0, 0),
        XS_KEY(struct process_words, "user", XS_KEY_U64, user, 0, UINT32_MAX),
        XS_KEY(struct process_words, "weight", XS_KEY_U64, weight, 1, XS_WEIGHT_MAX),
        XS_KEY(struct process_words, "exempt", XS_KEY_BOOL, exempt, 0, 0),
    };
    struct replay_process *p = find_process(r, w[0]);
    int e = start(r);

    if (e < 0)
        return e;
    if (!p) {
        struct process_words f = { .utilization = -1 };
        struct xs_sched_process_info info = { .id = ++r->ids };

        if (strlen(w[0]) >= XS_NAME_BYTES || strchr(w[0], '='))
            return fail(error, "no name:", w[0]);
        e = set_all(keys, XS_ARRAY_LEN(keys), &f, w + 1, n - 1, error);
        if (e < 0)
            return e;
        p = calloc(1, sizeof(*p));
        if (!p)
            return -ENOMEM;
        xs_str_copy(p->name, sizeof(p->name), w[0]);
        info.group = f.group;
        info.intra = f.intra;
        info.user = f.user;
        info.uid = (uint32_t)f.user;
        info.weight = (uint32_t)f.weight;
        info.exempt = f.exempt;
        p->sched = xs_sched_process_add(r->sched, &info, p);
        if (!p->sched) {
            free(p);
            return -ENOMEM;
        }
        p->next = r->processes;
        r->processes = p;
    }
    for (int i = 1; i < n; i++) { /* a later line changes the settings that it names */
        struct process_words f = { 0 };

        e = xs_words_set(keys, XS_ARRAY_LEN(keys), &f, w[i], error);
        if (e < 0)
            return e;
        if (strncmp(w[i], "utilization=", 12) == 0)
            xs_sched_process_set_utilization(r->sched, p->sched, f.utilization);
        else if (strncmp(w[i], "cpu=", 4) == 0)
            xs_sched_process_set_cpu_class(r->sched, p->sched, f.cpu);
        else if (strncmp(w[i], "window=", 7) == 0)
            xs_sched_process_set_window(r->sched, p->sched, f.window);
        else if (strncmp(w[i], "weight=", 7) == 0)
            xs_sched_process_set_weight(r->sched, p->sched, (uint32_t)f.weight);
        else if (strncmp(w[i], "held=", 5) == 0)
            xs_sched_process_set_held(r->sched, p->sched, f.held);
    }
    return 0;
}

struct queue_words {
    char process[XS_NAME_BYTES];
    uint64_t device;
    struct xs_hints hints;
    struct xs_hints_later later;
};

static const struct xs_key queue_keys[] = {
    XS_KEY(struct queue_words, "process", XS_KEY_NAME, process, 0, 0),
    XS_KEY(struct queue_words, "device", XS_KEY_U64, device, 0, INT64_MAX),
#define QUEUE_HINT(symbol, number, field, type, ...) XS_KEY_HINT(struct queue_words, hints, field, type),
#define MORE(symbol, field, type, ...) XS_KEY_HINT(struct queue_words, hints, field, type),
#define LATER_HINT(since, fold, symbol, number, field, type, ...) XS_KEY_HINT(struct queue_words, later, field, type),
#include "base/settings/hints.def"
};

static int do_queue(struct xs_replay *r, char **w, int n, char *error)
{
    struct queue_words f = { .hints = xs_default_hints, .later = xs_hints_later_none };
    struct replay_process *p;
    struct replay_queue *q;
    int e;

    if (find_queue(r, w[0]))
        return fail(error, "there is already a queue", w[0]);
    if (strlen(w[0]) >= XS_NAME_BYTES || strchr(w[0], '='))
        return fail(error, "no name:", w[0]);
    xs_str_copy(f.process, sizeof(f.process), w[0]);
    e = set_all(queue_keys, XS_ARRAY_LEN(queue_keys), &f, w + 1, n - 1, error);
    if (e == 0 && !find_process(r, f.process)) {
        char *words[1] = { f.process };

        e = do_process(r, words, 1, error);
    }
    if (e < 0)
        return e;
    p = find_process(r, f.process);
    if (!p)
        return fail(error, "no process", f.process);
    q = calloc(1, sizeof(*q));
    if (!q)
        return -ENOMEM;
    xs_str_copy(q->name, sizeof(q->name), w[0]);
    q->process = p;
    q->run = q->told = true; /* it ran freely until now */
    q->sched = xs_sched_queue_add(r->sched, q->process->sched, ++r->ids, f.device, q->process->cells,
                                  &f.hints, r->now_ns, q);
    if (!q->sched) {
        free(q);
        return fail(error, "no room for queue", w[0]);
    }
    xs_sched_queue_set_later(q->sched, &f.later);
    q->process->cells++;
    q->process->queues++;
    *r->queues_end = q;
    r->queues_end = &q->next;
    return 0;
}

static int do_ready(struct xs_replay *r, char **w, int n, char *error)
{
    for (int i = 0; i < n; i++) {
        struct replay_queue *q = find_queue(r, w[i]);

        if (!q)
            return fail(error, "unknown queue", w[i]);
        xs_sched_queue_set_ready(r->sched, q->sched, true, r->now_ns);
    }
    return 0;
}

static int do_idle(struct xs_replay *r, char **w, int n, char *error)
{
    for (int i = 0; i < n; i++) {
        struct replay_queue *q = find_queue(r, w[i]);

        if (!q)
            return fail(error, "unknown queue", w[i]);
        xs_sched_queue_set_ready(r->sched, q->sched, false, r->now_ns);
    }
    return 0;
}

static int do_service(struct xs_replay *r, char **w, int n, char *error)
{
    struct replay_queue *q = find_queue(r, w[0]);
    uint64_t ns;

    if (!q)
        return fail(error, "unknown queue", w[0]);
    if (n != 2 || xs_words_time(w[1], XS_NS_PER_US, &ns) < 0)
        return fail(error, "no number of microseconds for", w[0]);
    xs_sched_queue_set_service(r->sched, q->sched, ns);
    return 0;
}

static int do_hint(struct xs_replay *r, char **w, int n, char *error)
{
    struct replay_queue *q = find_queue(r, w[0]);
    struct queue_words f;
    int e;

    if (!q)
        return fail(error, "unknown queue", w[0]);
    f.hints = *xs_sched_queue_hints(q->sched);
    f.later = *xs_sched_queue_later(q->sched);
    e = set_all(queue_keys + 2, XS_ARRAY_LEN(queue_keys) - 2, &f, w + 1, n - 1, error);
    if (e == 0) {
        xs_sched_queue_set_hints(r->sched, q->sched, &f.hints);
        xs_sched_queue_set_later(q->sched, &f.later);
    }
    return e;
}

static int do_remove(struct xs_replay *r, char **w, int n, char *error)
{
    for (struct replay_queue **at = &r->queues; *at; at = &(*at)->next) {
        struct replay_queue *q = *at;

        if (strcmp(q->name, w[0]) != 0)
            continue;
        if (n != 1)
            return fail(error, "one queue a line, not", w[1]);
        xs_sched_queue_remove(r->sched, q->sched, r->now_ns);
        q->process->queues--;
        *at = q->next;
        if (r->queues_end == &q->next)
            r->queues_end = at;
        free(q);
        return 0;
    }
    return fail(error, "unknown queue", w[0]);
}

static int do_gone(struct xs_replay *r, char **w, int n, char *error)
{
    for (struct replay_process **at = &r->processes; *at; at = &(*at)->next) {
        struct replay_process *p = *at;

        if (strcmp(p->name, w[0]) != 0)
            continue;
        if (n != 1)
            return fail(error, "one process a line, not", w[1]);
        for (struct replay_queue *q = r->queues, *next; q; q = next) {
            char *words[1] = { q->name };

            next = q->next;
            if (q->process == p)
                do_remove(r, words, 1, error);
        }
        xs_sched_process_remove(r->sched, p->sched, r->now_ns);
        *at = p->next;
        free(p);
        return 0;
    }
    return fail(error, "unknown process", w[0]);
}

static const struct {
    const char *word;
    int least;                     /* words behind it */
    int (*fn)(struct xs_replay *r, char **words, int n, char *error);
} verbs[] = {
    { "policy", 1, do_policy }, { "param", 1, do_param },   { "process", 1, do_process },
    { "queue", 1, do_queue },   { "ready", 1, do_ready },   { "idle", 1, do_idle },
    { "service", 2, do_service }, { "hint", 2, do_hint },   { "remove", 1, do_remove },
    { "gone", 1, do_gone },
};

struct xs_replay *xs_replay_new(const struct xs_policy_ops *policy, xs_replay_fn fn, void *ctx)
{
    struct xs_replay *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->policy = policy ? policy : xs_policy_by_name("HPF");
    r->fn = fn;
    r->ctx = ctx;
    r->next_ns = UINT64_MAX;
    r->queues_end = &r->queues;
    xs_sched_config_defaults(&r->config);
    return r;
}

static const char k_far[] = "two million decisions lie between the line before and";

int xs_replay_line(struct xs_replay *r, char *line, char error[XS_ERROR_BYTES])
{
    char *w[XS_WORDS_MAX];
    int n = xs_words_split(line, w);
    uint64_t t;

    if (n == 0)
        return 0;
    if (n < 0) {
        snprintf(error, XS_ERROR_BYTES, "too many words");
        return -EINVAL;
    }
    if (xs_words_time(w[0], XS_NS_PER_US, &t) < 0)
        return fail(error, "a line starts with a time in microseconds, not", w[0]);
    if (t < r->now_ns)
        return fail(error, "time goes back to", w[0]);
    if (n == 1 || (n == 2 && strcmp(w[1], "end") == 0)) { /* lets time pass */
        return advance(r, t) < 0 ? fail(error, k_far, w[0]) : 0;
    }
    for (size_t i = 0; i < XS_ARRAY_LEN(verbs); i++) {
        if (strcmp(verbs[i].word, w[1]) != 0)
            continue;
        if (n - 2 < verbs[i].least)
            return fail(error, "too few words behind", w[1]);
        if (advance(r, t) < 0)
            return fail(error, k_far, w[0]);
        return verbs[i].fn(r, w + 2, n - 2, error);
    }
    return fail(error, "unknown word", w[1]);
}

void xs_replay_end(struct xs_replay *r)
{
    decide(r);
}

void xs_replay_free(struct xs_replay *r)
{
    if (!r)
        return;
    xs_sched_free(r->sched);
    while (r->queues) {
        struct replay_queue *q = r->queues;

        r->queues = q->next;
        free(q);
    }
    while (r->processes) {
        struct replay_process *p = r->processes;

        r->processes = p->next;
        free(p);
    }
    free(r);
}
