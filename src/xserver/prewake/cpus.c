/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/prewake/cpus.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4400u

/* @return how many numbers the file begins with, at most two */
static int numbers(const char *folder, const char *name, int64_t *a, int64_t *b)
{
    char text[PATH_BYTES], *at = text, *end;
    int64_t *to[] = {a, b};
    bool any;
    FILE *f;

    if ((size_t)snprintf(text, sizeof(text), "%s/%s", folder, name) >= sizeof(text))
        return 0;
    f = fopen(text, "re");
    if (!f)
        return 0;
    any = fgets(text, sizeof(text), f) != NULL;
    fclose(f);
    for (int n = 0; n < 2; n++, at = end) {
        errno = 0;
        *to[n] = any ? strtoll(at, &end, 10) : 0;
        if (!any || end == at || errno)
            return n;
    }
    return 2;
}

static uint64_t quota(const char *folder)
{
    int64_t quota_us = 0, period_us = 0, none;

    if (numbers(folder, "cpu.max", &quota_us, &period_us) != 2 &&
        (numbers(folder, "cpu.cfs_quota_us", &quota_us, &none) != 1 ||
         numbers(folder, "cpu.cfs_period_us", &period_us, &none) != 1))
        return UINT64_MAX;
    return quota_us < 0 || period_us <= 0 ? UINT64_MAX : (uint64_t)(quota_us / period_us);
}

/* The group and those above it, as far as this process sees them: a container has its own group at the
 * root. */
static uint64_t least_quota(const char *mount, const char *group)
{
    uint64_t least = UINT64_MAX;
    char path[PATH_BYTES];
    size_t n = strlen(mount);

    if ((size_t)snprintf(path, sizeof(path), "%s%s", mount, group) >= sizeof(path))
        return least;
    for (;;) {
        uint64_t here = quota(path);
        char *end;

        least = XS_MIN(least, here);
        end = strrchr(path, '/');
        if (!end || end < path + n)
            return least;
        *end = 0;
    }
}

/* A line of /proc/self/cgroup: HIERARCHY:CONTROLLERS:PATH; version 2 has no controllers there. */
static uint64_t by_line(const char *root, char *line)
{
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    char mount[256];
    bool two;

    if (!group)
        return UINT64_MAX;
    *group++ = 0;
    controllers++;
    group[strcspn(group, "\n")] = 0;
    two = !*controllers;
    if (!two && strcmp(controllers, "cpu") != 0 && strcmp(controllers, "cpu,cpuacct") != 0)
        return UINT64_MAX;
    if ((size_t)snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup%s%s", root, two ? "" : "/", controllers) >=
        sizeof(mount))
        return UINT64_MAX;
    return least_quota(mount, group);
}

uint64_t xs_cpus_available(const char *root)
{
    uint64_t n = UINT64_MAX;
    char text[PATH_BYTES];
    cpu_set_t cpus;
    FILE *f;

    CPU_ZERO(&cpus);
    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0) /* else there are more CPUs than the set holds */
        n = (uint64_t)CPU_COUNT(&cpus);
    snprintf(text, sizeof(text), "%s/proc/self/cgroup", root);
    f = fopen(text, "re");
    while (f && fgets(text, sizeof(text), f)) {
        uint64_t most = by_line(root, text);

        n = XS_MIN(n, most);
    }
    if (f)
        fclose(f);
    return n;
}
