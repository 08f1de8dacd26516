/* SPDX-License-Identifier: Apache-2.0 */
/* GET /admission: what is judged from which facts, and the questions and answers of a server. */
#include "raw.h"

#include "http/admission.h"
#include "policy/policies.h"
#include "xsched/types.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define DEVICE 0x100003b00ull
#define NOW_NS (100 * XS_NS_PER_S)
#define NOW_S  1000000
#define MS     1000000ull

/* A program with a queue: since when it has had work (ms; 0: it has none), its device time in percent of its age, its age. */
struct fact {
    int32_t priority, utilization;
    unsigned ready_ms, used_percent, age_s;
    bool held, elsewhere;
    uint64_t memory_limit, memory_used;
};

struct row {
    const char *what;
    int policy;
    struct fact facts[4]; /* age_s 0: none */
    int32_t priority;
    uint32_t share_millis;
    uint64_t within_ms, memory_bytes;
    bool admitted;
    uint32_t could; /* thousandths that it is told */
    const char *reason;
};

static const struct row k_rows[] = {
    {"an idle device", kPolicyHighestPriorityFirst, {{.priority = 9, .age_s = 10}}, 0, 1000, 100, 0, true, 1000,
     "leave 100 percent"},
    {"beside a background program that works always", kPolicyHighestPriorityFirst,
     {{.priority = -1, .ready_ms = 5000, .used_percent = 100, .age_s = 10}}, 0, 1000, 100, 0, true, 1000, "0 more important"},
    {"beside an urgent one that has worked without a pause", kPolicyHighestPriorityFirst,
     {{.priority = 9, .ready_ms = 200, .used_percent = 10, .age_s = 10}}, 0, 10, 100, 0, false, 0, "1 more important"},
    {"beside an urgent one that had a pause within the time", kPolicyHighestPriorityFirst,
     {{.priority = 9, .ready_ms = 50, .used_percent = 10, .age_s = 10}}, 0, 900, 100, 0, true, 900, "leave 90 percent"},
    {"... and too much is asked", kPolicyHighestPriorityFirst,
     {{.priority = 9, .ready_ms = 50, .used_percent = 10, .age_s = 10}}, 0, 901, 100, 0, false, 900, "leave 90 percent"},
    {"beside an urgent one that is young and has work", kPolicyHighestPriorityFirst,
     {{.priority = 9, .ready_ms = 1, .used_percent = 0, .age_s = 1}}, 0, 10, 100, 0, false, 0, "1 more important"},
    {"urgent ones that have no work now have their part all the same", kPolicyHighestPriorityFirst,
     {{.priority = 9, .used_percent = 30, .age_s = 10}, {.priority = 8, .used_percent = 30, .age_s = 10}}, 0, 500, 100, 0, false,
     400, "2 more important"},
    {"equals share", kPolicyHighestPriorityFirst,
     {{.ready_ms = 500, .used_percent = 90, .age_s = 10}, {.ready_ms = 500, .used_percent = 10, .age_s = 10}}, 0, 333, 100, 0,
     true, 333, "2 equally important"},
    {"an equal that uses little leaves the rest", kPolicyHighestPriorityFirst,
     {{.used_percent = 10, .age_s = 10}}, 0, 900, 100, 0, true, 900, "1 equally important"},
    {"what an operator suspended counts for nothing", kPolicyHighestPriorityFirst,
     {{.priority = 9, .ready_ms = 500, .used_percent = 90, .age_s = 10, .held = true}}, 0, 1000, 100, 0, true, 1000, "0 more"},
    {"what never runs, too", kPolicyHighestPriorityFirst,
     {{.priority = PRIORITY_NO_EXECUTE, .ready_ms = 500, .age_s = 10}}, PRIORITY_MIN, 1000, 100, 0, true, 1000, "0 more"},
    {"programs on another device", kPolicyHighestPriorityFirst,
     {{.priority = 9, .ready_ms = 500, .used_percent = 90, .age_s = 10, .elsewhere = true}}, 0, 1000, 100, 0, true, 1000,
     "0 more"},
    {"shares: what is left", kPolicyProcessUtilizationPartition,
     {{.utilization = 30, .age_s = 10}, {.utilization = 20, .age_s = 10}}, 0, 500, 100, 0, true, 500, "ask for 50 percent"},
    {"shares: more than is left", kPolicyProcessUtilizationPartition,
     {{.utilization = 30, .age_s = 10}, {.utilization = 20, .age_s = 10}}, 200, 501, 100, 0, false, 500, "ask for 50 percent"},
    {"shares: a program that asks for all", kPolicyUtilizationPartition,
     {{.utilization = 100, .age_s = 10}}, 0, 10, 100, 0, false, 0, "ask for 100 percent"},
    {"shares: the turns of the others are longer than the time", kPolicyUtilizationPartition,
     {{.utilization = 20, .ready_ms = 500, .age_s = 10}}, 0, 500, 4, 0, false, 800, "it may wait 5300 us"},
    {"deadlines: what is unused", kPolicyKEarliestDeadlineFirst,
     {{.priority = -9, .used_percent = 40, .age_s = 10}}, 9, 600, 100, 0, true, 600, "KEDF does not go by priority"},
    {"deadlines: a program that works always", kPolicyKEarliestDeadlineFirst,
     {{.priority = -9, .ready_ms = 500, .age_s = 10}}, 9, 100, 100, 0, false, 0, "0 percent of the device are unused"},
    {"memory under the limits", kPolicyHighestPriorityFirst,
     {{.priority = -1, .age_s = 10, .memory_limit = 600, .memory_used = 10}}, 0, 1000, 100, 400, true, 1000, "leave"},
    {"... and more than that", kPolicyHighestPriorityFirst,
     {{.priority = -1, .age_s = 10, .memory_limit = 600, .memory_used = 10}}, 0, 1000, 100, 401, false, 1000, "400 bytes"},
    {"memory of one without a limit, and of one that says anything", kPolicyHighestPriorityFirst,
     {{.priority = -1, .age_s = 10, .memory_used = 300},
      {.priority = -1, .age_s = 10, .memory_limit = UINT64_MAX, .memory_used = UINT64_MAX}}, 0, 1000, 100, 1,
     false, 1000, "0 bytes"},
};

static void add(struct xs_request *r, const struct fact *f)
{
    size_t i = r->n_clients++;

    r->n_queues++;
    r->clients[i] = (struct xs_client_record){
        .session = i + 1, .joined_s = NOW_S - f->age_s, .utilization = f->utilization, .held = f->held,
        .memory_limit = f->memory_limit, .memory_used = f->memory_used,
    };
    r->queues[i] = (struct xs_queue_record){
        .session = i + 1,
        .hints = {.priority = f->priority, .utilization = f->utilization},
        .inflight_us = 300,
        .status = {.device = f->elsewhere ? DEVICE + 1 : DEVICE, .ready = f->ready_ms > 0,
                   .ready_since_ns = NOW_NS - f->ready_ms * MS, .service_ns = f->age_s * (f->used_percent * 10 * MS)},
    };
}

static void judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        const struct row *row = &k_rows[i];
        const struct xs_policy_ops *policy = xs_policy_by_type(row->policy);
        struct xs_device_row device = {.device = DEVICE, .state = {.memory_bytes = 1000, .memory_used_bytes = XS_DEVICE_UNKNOWN}};
        struct xs_request *r = xs_request_new(XS_REQ_METRICS);
        struct xs_admission a;

        assert_non_null(r);
        assert_true(xs_request_make_room(r, 8, 8));
        for (size_t k = 0; k < 4 && row->facts[k].age_s; k++)
            add(r, &row->facts[k]);
        r->state.policy_flags = policy->flags;
        assert_true(xs_policy_reads(policy, &r->state.policy_reads));
        snprintf(r->state.policy_name, sizeof(r->state.policy_name), "%s", policy->name);
        r->state.params.timeslice_ns = 5 * MS;
        r->state.params.switch_ns = 10000;
        r->params.admission.priority = row->priority;
        r->params.admission.share_millis = row->share_millis;
        r->params.admission.within_us = row->within_ms * 1000;
        r->params.admission.memory_bytes = row->memory_bytes;
        xs_admission_judge(r, DEVICE, &device, NOW_NS, NOW_S, &a);
        if (a.admitted != row->admitted || a.share_millis != row->could || !strstr(a.reason, row->reason))
            fail_msg("%s: %sadmitted, %u thousandths, \"%s\"", row->what, a.admitted ? "" : "not ", a.share_millis, a.reason);
        xs_request_free(r);
    }
}

static void how_long_it_waits(void **state)
{
    struct xs_request *r = xs_request_new(XS_REQ_METRICS);
    const struct fact busy = {.priority = -1, .ready_ms = 500, .used_percent = 100, .age_s = 10};
    struct xs_admission a;

    (void)state;
    assert_true(xs_request_make_room(r, 8, 8));
    r->state.policy_flags = XS_POLICY_BY_RANK;
    r->state.policy_reads = XS_POLICY_READS_PRIORITY;
    r->params.admission.share_millis = 1000;
    r->params.admission.within_us = 1000;
    xs_admission_judge(r, DEVICE, NULL, NOW_NS, NOW_S, &a);
    assert_true(a.admitted && a.wait_us == 0 && !a.memory_known);
    add(r, &busy);
    xs_admission_judge(r, DEVICE, NULL, NOW_NS, NOW_S, &a);
    assert_true(a.admitted && a.wait_us == 300 && a.less == 1 && a.active == 1); /* what is in flight */
    for (int i = 0; i < 990; i++)
        xs_latency_count(&r->state.preemption, 100000); /* a bucket that ends at 131072 */
    for (int i = 0; i < 10; i++)
        xs_latency_count(&r->state.preemption, 5 * MS);
    xs_admission_judge(r, DEVICE, NULL, NOW_NS, NOW_S, &a);
    assert_true(a.admitted && a.wait_us == 131);
    xs_latency_count(&r->state.preemption, 5 * MS); /* one more than one of a hundred */
    xs_admission_judge(r, DEVICE, NULL, NOW_NS, NOW_S, &a);
    assert_true(!a.admitted && a.wait_us == 5000);
    for (int i = 0; i < 100; i++)
        xs_latency_count(&r->state.preemption, UINT64_MAX / 1024);
    xs_admission_judge(r, DEVICE, NULL, NOW_NS, NOW_S, &a);
    assert_true(!a.admitted && a.wait_us == UINT64_MAX);
    assert_non_null(strstr(a.reason, "nothing bounds"));
    xs_request_free(r);
}

static void shares_as_text(void **state)
{
    static const struct {
        const char *text;
        uint32_t millis; /* 0: refused */
    } k_texts[] = {
        {"1", 1000}, {"0.5", 500}, {".25", 250}, {"1.0", 1000}, {"0.001", 1}, {"0.3339", 333}, {"00.7", 700},
        {"0", 0}, {"0.0", 0}, {"0.0009", 0}, {"1.001", 0}, {"2", 0}, {"99999999999999999999", 0}, {"", 0}, {".", 0},
        {"-0.5", 0}, {"+0.5", 0}, {"0,5", 0}, {"0.5x", 0}, {"50%", 0}, {" 0.5", 0}, {"1e-1", 0}, {"nan", 0},
    };

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_texts); i++) {
        uint32_t millis = 7;
        int r = xs_admission_parse_share(k_texts[i].text, &millis);

        if (r != (k_texts[i].millis ? 0 : -EINVAL) || millis != (k_texts[i].millis ? k_texts[i].millis : 7))
            fail_msg("\"%s\": %d, %u", k_texts[i].text, r, millis);
    }
}

static struct raw_server g_server;

static int start(void **state)
{
    static const char *const k_args[] = {NULL};

    return raw_server_setup(state, &g_server, k_args);
}

/* @return whether it is admitted; the answer, the caller's, and its reason has this in it */
static bool ask(const char *query, const char *reason, json_t **ret)
{
    char path[128];
    bool admitted;

    snprintf(path, sizeof(path), "/admission?%s", query);
    assert_int_equal(raw_http(&g_server, "GET", path, NULL, ret), 200);
    if (!strstr(json_string_value(json_object_get(*ret, "reason")), reason))
        fail_msg("%s: %s", path, json_dumps(*ret, 0));
    admitted = json_is_true(json_object_get(*ret, "admitted"));
    assert_true(admitted || json_is_false(json_object_get(*ret, "admitted")));
    return admitted;
}

static void a_server_answers(void **state)
{
    struct raw_client c;
    json_t *json, *devices, *one;
    char named[64];

    (void)state;
    assert_true(ask("priority=10&share=0.5&within_ms=100", "no program uses a device", &json));
    assert_int_equal(json_array_size(json_object_get(json, "devices")), 0);
    assert_string_equal(json_string_value(json_object_get(json, "policy")), "HPF");
    assert_true(json_number_value(json_object_get(json, "share")) == 0.5);
    assert_int_equal(json_integer_value(json_object_get(json, "within_ms")), 100);
    assert_int_equal(json_integer_value(json_object_get(json, "priority")), 10);
    json_decref(json);

    raw_join(&c, g_server.socket);
    raw_add(&c, 0, DEVICE, 5);
    raw_submit(&c, 0);
    raw_settle(&c);
    assert_false(ask("priority=4", "1 more important and 0 equally", &json)); /* young, and it has work */
    devices = json_object_get(json, "devices");
    assert_int_equal(json_array_size(devices), 1);
    one = json_array_get(devices, 0);
    assert_int_equal(json_integer_value(json_object_get(one, "device")), DEVICE);
    assert_true(json_is_false(json_object_get(one, "admitted")));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(one, "programs"), "more")), 1);
    assert_null(json_object_get(one, "memory_left_bytes")); /* nobody tells how much it has */
    json_decref(json);
    assert_false(ask("priority=5&share=0.51", "0 more important and 1 equally", &json));
    json_decref(json);
    assert_true(ask("priority=5&share=0.5", "0 more important and 1 equally", &json));
    json_decref(json);
    assert_true(ask("priority=6&share=1", "0 more important and 0 equally", &json));
    json_decref(json);
    assert_true(ask("priority=4&device=77", "no program uses this device", &json));
    json_decref(json);

    raw_add(&c, 1, DEVICE + 0x100, 5); /* any device will do, unless one is named */
    raw_settle(&c);
    assert_true(ask("priority=4", "0 more important", &json));
    json_decref(json);
    snprintf(named, sizeof(named), "priority=4&device=%llu", DEVICE);
    assert_false(ask(named, "1 more important", &json));
    json_decref(json);
    raw_complete(&c, 0);
    raw_leave(&c);
}

static void wrong_questions(void **state)
{
    static const char *const k_bad[] = {
        "", "?", "?priority=", "?priority=x", "?priority=256", "?priority=-256", "?priority=1.5",
        "?priority=99999999999999999999",
        "?share=0.5", "?priority=1&share=0", "?priority=1&share=1.5", "?priority=1&share=half", "?priority=1&within_ms=0",
        "?priority=1&within_ms=-1", "?priority=1&within_ms=86400001", "?priority=1&within_ms=soon", "?priority=1&memory=much",
        "?priority=1&memory=50%25", "?priority=1&device=-1", "?priority=1&device=gpu0",
    };
    char path[128];
    json_t *json;

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_bad); i++) {
        long status;

        snprintf(path, sizeof(path), "/admission%s", k_bad[i]);
        status = raw_http(&g_server, "GET", path, NULL, &json);
        if (status != 400 || !json_is_string(json_object_get(json, "error")))
            fail_msg("%s: %ld", path, status);
        json_decref(json);
    }
    assert_int_equal(raw_http(&g_server, "POST", "/admission?priority=1", "", NULL), 405);
    assert_int_equal(raw_http(&g_server, "GET", "/admission/1?priority=1", NULL, NULL), 404);
    assert_int_equal(raw_http(&g_server, "GET", "/admission?priority=1&memory=8G&share=1&within_ms=86400000", NULL, NULL), 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judged),
        cmocka_unit_test(how_long_it_waits),
        cmocka_unit_test(shares_as_text),
        cmocka_unit_test(a_server_answers),
        cmocka_unit_test(wrong_questions),
    };

    return cmocka_run_group_tests(tests, start, raw_server_teardown);
}
