/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels by their names, in any module. "work" and "mix" are ours. The others have the names and arguments of kernels in Level
 * Zero's conformance tests, so that those can be run on this driver. */
#include "internal.h"

#include <string.h>

struct items {
    uint64_t x, y, z; /* of all groups */
};

static uint64_t number(const struct _ze_kernel_handle_t *k, unsigned i)
{
    return k->args[i];
}

static void *pointer(const struct _ze_kernel_handle_t *k, unsigned i)
{
    return (void *)(uintptr_t)k->args[i];
}

static int32_t int_of(const struct _ze_kernel_handle_t *k, unsigned i)
{
    return (int32_t)number(k, i);
}

static void work(const struct _ze_kernel_handle_t *k, struct items n)
{
    uint32_t *log = pointer(k, 0);

    (void)n;
    if (log)
        log[++log[0]] = (uint32_t)number(k, 1);
}

static void mix(const struct _ze_kernel_handle_t *k, struct items n)
{
    uint32_t *data = pointer(k, 0);

    (void)n;
    for (uint32_t i = 0; i < (uint32_t)number(k, 1); i++)
        data[i] = data[i] * 5 + (uint32_t)number(k, 2);
}

static void add_constant(const struct _ze_kernel_handle_t *k, struct items n)
{
    for (uint64_t i = 0; i < n.x; i++)
        ((int32_t *)pointer(k, 0))[i] += int_of(k, 1);
}

static void add_constant_to_first(const struct _ze_kernel_handle_t *k, struct items n)
{
    *(int32_t *)pointer(k, 0) += (int32_t)(n.x * n.y * n.z) * int_of(k, 1);
}

static void add_constant_to_bytes(const struct _ze_kernel_handle_t *k, struct items n)
{
    for (uint64_t i = 0; i < n.x; i++)
        ((uint8_t *)pointer(k, 0))[i] = (uint8_t)(((uint8_t *)pointer(k, 0))[i] + int_of(k, 1));
}

static void add_constant_in_space(const struct _ze_kernel_handle_t *k, struct items n)
{
    for (uint64_t z = 0; z < n.z; z++)
        for (uint64_t y = 0; y < n.y; y++)
            for (uint64_t x = 0; x < n.x; x++) {
                uint8_t *at =
                    (uint8_t *)pointer(k, 0) + x + y * number(k, 2) + z * number(k, 2) * number(k, 3);

                *at = (uint8_t)(*at + int_of(k, 1));
            }
}

static void add_constant_apart(const struct _ze_kernel_handle_t *k, struct items n)
{
    for (uint64_t i = 0; i < n.x; i++)
        ((int32_t *)pointer(k, 1))[i] = ((const int32_t *)pointer(k, 0))[i] + int_of(k, 2);
}

static void add_arrays(const struct _ze_kernel_handle_t *k, struct items n)
{
    for (uint64_t i = 0; i < n.x; i++)
        ((int32_t *)pointer(k, 0))[i] += ((const int32_t *)pointer(k, 1))[i];
}

static void add_one(const struct _ze_kernel_handle_t *k, struct items n)
{
    for (uint64_t i = 0; i < n.x; i++)
        ((uint8_t *)pointer(k, 0))[i]++;
}

static void copy_ints(const int32_t *from, int32_t *to, const struct _ze_kernel_handle_t *k)
{
    for (int32_t i = 0; i < int_of(k, 3) - int_of(k, 2); i++)
        to[i + int_of(k, 2)] = from[i];
}

static void copy_data(const struct _ze_kernel_handle_t *k, struct items n)
{
    (void)n;
    copy_ints(pointer(k, 0), pointer(k, 1), k);
}

static void copy_indirect(const struct _ze_kernel_handle_t *k, struct items n)
{
    for (uint64_t i = 0; i < n.x; i++)
        copy_ints(((int32_t **)pointer(k, 0))[i], ((int32_t **)pointer(k, 1))[i], k);
}

static uint64_t pattern_at(const struct _ze_kernel_handle_t *k, uint32_t i)
{
    return (i << 16) + (uint16_t)number(k, 1);
}

static void fill_memory(const struct _ze_kernel_handle_t *k, struct items n)
{
    for (uint32_t i = 0; i < n.x; i++)
        ((uint64_t *)pointer(k, 0))[i] = pattern_at(k, i);
}

static void test_memory(const struct _ze_kernel_handle_t *k, struct items n)
{
    for (uint32_t i = 0; i < n.x; i++) {
        uint64_t found = ((const uint64_t *)pointer(k, 0))[i];
        uint32_t at = i % (uint32_t)number(k, 4);

        if (found == pattern_at(k, i))
            continue;
        ((uint64_t *)pointer(k, 2))[at] = pattern_at(k, i);
        ((uint64_t *)pointer(k, 3))[at] = found;
    }
}

static void copy_atomic(const struct _ze_kernel_handle_t *k, struct items n)
{
    memmove(pointer(k, 0), pointer(k, 1), n.x * sizeof(int32_t));
}

static void count_nodes(const struct _ze_kernel_handle_t *k, struct items n)
{
    struct node {
        uint32_t value;
        struct node *next;
    } *item = pointer(k, 0);

    (void)n;
    for (int32_t i = 0; i < int_of(k, 1) + 1; i++, item = item->next)
        item->value++;
}

static void write_pattern(const struct _ze_kernel_handle_t *k, struct items n)
{
    (void)n;
    for (int32_t i = 0; i < int_of(k, 1); i++)
        ((uint8_t *)pointer(k, 0))[i] = (uint8_t)(-1 - i);
}

static void check_and_write_pattern(const struct _ze_kernel_handle_t *k, struct items n)
{
    for (int32_t i = 0; i < int_of(k, 1); i++)
        if (((const uint8_t *)pointer(k, 0))[i] != (uint8_t)(1 + i))
            return;
    write_pattern(k, n);
}

static void global_ids(const struct _ze_kernel_handle_t *k, struct items n)
{
    for (uint32_t i = 0; i < n.x; i++)
        ((uint32_t *)pointer(k, 0))[i] = i;
}

static void group_ids(const struct _ze_kernel_handle_t *k, struct items n)
{
    for (uint32_t i = 0; i < n.x / k->size[0]; i++)
        ((uint32_t *)pointer(k, 0))[i] = i;
}

static void cooperative(const struct _ze_kernel_handle_t *k, struct items n)
{
    for (uint64_t i = 0; i < n.x; i++)
        ((uint64_t *)pointer(k, 0))[i] = i + (uint64_t)int_of(k, 1);
}

static const struct fake_kernel {
    const char *name;
    uint32_t args;
    void (*run)(const struct _ze_kernel_handle_t *k, struct items n);
} k_kernels[] = {
    {"work", 3, work},
    {"mix", 3, mix},
    {"cmdlist_add_constant", 2, add_constant},
    {"barrier_add_constant", 2, add_constant},
    {"barrier_add_two_arrays", 2, add_arrays},
    {"module_add_constant", 2, add_constant_to_first},
    {"module_add_constant_2", 2, add_constant_to_bytes},
    {"module_add_constant_3", 4, add_constant_in_space},
    {"module_add_two_arrays", 2, add_arrays},
    {"module_add_attr", 2, add_arrays},
    {"profile_add_constant", 3, add_constant_apart},
    {"add_one", 1, add_one},
    {"copy_data", 4, copy_data},
    {"copy_data_indirect", 4, copy_indirect},
    {"fill_device_memory", 2, fill_memory},
    {"test_device_memory", 5, test_memory},
    {"atomic_copy_kernel", 2, copy_atomic},
    {"residency_function", 2, count_nodes},
    {"write_memory_pattern", 2, write_pattern},
    {"unified_mem_test", 2, check_and_write_pattern},
    {"test_get_global_id", 1, global_ids},
    {"test_get_group_id", 1, group_ids},
    {"cooperative_kernel", 2, cooperative},
};

const struct fake_kernel *fake_kernel_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof(k_kernels) / sizeof(k_kernels[0]); i++)
        if (strcmp(k_kernels[i].name, name) == 0)
            return &k_kernels[i];
    return NULL;
}

const char *fake_kernel_name(const struct fake_kernel *kernel)
{
    return kernel->name;
}

uint32_t fake_kernel_args(const struct fake_kernel *kernel)
{
    return kernel->args;
}

uint64_t fake_kernel_ns(const struct _ze_kernel_handle_t *k)
{
    return k->what == &k_kernels[0] ? k->args[2] : 0;
}

void fake_kernel_run(const struct _ze_kernel_handle_t *k, const uint32_t groups[3])
{
    struct items n = {(uint64_t)groups[0] * k->size[0], (uint64_t)groups[1] * k->size[1],
                      (uint64_t)groups[2] * k->size[2]};

    k->what->run(k, n);
}
