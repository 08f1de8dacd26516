/* SPDX-License-Identifier: Apache-2.0 */
/* The probe's earlier answers, and whether level 3 needs one here. */
#include "base/probed_levels.h"
#include "launcher/doctor/doctor.h"
#include "nvrm/channel_group.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder of a path and the one above it. */
static void make_folders(const char *path)
{
    char dir[PATH_MAX];
    char *slash, *above;

    snprintf(dir, sizeof(dir), "%s", path);
    slash = strrchr(dir, '/');
    *slash = 0;
    above = strrchr(dir, '/');
    if (above && above != dir) {
        *above = 0;
        mkdir(dir, 0700);
        *above = '/';
    }
    mkdir(dir, 0700);
}

int xs_doctor_keep_levels(const struct xs_platform *of, const struct xs_probed_row *rows, size_t n)
{
    char path[PATH_MAX], own[PATH_MAX + 16], driver[64];
    int err = xs_probed_path(of, path, sizeof(path)), fd;
    FILE *f;

    if (err < 0)
        return err;
    make_folders(path);
    snprintf(own, sizeof(own), "%s.XXXXXX", path);
    fd = mkstemp(own);
    f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f) {
        err = -errno;
        if (fd >= 0)
            close(fd);
        return err;
    }
    xs_probed_driver(of, driver, sizeof(driver));
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%s %s %u %d %u\n", driver, rows[i].device, (unsigned)getuid(), rows[i].level, xs_probe_version(of));
    if (fclose(f) != 0 || rename(own, path) < 0) {
        err = -errno;
        unlink(own);
    }
    return err;
}

/* Level 3 on a driver newer than all that we compared rests on the probe alone. */
static void judge_cuda(struct xs_doctor *d, const char *driver, int level)
{
    if (xs_nvrm_version_newer(driver) && !level)
        xs_doctor_problem(d, "not_probed", "`xsched doctor --probe` tries it; it takes each GPU for about two seconds.",
                          "driver %s is newer than those that XSched knows: programs have no level 3 there until the "
                          "probe has seen it work", driver);
    else if (level && level < 3)
        xs_doctor_hint(d, "the probe found that level 3 does not work with driver %s: level auto is level %d on CUDA devices",
                       driver, level);
}

void xs_doctor_levels(struct xs_doctor *d)
{
    static struct xs_probed_row rows[XS_PROBED_MAX];
    json_t *list = json_array();

    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++) {
        const struct xs_platform *p = &xs_platforms[i];
        json_t *one, *devices;
        char driver[64];
        size_t n;
        int level;

        if (p->probe == XS_PLATFORM_PROBE_NONE)
            continue;
        xs_probed_driver(p, driver, sizeof(driver));
        n = xs_probed_rows(p, rows);
        level = xs_probed_level(p);
        if (p->number == kPlatformCUDA)
            judge_cuda(d, driver, level);
        if (!n && strcmp(driver, "-") == 0)
            continue;             /* nothing of this vendor is here */
        one = json_object();
        devices = json_array();
        json_object_set_new(one, "platform", json_string(p->name));
        json_object_set_new(one, "driver", xs_doctor_text(driver));
        json_object_set_new(one, "probed_level", level ? json_integer(level) : json_null());
        for (size_t k = 0; k < n; k++) {
            json_t *row = json_object();

            json_object_set_new(row, "device", xs_doctor_text(rows[k].device));
            json_object_set_new(row, "level", json_integer(rows[k].level));
            json_array_append_new(devices, row);
        }
        json_object_set_new(one, "devices", devices);
        json_array_append_new(list, one);
    }
    json_object_set_new(d->facts, "levels", list);
}
