/* SPDX-License-Identifier: Apache-2.0 */
#include "http/devices/device_state.h"

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

/* The first file that a pattern names and that has a number: the folder of a device has one hwmonN and one
 * cardN, with numbers of the kernel's choice. */
static int64_t first_of(const char *folder, const char *const *patterns, size_t n, int64_t unit)
{
    int64_t value = XS_DEVICE_UNKNOWN;

    for (size_t i = 0; i < n && value < 0; i++) {
        char pattern[PATH_MAX];
        glob_t found;

        snprintf(pattern, sizeof(pattern), "%s/%s", folder, patterns[i]);
        if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
            value = number_in(found.gl_pathv[0]);
        globfree(&found);
    }
    return value < 0 ? value : value / unit;
}

void xs_device_state_get(const char *folder, struct xs_device_state *ret)
{
    static const char *const k_temperature[] = {"hwmon/hwmon*/temp1_input", "hwmon/hwmon*/temp2_input"};
    static const char *const k_clock_hz[] = {"hwmon/hwmon*/freq1_input"};
    /* i915, xe */
    static const char *const k_clock_mhz[] = {"drm/card*/gt_act_freq_mhz", "tile0/gt0/freq0/act_freq"};

    ret->memory_bytes = beside(folder, "mem_info_vram_total");
    ret->memory_used_bytes = beside(folder, "mem_info_vram_used");
    ret->temperature_c = first_of(folder, k_temperature, XS_ARRAY_LEN(k_temperature), 1000);
    ret->clock_mhz = first_of(folder, k_clock_hz, XS_ARRAY_LEN(k_clock_hz), 1000000);
    if (ret->clock_mhz < 0)
        ret->clock_mhz = first_of(folder, k_clock_mhz, XS_ARRAY_LEN(k_clock_mhz), 1);
}

bool xs_device_is_nvidia(const char *folder)
{
    char path[PATH_MAX], text[16] = "";
    int fd;

    snprintf(path, sizeof(path), "%s/vendor", folder);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (read(fd, text, sizeof(text) - 1) < 0)
        text[0] = 0;
    close(fd);
    return strncmp(text, "0x10de\n", 7) == 0;
}
