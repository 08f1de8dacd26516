/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/device_name.h"

#include "base/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NO_PCI 0xffffu

/* The value of a line "Name:   value". */
static void take(const char *text, const char *name, char *ret, size_t size)
{
    const char *at = strstr(text, name);
    size_t n;

    if (!at)
        return;
    at += strlen(name);
    at += strspn(at, " \t");
    n = strcspn(at, "\n \t");
    if (n == 0 || n >= size)
        return;
    for (size_t i = 0; i < n; i++) /* it becomes a label: nothing that ends one */
        if (at[i] == '"' || at[i] == '\\' || (unsigned char)at[i] < 0x20 || (unsigned char)at[i] > 0x7e)
            return;
    memcpy(ret, at, n);
    ret[n] = 0;
}

void xs_device_name_parse(const char *information, struct xs_device_name *ret)
{
    take(information, "GPU UUID:", ret->uuid, sizeof(ret->uuid));
    take(information, "Device Minor:", ret->gpu, sizeof(ret->gpu));
}

void xs_device_name_get(XDevice device, struct xs_device_name *ret)
{
    uint32_t id = (uint32_t)device;
    char path[80], text[2048];
    ssize_t n;
    int fd;

    memset(ret, 0, sizeof(*ret));
    if (id >> 16 == NO_PCI) { /* a hash of its name */
        snprintf(ret->gpu, sizeof(ret->gpu), "%04x", id & 0xffff);
        return;
    }
    snprintf(ret->pci, sizeof(ret->pci), "%04x:%02x:%02x.%x", id >> 16, id >> 8 & 0xff, id >> 3 & 0x1f,
             id & 7);
    xs_str_copy(ret->gpu, sizeof(ret->gpu), ret->pci);
    snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%s/information", ret->pci);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    xs_device_name_parse(text, ret);
}
