/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that AMD's driver tells, from folders such as it has. NVIDIA's library is
 * asked in tests/xserver (test_devices.py) and tests/launcher (test_situations.py). */
#include "gpus/processes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char g_kfd[64];

static void put(const char *name, const char *text)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", g_kfd, name);
    for (char *at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = 0;
        mkdir(path, 0700);
        *at = '/';
    }
    f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int setup(void **state)
{
    (void)state;
    strcpy(g_kfd, "/tmp/xsched-kfd-XXXXXX");
    return mkdtemp(g_kfd) ? 0 : -1;
}

static int teardown(void **state)
{
    char command[96];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", g_kfd);
    return system(command);
}

static void processes_of_two_devices(void **state)
{
    static struct xs_gpu_processes list;

    (void)state;
    put("topology/nodes/0/gpu_id", "0\n"); /* the CPU */
    put("topology/nodes/0/properties", "location_id 0\ndomain 0\n");
    put("topology/nodes/1/gpu_id", "45633\n");
    put("topology/nodes/1/properties", "simd_count 304\nlocation_id 33536\ndomain 0\n"); /* 83:00.0 */
    put("topology/nodes/2/gpu_id", "7\n");
    put("topology/nodes/2/properties", "location_id 512\ndomain 1\n"); /* 0001:02:00.0 */
    put("proc/4711/vram_45633", "0\n");
    put("proc/4711/vram_7", "0\n");
    put("proc/4711/sdma_7", "0\n");
    put("proc/4712/pasid", "1\n");
    put("proc/odd/vram_7", "0\n");
    xs_gpu_processes_kfd(&list, g_kfd);
    assert_int_equal(list.n, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(list.rows[i].pid, 4711);
        assert_int_equal(list.rows[i].draws, 0);
    }
    assert_int_equal(list.rows[0].device ^ list.rows[1].device, 0x200008300ull ^ 0x200010200ull);
    assert_true(list.rows[0].device == 0x200008300ull || list.rows[1].device == 0x200008300ull);
    xs_gpu_processes_kfd(&list, g_kfd); /* each once */
    assert_int_equal(list.n, 2);
}

static void no_driver(void **state)
{
    static struct xs_gpu_processes list;

    (void)state;
    xs_gpu_processes_kfd(&list, g_kfd);
    assert_int_equal(list.n, 0);
}

static void more_than_there_is_room_for(void **state)
{
    static struct xs_gpu_processes list;
    char name[64];

    (void)state;
    put("topology/nodes/1/gpu_id", "7\n");
    put("topology/nodes/1/properties", "location_id 512\ndomain 0\n");
    for (unsigned i = 0; i < XS_GPU_PROCESSES + 10; i++) {
        snprintf(name, sizeof(name), "proc/%u/vram_7", 1000 + i);
        put(name, "0\n");
    }
    xs_gpu_processes_kfd(&list, g_kfd);
    assert_int_equal(list.n, XS_GPU_PROCESSES);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(processes_of_two_devices), T(no_driver), T(more_than_there_is_room_for)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
