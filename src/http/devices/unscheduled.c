/* SPDX-License-Identifier: Apache-2.0 */
#include "http/devices/unscheduled.h"

#include "http/devices/nvml_states.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *g_kfd = XS_GPU_KFD; /* before any thread asks */

void xs_unscheduled_kfd(const char *folder)
{
    g_kfd = folder;
}

static bool has_joined(const struct xs_request *r, int32_t pid)
{
    for (size_t i = 0; i < r->n_clients; i++)
        if (r->clients[i].pid == pid)
            return true;
    return false;
}

/* MPS's server, which has the device for its clients: these are in the list themselves. */
static bool stands_for_others(int32_t pid)
{
    char path[32], name[32];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, name, sizeof(name) - 1);
    close(fd);
    name[n > 0 ? n : 0] = 0;
    return strncmp(name, "nvidia-cuda-mps", 15) == 0;
}

/* @return its place; n: there is none */
static size_t place_of(struct xs_unscheduled *u, XDevice device)
{
    for (size_t i = 0; i < u->n; i++)
        if (u->rows[i].device == device)
            return i;
    if (u->n == XS_UNSCHEDULED_DEVICES)
        return XS_UNSCHEDULED_DEVICES;
    u->rows[u->n].device = device;
    return u->n++;
}

static void count(const struct xs_request *r, const struct xs_gpu_processes *list, struct xs_unscheduled *u)
{
    for (uint32_t i = 0; i < list->n; i++) {
        const struct xs_gpu_process *p = &list->rows[i];
        size_t at = place_of(u, p->device);

        if (at == XS_UNSCHEDULED_DEVICES || has_joined(r, p->pid) || stands_for_others(p->pid))
            continue;
        u->rows[at].compute += !p->draws;
        u->rows[at].graphics += p->draws != 0;
    }
}

void xs_unscheduled_of(const struct xs_request *r, struct xs_unscheduled *ret)
{
    struct xs_gpu_processes *nvidia = calloc(1, sizeof(*nvidia)), *amd = calloc(1, sizeof(*amd));

    memset(ret, 0, sizeof(*ret));
    if (nvidia && amd) {
        xs_nvml_processes_get(nvidia);
        xs_gpu_processes_kfd(amd, g_kfd);
        count(r, nvidia, ret);
        count(r, amd, ret);
    }
    free(nvidia);
    free(amd);
}
