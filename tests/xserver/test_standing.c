/* SPDX-License-Identifier: Apache-2.0 */
/* How far priorities go by user: priority-limits and user-share-exempt, first as text, then in force. The second part needs
 * root, which becomes the users; skipped otherwise. */
#include "raw.h"

#include "base/clock.h"
#include "host/procinfo.h"
#include "wire/hints.h"
#include "config/pod_limits.h"
#include "config/priority_limits.h"

#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define BOUND    61002u
#define FREE     61003u
#define ORDINARY 61001u
#define DEVICE   (1ull << 32 | 0xffff0007)

static const struct xs_limits_rule *find(const char *list, uint32_t uid, uint32_t gid, uint32_t other, const char *cgroup)
{
    static struct xs_limits_list l;
    struct xs_limits_of who = {.uid = uid, .gid = gid, .groups = &other, .n_groups = 1, .cgroup = cgroup};
    enum xs_limits_values values = strchr(list, '=') ? XS_LIMITS_RANGES : XS_LIMITS_NAMES;
    char error[200];

    assert_int_equal(xs_limits_parse(&l, list, values, true, error, sizeof(error)), 0);
    return xs_limits_find(&l, &who);
}

static void the_first_rule_that_fits_counts(void **state)
{
    const char *list = "/a/b=1..2 root=3..4, @20=5..6\t1000=..7 *=-8..";
    const struct xs_limits_rule *r;

    (void)state;
    r = find(list, 0, 0, 0, "/a/b/c");
    assert_true(r && r->least == 1 && r->most == 2);
    r = find(list, 0, 0, 0, "/a/bc");
    assert_true(r && r->least == 3 && r->most == 4);
    r = find(list, 5, 20, 0, "");
    assert_true(r && r->least == 5 && r->most == 6);
    r = find(list, 5, 5, 20, "");
    assert_true(r && r->least == 5 && r->most == 6);
    r = find(list, 1000, 5, 5, "/");
    assert_true(r && r->least == -255 && r->most == 7);
    r = find(list, 1001, 5, 5, "/");
    assert_true(r && r->least == -8 && r->most == 255);
    assert_null(find("", 0, 0, 0, "/"));
    assert_null(find("1 @2 /x/", 5, 5, 5, "/y"));
    assert_non_null(find("1 @2 /x/", 5, 5, 5, "/x"));
    assert_non_null(find("/", 5, 5, 5, "/y"));
    assert_null(find("/", 5, 5, 5, "")); /* it is not known */
}

static void what_is_wrong_is_refused(void **state)
{
    static const char *const limits[] = {"1", "1=", "1=2", "1=3..2", "1=..256", "1=-256..", "1=a..b", "=1..2", "*",
                                         "no-such-user-here=1..2", "@no-such-group-here=1..2", "1=1..2 x"};
    static const char *const exempt[] = {"1=1..2", "no-such-user-here", "@", "@no-such-group-here"};
    struct xs_limits_list l;
    char error[200], many[XS_LIMITS_RULES * 2 + 4] = "";

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(limits); i++) {
        error[0] = 0;
        if (xs_limits_parse(&l, limits[i], XS_LIMITS_RANGES, true, error, sizeof(error)) == 0)
            fail_msg("%s is taken", limits[i]);
        assert_true(error[0]);
    }
    for (size_t i = 0; i < XS_ARRAY_LEN(exempt); i++)
        assert_true(xs_limits_parse(&l, exempt[i], XS_LIMITS_NAMES, true, error, sizeof(error)) < 0);
    /* of a file, the rules of absent users and groups are left out, and no others */
    assert_int_equal(xs_limits_parse(&l, "no-such-user-here @no-such-group-here 1", XS_LIMITS_NAMES, false, error,
                                       sizeof(error)), 0);
    assert_int_equal(l.n, 1);
    assert_string_equal(l.absent, "'no-such-user-here': there is no such user");
    assert_int_equal(xs_limits_parse(&l, "@no-such-group-here=..1 *=2..3", XS_LIMITS_RANGES, false, error, sizeof(error)), 0);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.rules[0].least, 2);
    assert_string_equal(l.absent, "'@no-such-group-here=..1': there is no such group");
    assert_true(xs_limits_parse(&l, "no-such-user-here=1..a", XS_LIMITS_RANGES, false, error, sizeof(error)) < 0);
    for (unsigned i = 0; i <= XS_LIMITS_RULES; i++)
        strcat(many, "1 ");
    assert_true(xs_limits_parse(&l, many, XS_LIMITS_NAMES, true, error, sizeof(error)) < 0);
}

static uint32_t weight(const char *list, uint32_t uid)
{
    struct xs_limits_text none = {"", true}, weights = {list, true};
    struct xs_limits st;
    char error[200];

    assert_int_equal(xs_limits_set(&none, &none, &weights, error, sizeof(error)), 0);
    xs_limits_get(-1, 1, 1, 1, uid, &st);
    assert_int_equal(xs_limits_set(&none, &none, &none, error, sizeof(error)), 0);
    return st.weight;
}

static void weights_are_of_users(void **state)
{
    static const struct {
        const char *text, *why;
    } k_wrong[] = {
        {"1000", "it is not NAME=WEIGHT"},
        {"=5", "it is not NAME=WEIGHT"},
        {"1000=0", "a weight is a whole number from 1 to 10000"},
        {"1000=-1", "a weight is a whole number from 1 to 10000"},
        {"1000=", "a weight is a whole number from 1 to 10000"},
        {"1000=1.5", "a weight is a whole number from 1 to 10000"},
        {"1000=10001", "a weight is a whole number from 1 to 10000"},
        {"1000=99999999999999999999", "a weight is a whole number from 1 to 10000"},
        {"1000=1..2", "a weight is a whole number from 1 to 10000"},
        {"1000=70%", "a weight is a whole number from 1 to 10000"},
        {"@root=3", "a part is a user's: NAME=WEIGHT, or *=WEIGHT"},
        {"/x=3", "a part is a user's: NAME=WEIGHT, or *=WEIGHT"},
        {"1000=3 1000=3", "another rule names this user"},
        {"root=3 0=4", "another rule names this user"},
        {"*=3 *=4", "another rule names this user"},
        {"no-such-user-here=3", "there is no such user"},
        {"1000 = 70", "it is not NAME=WEIGHT"},
    };
    struct xs_limits_list l;
    char error[200];

    (void)state;
    assert_int_equal(weight("", 1000), 1);
    assert_int_equal(weight("1000=70 root=30", 1000), 70);
    assert_int_equal(weight("1000=70 root=30", 0), 30);
    assert_int_equal(weight("1000=70 root=30", 5), 1);
    assert_int_equal(weight("*=20,1000=70", 1000), 70);
    assert_int_equal(weight("*=20,1000=70", 5), 20);
    for (size_t i = 0; i < XS_ARRAY_LEN(k_wrong); i++) {
        error[0] = 0;
        if (xs_limits_parse(&l, k_wrong[i].text, XS_LIMITS_WEIGHTS, true, error, sizeof(error)) == 0)
            fail_msg("%s is taken", k_wrong[i].text);
        if (!strstr(error, k_wrong[i].why))
            fail_msg("%s: %s", k_wrong[i].text, error);
    }
    assert_int_equal(xs_limits_parse(&l, "no-such-user-here=3 5=4", XS_LIMITS_WEIGHTS, false, error, sizeof(error)), 0);
    assert_int_equal(l.n, 1);
    assert_string_equal(l.absent, "'no-such-user-here=3': there is no such user");
}

static void control_groups_are_found(void **state)
{
    char path[16];

    (void)state;
    assert_int_equal(xs_proc_cgroup_parse("0::/a/b\n", path, sizeof(path)), 0);
    assert_string_equal(path, "/a/b");
    assert_int_equal(xs_proc_cgroup_parse("3:cpu:/x\n0::/\n", path, sizeof(path)), 0);
    assert_string_equal(path, "/");
    assert_true(xs_proc_cgroup_parse("3:cpu:/x\n", path, sizeof(path)) < 0);
    assert_true(xs_proc_cgroup_parse("0::/0123456789abcdef\n", path, sizeof(path)) < 0);
    assert_true(xs_proc_cgroup_parse("0::/cut", path, sizeof(path)) < 0);
}

/* ---- in force ---- */

static struct raw_server g_server;
static _Atomic int *g_shared; /* 0: it has a queue; 1: go on; 2: it went on; 3: the end */

static void become(unsigned uid)
{
    if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
        _exit(99);
}

static bool await(int which)
{
    for (int i = 0; i < 4000 && !g_shared[which]; i++)
        usleep(5000);
    return g_shared[which];
}

static long hint(pid_t pid, int priority)
{
    char body[96];

    snprintf(body, sizeof(body), "{\"hint_type\":1,\"pid\":%d,\"priority\":%d}", (int)pid, priority);
    return raw_http(&g_server, "POST", "/hint", body, NULL);
}

static int priority_seen(void)
{
    json_t *json;
    int p;

    assert_int_equal(raw_http(&g_server, "GET", "/xqueues", NULL, &json), 200);
    p = (int)json_integer_value(json_object_get(json_array_get(json_object_get(json, "xqueues"), 0), "priority"));
    json_decref(json);
    return p;
}

static pid_t begin(const char *option, int (*program)(void))
{
    const char *args[] = {option, NULL};
    pid_t pid;

    if (geteuid() != 0)
        skip();
    raw_server_start(&g_server, args);
    for (int i = 0; i < 4; i++)
        g_shared[i] = 0;
    pid = fork();
    if (pid == 0)
        _exit(program());
    assert_true(await(0));
    return pid;
}

static void end(pid_t pid)
{
    int status;

    g_shared[3] = 1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(raw_server_stop(&g_server), 0);
}

#define POD   "0b1c9f5e-0d1f-4d9a-8f0e-7a4f0a7a4b11"
#define OTHER "ffffffff-0d1f-4d9a-8f0e-7a4f0a7a4b11"

static void write_limits(const char *path, const char *text)
{
    char new[128];
    FILE *f;

    snprintf(new, sizeof(new), "%s.new", path);
    f = fopen(new, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(rename(new, path), 0);
}

static void pods_have_limits(void **state)
{
    static const char *const wrong[] = {POD "\n", POD " 1\n", "short ..1\n", POD " ..1 2\n", POD " 5..1\n", POD " ..256\n"};
    char folder[] = "/tmp/xs-podsXXXXXX", path[64];
    int32_t least = 7, most = 7;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/limits", folder);
    assert_false(xs_pod_limits_are_wanted());
    xs_pod_limits_set_file(path);
    assert_false(xs_pod_limits_get(POD, &least, &most)); /* no file yet */
    write_limits(path, "# a comment\n\n" OTHER " -5..5\n" POD " ..10\n");
    assert_true(xs_pod_limits_get(POD, &least, &most));
    assert_int_equal(least, -255);
    assert_int_equal(most, 10);
    assert_true(xs_pod_limits_get(OTHER, &least, &most));
    assert_int_equal(least, -5);
    assert_false(xs_pod_limits_get("", &least, &most));
    for (size_t i = 0; i < XS_ARRAY_LEN(wrong); i++) {
        write_limits(path, wrong[i]);
        assert_true(xs_pod_limits_get(POD, &least, &most)); /* the earlier ones */
        assert_int_equal(most, 10);
    }
    write_limits(path, POD " -3..20\n");
    assert_true(xs_pod_limits_get(POD, &least, &most));
    assert_int_equal(most, 20);
    assert_false(xs_pod_limits_get(OTHER, &least, &most));
    unlink(path);
    assert_false(xs_pod_limits_get(POD, &least, &most));
    rmdir(folder);
    xs_pod_limits_set_file("");
}

static int asks_for_much(void)
{
    struct raw_client c;
    union xs_msg m;

    become(BOUND);
    raw_join(&c, g_server.socket);
    raw_add(&c, 0, DEVICE, 255);
    g_shared[0] = 1;
    if (!await(1) || hint(getpid(), 200) != 200)
        return 1;
    g_shared[2] = 1;
    g_shared[1] = 0;
    if (!await(1))
        return 2;
    memset(&m, 0, sizeof(m));
    m.queue_hints.handle = raw_handle(&c, 0);
    m.queue_hints.priority = 254;
    m.queue_hints.utilization = 100;
    m.queue_hints.deadline_us = m.queue_hints.laxity_us = -1;
    m.queue_hints.changed_ns[XS_PART_PRIORITY] = (uint64_t)((int64_t)xs_now_ns() + xs_clock_offset_ns());
    raw_send(&c, &m, XS_MSG_queue_hints);
    raw_settle(&c);
    g_shared[2] = 1;
    return await(3) ? 0 : 3;
}

static void limits_bound_what_a_user_asks_for(void **state)
{
    pid_t pid = begin("--priority-limits=61002=-5..100", asks_for_much);

    (void)state;
    assert_int_equal(priority_seen(), 100);
    assert_int_equal(hint(pid, -200), 200); /* root's wish is not the user's */
    assert_int_equal(priority_seen(), -200);
    g_shared[1] = 1;
    assert_true(await(2));
    assert_int_equal(priority_seen(), 100);
    assert_int_equal(hint(pid, 200), 200);
    assert_int_equal(priority_seen(), 200);
    g_shared[2] = 0;
    g_shared[1] = 1;
    assert_true(await(2));
    assert_int_equal(priority_seen(), 100);
    end(pid);
}

static int takes(unsigned uid)
{
    struct raw_client c;

    become(uid);
    raw_join(&c, g_server.socket);
    raw_add(&c, 0, DEVICE, 255);
    raw_submit(&c, 0);
    atomic_fetch_add(&c.page->cells[0].entered, 1000000);
    g_shared[0] = 1;
    while (!g_shared[3]) {
        usleep(100000);
        atomic_fetch_add(&c.page->cells[0].completed, 1);
    }
    return 0;
}

static int takes_as_free(void)
{
    return takes(FREE);
}

static int takes_as_bound(void)
{
    return takes(BOUND);
}

static int waits(void)
{
    struct raw_client c;

    become(ORDINARY);
    raw_join(&c, g_server.socket);
    raw_add(&c, 0, DEVICE, 0);
    raw_submit(&c, 0);
    atomic_fetch_add(&c.page->cells[0].entered, 1000000);
    raw_wait_permitted(&c, 0, false, 2000);
    return raw_wait_permitted(&c, 0, true, 2000) ? 10 : 20; /* 20: it waited for two seconds */
}

static int waited(void)
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(waits());
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void only_who_is_exempt_takes_all(void **state)
{
    pid_t pid = begin("--user-share-exempt=61003", takes_as_free);

    (void)state;
    assert_int_equal(waited(), 20);
    end(pid);
    pid = begin("--user-share-exempt=61003", takes_as_bound);
    assert_int_equal(waited(), 10);
    end(pid);
    pid = begin("--user-share=0", takes_as_bound);
    assert_int_equal(waited(), 20);
    end(pid);
}

/* With nearly all of the device for the others, one with priority 255 leaves half of an equal share no more. */
static void weights_are_in_force(void **state)
{
    pid_t pid = begin("--user-shares=61002=10000", takes_as_bound);

    (void)state;
    assert_int_equal(waited(), 20); /* of 1/10001 the next slice comes after 100 s */
    end(pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_rule_that_fits_counts),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(weights_are_of_users),
        cmocka_unit_test(control_groups_are_found),
        cmocka_unit_test(pods_have_limits),
        cmocka_unit_test(limits_bound_what_a_user_asks_for),
        cmocka_unit_test(only_who_is_exempt_takes_all),
        cmocka_unit_test(weights_are_in_force),
    };

    g_shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
