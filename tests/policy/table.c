/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world {
    struct xs_policy_process processes[TABLE_PROCESSES];
    struct xs_policy_entity entities[TABLE_ENTITIES];
    struct xs_policy_entity *pointers[TABLE_ENTITIES];
    uint64_t memo[8];
};

static void fact(struct world *w, const char *word, uint64_t now_ns)
{
    struct xs_policy_entity *e;

    if (word[0] == 'w') {
        w->processes[word[1] - '0'].window_active = word[2] != '-';
        return;
    }
    e = &w->entities[word[0] - 'a'];
    switch (word[1]) {
    case '+':
        e->ready = true;
        e->ready_since_ns = now_ns;
        break;
    case '-':
        e->ready = false;
        break;
    case '*':
        e->service_ns += strtoull(word + 2, NULL, 10) * US;
        break;
    case '=':
        e->hints.priority = atoi(word + 2);
        break;
    default:
        abort();
    }
}

static void facts(struct world *w, const char *text, uint64_t now_ns)
{
    char copy[200], *save = NULL;

    snprintf(copy, sizeof(copy), "%s", text);
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
        fact(w, word, now_ns);
}

static uint64_t ask(struct world *w, const struct table *t, const struct xs_policy_ops *ops, uint64_t now_ns,
                    char run[TABLE_ENTITIES + 1])
{
    struct xs_policy_view v = {
        .now_ns = now_ns, .params = &t->params, .entities = w->pointers, .n = t->nentities, .memo = w->memo,
        .next_ns = NEVER,
    };
    size_t n = 0;

    for (size_t i = 0; i < t->nentities; i++)
        w->entities[i].run = false;
    ops->decide(&v);
    for (size_t i = 0; i < t->nentities; i++) {
        w->entities[i].running = w->entities[i].run;
        if (w->entities[i].run)
            run[n++] = (char)('a' + i);
    }
    run[n] = 0;
    return v.next_ns;
}

bool table_holds(const struct table *t, const struct xs_policy_ops *ops, char ret_why[200])
{
    struct world w = { 0 };
    char why[200];

    if (!ret_why)
        ret_why = why;
    memcpy(w.processes, t->processes, sizeof(w.processes));
    for (size_t i = 0; i < TABLE_PROCESSES; i++) {
        w.processes[i].id = 100 + i;
        if (w.processes[i].utilization == 0)
            w.processes[i].utilization = 100;
    }
    for (size_t i = 0; i < t->nentities; i++) {
        struct xs_policy_entity *e = &w.entities[i];

        e->id = i + 1;
        e->device = t->entities[i].device;
        e->process = &w.processes[t->entities[i].process];
        e->hints = t->entities[i].hints;
        w.pointers[i] = e;
    }
    for (size_t i = 0; i < t->nsteps; i++) {
        const struct table_step *s = &t->steps[i];
        char run[TABLE_ENTITIES + 1], again[TABLE_ENTITIES + 1];
        uint64_t now_ns = s->at_us * US, next, next_again;

        facts(&w, s->facts, now_ns);
        next = ask(&w, t, ops, now_ns, run);
        next_again = ask(&w, t, ops, now_ns, again);
        if (strcmp(run, s->run) != 0 || next != s->next_ns) {
            snprintf(ret_why, 200, "%s, step %zu (%llu us, %s): runs \"%s\", next %lld ns; expected \"%s\", %lld ns",
                     t->name, i, (unsigned long long)s->at_us, s->facts, run, (long long)next, s->run,
                     (long long)s->next_ns);
            return false;
        }
        if (strcmp(run, again) != 0 || next != next_again) {
            snprintf(ret_why, 200, "%s, step %zu: asked twice, \"%s\" then \"%s\"", t->name, i, run, again);
            return false;
        }
    }
    return true;
}
