/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of xserver without a server. */
#include "host/namespaces.h"
#include "host/procinfo.h"
#include "http/devices/device_list.h"
#include "http/http_guard.h"
#include "config/options.h"
#include "xserver/prewake/cpus.h"
#include "xserver/records/timeline.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void cpu_classes(void **state)
{
#define STAT(nice, rt, policy)                                                                               \
    "12 (a ) b(c) S 1 12 12 0 -1 4194304 1 0 0 0 0 0 0 0 20 " nice " 1 0 100 1000 10 18446744073709551615 "  \
    "1 1 0 0 0 0 0 0 0 0 0 0 17 0 " rt " " policy " 0 0 0\n"
    static const struct {
        const char *stat;
        int r;
        int32_t class;
    } k_rows[] = {
        {STAT("0", "0", "0"), 0, 0},
        {STAT("19", "0", "0"), 0, -19},
        {STAT("-20", "0", "0"), 0, 20},
        {STAT("0", "50", "1"), 0, 1050},
        {STAT("0", "99", "2"), 0, 1099},
        {STAT("0", "0", "6"), 0, 1100},
        {STAT("0", "0", "5"), 0, -20},
        {STAT("5", "0", "3"), 0, -5},
        {"", -22, 0},
        {"12 (a) S 1 2", -22, 0},
        {"12 (a)", -22, 0},
    };
    int32_t class;

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        assert_int_equal(xs_proc_cpu_class_parse(k_rows[i].stat, &class), k_rows[i].r);
        if (k_rows[i].r == 0)
            assert_int_equal(class, k_rows[i].class);
    }
    /* more urgent on the CPU is more urgent here: deadline, real time, nice, idle */
    assert_true(1100 > 1099 && 1001 > 20 && -19 > -20);
}

static void a_stopped_process(void **state)
{
    (void)state;
    assert_true(xs_proc_is_stopped_parse("12 (a) T 1 2"));
    assert_true(xs_proc_is_stopped_parse("12 (a) t 1 2"));
    assert_true(xs_proc_is_stopped_parse("12 (b) S (c) T 1"));
    assert_false(xs_proc_is_stopped_parse("12 (a) S 1 2"));
    assert_false(xs_proc_is_stopped_parse("12 (a) T 1) R 1"));
    assert_false(xs_proc_is_stopped_parse("12 (a)"));
    assert_false(xs_proc_is_stopped_parse(""));
    assert_false(xs_proc_is_stopped(getpid()));
    assert_false(xs_proc_is_stopped(0));
}

static void put_file(const char *root, const char *path, const char *text)
{
    char whole[512];
    FILE *f;

    snprintf(whole, sizeof(whole), "%s/%s", root, path);
    for (char *at = strchr(whole + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        (void)mkdir(whole, 0700);
        *at = '/';
    }
    f = fopen(whole, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

#define GROUP "sys/fs/cgroup"

/* As few as a control group allows. */
static void cpus_by_quota(void **state)
{
    static const struct {
        const char *cgroup, *path, *text, *other, *other_text;
        uint64_t most;
    } k_rows[] = {
        {"0::/a/b\n", GROUP "/a/b/cpu.max", "max 100000\n", GROUP "/a/cpu.max", "max 100000\n", UINT64_MAX},
        {"0::/a/b\n", GROUP "/a/b/cpu.max", "max 100000\n", GROUP "/a/cpu.max", "50000 100000\n", 0},
        {"0::/a/b\n", GROUP "/a/b/cpu.max", "199999 100000\n", GROUP "/a/cpu.max", "900000 100000\n", 1},
        {"0::/\n", GROUP "/cpu.max", "100000 100000\n", NULL, NULL, 1},
        {"0::/../x\n", GROUP "/cpu.max", "100000 100000\n", NULL, NULL, 1},
        {"4:cpu,cpuacct:/d\n0::/\n", GROUP "/cpu,cpuacct/d/cpu.cfs_quota_us", "100000\n",
         GROUP "/cpu,cpuacct/d/cpu.cfs_period_us", "100000\n", 1},
        {"4:cpu,cpuacct:/d\n0::/\n", GROUP "/cpu,cpuacct/d/cpu.cfs_quota_us", "-1\n",
         GROUP "/cpu,cpuacct/d/cpu.cfs_period_us", "100000\n", UINT64_MAX},
        {"4:cpuset:/d\n", GROUP "/cpuset/d/cpu.cfs_quota_us", "1\n", NULL, NULL, UINT64_MAX},
        {"0::/a\n", GROUP "/a/cpu.max", "100000 0\n", NULL, NULL, UINT64_MAX},
        {"0::/a\n", GROUP "/a/cpu.max", "", NULL, NULL, UINT64_MAX},
        {"nonsense\n0:\n", GROUP "/cpu.max", "1 100000\n", NULL, NULL, UINT64_MAX},
        {"", GROUP "/cpu.max", "1 100000\n", NULL, NULL, UINT64_MAX},
    };
    uint64_t all = xs_cpus_available("/nowhere");

    (void)state;
    assert_true(all >= 1);
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        char root[] = "/tmp/xsched-cpus-XXXXXX", command[128];

        assert_non_null(mkdtemp(root));
        put_file(root, "proc/self/cgroup", k_rows[i].cgroup);
        put_file(root, k_rows[i].path, k_rows[i].text);
        if (k_rows[i].other)
            put_file(root, k_rows[i].other, k_rows[i].other_text);
        assert_int_equal(xs_cpus_available(root), XS_MIN(all, k_rows[i].most));
        snprintf(command, sizeof(command), "rm -rf '%s'", root);
        assert_int_equal(system(command), 0);
    }
}

#define CONTAINER_ID "3f29a0c1d2e4b5968778695a4b3c2d1e0f112233445566778899aabbccddeeff"

static void containers_are_named(void **state)
{
    static const struct {
        const char *text, *id, *pod;
    } k_rows[] = {
        {"0::/user.slice/session-2.scope\n", "", ""},
        {"", "", ""},
        {"0::/system.slice/docker-" CONTAINER_ID ".scope\n", "3f29a0c1d2e4", ""},
        {"0::/machine.slice/libpod-" CONTAINER_ID ".scope/container\n", "3f29a0c1d2e4", ""},
        {"12:cpu:/docker/" CONTAINER_ID "\n0::/\n", "3f29a0c1d2e4", ""},
        {"0::/kubepods.slice/kubepods-burstable.slice/"
         "kubepods-burstable-pod0f4a1c22_9d3b_4c1e_8a77_1234567890ab.slice/cri-containerd-" CONTAINER_ID
         ".scope\n",
         "3f29a0c1d2e4", "0f4a1c22-9d3b-4c1e-8a77-1234567890ab"},
        {"0::/kubepods/besteffort/pod0f4a1c22-9d3b-4c1e-8a77-1234567890ab/" CONTAINER_ID "\n", "3f29a0c1d2e4",
         "0f4a1c22-9d3b-4c1e-8a77-1234567890ab"},
        {"0::/podman/poder" CONTAINER_ID "a\n", "", ""}, /* 65 digits are no identifier */
        {"0::/pod0f4a", "", ""},
    };

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        struct xs_container c;

        xs_proc_container_parse(k_rows[i].text, &c);
        assert_string_equal(c.id, k_rows[i].id);
        assert_string_equal(c.pod, k_rows[i].pod);
    }
}

static void devices_are_named(void **state)
{
    struct xs_device_name n;

    (void)state;
    xs_device_name_get(2ull << 32 | 0x00013bfa, &n);
    assert_string_equal(n.pci, "0001:3b:1f.2");
    assert_string_equal(n.gpu, n.pci);
    assert_string_equal(n.uuid, "");
    xs_device_name_parse(
        "Model: \t\t NVIDIA H200\nIRQ:   \t\t 210\nGPU UUID: \t GPU-5f1e\nDevice Minor: \t 3\n", &n);
    assert_string_equal(n.uuid, "GPU-5f1e");
    assert_string_equal(n.gpu, "3");
    assert_string_equal(n.model, "NVIDIA H200");
    xs_device_name_parse("GPU UUID: a\"b\n", &n); /* would end the label */
    assert_string_equal(n.uuid, "GPU-5f1e");
    xs_device_name_get(1ull << 32 | 0xffff1234, &n);
    assert_string_equal(n.gpu, "1234");
    assert_string_equal(n.pci, "");
}

static void put(const char *folder, const char *name, const char *text)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void devices_tell_their_state(void **state)
{
    char folder[] = "/tmp/xsched-parts-XXXXXX", inner[64], command[96];
    struct xs_device_state st;

    (void)state;
    assert_non_null(mkdtemp(folder));
    xs_device_state_get(folder, &st); /* NVIDIA's: the folder has nothing of this */
    assert_int_equal(st.memory_bytes, XS_DEVICE_UNKNOWN);
    assert_int_equal(st.temperature_c, XS_DEVICE_UNKNOWN);
    put(folder, "mem_info_vram_total", "68702699520\n");
    put(folder, "mem_info_vram_used", "-5\n");
    snprintf(inner, sizeof(inner), "%s/hwmon", folder);
    mkdir(inner, 0700);
    snprintf(inner, sizeof(inner), "%s/hwmon/hwmon7", folder);
    mkdir(inner, 0700);
    put(inner, "temp1_input", "54500\n");
    put(inner, "freq1_input", "1700000000\n");
    xs_device_state_get(folder, &st);
    assert_int_equal(st.memory_bytes, 68702699520);
    assert_int_equal(st.memory_used_bytes, XS_DEVICE_UNKNOWN);
    assert_int_equal(st.temperature_c, 54);
    assert_int_equal(st.clock_mhz, 1700);
    snprintf(command, sizeof(command), "rm -r %s/hwmon %s/mem*", folder, folder);
    assert_int_equal(system(command), 0);

    snprintf(command, sizeof(command), "mkdir -p %s/hwmon/hwmon2 %s/drm/card1", folder, folder); /* Intel's, i915 */
    assert_int_equal(system(command), 0);
    put(folder, "hwmon/hwmon2/temp1_input", "no number\n");
    put(folder, "hwmon/hwmon2/temp2_input", "61000\n");
    put(folder, "drm/card1/gt_act_freq_mhz", "2050\n");
    put(folder, "vendor", "0x8086\n");
    xs_device_state_get(folder, &st);
    assert_int_equal(st.memory_bytes, XS_DEVICE_UNKNOWN);
    assert_int_equal(st.temperature_c, 61);
    assert_int_equal(st.clock_mhz, 2050);
    assert_false(xs_device_is_nvidia(folder));
    put(folder, "vendor", "0x10de\n");
    assert_true(xs_device_is_nvidia(folder));
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    assert_false(xs_device_is_nvidia(folder));
}

/* A program may invent as many as it likes: an answer has a bounded number, each once. */
static void invented_devices_are_bounded(void **state)
{
    static struct xs_queue_record queues[200];
    struct xs_request r = {.queues = queues, .n_queues = XS_ARRAY_LEN(queues)};
    struct xs_devices *d;

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(queues); i++) {
        queues[i].status.device = 2ull << 32 | 0xffff0000 | (XDevice)((i * 37) % 100);
        queues[i].status.ready = i < 100;
    }
    d = xs_devices_of(&r);
    assert_int_equal(d->n, XS_DEVICES_OTHER);
    assert_true(d->more);
    for (size_t i = 0; i < d->n; i++) {
        assert_int_equal(d->rows[i].queues, 2);
        assert_int_equal(d->rows[i].ready, 1);
        assert_ptr_equal(xs_devices_find(d, d->rows[i].device), &d->rows[i]);
    }
    assert_null(xs_devices_find(d, 99));
    free(d);
    r.n_queues = 0;
    d = xs_devices_of(&r);
    assert_int_equal(d->n, 0);
    free(d);
}

static bool own_only(void *ctx, uint32_t uid)
{
    return uid == *(const uint32_t *)ctx;
}

static void the_timeline_is_bounded(void **state)
{
    static struct xs_timeline_event out[XS_TIMELINE_ANSWER];
    struct xs_timeline t = {0};
    struct xs_timeline_event e = {.handle = 1, .kind = XS_TIMELINE_ready};
    uint32_t user = 7;
    uint64_t next, lost, first, seen = 0;

    (void)state;
    xs_timeline_add(&t, &e); /* nobody asked: nothing is kept */
    assert_int_equal(t.count, 0);
    assert_int_equal(xs_timeline_want(&t, 0), 0);
    first = t.count;
    for (uint64_t i = 0; i < XS_TIMELINE_LENGTH + 1000; i++) {
        e.time_ns = i;
        e.uid = i % 2 ? user : 8;
        xs_timeline_add(&t, &e);
    }
    next = first;
    do {
        size_t n = xs_timeline_copy(&t, next, own_only, &user, out, &next, &lost);

        assert_int_equal(lost, seen ? 0 : 1000);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(out[i].uid, user);
            assert_int_equal(out[i].time_ns, 1001 + 2 * seen++);
        }
    } while (next < t.count);
    assert_int_equal(seen, XS_TIMELINE_LENGTH / 2);
    /* given back when nobody asks; a number of the old ring is not taken for one of the new */
    assert_true(xs_timeline_housekeeping(&t, XS_NS_PER_S) > XS_NS_PER_S);
    assert_non_null(t.ring);
    assert_true(xs_timeline_housekeeping(&t, 60 * XS_NS_PER_S) == UINT64_MAX);
    assert_null(t.ring);
    assert_int_equal(xs_timeline_want(&t, 61 * XS_NS_PER_S), 0);
    xs_timeline_add(&t, &e);
    assert_int_equal(xs_timeline_copy(&t, next, own_only, &user, out, &next, &lost), 1);
    assert_true(lost > 0);
    free(t.ring);
    /* what a user sees of numbers goes back to them, and shows neither how many there are nor whether there were more */
    for (uint64_t number = 0; number < 1u << 20; number += 997) {
        uint64_t veiled = xs_timeline_veil(77, number, number * 3);

        assert_true(veiled < 1ull << 62);
        assert_int_equal(xs_timeline_unveil(77, veiled), number);
        assert_true(veiled != xs_timeline_veil(77, number, number * 3 + 1));
        assert_true(veiled != xs_timeline_veil(78, number, number * 3));
    }
}

static void text_is_cleaned(void **state)
{
    static const struct {
        const char *in, *out;
    } k_rows[] = {
        {"plain", "plain"},
        {"a\tb\nc\x1b[1m", "a?b?c?[1m"},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\xff\xfe", "??"},
        {"\xc3", "?"},
        {"\xe2\x82", "??"},
        {"\xc0\x80", "??"},
        {"\xed\xa0\x80", "???"},
        {"\xf4\x90\x80\x80", "????"},
        {"\xc2\x85", "??"},
        {"\x7f", "?"},
    };

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        char text[64];

        snprintf(text, sizeof(text), "%s", k_rows[i].in);
        xs_text_clean(text);
        assert_string_equal(text, k_rows[i].out);
    }
}

/* One row of the kernel's table, with the addresses in the kernel's byte order. */
static void hosts(void **state)
{
    (void)state;
    assert_true(xs_guard_host_ok("127.0.0.1:50000", 50000));
    assert_true(xs_guard_host_ok("LocalHost:50000", 50000));
    assert_true(xs_guard_host_ok("[::1]:50000", 50000));
    assert_true(xs_guard_host_ok("localhost", 50000));
    assert_false(xs_guard_host_ok("localhost:50001", 50000));
    assert_false(xs_guard_host_ok("localhost:", 50000));
    assert_false(xs_guard_host_ok("localhost:50000x", 50000));
    assert_false(xs_guard_host_ok("localhostx", 50000));
    assert_false(xs_guard_host_ok("127.0.0.1.example.org", 50000));
    assert_false(xs_guard_host_ok("", 50000));
    assert_false(xs_guard_host_ok("example.org", 50000));
}

static void namespaces_by_text(void **state)
{
    (void)state;
    assert_true(xs_namespaces_pid_parse("Name:\tx\nNSpid:\t42\nNSpgid:\t42\n"));
    assert_false(xs_namespaces_pid_parse("Name:\tx\nNSpid:\t42\t1\nNSpgid:\t42\n"));
    assert_false(xs_namespaces_pid_parse("Name:\tx\n"));
    assert_false(xs_namespaces_pid_parse("Name:\tNSpid: 4\n"));
    assert_int_equal(xs_namespaces_root_parse("22 27 0:21 / /proc rw - proc proc rw\n27 1 254:0 / / rw - ext4 x rw\n"), 27);
    assert_int_equal(xs_namespaces_root_parse("22 27 0:21 / /proc rw - proc proc rw\n28 22 0:5 / /proc/x rw - p p rw\n"), 27);
    assert_int_equal(xs_namespaces_root_parse("28 22 0:5 / /proc/x rw - p p rw\n"), 0);
    assert_int_equal(xs_namespaces_root_parse("28 22 0:5 / /cu"), 0);
    assert_int_equal(xs_namespaces_root_parse(""), 0);
    assert_int_equal(xs_namespaces_root_parse("\n\nx\n"), 0);
}

static char *page(const char *name)
{
    char path[512], *text = calloc(1, 1 << 16);
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", XS_MAN_FOLDER, name);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
    fclose(f);
    return text;
}

/* Every option that --help lists is in both man pages, every other key in the second, where those that a reload takes over
 * are marked. A constant is in HACKING.md, and in neither. */
static void options_are_documented(void **state)
{
    char *command = page("xserver.8"), *file = page("xserver.conf.5"), *hacking = page("../../HACKING.md");

    (void)state;
    for (size_t i = 0; i < XS_OPT_COUNT; i++) {
        const struct xs_option_row *r = &xs_option_rows[i];
        char escaped[128] = "\\-\\-", key[128], section[64];

        for (const char *at = r->name; *at; at++)
            strcat(escaped, *at == '-' ? "\\-" : (char[]){*at, 0});
        strcat(escaped, "=");
        snprintf(key, sizeof(key), "\n.B %s%s\n", r->name, r->live ? " *" : "");
        snprintf(section, sizeof(section), "\n.SS [%s]\n", r->section);
        if (r->tier == XS_TIER_TUNE) {
            snprintf(section, sizeof(section), "`%s`", r->name);
            if (!strstr(hacking, section) || strstr(command, escaped) || strstr(file, key))
                fail_msg("%s is a constant, and is not in HACKING.md alone", r->name);
            continue;
        }
        if ((r->tier == XS_TIER_SHOWN) != (strstr(command, escaped) != NULL))
            fail_msg("%s: xserver.8 has what --help lists, and nothing else", r->name);
        if (!strstr(file, key) || !strstr(file, section))
            fail_msg("%s is not in xserver.conf.5", r->name);
        assert_true(strstr(file, section) < strstr(file, key));
    }
    free(hacking);
    free(command);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_classes), cmocka_unit_test(a_stopped_process), cmocka_unit_test(cpus_by_quota),
        cmocka_unit_test(containers_are_named),
        cmocka_unit_test(devices_are_named),
        cmocka_unit_test(devices_tell_their_state),
        cmocka_unit_test(invented_devices_are_bounded),
        cmocka_unit_test(the_timeline_is_bounded),
        cmocka_unit_test(text_is_cleaned),
        cmocka_unit_test(hosts),
        cmocka_unit_test(namespaces_by_text),
        cmocka_unit_test(options_are_documented),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
