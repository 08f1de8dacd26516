/* SPDX-License-Identifier: Apache-2.0 */
/* GET /metrics: its numbers, its form (check_metrics.py), and how long it takes with many queues. */
#include "raw.h"

#include "base/clock.h"
#include "query/http_client.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define QUEUES    1000u
#define TRIES     20
#define DEVICE    (2ull << 32 | 0x3b00)

static struct raw_server g_server;

static char *scrape(uint64_t *ret_ns)
{
    struct xs_http_target target = {.unix_path = g_server.http};
    struct xs_http_answer answer;
    uint64_t began = xs_now_ns();
    char error[256] = "";

    if (xs_http_ask(&target, "GET", "/metrics", NULL, &answer, error, sizeof(error)) < 0)
        fail_msg("/metrics: %s", error);
    if (ret_ns)
        *ret_ns = xs_now_ns() - began;
    assert_int_equal(answer.status, 200);
    return answer.body;
}

/* The value of the one sample whose line begins so. */
static double sample(const char *text, const char *format, ...) XS_PRINTF(2, 3);

static double sample(const char *text, const char *format, ...)
{
    char name[512];
    const char *at;
    va_list ap;

    va_start(ap, format);
    name[0] = '\n';
    vsnprintf(name + 1, sizeof(name) - 1, format, ap);
    va_end(ap);
    at = strstr(text, name);
    if (!at)
        fail_msg("no sample %s in\n%s", name + 1, text);
    at = strchr(at + strlen(name), ' ');
    assert_non_null(at);
    return strtod(at, NULL);
}

static double queue_sample(const char *text, const char *metric, const struct raw_client *c)
{
    return sample(
        text,
        "xsched_queue_%s{gpu=\"0000:3b:00.0\",pci_bus_id=\"0000:3b:00.0\",pid=\"%d\",queue=\"0x%" PRIx64,
        metric, (int)getpid(), raw_handle(c, 0));
}

static void judged_by_others(const char *text)
{
    char path[128], command[1024];
    FILE *f;
    int status;

    snprintf(path, sizeof(path), "%s/scrape", g_server.dir);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    fclose(f);
    snprintf(command, sizeof(command), "%s -B %s %s %s %s %s %s", PYTHON, CHECK_METRICS, path, METRICS_DEF,
             DASHBOARDS, MAN_PAGE, RULES);
    status = system(command);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* With a job, by which a dashboard adds up. */
static void join_with_group(struct raw_client *c)
{
    union xs_msg hello;

    raw_connect(c, g_server.socket);
    raw_hello_fill(c, &hello);
    snprintf(hello.hello.group, sizeof(hello.hello.group), "slurm-7.0");
    assert_int_equal(raw_hello(c, &hello, (int[]){c->page_fd, c->bell}, 2), 0);
}

static void what_happened_is_counted(void **state)
{
    struct raw_client low, high;
    char *text;
    double waited, ran;

    (void)state;
    join_with_group(&low);
    raw_join(&high, g_server.socket);
    raw_add(&low, 0, DEVICE, 1);
    raw_add(&high, 0, DEVICE, 7);
    text = scrape(NULL);
    assert_true(sample(text, "xsched_clients") == 2);
    assert_true(sample(text, "xsched_queues{state=\"idle\"}") == 2);
    assert_true(queue_sample(text, "priority", &high) == 7);
    assert_true(queue_sample(text, "level", &high) == 1);
    assert_true(queue_sample(text, "running_seconds_total", &high) == 0);
    assert_true(sample(text, "xsched_policy_info{policy=\"HPF\"}") == 1);
    free(text);

    atomic_store(&low.page->h.memory_used, 4096); /* the limit that a hostile page says is shown as far as numbers go */
    atomic_store(&low.page->h.memory_limit, UINT64_MAX);
    raw_submit(&low, 0);
    raw_submit(&high, 0);
    assert_true(raw_wait_permitted(&low, 0, false, 5000));
    usleep(50000);
    text = scrape(NULL);
    assert_true(sample(text, "xsched_queues{state=\"running\"}") == 1);
    assert_true(sample(text, "xsched_queues{state=\"waiting\"}") == 1);
    assert_true(queue_sample(text, "permitted", &high) == 1);
    assert_true(queue_sample(text, "permitted", &low) == 0);
    assert_true(queue_sample(text, "preemptions_total", &low) == 1);
    waited = queue_sample(text, "waiting_seconds_total", &low);
    ran = queue_sample(text, "running_seconds_total", &high);
    assert_true(waited >= 0.05 && waited < 30);
    assert_true(ran >= 0.05 && ran < 30);
    assert_true(queue_sample(text, "waiting_seconds_total", &high) < waited);
    /* each queue is its process's only one */
    assert_true(sample(text, "xsched_process_memory_bytes{pid=\"%d\"", (int)getpid()) == 4096);
    assert_true(sample(text, "xsched_process_memory_limit_bytes{pid=\"%d\"", (int)getpid()) == (double)INT64_MAX);
    assert_true(sample(text, "xsched_process_preemptions_total{pid=\"%d\",session=\"%" PRIu64 "\",command=\"test_metrics\",",
                       (int)getpid(), low.session) == 1);
    assert_true(sample(text, "xsched_decision_latency_seconds_count") >= 1);
    assert_true(sample(text, "xsched_preemption_latency_seconds_count") == 1);
    /* raw_submit says that its command takes a minute */
    assert_true(sample(text, "xsched_preemption_latency_seconds_sum") >= 50);
    assert_true(sample(text, "xsched_holds_total") >= 1);
    judged_by_others(text);
    free(text);

    raw_complete(&high, 0);
    assert_true(raw_wait_permitted(&low, 0, true, 5000));
    text = scrape(NULL);
    assert_true(queue_sample(text, "running_seconds_total", &high) >= ran);
    assert_true(queue_sample(text, "completed_total", &high) == 1);
    free(text);
    raw_leave(&low);
    raw_leave(&high);
}

static void a_lone_queue_is_not_said_to_run_for_ever(void **state)
{
    struct raw_client c;
    char *text;

    (void)state;
    raw_join(&c, g_server.socket);
    raw_add(&c, 0, DEVICE, 0);
    raw_submit(&c, 0); /* alone: nobody asks to hear of its end */
    text = scrape(NULL);
    free(text);
    atomic_store(&c.page->cells[0].est_completed_ns, 1000 * XS_NS_PER_US); /* a millisecond on the device */
    atomic_store(&c.page->cells[0].completed, 1);
    usleep(200000);
    text = scrape(NULL);
    assert_true(queue_sample(text, "running_seconds_total", &c) <= 0.0011);
    assert_true(queue_sample(text, "device_seconds_total", &c) <= 0.0011);
    assert_true(queue_sample(text, "ready", &c) == 0);
    free(text);
    raw_leave(&c);
}

/* The best of some: others use this machine. */
static void many_queues_take_little_time(void **state)
{
    struct raw_client c;
    uint64_t best = UINT64_MAX;
    union xs_msg m;
    size_t lines = 0;
    char *text = NULL;

    (void)state;
    join_with_group(&c);
    for (uint32_t i = 0; i < QUEUES; i++) {
        raw_add_fill(&c, &m, i, DEVICE, 0);
        raw_send(&c, &m, XS_MSG_queue_add);
    }
    raw_settle(&c);
    for (int i = 0; i < TRIES && best > SCRAPE_MS * XS_NS_PER_MS; i++) {
        uint64_t ns;

        free(text);
        text = scrape(&ns);
        best = XS_MIN(best, ns);
    }
    for (const char *at = text; (at = strstr(at, "\nxsched_queue_running_seconds_total{")) != NULL; at++)
        lines++;
    assert_int_equal(lines, QUEUES);
    print_message("%u queues: %.1f ms, %zu bytes\n", QUEUES, (double)best / 1e6, strlen(text));
    assert_true(best <= SCRAPE_MS * XS_NS_PER_MS);
    judged_by_others(text);
    free(text);
    raw_leave(&c);
}

static int start(void **state)
{
    static const char *const k_args[] = {"--stall-ms", "0", NULL}; /* a second between two steps changes nothing */

    return raw_server_setup(state, &g_server, k_args);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_happened_is_counted),
        cmocka_unit_test(a_lone_queue_is_not_said_to_run_for_ever),
        cmocka_unit_test(many_queues_take_little_time),
    };

    return cmocka_run_group_tests(tests, start, raw_server_teardown);
}
