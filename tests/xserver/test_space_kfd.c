/* SPDX-License-Identifier: Apache-2.0 */
/* Two programs share an AMD GPU in space, in virtual time: the scheduler's steps, xserver's messages, the process's requests
 * and a fake of the kernel driver where a kernel is as fast as the mask of its queue lets it be. The urgent program
 * launches a short kernel and pauses; the other one has kernels of 5 ms that fill the device. */
#include "fake_kfd.h"
#include "hal/hip/kfd/kfd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/kfd_ioctl.h>

#include "../sched/world.h"
#include "lv3_scene.h"

#define KFD      700
#define ADDRESS  0xc300u
#define DEVICE   ((uint64_t)kDeviceTypeGPU << 32 | ADDRESS)
#define UNITS    304u
#define LOW      0u
#define HIGH     1u
#define LONG_NS  (5 * MS)         /* the other's kernel, on the whole device */
#define SHORT_NS (20 * US)        /* the urgent one's, on SMALL units */
#define SMALL    40u
#define PAUSE_NS (300 * US)
#define MOST     20000u           /* urgent kernels */

struct scene {
    struct xs_server s;
    struct xs_client low;
    struct xs_server_queue q;
    struct proc w[2];
    int program;                  /* the other's end of its socket */
    uint32_t queues[2];           /* of the driver */
    uint64_t next_ns, launch_ns, began_ns;
    bool busy[2], waits;          /* waits: the other's thread, for its permit */
    uint64_t ended;               /* long kernels */
    uint64_t took_ns[MOST];
    size_t n;
};

static char g_folder[64];

static void begin_driver(void)
{
    char text[512];

    strcpy(g_folder, "/tmp/xs-space-kfd-XXXXXX");
    assert_non_null(mkdtemp(g_folder));
    fake_kfd_reset();
    fake_kfd_open(KFD);
    snprintf(text, sizeof(text), "%u\n", FAKE_KFD_GPU_ID(0));
    fake_kfd_put(g_folder, "0", "gpu_id", text);
    fake_kfd_properties(ADDRESS, text, sizeof(text));
    fake_kfd_put(g_folder, "0", "properties", text);
    xs_kfd_reset(g_folder);
    xs_kfd_set_ioctl(fake_kfd_ioctl);
}

/* @param ours  it goes through the shim */
static uint32_t make(bool ours)
{
    struct kfd_ioctl_create_queue_args a = {.ring_base_address = 0x1000, .ring_size = 4096, .gpu_id = FAKE_KFD_GPU_ID(0),
                                            .queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL, .queue_percentage = 100};

    assert_int_equal((ours ? xs_kfd_call : fake_kfd_ioctl)(KFD, AMDKFD_IOC_CREATE_QUEUE, &a), 0);
    return a.queue_id;
}

static struct scene *begin(bool space)
{
    struct scene *c = calloc(1, sizeof(*c));
    uint32_t units, lanes;
    int ends[2];

    assert_non_null(c);
    begin_driver();
    lv3_scene_begin(&c->s);
    c->s.now_ns = 3600 * XS_NS_PER_S;
    for (uint32_t i = 0; i < 2; i++)
        c->w[i] = world_join_as(c->s.sched, (struct xs_sched_process_info){.id = i + 1, .space = space ? 77 : 0, .user = 1});
    c->queues[LOW] = make(true);
    c->queues[HIGH] = make(false);
    lanes = xs_kfd_lanes(ADDRESS, &units);
    assert_int_equal(lanes, XS_LANES(256, 128));
    c->low.page = c->w[LOW].client;
    c->low.server_page = c->w[LOW].server;
    c->low.record.space = space;
    c->low.record.protocol_minor = XS_WIRE_MINOR;
    xs_list_init(&c->low.queues);
    xs_list_init(&c->low.devices);
    xs_list_init(&c->low.level3.steered_link);
    xs_list_init(&c->low.unsent);
    xs_list_init(&c->q.in_unsent);
    c->low.user = xs_quota_user_get(&c->s.quota, 0);
    c->low.privileged = true;
    c->low.process = c->w[LOW].p;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    c->low.fd = ends[0];
    c->program = ends[1];
    assert_null(xs_user_quota_queue(&c->s, &c->low, &c->q, DEVICE));
    c->q.client = &c->low;
    c->q.level = 1;
    c->q.sched = world_queue(&c->w[LOW], 0, DEVICE, 0, c->s.now_ns);
    world_queue(&c->w[HIGH], 0, DEVICE, 5, c->s.now_ns);
    xs_list_add(&c->low.queues, &c->q.in_client);
    xs_list_add(&c->s.clients, &c->low.link);
    assert_null(xs_lv3_kfd_device(&c->s, &c->low, &(struct xs_msg_kfd_device){.device = DEVICE, .queues = 1}));
    atomic_store(&c->w[LOW].client->cells[0].lanes, lanes);
    c->launch_ns = c->s.now_ns + 200 * MS;
    return c;
}

static void end(struct scene *c)
{
    char command[96];

    assert_true(xs_kfd_restore());
    assert_int_equal(fake_kfd_units(c->queues[LOW]), UNITS);
    assert_int_equal(fake_kfd_complaints(), 0);
    xs_lv3_forget(&c->s, &c->low);
    world_done(c->s.sched, c->w, 2);
    xs_user_quota_free_devices(&c->low);
    xs_quota_fini(&c->s.quota);
    close(c->low.fd);
    close(c->program);
    snprintf(command, sizeof(command), "rm -rf %s", g_folder);
    assert_int_equal(system(command), 0);
    free(c);
}

/* The control thread of the other program. */
static void obey(struct scene *c)
{
    char packet[XS_WIRE_MAX_BYTES];
    ssize_t n;

    while ((n = recv(c->program, packet, sizeof(packet), 0)) > 0) {
        union xs_msg m;

        assert_int_equal(xs_wire_open(packet, (size_t)n, &m, NULL), 0);
        assert_int_equal(m.head.id, XS_MSG_kfd_hold);
        assert_true(xs_kfd_wish(ADDRESS, &(struct xs_kfd_wish){
                                             .off = m.kfd_hold.off, .part = m.kfd_hold.part,
                                             .until_ns = c->s.now_ns + (uint64_t)m.kfd_hold.lease_ms * MS}));
    }
    xs_kfd_due(c->s.now_ns);
}

static void decide(struct scene *c)
{
    uint64_t next = world_step(c->s.sched, c->w, 2, c->s.now_ns), again;

    c->s.level3.changed = true;
    again = xs_lv3_update(&c->s);
    obey(c);
    c->next_ns = XS_MIN(next, again);
}

static void launch(struct scene *c, uint32_t who, uint32_t units, uint64_t ns)
{
    fake_kfd_launch(c->queues[who], units, ns);
    c->busy[who] = true;
}

static void ends(struct scene *c, uint32_t who, uint64_t ns)
{
    if (!c->busy[who] || fake_kfd_queue(c->queues[who])->left_ns)
        return;
    c->busy[who] = false;
    world_complete(&c->w[who], 0, 1, ns);
    if (who == LOW) {
        c->ended++;
        return;
    }
    assert_true(c->n < MOST);
    c->took_ns[c->n++] = c->s.now_ns - c->began_ns;
    c->launch_ns = c->s.now_ns + PAUSE_NS;
}

/* @param low, high  who is there */
static void run(struct scene *c, uint64_t ns, bool low, bool high)
{
    uint64_t until = c->s.now_ns + ns;

    while (c->s.now_ns < until) {
        uint64_t step = until - c->s.now_ns;

        if (high && !c->busy[HIGH] && c->s.now_ns >= c->launch_ns) {
            c->began_ns = c->s.now_ns;
            world_submit(&c->w[HIGH], 0, 1, SHORT_NS);
            launch(c, HIGH, SMALL, SHORT_NS);
        }
        if (low && !c->busy[LOW] && !c->waits) {
            world_submit(&c->w[LOW], 0, 1, LONG_NS);
            c->waits = true;
        }
        decide(c);
        if (c->waits && world_open(&c->w[LOW], 0)) {
            c->waits = false;
            launch(c, LOW, UNITS, LONG_NS);
        }
        if (high && !c->busy[HIGH])
            step = XS_MIN(step, c->launch_ns - c->s.now_ns);
        if (c->next_ns > c->s.now_ns)
            step = XS_MIN(step, c->next_ns - c->s.now_ns);
        c->s.now_ns += fake_kfd_advance(XS_MAX(step, 1u));
        ends(c, LOW, LONG_NS);
        ends(c, HIGH, SHORT_NS);
    }
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* What the urgent program's kernels take and the other one keeps, after the first second. */
static void measure(struct scene *c, bool low, uint64_t *ret_p50, uint64_t *ret_p99, double *ret_kept)
{
    run(c, 1000 * MS, low, true);
    c->n = 0;
    c->ended = 0;
    run(c, 2000 * MS, low, true);
    qsort(c->took_ns, c->n, sizeof(*c->took_ns), by_size);
    *ret_p50 = c->took_ns[c->n / 2];
    *ret_p99 = c->took_ns[c->n * 99 / 100];
    *ret_kept = (double)(c->ended * LONG_NS) / (2000.0 * MS);
}

static void in_space(void **state)
{
    struct scene *c = begin(true);
    uint64_t alone50, alone99, p50, p99;
    double kept;

    (void)state;
    measure(c, false, &alone50, &alone99, &kept);
    end(c);
    c = begin(true);
    measure(c, true, &p50, &p99, &kept);
    printf("urgent kernel: alone P50 %llu ns, P99 %llu; in space %llu, %llu; the other keeps %.3f; %u changes of its mask\n",
           (unsigned long long)alone50, (unsigned long long)alone99, (unsigned long long)p50, (unsigned long long)p99, kept,
           fake_kfd_queue(c->queues[LOW])->masks);
    assert_true(p50 * 100 <= alone50 * 105);
    assert_true(p99 * 100 <= alone99 * 105);
    assert_true(kept >= 0.8);
    assert_true(fake_kfd_queue(c->queues[LOW])->masks <= 3);
    assert_int_equal(fake_kfd_units(c->queues[LOW]), 256);
    run(c, 40 * MS, true, false);              /* the urgent one is idle: not at once */
    assert_int_equal(fake_kfd_units(c->queues[LOW]), 256);
    run(c, 60 * MS, true, false);
    assert_int_equal(fake_kfd_units(c->queues[LOW]), UNITS);
    end(c);
}

static void in_time(void **state)
{
    struct scene *c = begin(false);
    uint64_t p50, p99;
    double kept;

    (void)state;
    measure(c, true, &p50, &p99, &kept);
    printf("in time: urgent kernel P50 %llu ns, P99 %llu; the other keeps %.3f\n", (unsigned long long)p50,
           (unsigned long long)p99, kept);
    assert_int_equal(fake_kfd_queue(c->queues[LOW])->masks, 0);
    end(c);
}

/* The scheduler's process stops in the middle. */
static void no_more_word(void **state)
{
    struct scene *c = begin(true);

    (void)state;
    run(c, 1000 * MS, true, true);
    assert_int_equal(fake_kfd_units(c->queues[LOW]), 256);
    xs_kfd_due(c->s.now_ns + 300 * MS);
    assert_int_equal(fake_kfd_units(c->queues[LOW]), 256);
    xs_kfd_due(c->s.now_ns + 501 * MS);
    assert_int_equal(fake_kfd_units(c->queues[LOW]), UNITS);
    end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_space),
        cmocka_unit_test(in_time),
        cmocka_unit_test(no_more_word),
    };

    return cmocka_run_group_tests_name("space_kfd", tests, NULL, NULL);
}
