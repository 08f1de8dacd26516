/* SPDX-License-Identifier: Apache-2.0 */
#include "kfd_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static char g_folder[64];
unsigned kfd_told;

static void changed(void)
{
    __atomic_fetch_add(&kfd_told, 1, __ATOMIC_RELAXED);
}

int kfd_start(void **state)
{
    (void)state;
    if (!*g_folder) {
        char id[32];

        strcpy(g_folder, "/tmp/xs-kfd-XXXXXX");
        assert_non_null(mkdtemp(g_folder));
        fake_kfd_put(g_folder, "0", "gpu_id", "0\n");
        fake_kfd_put(g_folder, "0", "properties", "cpu_cores_count 8\n");
        snprintf(id, sizeof(id), "%u\n", FAKE_KFD_GPU_ID(0));
        fake_kfd_put(g_folder, "1", "gpu_id", id);
        fake_kfd_put(g_folder, "1", "properties",
                     "simd_count 1216\nsimd_arrays_per_engine 1\narray_count 32\nsimd_per_cu 4\ngfx_target_version 90402\n"
                     "location_id 49920\ndomain 0\nmax_waves 32\nnum_xcc 8\n");
        snprintf(id, sizeof(id), "%u\n", FAKE_KFD_GPU_ID(1));
        fake_kfd_put(g_folder, "2", "gpu_id", id);
        /* part 2 of a divided device at 0x00c3:00 */
        fake_kfd_put(g_folder, "2", "properties", "location_id 536920832\ndomain 1\n");
    }
    fake_kfd_reset();
    fake_kfd_open(KFD_FILE);
    xs_kfd_reset(g_folder);
    xs_kfd_set_ioctl(fake_kfd_ioctl);
    xs_kfd_set_listener(changed);
    kfd_told = 0;
    return 0;
}

int kfd_end(void **state)
{
    (void)state;
    assert_int_equal(fake_kfd_complaints(), 0);
    return 0;
}

uint32_t kfd_make_on(int gpu, uint32_t type, uint64_t ring)
{
    struct xs_kfd_create c = {.ring = ring, .ring_bytes = 4096, .gpu_id = FAKE_KFD_GPU_ID(gpu), .type = type,
                              .percentage = 100, .priority = 7};

    assert_int_equal(xs_kfd_call(KFD_FILE, XS_KFD_IOC_CREATE, &c), 0);
    return c.queue_id;
}

uint32_t kfd_make(uint64_t ring)
{
    return kfd_make_on(0, XS_KFD_TYPE_COMPUTE_AQL, ring);
}

int kfd_change(uint32_t id, uint64_t ring, uint32_t percentage, uint32_t priority)
{
    struct xs_kfd_update u = {ring, id, 4096, percentage, priority};

    return xs_kfd_call(KFD_FILE, XS_KFD_IOC_UPDATE, &u);
}

int kfd_finish(uint32_t id)
{
    struct xs_kfd_destroy d = {.queue_id = id};

    return xs_kfd_call(KFD_FILE, XS_KFD_IOC_DESTROY, &d);
}

void kfd_want(uint32_t address, bool off, uint64_t until_ns)
{
    struct xs_kfd_wish w = {.off = off, .until_ns = until_ns};

    assert_true(xs_kfd_wish(address, &w));
}

void kfd_is(uint32_t id, uint32_t percentage, uint32_t priority, uint64_t ring)
{
    const struct fake_kfd_queue *q = fake_kfd_queue(id);

    assert_non_null(q);
    assert_int_equal(q->percentage, percentage);
    assert_int_equal(q->priority, priority);
    assert_int_equal(q->ring, ring);
    assert_int_equal(q->ring_bytes, 4096);
}

void kfd_confine(uint32_t part, bool off, uint64_t until_ns)
{
    struct xs_kfd_wish w = {.off = off, .until_ns = until_ns, .part = part};

    assert_true(xs_kfd_wish(KFD_ADDR, &w));
}

int kfd_mask(uint32_t id, uint32_t bits, const uint32_t *words)
{
    struct xs_kfd_set_mask m = {.queue_id = id, .bits = bits, .words = (uintptr_t)words};

    return xs_kfd_call(KFD_FILE, XS_KFD_IOC_SET_MASK, &m);
}

void kfd_has(uint32_t id, uint32_t units, uint32_t masks)
{
    assert_int_equal(fake_kfd_units(id), units);
    assert_int_equal(fake_kfd_queue(id)->masks, masks);
}

int kfd_run(const char *name, const struct CMUnitTest *tests, size_t n)
{
    int r = _cmocka_run_group_tests(name, tests, n, NULL, NULL);
    char command[96];

    snprintf(command, sizeof(command), "rm -rf %s", g_folder);
    return system(command) == 0 ? r : 1;
}
