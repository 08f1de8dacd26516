/* SPDX-License-Identifier: Apache-2.0 */
/* xsched doctor without a process: the installed parts, and whether they can work here. */
#include "launcher/doctor/doctor.h"

#include "base/env.h"
#include "base/str.h"
#include "launcher/elf.h"
#include "launcher/preload.h"
#include "launcher/variables.h"
#include "policy/policies.h"

#include <dirent.h>
#include <errno.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static void installed(struct xs_doctor *d)
{
    char own[PATH_MAX] = "", server[PATH_MAX + 16];
    json_t *o = json_object(), *policies = json_array();
    bool there = xs_find_beside("xserver", server, sizeof(server)) == 0;

    xs_own_folder(own, sizeof(own));
    json_object_set_new(o, "version", json_string(XSCHED_VERSION));
    json_object_set_new(o, "folder", xs_doctor_text(own));
    json_object_set_new(o, "xserver", there ? xs_doctor_text(server) : json_null());
    for (size_t i = 0; i < xs_policies_count; i++)
        json_array_append_new(policies, json_string(xs_policies[i]->name));
    json_object_set_new(o, "policies", policies);
    json_object_set_new(d->facts, "xsched", o);
    if (!there)
        xs_doctor_problem(
            d, "no_xserver", "Install it beside xsched.",
            "xserver is neither in %s nor in ../sbin beside it, so `xsched run` cannot start one", own);
}

/* How many names of the vendor's library ours lacks. */
struct compare {
    const char *shim, *calls;
    size_t missing;
    char first[96];
};

static int compare_one(const char *name, uint64_t vaddr, void *ctx)
{
    struct compare *c = ctx;

    (void)vaddr;
    if (strncmp(name, c->calls, strlen(c->calls)) != 0)
        return 0;
    if (!xs_elf_has_export(c->shim, name)) {
        if (!c->missing)
            xs_str_copy(c->first, sizeof(c->first), name);
        c->missing++;
    }
    return 0;
}

static const char *vendor_path(const json_t *vendors, const struct xs_platform *platform)
{
    json_t *v;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)vendors, i, v)
    {
        if (strcmp(json_string_value(json_object_get(v, "platform")), platform->name) == 0)
            return json_string_value(json_object_get(v, "path"));
    }
    return NULL;
}

/* The functions that the vendor's library has and the shim lacks. */
static void compare(struct xs_doctor *d, json_t *o, const char *shim, const struct xs_platform *platform,
                    const json_t *vendors)
{
    const char *vendor = vendor_path(vendors, platform);
    struct compare c = {.shim = shim, .calls = platform->calls};

    if (!vendor || !xs_platform_is_preloaded(platform)) /* programs look a layer's functions up */
        return;
    xs_elf_exports(vendor, compare_one, &c);
    json_object_set_new(o, "missing", json_integer((json_int_t)c.missing));
    if (c.missing)
        xs_doctor_hint(d, "%s exports %zu functions that %s does not have (%s and others): calls to those pass unseen", vendor,
                       c.missing, strrchr(shim, '/') + 1, c.first);
}

/* @param platform  of the shim; NULL: it is none, or of an unknown platform */
static void describe_library(struct xs_doctor *d, json_t *list, const char *path, const struct xs_platform *platform,
                             const json_t *vendors)
{
    json_t *o = json_object();
    struct xs_elf elf;
    int err = xs_elf_read(path, &elf);

    json_object_set_new(o, "path", xs_doctor_text(path));
    if (err < 0 || !elf.is_elf || elf.foreign) {
        xs_doctor_problem(d, "bad_library", "Install it again.", "xsched cannot use %s: %s", path,
                          err < 0 ? strerror(-err) : "not a shared object of this machine");
    } else {
        json_object_set_new(o, "soname", xs_doctor_text(elf.soname));
        json_object_set_new(o, "exports", json_integer((json_int_t)elf.exports));
        if (platform && !xs_platform_shim_is_partial(platform))
            compare(d, o, path, platform, vendors);
    }
    json_array_append_new(list, o);
}

/* A library of ours above the folder of the shims. @return whether it is there */
static bool describe_ours(struct xs_doctor *d, json_t *list, const struct xs_shims *shims, const char *name)
{
    char path[PATH_MAX + 64], real[PATH_MAX];

    snprintf(path, sizeof(path), "%s/../%s", shims->folder, name);
    if (access(path, R_OK) != 0)
        return false;
    describe_library(d, list, realpath(path, real) ? real : path, NULL, NULL);
    return true;
}

static void libraries(struct xs_doctor *d, const json_t *vendors)
{
    json_t *list = json_array();
    static struct xs_shims shims; /* large, and stacks may be small */

    xs_shims_find(&shims);
    for (size_t i = 0; i < shims.count; i++) {
        const struct xs_platform *platform = NULL;

        for (size_t k = 0; k < XS_PLATFORM_COUNT && !platform; k++) {
            if (xs_shims_get(&shims, &xs_platforms[k]) == shims.paths[i])
                platform = &xs_platforms[k];
        }
        describe_library(d, list, shims.paths[i], platform, vendors);
    }
    if (shims.count && !describe_ours(d, list, &shims, "libpreempt.so.1"))
        xs_doctor_problem(d, "no_libpreempt", "Install it again.", "%s/../libpreempt.so.1 is missing: no shim can work",
                          shims.folder);
    for (size_t i = 0; i < XS_PLATFORM_COUNT && shims.count; i++) {
        char name[64];

        snprintf(name, sizeof(name), "libhal%s.so.1", xs_platforms[i].stem);
        describe_ours(d, list, &shims, name);
    }
    json_object_set_new(d->facts, "libraries", list);
    if (!shims.count)
        xs_doctor_problem(d, "no_shims", "Install xsched again, or start it from its build tree. "
                          "`pip install --target` leaves the libraries out; --prefix and a venv do not.",
                          "no shim (libshim*.so) is installed; looked into %s", shims.tried);
    else if (strpbrk(shims.folder, " :\t"))
        xs_doctor_problem(d, "bad_folder", "Install it somewhere else.",
                          "%s has a space or colon in its name, so LD_PRELOAD cannot name its files",
                          shims.folder);
}

void xs_doctor_variable(struct xs_doctor *d, json_t *to, const char *line, bool here)
{
    const char *equals = strchr(line, '='), *instead;
    enum xs_variable kind = xs_variable_of(line, &instead);
    char name[128];

    if (!equals || (size_t)(equals - line) >= sizeof(name) ||
        (strncmp(line, "XSCHED_", 7) != 0 && strncmp(line, "XLOG_", 5) != 0 && !xs_shims_is_variable(line)))
        return;
    xs_str_copy(name, (size_t)(equals - line) + 1, line);
    json_object_set_new(to, name, xs_doctor_text(equals + 1));
    if (kind == XS_VARIABLE_WITHDRAWN)
        xs_doctor_problem(d, "withdrawn_variable", here ? "Unset it." : "Start it without.",
                          "%s means nothing any more; instead: %s", name, instead);
    else if (kind == XS_VARIABLE_UNKNOWN)
        xs_doctor_problem(d, "unknown_variable", "`xsched run --help-env` lists all that there are.",
                          "%s means nothing to XSched%s%s%s", name, instead ? "; " : "", instead ? instead : "",
                          instead ? " does" : "");
}

static void environment(struct xs_doctor *d)
{
    json_t *o = json_object();

    for (char **e = environ; *e; e++)
        xs_doctor_variable(d, o, *e, true);
    if (json_object_size(o))
        json_object_set(d->facts, "environment", o);
    json_decref(o);
}

static void kernel(struct xs_doctor *d)
{
    struct utsname u;
    struct rlimit files = {0, 0}, locked = {0, 0};
    json_t *o = json_object();
    int memfd = (int)syscall(SYS_memfd_create, "xsched-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING), pidfd;
    bool waitv = false;

    uname(&u);
    json_object_set_new(o, "release", xs_doctor_text(u.release));
#ifdef SYS_futex_waitv
    waitv = syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) < 0 && errno == EINVAL;
#endif
    pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    json_object_set_new(o, "futex_waitv", json_boolean(waitv));
    json_object_set_new(o, "pidfd", json_boolean(pidfd >= 0));
    json_object_set_new(o, "memfd", json_boolean(memfd >= 0));
    getrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_MEMLOCK, &locked);
    json_object_set_new(o, "open_files", json_integer((json_int_t)files.rlim_cur));
    json_object_set_new(o, "locked_memory",
                        locked.rlim_cur == RLIM_INFINITY ? json_string("unlimited")
                                                         : json_integer((json_int_t)locked.rlim_cur));
    json_object_set_new(o, "processors", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    json_object_set_new(d->facts, "kernel", o);
    if (memfd < 0)
        xs_doctor_problem(d, "no_memfd", "A Linux kernel of 3.17 or later has it; a container may forbid it.",
                          "memfd_create does not work (%s): programs cannot share pages with xserver",
                          strerror(errno));
    if (!waitv)
        xs_doctor_hint(d, "futex_waitv does not work here (kernel 5.16 has it; a container may forbid it): "
                          "xserver notices the "
                          "death of a large program later");
    if (pidfd < 0)
        xs_doctor_hint(d, "pidfd_open does not work here (kernel 5.3 has it; a container may forbid it): "
                          "xserver notices the death of a program "
                          "by its socket only");
    if (memfd >= 0)
        close(memfd);
    if (pidfd >= 0)
        close(pidfd);
}

/* Whether the folder of a kernel's driver has an entry for a device. */
static bool has_entries(const char *folder)
{
    DIR *dir = *folder ? opendir(folder) : NULL;
    bool found = false;

    for (const struct dirent *e; dir && !found && (e = readdir(dir));)
        found = e->d_name[0] >= '0' &&
                e->d_name[0] <= '9'; /* 0000:3b:00.0, and not what every driver has beside */
    if (dir)
        closedir(dir);
    return found;
}

/* A driver of the kernel has devices, or the vendor's library calls its state an error: then their absence has a cause. */
static void check_vendor(struct xs_doctor *d, const json_t *v)
{
    const char *name = json_string_value(json_object_get(v, "platform"));
    const char *soname = json_string_value(json_object_get(v, "soname"));
    const char *broken = json_string_value(json_object_get(v, "broken"));
    int error = (int)json_integer_value(json_object_get(v, "error"));
    const struct xs_platform *row = NULL;

    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++)
        if (strcmp(xs_platforms[i].name, name) == 0)
            row = &xs_platforms[i];
    if (broken) {
        xs_doctor_problem(d, "vendor_broken", "Programs that use it will fail too, with or without xsched.",
                          "%s %s", soname, broken);
        return;
    }
    if (!json_object_get(v, "devices") || json_integer_value(json_object_get(v, "devices")))
        return;
    if (json_is_true(json_object_get(v, "fails")))
        xs_doctor_problem(
            d, "vendor_broken",
            "Programs that use it fail too, with or without xsched: the driver in the kernel and "
            "the library differ, or the device files are not there for this user.",
            "%s is here, and its first call fails with error %d", soname, error);
    else if (row && has_entries(row->devices))
        xs_doctor_hint(d,
                       "the kernel's driver %s has a device, and %s finds none: this user may have no right "
                       "to its device files "
                       "(groups render and video), or the library does not support it",
                       row->module, soname);
    else
        xs_doctor_hint(d, "%s is here, and finds no device", soname);
}

static void check_vendors(struct xs_doctor *d, const json_t *vendors)
{
    size_t i, found = 0, used = 0;
    bool device = false, cpu = false;
    char names[256] = "";
    json_t *v;

    json_array_foreach((json_t *)(uintptr_t)vendors, i, v)
    {
        json_int_t devices = json_integer_value(json_object_get(v, "devices")),
                   cpus = json_integer_value(json_object_get(v, "cpus"));

        found += json_is_true(json_object_get(v, "found"));
        device |= devices > cpus;
        cpu |= cpus > 0;
        check_vendor(d, v);
    }
    for (size_t k = 0; k < XS_PLATFORM_COUNT && used < sizeof(names); k++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
                                 xs_platforms[k].name);
    if (!found)
        xs_doctor_hint(
            d, "there is no vendor library (%s) where the loader looks; programs may bring one of their own",
            names);
    else if (!device && cpu)
        xs_doctor_hint(d, "there is no GPU or other accelerator that this user's programs can use; the "
                          "devices here are CPUs");
}

static void check_servers(struct xs_doctor *d)
{
    struct xs_doctor_servers all;

    xs_doctor_servers_find(&all, NULL);
    json_object_set_new(d->facts, "servers", xs_doctor_servers_json(&all));
    xs_doctor_server_is_stopped(d, &all);
    if (!xs_doctor_servers_first(&all)) {
        bool denied = false;

        for (size_t i = 0; i < all.places; i++) {
            if (all.items[i].err != -EACCES && all.items[i].err != -EPERM)
                continue;
            denied = true;
            xs_doctor_problem(
                d, "no_rights",
                "Its folder and those above must let this user in; xserver itself lets everybody connect.",
                "%s: %s", xs_place_name(&all.items[i].place), xs_place_text(all.items[i].err));
        }
        if (!denied)
            xs_doctor_hint(d, "no xserver answers; `xsched run` starts one when it needs one");
    }
    xs_doctor_beside_here(d, &all);
    xs_doctor_servers_free(&all);
}

void xs_doctor_system(struct xs_doctor *d)
{
    json_t *vendors = xs_doctor_vendors();

    installed(d);
    libraries(d, vendors);
    check_servers(d);
    json_object_set(d->facts, "vendor libraries", vendors);
    check_vendors(d, vendors);
    json_decref(vendors);
    kernel(d);
    environment(d);
    xs_doctor_job(d, NULL, NULL);
}
