/* SPDX-License-Identifier: Apache-2.0 */
/* Words and numbers of queues and programs, the same in list and in top. */
#include "xcli/xcli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const xcli_state_names[] = {[XCLI_IDLE] = "idle",
                                        [XCLI_RUNNING] = "running",
                                        [XCLI_BESIDE] = "beside",
                                        [XCLI_WAITING] = "waiting",
                                        [XCLI_SUSPENDED] = "suspended",
                                        [XCLI_SWAPPED] = "swapped out"};

enum xcli_state xcli_queue_state(const json_t *q, const json_t *process)
{
    const char *swap = xcli_text(json_object_get(process, "swap"), "state");

    return xcli_true(process, "held")  ? XCLI_SUSPENDED
           : swap[0] && strcmp(swap, "in") != 0 ? XCLI_SWAPPED
           : !xcli_true(q, "ready")    ? XCLI_IDLE
           : xcli_true(q, "suspended") ? XCLI_WAITING
           : xcli_int(q, "lane") > 0   ? XCLI_BESIDE
                                       : XCLI_RUNNING;
}

void xcli_why_text(const json_t *q, char *ret, size_t size)
{
    int64_t pid = xcli_int(q, "why_pid");

    snprintf(ret, size, pid > 0 ? "%s:%" PRId64 : "%s", xcli_text(q, "why"), pid);
}

void xcli_memory_text(const json_t *process, char *ret, size_t size)
{
    int64_t limit = xcli_int(process, "memory_limit_bytes");
    double unit = limit < 1 << 30 ? 1 << 20 : 1 << 30;

    if (limit > 0)
        snprintf(ret, size, "%.1f/%.1f%c", (double)xcli_int(process, "memory_used_bytes") / unit,
                 (double)limit / unit, limit < 1 << 30 ? 'M' : 'G');
    else
        snprintf(ret, size, "-");
}

void xcli_device_type(uint64_t device, char *ret, size_t size)
{
    static const char *const k_types[] = {"?", "CPU", "GPU", "NPU", "FPGA", "ASIC", "MCA"};
    uint64_t type = device >> 32;

    snprintf(ret, size, "%s", type < XS_ARRAY_LEN(k_types) ? k_types[type] : "?");
}

void xcli_device_text(uint64_t device, char *ret, size_t size)
{
    uint32_t id = (uint32_t)device;
    char name[16];

    xcli_device_type(device, name, sizeof(name));

    if (id >> 16 == 0xffff) /* no PCI device: a hash of its name */
        snprintf(ret, size, "%s:%04x", name, id & 0xffff);
    else
        snprintf(ret, size, "%s:%04x:%02x:%02x.%x", name, id >> 16, id >> 8 & 0xff, id >> 3 & 0x1f, id & 7);
}

void xcli_lane_text(int64_t lane, int64_t reserve, char *ret, size_t size)
{
    if (lane <= 0)
        snprintf(ret, size, "-");
    else if (reserve > 0)
        snprintf(ret, size, "%" PRId64 "/%" PRId64, lane, lane + reserve);
    else
        snprintf(ret, size, "%" PRId64, lane);
}
