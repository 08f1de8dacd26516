/* SPDX-License-Identifier: Apache-2.0 */
/* The processes on the GPUs of this machine, as JSON: gpus/processes.h reads them. */
#include "launcher/doctor/doctor.h"

#include "gpus/processes.h"

static void add(json_t *list, const struct xs_gpu_processes *from)
{
    for (uint32_t i = 0; i < from->n; i++) {
        json_t *one = json_object();

        json_object_set_new(one, "pid", json_integer(from->rows[i].pid));
        json_object_set_new(one, "device", json_integer((json_int_t)from->rows[i].device));
        json_array_append_new(list, one);
    }
}

static void read_nvml(void *ctx, json_t *ret)
{
    static struct xs_gpu_processes processes;
    json_t *list = json_array();

    (void)ctx;
    xs_gpu_processes_nvml(&processes);
    add(list, &processes);
    json_object_set_new(ret, "processes", list);
}

json_t *xs_doctor_gpu_processes(void)
{
    static struct xs_gpu_processes of_kfd;
    char end[128];
    json_t *answer = xs_doctor_in_child(read_nvml, NULL, end, sizeof(end)), *list;

    list = answer ? json_incref(json_object_get(answer, "processes")) : NULL;
    json_decref(answer);
    if (!list)
        list = json_array();
    of_kfd.n = 0;
    xs_gpu_processes_kfd(&of_kfd, XS_GPU_KFD);
    add(list, &of_kfd);
    return list;
}
