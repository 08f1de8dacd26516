/* SPDX-License-Identifier: Apache-2.0 */
/* Views of any facts, several in a row, through every policy. Two calls with the same facts and
 * time decide alike; what is barred never runs; the next time is not in the past; and when anything
 * is ready something runs, at once or at a time that the policy names. */
#include "fuzz.h"

#include "policy/policies.h"

_Atomic uint64_t fuzz_steps;
const char *const fuzz_steps_name = "decisions";

#define ENTITIES 8

static void facts(struct fuzz_in *in, struct xs_policy_entity *e, struct xs_policy_process *processes,
                  uint64_t now)
{
    uint8_t how = fuzz_u8(in);

    e->ready = how & 1;
    e->running = e->run;
    e->process = &processes[how / 2 % 3];
    e->process->utilization = (int32_t)(fuzz_u8(in) % 101);
    e->process->sched_class_priority = (int32_t)(fuzz_u8(in) % 60) - 20;
    e->process->window_active = how & 8;
    e->ready_since_ns = how & 16 ? now : now - XS_MIN(now, fuzz_number(in));
    e->service_ns += fuzz_number(in) % (XS_NS_PER_S << 10); /* grows */
    if (how & 32) {
        e->hints.priority = (int32_t)(fuzz_u32(in) % 512) - 256;
        e->hints.utilization = (int32_t)(fuzz_u8(in) % 101);
        e->hints.deadline_us = (int64_t)(fuzz_number(in) >> 1) - 1;
        e->hints.laxity_us = (int64_t)(fuzz_number(in) >> 1) - 1;
        e->hints.lax_priority = (int32_t)(fuzz_u32(in) % 512) - 256;
        e->hints.critical_priority = (int32_t)(fuzz_u32(in) % 512) - 256;
    }
}

static void decide(const struct xs_policy_ops *policy, struct xs_policy_view *v)
{
    for (size_t i = 0; i < v->n; i++)
        v->entities[i]->run = false;
    v->next_ns = 0;
    policy->decide(v);
    fuzz_steps++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_in in = {data, size};
    struct xs_policy_process processes[3];
    struct xs_policy_entity entities[ENTITIES], *pointers[ENTITIES];
    const struct xs_policy_ops *policy = xs_policies[fuzz_u8(&in) % xs_policies_count];
    struct xs_policy_params params = {.timeslice_ns = fuzz_number(&in), .k = 1 + fuzz_u8(&in) % 12};
    struct xs_policy_view v = {.now_ns = XS_NS_PER_S, .params = &params, .entities = pointers};
    uint64_t memo[8] = {0};

    /* as options.def has them */
    if (params.timeslice_ns % 5)
        params.timeslice_ns = (100 + params.timeslice_ns % 9999900) * XS_NS_PER_US;
    else
        params.timeslice_ns = UINT64_MAX;
    params.starvation_ns = fuzz_number(&in) % (86400 * XS_NS_PER_S);
    params.switch_ns = fuzz_number(&in) % XS_NS_PER_S;
    v.memo = memo;
    memset(processes, 0, sizeof(processes));
    memset(entities, 0, sizeof(entities));
    for (int i = 0; i < 3; i++)
        processes[i].id = (uint64_t)i + 1;
    v.n = 1 + fuzz_u8(&in) % ENTITIES;
    for (size_t i = 0; i < v.n; i++) {
        pointers[i] = &entities[i];
        entities[i].id = i + 1;
        entities[i].hints = (struct xs_hints){.utilization = 100, .deadline_us = -1, .laxity_us = -1};
        facts(&in, &entities[i], processes, v.now_ns);
    }
    for (int round = 0; round < 64 && (in.left || round == 0); round++) {
        bool run[ENTITIES], any = false, ready = false;
        uint64_t next;

        for (uint8_t n = fuzz_u8(&in) % 4; n > 0; n--)
            facts(&in, &entities[fuzz_u8(&in) % v.n], processes, v.now_ns);
        v.now_ns += fuzz_number(&in) % (10 * XS_NS_PER_S);
        decide(policy, &v);
        next = v.next_ns;
        for (size_t i = 0; i < v.n; i++) {
            run[i] = entities[i].run;
            if (entities[i].hints.priority <= -256)
                FUZZ_CHECK(!run[i]);
            else
                ready |= entities[i].ready;
            any |= run[i] && entities[i].ready;
        }
        FUZZ_CHECK(next > v.now_ns);
        FUZZ_CHECK(any || !ready || next != UINT64_MAX);
        for (size_t i = 0; i < v.n; i++)
            entities[i].running = run[i];
        decide(policy, &v);
        for (size_t i = 0; i < v.n; i++)
            FUZZ_CHECK(entities[i].run == run[i]);
    }
    return 0;
}
