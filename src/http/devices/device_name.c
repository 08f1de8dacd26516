/* SPDX-License-Identifier: Apache-2.0 */
#include "http/devices/device_name.h"

#include "base/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NO_PCI 0xffffu

/* The value of a line "Name:   value". @param ends  the characters that end it */
static void take(const char *text, const char *name, const char *ends, char *ret, size_t size)
{
    const char *at = strstr(text, name);
    size_t n;

    if (!at)
        return;
    at += strlen(name);
    at += strspn(at, " \t");
    n = strcspn(at, ends);
    if (n == 0 || n >= size)
        return;
    for (size_t i = 0; i < n; i++) /* it becomes a label: no character that ends one */
        if (at[i] == '"' || at[i] == '\\' || (unsigned char)at[i] < 0x20 || (unsigned char)at[i] > 0x7e)
            return;
    memcpy(ret, at, n);
    ret[n] = 0;
}

void xs_device_name_parse(const char *information, struct xs_device_name *ret)
{
    take(information, "Model:", "\n", ret->model, sizeof(ret->model));
    take(information, "GPU UUID:", "\n \t", ret->uuid, sizeof(ret->uuid));
    take(information, "Device Minor:", "\n \t", ret->gpu, sizeof(ret->gpu));
}

/* Reads a small file as text. @return whether it could */
static bool read_text(const char *path, char *ret, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, ret, size - 1);
    close(fd);
    ret[n > 0 ? n : 0] = 0;
    return n > 0;
}

void xs_device_name_get(XDevice device, struct xs_device_name *ret)
{
    uint32_t id = (uint32_t)device;
    char path[80], text[2048], line[2100];

    memset(ret, 0, sizeof(*ret));
    if (id >> 16 == NO_PCI) { /* a hash of its name */
        snprintf(ret->gpu, sizeof(ret->gpu), "%04x", id & 0xffff);
        return;
    }
    snprintf(ret->pci, sizeof(ret->pci), "%04x:%02x:%02x.%x", id >> 16, id >> 8 & 0xff, id >> 3 & 0x1f,
             id & 7);
    xs_str_copy(ret->gpu, sizeof(ret->gpu), ret->pci);
    snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%s/information", ret->pci);
    if (read_text(path, text, sizeof(text))) {
        xs_device_name_parse(text, ret);
        return;
    }
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/product_name", ret->pci); /* amdgpu's */
    if (read_text(path, text, sizeof(text))) {
        snprintf(line, sizeof(line), "Model: %s", text);
        take(line, "Model:", "\n", ret->model, sizeof(ret->model));
    }
}
