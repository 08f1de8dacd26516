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

#define GPUS "/proc/driver/nvidia/gpus"

static void driver_version(char *ret, size_t size)
{
    FILE *f = fopen("/sys/module/nvidia/version", "re");

    if (!f || !fgets(ret, (int)size, f))
        snprintf(ret, size, "-");
    if (f)
        fclose(f);
    ret[strcspn(ret, " \t\n")] = 0;
    if (!*ret)
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

int xs_levels_path(char *ret, size_t size)
{
    char dir[PATH_MAX];
    int err = folder(dir, sizeof(dir));

    if (err < 0)
        return err;
    return (size_t)snprintf(ret, size, "%s/cuda-levels", dir) < size ? 0 : -ENAMETOOLONG;
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

int xs_levels_write(const struct xs_level_row *rows, size_t n)
{
    char dir[PATH_MAX], path[PATH_MAX], own[PATH_MAX + 16], driver[64];
    int err = folder(dir, sizeof(dir)), fd;
    FILE *f;

    if (err == 0)
        err = xs_levels_path(path, sizeof(path));
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
    driver_version(driver, sizeof(driver));
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%s %s %u %d\n", driver, rows[i].uuid, (unsigned)getuid(), rows[i].level);
    if (fclose(f) != 0 || rename(own, path) < 0) {
        err = -errno;
        unlink(own);
    }
    return err;
}

/* Whether the driver tells its devices' UUIDs (a container may see none, or more than it may use) and knows none of these. */
static bool other_devices(const struct xs_level_row *rows, size_t n)
{
    const struct dirent *e;
    bool told = false, one = false;
    DIR *dir = opendir(GPUS);

    while (dir && (e = readdir(dir))) {
        char path[PATH_MAX], line[256], uuid[64];
        FILE *f;

        snprintf(path, sizeof(path), GPUS "/%s/information", e->d_name);
        f = e->d_name[0] == '.' ? NULL : fopen(path, "re");
        while (f && fgets(line, sizeof(line), f)) {
            if (sscanf(line, "GPU UUID: %63s", uuid) != 1 || strchr(uuid, '?'))
                continue;
            told = true;
            for (size_t i = 0; i < n; i++)
                one |= strcmp(rows[i].uuid, uuid) == 0;
        }
        if (f)
            fclose(f);
    }
    if (dir)
        closedir(dir);
    return told && !one;
}

int xs_levels_get(void)
{
    static struct xs_level_row rows[XS_LEVELS_MAX];
    char path[PATH_MAX], line[256], driver[64], of[64];
    size_t n = 0;
    int least = 0;
    FILE *f;

    if (xs_levels_path(path, sizeof(path)) < 0 || !(f = fopen(path, "re")))
        return 0;
    driver_version(driver, sizeof(driver));
    while (n < XS_LEVELS_MAX && fgets(line, sizeof(line), f)) {
        struct xs_level_row *r = &rows[n];
        unsigned uid;

        /* NOLINTNEXTLINE(cert-err34-c): every number is judged below */
        if (sscanf(line, "%63s %63s %u %d", of, r->uuid, &uid, &r->level) != 4 || strcmp(of, driver) != 0 ||
            uid != (unsigned)getuid() || r->level < 1 || r->level > 3)
            continue;
        least = n == 0 ? r->level : XS_MIN(least, r->level);
        n++;
    }
    fclose(f);
    return n && !other_devices(rows, n) ? least : 0;
}
