/* SPDX-License-Identifier: Apache-2.0 */
/* The fake of AMD's kernel driver: which masks it refuses, and how long kernels take beside each other. */
#include "fake_kfd.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <linux/kfd_ioctl.h>

#define KFD 700
#define US  1000ull

static int begin(void **state)
{
    (void)state;
    fake_kfd_reset();
    fake_kfd_open(KFD);
    return 0;
}

static uint32_t make(void)
{
    struct kfd_ioctl_create_queue_args a = {.ring_base_address = 0x1000, .ring_size = 4096, .gpu_id = FAKE_KFD_GPU_ID(0),
                                            .queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL, .queue_percentage = 100};

    assert_int_equal(fake_kfd_ioctl(KFD, AMDKFD_IOC_CREATE_QUEUE, &a), 0);
    return a.queue_id;
}

/* @return 0 or errno */
static int mask(uint32_t id, uint32_t bits, const uint32_t *words)
{
    struct kfd_ioctl_set_cu_mask_args a = {.queue_id = id, .num_cu_mask = bits, .cu_mask_ptr = (uintptr_t)words};

    return fake_kfd_ioctl(KFD, AMDKFD_IOC_SET_CU_MASK, &a) ? errno : 0;
}

/* The first units of the device. */
static void first(uint32_t id, uint32_t units)
{
    uint32_t words[10] = {0};

    for (uint32_t i = 0; i < units; i++)
        words[i / 32] |= 1u << i % 32;
    assert_int_equal(mask(id, 320, words), 0);
}

static void refusals(void **state)
{
    uint32_t a = make(), words[64];

    (void)state;
    memset(words, 0xff, sizeof(words));
    assert_int_equal(mask(a, 0, words), EINVAL);
    assert_int_equal(mask(a, 48, words), EINVAL);
    assert_int_equal(mask(a, 304, words), EINVAL);   /* the units of the device, and no multiple of 32 */
    assert_int_equal(mask(a, 320, NULL), EFAULT);
    assert_int_equal(mask(a, 320, words), 0);
    assert_int_equal(mask(a, 2048, words), 0);       /* the first 1024 count */
    assert_int_equal(fake_kfd_queue(a)->bits, 1024);
    assert_int_equal(fake_kfd_complaints(), 0);
    assert_int_equal(mask(a + 1, 320, words), EFAULT);
    assert_int_equal(fake_kfd_complaints(), 1);
    fake_kfd_set_fault("debugged");
    assert_int_equal(mask(a, 320, words), EBUSY);
    fake_kfd_set_fault("no_masks");
    assert_int_equal(mask(a, 320, words), ENOTTY);
    fake_kfd_set_fault("deny_masks");
    assert_int_equal(mask(a, 320, words), EPERM);
    fake_kfd_set_fault("");
    words[0] = 1;
    assert_int_equal(mask(a, 320, words), 0);
    fake_kfd_set_shape(&(struct fake_kfd_shape){110000, 1, 12, 2, 96});
    assert_int_equal(mask(a, 96, words), EINVAL);    /* half a pair */
    words[0] = 3;
    assert_int_equal(mask(a, 96, words), 0);
}

static void speed_follows_the_mask(void **state)
{
    uint32_t a = make(), b, words[10] = {0x01010101};

    (void)state;
    assert_int_equal(fake_kfd_units(a), 304);
    first(a, 152);
    fake_kfd_launch(a, 304, 1000 * US);
    assert_int_equal(fake_kfd_advance(10000 * US), 2000 * US);
    assert_int_equal(fake_kfd_queue(a)->left_ns, 0);
    b = make();
    first(a, 256);
    fake_kfd_launch(a, 304, 1000 * US);
    fake_kfd_launch(b, 48, 100 * US);                /* what the other leaves is enough for it */
    assert_int_equal(fake_kfd_advance(10000 * US), 100 * US);
    assert_true(fake_kfd_queue(a)->left_ns < 920 * US);
    first(a, 304);
    fake_kfd_launch(a, 304, 1000 * US);
    fake_kfd_launch(b, 304, 1000 * US);              /* both want all of it */
    assert_in_range(fake_kfd_advance(10000 * US), 2000 * US, 2000 * US);
    assert_int_equal(mask(a, 320, words), 0);        /* one die, and some of its engines: a kernel never ends there */
    assert_int_equal(fake_kfd_units(a), 4);
    words[0] = 1;
    assert_int_equal(mask(a, 320, words), 0);
    assert_int_equal(fake_kfd_units(a), 0);
    fake_kfd_launch(a, 1, 1);
    assert_int_equal(fake_kfd_advance(5000 * US), 5000 * US);
    assert_int_equal(fake_kfd_queue(a)->left_ns, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(refusals, begin),
        cmocka_unit_test_setup(speed_follows_the_mask, begin),
    };

    return cmocka_run_group_tests_name("fake_kfd", tests, NULL, NULL);
}
