/* SPDX-License-Identifier: Apache-2.0 */
/* The table of queues and what is done to them, against the fake driver. The program's requests go through xs_kfd_call
 * as they do behind the exported ioctl. */
#include "fake_kfd.h"
#include "hal/hip/kfd/kfd.h"

#include "base/clock.h"
#include "wire/page.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/kfd_ioctl.h>

#define SAME(mine, field, theirs, other)                                                          \
    _Static_assert(offsetof(mine, field) == offsetof(theirs, other), #other)
_Static_assert(sizeof(struct xs_kfd_create) == sizeof(struct kfd_ioctl_create_queue_args), "create");
_Static_assert(sizeof(struct xs_kfd_update) == sizeof(struct kfd_ioctl_update_queue_args), "update");
_Static_assert(sizeof(struct xs_kfd_destroy) == sizeof(struct kfd_ioctl_destroy_queue_args), "destroy");
_Static_assert(sizeof(struct xs_kfd_version) == sizeof(struct kfd_ioctl_get_version_args), "version");
SAME(struct xs_kfd_create, ring, struct kfd_ioctl_create_queue_args, ring_base_address);
SAME(struct xs_kfd_create, ring_bytes, struct kfd_ioctl_create_queue_args, ring_size);
SAME(struct xs_kfd_create, gpu_id, struct kfd_ioctl_create_queue_args, gpu_id);
SAME(struct xs_kfd_create, type, struct kfd_ioctl_create_queue_args, queue_type);
SAME(struct xs_kfd_create, percentage, struct kfd_ioctl_create_queue_args, queue_percentage);
SAME(struct xs_kfd_create, priority, struct kfd_ioctl_create_queue_args, queue_priority);
SAME(struct xs_kfd_create, queue_id, struct kfd_ioctl_create_queue_args, queue_id);
SAME(struct xs_kfd_update, ring, struct kfd_ioctl_update_queue_args, ring_base_address);
SAME(struct xs_kfd_update, queue_id, struct kfd_ioctl_update_queue_args, queue_id);
SAME(struct xs_kfd_update, ring_bytes, struct kfd_ioctl_update_queue_args, ring_size);
SAME(struct xs_kfd_update, percentage, struct kfd_ioctl_update_queue_args, queue_percentage);
SAME(struct xs_kfd_update, priority, struct kfd_ioctl_update_queue_args, queue_priority);
_Static_assert(XS_KFD_IOC_VERSION == AMDKFD_IOC_GET_VERSION, "request");
_Static_assert(XS_KFD_IOC_CREATE == AMDKFD_IOC_CREATE_QUEUE, "request");
_Static_assert(XS_KFD_IOC_DESTROY == AMDKFD_IOC_DESTROY_QUEUE, "request");
_Static_assert(XS_KFD_IOC_UPDATE == AMDKFD_IOC_UPDATE_QUEUE, "request");

_Static_assert(sizeof(struct xs_kfd_set_mask) == sizeof(struct kfd_ioctl_set_cu_mask_args), "mask");
SAME(struct xs_kfd_set_mask, queue_id, struct kfd_ioctl_set_cu_mask_args, queue_id);
SAME(struct xs_kfd_set_mask, bits, struct kfd_ioctl_set_cu_mask_args, num_cu_mask);
SAME(struct xs_kfd_set_mask, words, struct kfd_ioctl_set_cu_mask_args, cu_mask_ptr);
SAME(struct xs_kfd_gws, queue_id, struct kfd_ioctl_alloc_queue_gws_args, queue_id);
_Static_assert(XS_KFD_IOC_SET_MASK == AMDKFD_IOC_SET_CU_MASK, "request");
_Static_assert(XS_KFD_IOC_GWS == AMDKFD_IOC_ALLOC_QUEUE_GWS, "request");

#define KFD  700
#define ADDR 0xc300u

static char g_folder[64];
static unsigned g_told;

static void changed(void)
{
    __atomic_fetch_add(&g_told, 1, __ATOMIC_RELAXED);
}

static void put(const char *node, const char *name, const char *text)
{
    char path[160];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", g_folder, node);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/%s/%s", g_folder, node, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int start(void **state)
{
    (void)state;
    if (!*g_folder) {
        char id[32];

        strcpy(g_folder, "/tmp/xs-kfd-XXXXXX");
        assert_non_null(mkdtemp(g_folder));
        put("0", "gpu_id", "0\n");
        put("0", "properties", "cpu_cores_count 8\n");
        snprintf(id, sizeof(id), "%u\n", FAKE_KFD_GPU_ID(0));
        put("1", "gpu_id", id);
        put("1", "properties",
            "simd_count 1216\nsimd_arrays_per_engine 1\narray_count 32\nsimd_per_cu 4\ngfx_target_version 90402\n"
            "location_id 49920\ndomain 0\nmax_waves 32\nnum_xcc 8\n");
        snprintf(id, sizeof(id), "%u\n", FAKE_KFD_GPU_ID(1));
        put("2", "gpu_id", id);
        put("2", "properties", "location_id 536920832\ndomain 1\n"); /* part 2 of a divided device at 0x00c3:00 */
    }
    fake_kfd_reset();
    fake_kfd_open(KFD);
    xs_kfd_reset(g_folder);
    xs_kfd_set_ioctl(fake_kfd_ioctl);
    xs_kfd_set_listener(changed);
    g_told = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    assert_int_equal(fake_kfd_complaints(), 0);
    return 0;
}

/* ---- what ROCr does ---- */

static uint32_t make_on(int gpu, uint32_t type, uint64_t ring)
{
    struct xs_kfd_create c = {.ring = ring, .ring_bytes = 4096, .gpu_id = FAKE_KFD_GPU_ID(gpu), .type = type,
                              .percentage = 100, .priority = 7};

    assert_int_equal(xs_kfd_call(KFD, XS_KFD_IOC_CREATE, &c), 0);
    return c.queue_id;
}

static uint32_t make(uint64_t ring)
{
    return make_on(0, XS_KFD_TYPE_COMPUTE_AQL, ring);
}

static int change(uint32_t id, uint64_t ring, uint32_t percentage, uint32_t priority)
{
    struct xs_kfd_update u = {ring, id, 4096, percentage, priority};

    return xs_kfd_call(KFD, XS_KFD_IOC_UPDATE, &u);
}

static int finish(uint32_t id)
{
    struct xs_kfd_destroy d = {.queue_id = id};

    return xs_kfd_call(KFD, XS_KFD_IOC_DESTROY, &d);
}

static void want(uint32_t address, bool off, uint64_t until_ns)
{
    struct xs_kfd_wish w = {.off = off, .until_ns = until_ns};

    assert_true(xs_kfd_wish(address, &w));
}

static void is(uint32_t id, uint32_t percentage, uint32_t priority, uint64_t ring)
{
    const struct fake_kfd_queue *q = fake_kfd_queue(id);

    assert_non_null(q);
    assert_int_equal(q->percentage, percentage);
    assert_int_equal(q->priority, priority);
    assert_int_equal(q->ring, ring);
    assert_int_equal(q->ring_bytes, 4096);
}

#define LATER (uint64_t)INT64_MAX

/* ---- cases ---- */

static void which_requests(void **state)
{
    (void)state;
    assert_true(xs_kfd_wants(AMDKFD_IOC_CREATE_QUEUE));
    assert_true(xs_kfd_wants(_IOWR('K', 0x02, char[96]))); /* since a newer kernel */
    assert_false(xs_kfd_wants(_IOWR('K', 0x02, char[80])));
    assert_true(xs_kfd_wants(AMDKFD_IOC_UPDATE_QUEUE));
    assert_true(xs_kfd_wants(AMDKFD_IOC_DESTROY_QUEUE));
    assert_true(xs_kfd_wants(AMDKFD_IOC_GET_VERSION));
    assert_true(xs_kfd_wants(AMDKFD_IOC_SET_CU_MASK));
    assert_true(xs_kfd_wants(AMDKFD_IOC_ALLOC_QUEUE_GWS));
    assert_false(xs_kfd_wants(AMDKFD_IOC_SET_TRAP_HANDLER));
    assert_false(xs_kfd_wants(0x4b3a)); /* KDSETMODE of a console */
    assert_false(xs_kfd_wants(_IOWR('F', 0x02, struct kfd_ioctl_create_queue_args)));
}

static void off_and_on(void **state)
{
    uint32_t a = make(0x1000), b = make_on(0, XS_KFD_TYPE_COMPUTE, 0x2000), copies = make_on(0, 1, 0x3000),
             other = make_on(1, XS_KFD_TYPE_COMPUTE_AQL, 0x4000);
    struct xs_kfd_report r;
    struct xs_kfd_device d;

    (void)state;
    assert_int_equal(xs_kfd_level(), 3);
    assert_int_equal(xs_kfd_device(0, &d), 0);
    assert_int_equal(d.address, ADDR);
    assert_int_equal(d.queues, 2);
    assert_int_equal(xs_kfd_device(1, &d), 0);
    assert_int_equal(d.address, 0x1c302);
    assert_int_equal(xs_kfd_device(2, &d), -ENOENT);
    assert_int_equal(xs_kfd_due(0), UINT64_MAX);
    want(ADDR, true, LATER);
    assert_int_equal(xs_kfd_due(1), LATER);
    is(a, 0, 7, 0x1000);
    is(b, 0, 7, 0x2000);
    is(copies, 100, 7, 0x3000);
    is(other, 100, 7, 0x4000);
    assert_true(xs_kfd_report(&r));
    assert_int_equal(r.address, ADDR);
    assert_true(r.off && r.queues == 2 && r.error == 0);
    assert_false(xs_kfd_report(&r));
    xs_kfd_due(2);
    assert_int_equal(fake_kfd_queue(a)->updates, 1); /* said again is not done again */
    want(ADDR, false, 0);
    assert_int_equal(xs_kfd_due(3), UINT64_MAX);
    is(a, 100, 7, 0x1000);
    is(b, 100, 7, 0x2000);
    want(ADDR, true, LATER);
    xs_kfd_due(4);
    is(a, 0, 7, 0x1000);
    assert_true(xs_kfd_restore());
    is(a, 100, 7, 0x1000);
    is(b, 100, 7, 0x2000);
    assert_false(xs_kfd_wish(0x1234, &(struct xs_kfd_wish){0}));
}

static void ends_by_itself(void **state)
{
    uint32_t a = make(0x1000);

    (void)state;
    want(ADDR, true, 1000);
    assert_int_equal(xs_kfd_due(10), 1000);
    is(a, 0, 7, 0x1000);
    want(ADDR, true, 2000); /* said again */
    assert_int_equal(xs_kfd_due(1500), 2000);
    is(a, 0, 7, 0x1000);
    assert_int_equal(xs_kfd_due(2000), UINT64_MAX);
    is(a, 100, 7, 0x1000);
}

static void the_programs_own_wishes(void **state)
{
    uint32_t a = make(0x1000);

    (void)state;
    want(ADDR, true, LATER);
    xs_kfd_due(1);
    assert_int_equal(change(a, 0x1000, 50, 9), 0); /* succeeds for the program, and waits */
    is(a, 0, 9, 0x1000);
    xs_kfd_due(2);
    is(a, 0, 9, 0x1000);
    want(ADDR, false, 0);
    xs_kfd_due(3);
    is(a, 50, 9, 0x1000);
    assert_int_equal(change(a, 0x1000, 0, 9), 0); /* suspended by the program */
    want(ADDR, true, LATER);
    xs_kfd_due(4);
    want(ADDR, false, 0);
    xs_kfd_due(5);
    is(a, 0, 9, 0x1000);
    assert_int_equal(change(a, 0x1000, 0x264, 9), 0); /* part 2 of the device */
    want(ADDR, true, LATER);
    xs_kfd_due(6);
    is(a, 0x200, 9, 0x1000);
    assert_int_equal(change(a, 0x1000, 0x264, 99), -1); /* the driver's error is the program's */
    assert_int_equal(errno, EINVAL);
    assert_true(xs_kfd_restore());
    is(a, 0x264, 9, 0x1000);
    assert_int_equal(change(4711, 0x1000, 100, 7), -1);
    assert_int_equal(fake_kfd_complaints(), 1);
    fake_kfd_reset();
}

static void made_and_ended_while_held(void **state)
{
    uint32_t a = make(0x1000), b;
    unsigned told = g_told;

    (void)state;
    want(ADDR, true, LATER);
    xs_kfd_due(1);
    assert_int_equal(finish(a), 0);
    b = make(0x9000);
    assert_int_equal(a, b); /* the driver's numbers come back at once */
    assert_true(g_told > told);
    is(b, 100, 7, 0x9000);
    xs_kfd_due(2);
    is(b, 0, 7, 0x9000);
    assert_true(xs_kfd_restore());
    is(b, 100, 7, 0x9000);
    assert_int_equal(finish(b), 0);
    assert_int_equal(finish(b), -1);
    assert_int_equal(errno, EINVAL);
}

static void what_is_not_known(void **state)
{
    struct xs_kfd_version v;
    char grown[48] = {0};
    uint32_t a;

    (void)state;
    fake_kfd_set_fault("version2");
    assert_int_equal(xs_kfd_call(KFD, XS_KFD_IOC_VERSION, &v), 0);
    assert_int_equal(v.major, 2);
    assert_int_equal(xs_kfd_level(), 1);
    assert_non_null(strstr(xs_kfd_why(), "version"));
    a = make(0x1000); /* everything works on, unseen */
    is(a, 100, 7, 0x1000);
    assert_int_equal(change(a, 0x1000, 30, 3), 0);
    is(a, 30, 3, 0x1000);
    assert_false(xs_kfd_wish(ADDR, &(struct xs_kfd_wish){.off = true, .until_ns = LATER}));

    start(NULL);
    a = make(0x1000);
    want(ADDR, true, LATER);
    xs_kfd_due(1);
    is(a, 0, 7, 0x1000);
    assert_int_equal(xs_kfd_call(KFD, _IOW('K', 0x07, char[48]), grown), -1); /* an update of another size: hands off */
    assert_int_equal(xs_kfd_level(), 1);
    xs_kfd_due(2);
    is(a, 100, 7, 0x1000);

    start(NULL);
    setenv("XSCHED_HIP_LV3_IMPL", "off", 1);
    a = make(0x1000);
    unsetenv("XSCHED_HIP_LV3_IMPL");
    assert_int_equal(xs_kfd_level(), 1);
    assert_non_null(strstr(xs_kfd_why(), "XSCHED_HIP_LV3_IMPL"));
}

static void the_driver_refuses(void **state)
{
    uint32_t a = make(0x1000), b = make(0x2000);
    struct xs_kfd_report r;

    (void)state;
    fake_kfd_set_fault("sticky");
    want(ADDR, true, LATER);
    xs_kfd_due(xs_now_ns());
    assert_int_equal(xs_kfd_level(), 1);
    assert_true(xs_kfd_report(&r));
    assert_int_equal(r.error, -EPERM);
    while (!xs_kfd_restore())
        ;
    is(a, 100, 7, 0x1000);
    is(b, 100, 7, 0x2000);

    start(NULL);
    a = make(0x1000);
    want(ADDR, true, LATER);
    xs_kfd_due(1);
    fake_kfd_set_fault("deny"); /* it cannot be brought back: tried again, without end for now */
    want(ADDR, false, 0);
    assert_true(xs_kfd_due(xs_now_ns()) < UINT64_MAX);
    is(a, 0, 7, 0x1000);
    fake_kfd_set_fault("");
    usleep(110000);
    assert_int_equal(xs_kfd_due(xs_now_ns()), UINT64_MAX);
    is(a, 100, 7, 0x1000);
}

static void a_child_has_none(void **state)
{
    uint32_t a = make(0x1000);
    int status;
    pid_t pid;

    (void)state;
    want(ADDR, true, LATER);
    xs_kfd_due(1);
    pid = fork();
    if (pid == 0) {
        struct xs_kfd_device d;
        bool ok = xs_kfd_due(LATER) == UINT64_MAX && xs_kfd_restore() && xs_kfd_device(0, &d) == -ENOENT;

        ok = ok && change(a, 0x1000, 100, 7) == -1 && errno == EBADF; /* as the driver answers anybody else */
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(xs_kfd_restore());
    is(a, 100, 7, 0x1000);
}

/* ---- masks ---- */

static void confine(uint32_t part, bool off, uint64_t until_ns)
{
    struct xs_kfd_wish w = {.off = off, .until_ns = until_ns, .part = part};

    assert_true(xs_kfd_wish(ADDR, &w));
}

static int mask(uint32_t id, uint32_t bits, const uint32_t *words)
{
    struct xs_kfd_set_mask m = {.queue_id = id, .bits = bits, .words = (uintptr_t)words};

    return xs_kfd_call(KFD, XS_KFD_IOC_SET_MASK, &m);
}

static void has(uint32_t id, uint32_t units, uint32_t masks)
{
    assert_int_equal(fake_kfd_units(id), units);
    assert_int_equal(fake_kfd_queue(id)->masks, masks);
}

static void confined_and_free(void **state)
{
    uint32_t a = make(0x1000), b = make(0x2000), copies = make_on(0, 1, 0x3000), other = make_on(1, 0, 0x4000), c, units;
    struct xs_kfd_report r;

    (void)state;
    assert_int_equal(xs_kfd_lanes(ADDR, &units), XS_LANES(256, 128));
    assert_int_equal(units, 304);
    assert_int_equal(xs_kfd_lanes(0x1234, &units), 0);
    confine(128, false, LATER);
    assert_int_equal(xs_kfd_due(1), LATER);
    has(a, 128, 1);
    has(b, 128, 1);
    has(copies, 304, 0);
    has(other, 304, 0);
    xs_kfd_due(2);
    confine(128, false, LATER);
    xs_kfd_due(3);
    has(a, 128, 1);                  /* said again is not done again */
    confine(256, false, LATER);
    xs_kfd_due(4);
    has(a, 256, 2);
    c = make(0x5000);                /* a new queue is confined, too */
    xs_kfd_due(5);
    has(c, 256, 1);
    confine(0, false, LATER);
    assert_int_equal(xs_kfd_due(6), UINT64_MAX);
    has(a, 304, 3);
    has(c, 304, 2);
    confine(128, false, 1000);       /* and xserver says no more */
    assert_int_equal(xs_kfd_due(10), 1000);
    has(a, 128, 4);
    assert_int_equal(xs_kfd_due(1000), UINT64_MAX);
    has(a, 304, 5);
    confine(128, false, LATER);
    xs_kfd_due(1001);
    assert_true(xs_kfd_restore());
    has(a, 304, 7);
    is(a, 100, 7, 0x1000);
    assert_false(xs_kfd_report(&r)); /* that is for queues off and on */
    assert_int_equal(fake_kfd_queue(a)->updates, 0);
}

/* While a queue is off, its mask stays; it goes on with the right one. */
static void masks_and_suspension(void **state)
{
    uint32_t a = make(0x1000);

    (void)state;
    confine(128, false, LATER);
    xs_kfd_due(1);
    confine(128, true, LATER);
    xs_kfd_due(2);
    is(a, 0, 7, 0x1000);
    confine(256, true, LATER);
    xs_kfd_due(3);
    confine(0, true, LATER);
    xs_kfd_due(4);
    has(a, 128, 1);
    assert_int_equal(fake_kfd_queue(a)->updates, 1);
    confine(256, false, LATER);
    xs_kfd_due(5);
    is(a, 100, 7, 0x1000);
    has(a, 256, 2);
    confine(0, true, LATER);
    xs_kfd_due(6);
    has(a, 256, 2);
    assert_true(xs_kfd_restore());
    is(a, 100, 7, 0x1000);
    has(a, 304, 3);
}

static void masks_of_the_program(void **state)
{
    uint32_t a = make(0x1000), own[10] = {0xffffffff, 0, 0xffffffff}, all[10], bits[2] = {0xffffffff, 0xff}, b;
    struct xs_kfd_gws gws;

    (void)state;
    memset(all, 0xff, sizeof(all));
    assert_int_equal(mask(a, 320, own), 0);
    xs_kfd_due(1);
    has(a, 64, 1);                   /* nothing of ours to do */
    confine(64, false, LATER);
    xs_kfd_due(2);
    has(a, 32, 2);
    assert_int_equal(mask(a, 320, all), 0); /* meanwhile */
    xs_kfd_due(3);
    has(a, 64, 4);
    assert_int_equal(mask(a, 48, bits), -1);
    assert_int_equal(errno, EINVAL); /* the driver's answer is the program's */
    assert_int_equal(mask(a, 64, bits), 0);
    assert_true(xs_kfd_restore());
    has(a, 40, 5);
    assert_int_equal(fake_kfd_queue(a)->bits, 64);
    assert_int_equal(finish(a), 0);
    b = make(0x9000);                /* the number of an ended queue comes back without its mask */
    assert_int_equal(a, b);
    confine(64, false, LATER);
    xs_kfd_due(4);
    has(b, 64, 1);
    gws = (struct xs_kfd_gws){.queue_id = b, .count = 64};
    assert_int_equal(xs_kfd_call(KFD, XS_KFD_IOC_GWS, &gws), 0);
    xs_kfd_due(5);
    has(b, 304, 2);                  /* its kernels wait for each other on the whole device */
    assert_int_equal(mask(4711, 320, all), -1);
    assert_int_equal(fake_kfd_complaints(), 1);
    fake_kfd_reset();
}

static void no_masks(const char *fault, const char *why)
{
    uint32_t a, b, units;

    start(NULL);
    a = make(0x1000);
    b = make(0x2000);
    fake_kfd_set_fault(fault);
    confine(128, false, LATER);
    assert_int_equal(xs_kfd_due(1), LATER);
    xs_kfd_due(2);
    assert_non_null(strstr(xs_kfd_why_no_masks(), why));
    assert_int_equal(xs_kfd_lanes(ADDR, &units), XS_LANES_NONE);
    has(a, 304, 0);
    has(b, 304, 0);
    confine(256, false, LATER);      /* xserver has not read it yet */
    xs_kfd_due(3);
    has(a, 304, 0);
    confine(0, true, LATER);         /* level 3 is there as before */
    xs_kfd_due(4);
    is(a, 0, 7, 0x1000);
    while (!xs_kfd_restore())
        ;
    is(a, 100, 7, 0x1000);
    has(a, 304, 0);
}

static void masks_refused(void **state)
{
    struct xs_kfd_set_mask m = {.queue_id = 0, .bits = 0};
    char grown[32] = {0};
    uint32_t units;

    (void)state;
    no_masks("no_masks", "mask compute units");
    no_masks("deny_masks", "mask compute units");
    no_masks("debugged", "mask compute units");
    start(NULL);
    make(0x1000);
    assert_int_equal(xs_kfd_call(KFD, _IOW('K', 0x1a, char[32]), grown), -1); /* a mask of another size */
    assert_int_equal(xs_kfd_lanes(ADDR, &units), XS_LANES_NONE);
    assert_int_equal(xs_kfd_level(), 3);
    assert_int_equal(xs_kfd_call(KFD, XS_KFD_IOC_SET_MASK, &m), -1);
    start(NULL);
    make_on(1, 0, 0x1000);           /* the kernel does not say how this one's units lie */
    assert_int_equal(xs_kfd_lanes(0x1c302, &units), XS_LANES_NONE);
    assert_non_null(strstr(xs_kfd_why_no_masks(), "does not tell"));
}

/* ---- programs that change their queues while they are held and let go ---- */

static _Atomic bool g_stop;

static void *program(void *arg)
{
    uint64_t ring = (uint64_t)(uintptr_t)arg << 20;
    unsigned seed = (unsigned)(uintptr_t)arg;
    uint32_t all[10];

    memset(all, 0xff, sizeof(all));
    while (!atomic_load(&g_stop)) {
        uint32_t id = make(ring);

        for (int i = rand_r(&seed) % 8; i > 0; i--)
            assert_int_equal(change(id, ring, 10 + (uint32_t)rand_r(&seed) % 90, 7), 0);
        assert_int_equal(change(id, ring, 42, 7), 0);
        if (rand_r(&seed) % 2 == 0)
            assert_int_equal(mask(id, 320, all), 0);
        if (rand_r(&seed) % 4 == 0)
            usleep(200);
        assert_int_equal(finish(id), 0);
    }
    return NULL;
}

static void slowly(unsigned long request, void *arg)
{
    (void)arg;
    if (request != XS_KFD_IOC_CREATE)
        usleep(50);               /* others get the processor; yielding it would cost a turn of each, however many */
}

static void all_at_once(void **state)
{
    uint32_t steady = make(0x77000);
    pthread_t t[3];

    (void)state;
    fake_kfd_set_hook(slowly);
    atomic_store(&g_stop, false);
    for (uintptr_t i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, program, (void *)(i + 1));
    for (int i = 0; i < 600; i++) {
        confine(i % 3 ? 128 : 0, i % 2 == 0, LATER);
        xs_kfd_due(xs_now_ns());
        if (i % 100 == 0)
            assert_int_equal(change(steady, 0x77000, 60, 7), 0);
    }
    atomic_store(&g_stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    fake_kfd_set_hook(NULL);
    while (!xs_kfd_restore())
        ;
    is(steady, 60, 7, 0x77000);
    assert_int_equal(fake_kfd_units(steady), 304);
    assert_int_equal(xs_kfd_level(), 3);
    assert_string_equal(xs_kfd_why_no_masks(), "");
    assert_int_equal(fake_kfd_complaints(), 0); /* no request for a queue that is not there, or with another's ring */
}

/* ---- requests that overlap ---- */

static _Atomic int g_stage;       /* 1: the first request is on its way; 2: the other thread is done */
static void (*g_meanwhile)(void);
static uint32_t g_id;

static void *meanwhile(void *arg)
{
    (void)arg;
    while (atomic_load(&g_stage) != 1)
        usleep(100);
    g_meanwhile();
    atomic_store(&g_stage, 2);
    return NULL;
}

/* The first change of a queue gets to the driver only after the other thread has done its part, or has waited a while. */
static void late(unsigned long request, void *arg)
{
    int none = 0;

    (void)arg;
    if (request != XS_KFD_IOC_UPDATE || !atomic_compare_exchange_strong(&g_stage, &none, 1))
        return;
    for (int i = 0; i < 1000 && atomic_load(&g_stage) == 1; i++)
        usleep(100);
}

static pthread_t overlap(void (*fn)(void))
{
    pthread_t t;

    g_meanwhile = fn;
    atomic_store(&g_stage, 0);
    pthread_create(&t, NULL, meanwhile, NULL);
    fake_kfd_set_hook(late);
    return t;
}

static void ends_and_another_begins(void)
{
    assert_int_equal(finish(g_id), 0);
    assert_int_equal(make(0x9000), g_id);
}

static void an_end_waits_for_our_request(void **state)
{
    pthread_t t;

    (void)state;
    g_id = make(0x1000);
    want(ADDR, true, LATER);
    t = overlap(ends_and_another_begins);
    xs_kfd_due(xs_now_ns());
    pthread_join(t, NULL);
    fake_kfd_set_hook(NULL);
    while (!xs_kfd_restore())
        ;
    is(g_id, 100, 7, 0x9000);     /* and the driver did not complain: see end() */
}

static void off_at_the_end(unsigned long request, void *arg)
{
    (void)arg;
    if (request != XS_KFD_IOC_DESTROY)
        return;
    want(ADDR, true, LATER);
    xs_kfd_due(xs_now_ns());
    assert_int_equal(fake_kfd_queue(g_id)->updates, 0);
}

static void no_request_of_ours_at_its_end(void **state)
{
    (void)state;
    g_id = make(0x1000);
    fake_kfd_set_hook(off_at_the_end);
    assert_int_equal(finish(g_id), 0);
    fake_kfd_set_hook(NULL);
    assert_true(xs_kfd_restore());
}

static void asks_for_55(void)
{
    assert_int_equal(change(g_id, 0x1000, 55, 7), 0);
}

static void ours_comes_late(void **state)
{
    pthread_t t;

    (void)state;
    g_id = make(0x1000);
    want(ADDR, true, LATER);
    xs_kfd_due(xs_now_ns());
    want(ADDR, false, 0);
    t = overlap(asks_for_55);
    while (xs_kfd_due(xs_now_ns()) != UINT64_MAX)
        ;
    pthread_join(t, NULL);
    is(g_id, 55, 7, 0x1000);
}

static void goes_on(void)
{
    want(ADDR, false, 0);
    while (xs_kfd_due(xs_now_ns()) != UINT64_MAX)
        ;
}

static void the_programs_comes_late(void **state)
{
    pthread_t t;

    (void)state;
    g_id = make(0x1000);
    want(ADDR, true, LATER);
    xs_kfd_due(xs_now_ns());
    t = overlap(goes_on);         /* that thread is the control thread here */
    asks_for_55();
    pthread_join(t, NULL);
    is(g_id, 55, 7, 0x1000);
}

static void asks_for_55_and_ends(void **state)
{
    pthread_t t;
    int tries = 0;

    (void)state;
    g_id = make(0x1000);
    want(ADDR, true, LATER);
    t = overlap(asks_for_55);     /* while ours is under way, which leaves it in doubt */
    xs_kfd_due(xs_now_ns());
    pthread_join(t, NULL);
    assert_int_equal(finish(g_id), 0);
    while (!xs_kfd_restore())
        assert_true(++tries < 10); /* nothing is left to be brought back */
    assert_int_equal(xs_kfd_due(xs_now_ns()), UINT64_MAX);
}

/* Requests that take so long that another has begun before each of them is done (if somebody wants another). */
static _Atomic int g_requests;

static void one_after_the_other(unsigned long request, void *arg)
{
    int n;

    (void)arg;
    if (request != XS_KFD_IOC_UPDATE)
        return;
    n = atomic_fetch_add(&g_requests, 1) + 1;
    atomic_store(&g_stage, 1);
    for (int i = 0; i < 1000 && n < 50 && atomic_load(&g_requests) == n; i++)
        usleep(100);
}

static void neither_repeats_for_the_other(void **state)
{
    pthread_t t;

    (void)state;
    g_id = make(0x1000);
    want(ADDR, true, LATER);
    xs_kfd_due(xs_now_ns());
    atomic_store(&g_requests, 0);
    t = overlap(goes_on);
    fake_kfd_set_hook(one_after_the_other);
    asks_for_55();
    pthread_join(t, NULL);
    fake_kfd_set_hook(NULL);
    is(g_id, 55, 7, 0x1000);
    assert_in_range(atomic_load(&g_requests), 1, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(which_requests, start, end),
        cmocka_unit_test_setup_teardown(off_and_on, start, end),
        cmocka_unit_test_setup_teardown(ends_by_itself, start, end),
        cmocka_unit_test_setup_teardown(the_programs_own_wishes, start, end),
        cmocka_unit_test_setup_teardown(made_and_ended_while_held, start, end),
        cmocka_unit_test_setup_teardown(what_is_not_known, start, end),
        cmocka_unit_test_setup_teardown(the_driver_refuses, start, end),
        cmocka_unit_test_setup_teardown(a_child_has_none, start, end),
        cmocka_unit_test_setup_teardown(confined_and_free, start, end),
        cmocka_unit_test_setup_teardown(masks_and_suspension, start, end),
        cmocka_unit_test_setup_teardown(masks_of_the_program, start, end),
        cmocka_unit_test_setup_teardown(masks_refused, start, end),
        cmocka_unit_test_setup_teardown(all_at_once, start, end),
        cmocka_unit_test_setup_teardown(an_end_waits_for_our_request, start, end),
        cmocka_unit_test_setup_teardown(no_request_of_ours_at_its_end, start, end),
        cmocka_unit_test_setup_teardown(ours_comes_late, start, end),
        cmocka_unit_test_setup_teardown(the_programs_comes_late, start, end),
        cmocka_unit_test_setup_teardown(asks_for_55_and_ends, start, end),
        cmocka_unit_test_setup_teardown(neither_repeats_for_the_other, start, end),
    };
    int r = cmocka_run_group_tests_name("kfd", tests, NULL, NULL);
    char command[96];

    snprintf(command, sizeof(command), "rm -rf %s", g_folder);
    return system(command) == 0 ? r : 1;
}
