/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/levels.h"

#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool first_word(const char *path, char *ret, size_t size)
{
    FILE *f = fopen(path, "re");
    bool got = f && fgets(ret, (int)size, f);

    if (f)
        fclose(f);
    if (!got)
        return false;
    ret[strcspn(ret, " \t\n")] = 0;
    return *ret;
}

/* A driver that is part of the kernel has the kernel's version. */
static void driver_version(const struct xs_platform *of, char *ret, size_t size)
{
    char path[64];

    snprintf(path, sizeof(path), "/sys/module/%s/version", of->module);
    if (first_word(path, ret, size))
        return;
    snprintf(path, sizeof(path), "/sys/module/%s", of->module);
    if (access(path, F_OK) == 0 && first_word("/proc/sys/kernel/osrelease", ret, size))
        return;
    snprintf(ret, size, "-");
}

static int folder(char *ret, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;

    if (cache && cache[0] == '/')
        n = snprintf(ret, size, "%s/xsched", cache);
    else if (home && home[0] == '/')
        n = snprintf(ret, size, "%s/.cache/xsched", home);
    else
        return -ENOENT;
    return (size_t)n < size ? 0 : -ENAMETOOLONG;
}

int xs_levels_path(const struct xs_platform *of, char *ret, size_t size)
{
    char dir[PATH_MAX];
    int err = folder(dir, sizeof(dir));

    if (err < 0)
        return err;
    return (size_t)snprintf(ret, size, "%s/%s-levels", dir, of->stem) < size ? 0 : -ENAMETOOLONG;
}

/* The folder and the one above it. */
static void make_folder(char *dir)
{
    char *slash = strrchr(dir, '/');

    *slash = 0;
    mkdir(dir, 0700);
    *slash = '/';
    mkdir(dir, 0700);
}

int xs_levels_write(const struct xs_platform *of, const struct xs_level_row *rows, size_t n)
{
    char dir[PATH_MAX], path[PATH_MAX], own[PATH_MAX + 16], driver[64];
    int err = folder(dir, sizeof(dir)), fd;
    FILE *f;

    if (err == 0)
        err = xs_levels_path(of, path, sizeof(path));
    if (err < 0)
        return err;
    make_folder(dir);
    snprintf(own, sizeof(own), "%s.XXXXXX", path);
    fd = mkstemp(own);
    f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f) {
        err = -errno;
        if (fd >= 0)
            close(fd);
        return err;
    }
    driver_version(of, driver, sizeof(driver));
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%s %s %u %d\n", driver, rows[i].uuid, (unsigned)getuid(), rows[i].level);
    if (fclose(f) != 0 || rename(own, path) < 0) {
        err = -errno;
        unlink(own);
    }
    return err;
}

/* The name by which rows call a device of the driver's folder; false: it is none, or not told. */
static bool device_name(const struct xs_platform *of, const char *entry, char ret[64])
{
    char path[PATH_MAX], line[256];
    bool told = false;
    FILE *f;

    if (of->probe == XS_PLATFORM_PROBE_PCI) /* 0000:c3:00.0 */
        return strlen(entry) == 12 && entry[4] == ':' && snprintf(ret, 64, "%s", entry) == 12;
    snprintf(path, sizeof(path), "%s/%s/information", of->devices, entry);
    f = entry[0] == '.' ? NULL : fopen(path, "re");
    while (f && !told && fgets(line, sizeof(line), f))
        told = sscanf(line, "GPU UUID: %63s", ret) == 1 && !strchr(ret, '?');
    if (f)
        fclose(f);
    return told;
}

/* Whether the driver names its devices (a container may see none, or more than it may use) and knows none of these. */
static bool other_devices(const struct xs_platform *of, const struct xs_level_row *rows, size_t n)
{
    const struct dirent *e;
    bool told = false, one = false;
    DIR *dir = opendir(of->devices);

    while (dir && (e = readdir(dir))) {
        char name[64];

        if (!device_name(of, e->d_name, name))
            continue;
        told = true;
        for (size_t i = 0; i < n; i++)
            one |= strcmp(rows[i].uuid, name) == 0;
    }
    if (dir)
        closedir(dir);
    return told && !one;
}

int xs_levels_get(const struct xs_platform *of)
{
    static struct xs_level_row rows[XS_LEVELS_MAX];
    char path[PATH_MAX], line[256], driver[64], under[64];
    size_t n = 0;
    int least = 0;
    FILE *f;

    if (xs_levels_path(of, path, sizeof(path)) < 0 || !(f = fopen(path, "re")))
        return 0;
    driver_version(of, driver, sizeof(driver));
    while (n < XS_LEVELS_MAX && fgets(line, sizeof(line), f)) {
        struct xs_level_row *r = &rows[n];
        unsigned uid;

        /* NOLINTNEXTLINE(cert-err34-c): every number is judged below */
        if (sscanf(line, "%63s %63s %u %d", under, r->uuid, &uid, &r->level) != 4 || strcmp(under, driver) != 0 ||
            uid != (unsigned)getuid() || r->level < 1 || r->level > 3)
            continue;
        least = n == 0 ? r->level : XS_MIN(least, r->level);
        n++;
    }
    fclose(f);
    return n && !other_devices(of, rows, n) ? least : 0;
}
