/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/devices/device_state.h"

#include "base/str.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The number in a file of one line. */
static int64_t number_in(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[32];
    int64_t number;
    ssize_t n;

    if (fd < 0)
        return XS_DEVICE_UNKNOWN;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    text[strcspn(text, "\n")] = 0;
    return xs_str_parse_i64(text, &number) == 0 && number >= 0 ? number : XS_DEVICE_UNKNOWN;
}

static int64_t beside(const char *folder, const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return number_in(path);
}

/* A sensor: the folder of a device has one hwmonN, with a number of the kernel's choice. */
static int64_t sensor(const char *folder, const char *name, int64_t unit)
{
    int64_t value = XS_DEVICE_UNKNOWN;
    char pattern[PATH_MAX];
    glob_t found;

    snprintf(pattern, sizeof(pattern), "%s/hwmon/hwmon*/%s", folder, name);
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
        value = number_in(found.gl_pathv[0]);
    globfree(&found);
    return value < 0 ? value : value / unit;
}

void xs_device_state_get(const char *folder, struct xs_device_state *ret)
{
    ret->memory_bytes = beside(folder, "mem_info_vram_total");
    ret->memory_used_bytes = beside(folder, "mem_info_vram_used");
    ret->temperature_c = sensor(folder, "temp1_input", 1000);
    ret->clock_mhz = sensor(folder, "freq1_input", 1000000);
}
