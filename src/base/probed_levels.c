/* SPDX-License-Identifier: Apache-2.0 */
#include "base/probed_levels.h"

#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#ifndef AT_SECURE
#define AT_SECURE 23
#endif

#define PATH_BYTES 512u
#define FILE_BYTES 12288u         /* XS_PROBED_MAX rows, each with the longest names */
#define WORDS      5u             /* of a row */

/* Cuts text that does not fit. @return whether the file is there and not empty */
static bool read_file(const char *path, char *ret, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t n = 0;

    while (fd >= 0 && used < size - 1 && (n = read(fd, ret + used, size - 1 - used)) > 0)
        used += (size_t)n;
    if (fd >= 0)
        close(fd);
    ret[used] = 0;
    return used > 0;
}

static bool first_word(const char *path, char *ret, size_t size)
{
    char *end;

    if (!read_file(path, ret, size))
        return false;
    for (end = ret; *end && *end != ' ' && *end != '\t' && *end != '\n'; end++)
        ;
    *end = 0;
    return *ret;
}

/* A driver that is part of the kernel has the kernel's version. */
void xs_probed_driver(const struct xs_platform *of, char *ret, size_t size)
{
    char path[64];
    int saved = errno;

    snprintf(path, sizeof(path), "/sys/module/%s/version", of->module);
    if (!first_word(path, ret, size)) {
        snprintf(path, sizeof(path), "/sys/module/%s", of->module);
        if (access(path, F_OK) != 0 || !first_word("/proc/sys/kernel/osrelease", ret, size))
            xs_str_copy(ret, size, "-");
    }
    errno = saved;
}

/* CUDA's 1 judged level 3 by channels that it switched off; 2 judges by the effect of time slices. */
unsigned xs_probe_version(const struct xs_platform *of)
{
    return of->number == kPlatformCUDA ? 2 : 1;
}

int xs_probed_path(const struct xs_platform *of, char *ret, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;

    if (getauxval(AT_SECURE))     /* set-user-id: the environment is another user's */
        return -EPERM;
    if (cache && cache[0] == '/')
        n = snprintf(ret, size, "%s/xsched/%s-levels", cache, of->stem);
    else if (home && home[0] == '/')
        n = snprintf(ret, size, "%s/.cache/xsched/%s-levels", home, of->stem);
    else
        return -ENOENT;
    return (size_t)n < size ? 0 : -ENAMETOOLONG;
}

/* Cuts a line into words. @return how many, WORDS + 1 for more than WORDS */
static size_t split(char *line, char *ret[WORDS])
{
    size_t n = 0;

    for (char *p = line; *p;) {
        while (*p == ' ')
            *p++ = 0;
        if (!*p)
            break;
        if (n == WORDS)
            return n + 1;
        ret[n++] = p;
        while (*p && *p != ' ')
            p++;
    }
    return n;
}

/* @return whether it is a row of this user, this driver and this version of the probe */
static bool take_row(const struct xs_platform *of, char *line, const char *driver, struct xs_probed_row *ret)
{
    uint64_t uid, level, probe = 1; /* older rows have no version */
    char *words[WORDS];
    size_t n = split(line, words);

    if (n < 4 || n > WORDS || strcmp(words[0], driver) != 0 || !xs_str_copy(ret->device, sizeof(ret->device), words[1]) ||
        xs_str_parse_u64(words[2], 10, &uid) < 0 || xs_str_parse_u64(words[3], 10, &level) < 0 ||
        (n == WORDS && xs_str_parse_u64(words[4], 10, &probe) < 0))
        return false;
    ret->level = (int)level;
    return uid == getuid() && level >= 1 && level <= 3 && probe == xs_probe_version(of);
}

size_t xs_probed_rows(const struct xs_platform *of, struct xs_probed_row *rows)
{
    char path[PATH_BYTES], text[FILE_BYTES], driver[64], *line = text, *end;
    int saved = errno;
    size_t n = 0;

    if (xs_probed_path(of, path, sizeof(path)) < 0 || !read_file(path, text, sizeof(text))) {
        errno = saved;
        return 0;
    }
    xs_probed_driver(of, driver, sizeof(driver));
    /* a line without an end is a cut one */
    for (; n < XS_PROBED_MAX && (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        n += take_row(of, line, driver, &rows[n]);
    }
    errno = saved;
    return n;
}

/* ---- are they about the present devices? ---- */

/* The name of a device of the driver's folder as rows have it; false: it is none, or the driver does
 * not say. */
static bool device_name(const struct xs_platform *of, const char *entry, char ret[64])
{
    static const char k_key[] = "GPU UUID:";
    char path[PATH_BYTES], text[2048], *at;
    size_t n = 0;

    if (of->probe == XS_PLATFORM_PROBE_PCI) /* 0000:c3:00.0 */
        return strlen(entry) == 12 && entry[4] == ':' && xs_str_copy(ret, 64, entry);
    if (entry[0] == '.' || (size_t)snprintf(path, sizeof(path), "%s/%s/information", of->devices, entry) >= sizeof(path) ||
        !read_file(path, text, sizeof(text)))
        return false;
    for (at = text; strncmp(at, k_key, sizeof(k_key) - 1) != 0; at++) {
        at = strchr(at, '\n');
        if (!at)
            return false;
    }
    for (at += sizeof(k_key) - 1; *at == ' ' || *at == '\t'; at++)
        ;
    for (; n < 63 && at[n] > ' '; n++)
        ret[n] = at[n];
    ret[n] = 0;
    return n && !strchr(ret, '?');
}

/* Whether the driver names its devices (a container may see none, or more than it may use) and knows none of these. */
static bool other_devices(const struct xs_platform *of, const struct xs_probed_row *rows, size_t n)
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
            one |= strcmp(rows[i].device, name) == 0;
    }
    if (dir)
        closedir(dir);
    return told && !one;
}

int xs_probed_level(const struct xs_platform *of)
{
    struct xs_probed_row rows[XS_PROBED_MAX];
    size_t n = xs_probed_rows(of, rows);
    int least = 0, saved = errno;

    for (size_t i = 0; i < n; i++)
        least = i == 0 ? rows[i].level : XS_MIN(least, rows[i].level);
    if (n && other_devices(of, rows, n))
        least = 0;
    errno = saved;
    return least;
}
