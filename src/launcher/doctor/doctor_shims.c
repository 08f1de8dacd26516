/* SPDX-License-Identifier: Apache-2.0 */
/* The shims in a process, the vendors' libraries beside them, and why a shim is not there. */
#include "launcher/doctor/doctor.h"

#include "base/str.h"
#include "launcher/elf.h"
#include "launcher/preload.h"
#include "launcher/proc.h"
#include "launcher/program.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct xs_platform *row_of(const char *name)
{
    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++)
        if (strcmp(xs_platforms[i].name, name) == 0)
            return &xs_platforms[i];
    return NULL;
}

/* Two copies of one runtime: calls may go to either. */
static void check_copies(struct xs_doctor *d, const struct xs_proc *p, const struct xs_proc_library *a,
                         const struct xs_proc_library *b)
{
    const struct xs_platform *row;
    char remedy[128];

    if (a->kind != b->kind || !a->platform || !b->platform || strcmp(a->platform, b->platform) != 0)
        return;
    row = row_of(a->platform);
    if (a->kind == XS_LIB_SHIM)
        xs_doctor_problem(d, "two_shims",
                          "Remove one of them from LD_PRELOAD, or from the variable of the vendor's loader.",
                          "the process has two copies of the %s shim: %s and %s", a->platform, a->path,
                          b->path);
    if (a->kind != XS_LIB_VENDOR || !row)
        return;
    if (strcmp(a->platform, "HIP") == 0 && xs_proc_has(p, XS_LIB_SHIM, "HIP")) {
        xs_doctor_hint(d,
                       "the process has two copies of the HIP runtime, %s and %s: each caller keeps the one "
                       "that it depends on",
                       a->path, b->path);
    } else if (xs_doctor_is_layer(p, row)) {
        xs_doctor_hint(
            d,
            "the process has two copies of the %s loader, %s and %s: the shim is in those that take layers",
            a->platform, a->path, b->path);
    } else {
        snprintf(remedy, sizeof(remedy), "Remove one of them, or name the right one in XSCHED_%s_LIB.", row->prefix);
        xs_doctor_problem(d, "two_runtimes", remedy,
                          "the process has two copies of the %s runtime: %s and %s", a->platform, a->path,
                          b->path);
    }
}

static bool names_a_shim(const char *preload)
{
    return preload && strstr(preload, "libshim");
}

/* Whether the environment has what `xsched run` puts there besides LD_PRELOAD. */
static bool has_our_variables(const struct xs_proc *p)
{
    static const char *const k_names[] = {"XSCHED_AUTO_XQUEUE", "XSCHED_SCHEDULER", "XSCHED_POLICY",
                                          "XSCHED_PRIORITY"};

    for (size_t i = 0; i < XS_ARRAY_LEN(k_names); i++)
        if (xs_proc_env(p, k_names[i]))
            return true;
    return false;
}

/* A process above this one that has a shim: it, or one between, started this one with another environment.
 * @return its number, 0: none that this user may look into */
static pid_t ancestor_with_shim(const struct xs_proc *p, char *ret_name, size_t size)
{
    static struct xs_proc above; /* large, and stacks may be small */
    pid_t pid = p->parent, found = 0;

    for (int depth = 0; pid > 1 && depth < 32 && !found; depth++) {
        if (xs_proc_read(pid, &above) < 0)
            return 0;
        pid = above.parent;
        if (!above.denied && names_a_shim(xs_proc_preload(&above))) {
            found = above.pid;
            xs_str_copy(ret_name, size, above.name);
        }
        xs_proc_free(&above);
    }
    return found;
}

/* The first entry of LD_PRELOAD that is a shim, as a file of the process.
 * @return NULL: it is there, as far as this user sees; else why not */
static const char *why_entry_fails(const struct xs_proc *p, const char *preload)
{
    const char *at = strstr(preload, "libshim");
    char file[PATH_MAX + 64];
    struct xs_elf elf;
    int err;

    while (at > preload && !strchr(" :", at[-1]))
        at--;
    snprintf(file, sizeof(file), "%s%.*s", p->root, (int)strcspn(at, " :"), at);
    err = xs_elf_read(file, &elf);
    if (err == -ENOENT)
        return p->elsewhere ? "there is no such file where the program is (a container, a sandbox)"
                            : "there is no such file";
    if (err == -EACCES)
        return "this user may not read that file";
    if (err == 0 && (!elf.is_elf || elf.foreign))
        return "that is no shared object of this machine";
    return NULL;
}

static void preload_failed(struct xs_doctor *d, const struct xs_proc *p, const char *preload)
{
    const char *why = why_entry_fails(p, preload);

    xs_doctor_problem(
        d, "preload_failed",
        why ? "Install XSched where the program sees it, or mount it there (`xsched cdi` for containers)."
            : "The dynamic linker said why on the program's stderr at its start.",
        "LD_PRELOAD names a shim (%s), and the process does not have it%s%s", preload, why ? ": " : "",
        why ? why : "");
}

static void preload_removed(struct xs_doctor *d, const struct xs_proc *p)
{
    char name[64];
    pid_t above = ancestor_with_shim(p, name, sizeof(name));

    if (above)
        xs_doctor_problem(d, "preload_removed",
                          "Put `xsched run --` right before the program, behind what starts it.",
                          "the process has no shim, and PID %d above it (%s) has: something between (env -i, "
                          "sudo, heaptrack, a "
                          "service manager) took LD_PRELOAD away",
                          (int)above, name);
    else if (has_our_variables(p))
        xs_doctor_problem(
            d, "preload_removed", "Put `xsched run --` right before the program, behind what starts it.",
            "the process has no shim: its environment has variables of XSched, and LD_PRELOAD names no shim. "
            "Something between `xsched run` and the program took it away, or somebody set those by hand");
    else
        xs_doctor_problem(d, "not_preloaded", "Start it with `xsched run -- PROGRAM`.",
                          "the process has no shim: nobody started it with `xsched run`, or its environment "
                          "was cleared on the "
                          "way (env -i, sudo)");
}

void xs_doctor_no_shim(struct xs_doctor *d, const struct xs_proc *p)
{
    const char *preload = xs_proc_preload(p);
    enum xs_program_issue issue = xs_program_check_running(p->exe_link, p->is_secure);

    if (issue == XS_PROGRAM_STATIC)
        xs_doctor_problem(d, "static", "Link it dynamically.", "the program is %s",
                          xs_program_issue_text(issue));
    else if (issue == XS_PROGRAM_FOREIGN)
        xs_doctor_problem(d, "foreign", "", "the program is %s", xs_program_issue_text(issue));
    else if (issue == XS_PROGRAM_PRIVILEGED)
        xs_doctor_problem(d, "set_user_id",
                          "Such programs ignore LD_PRELOAD and XSCHED_*. A copy without these rights, "
                          "started as the user who "
                          "needs none, can be scheduled.",
                          "the program is %s", xs_program_issue_text(XS_PROGRAM_PRIVILEGED));
    else if (names_a_shim(preload))
        preload_failed(d, p, preload);
    else
        preload_removed(d, p);
}

static bool is_libc(const char *path)
{
    const char *name = strrchr(path, '/');

    return name && (strncmp(name, "/libc.so.", 9) == 0 || strncmp(name, "/libc-2.", 8) == 0 ||
                    strncmp(name, "/ld-musl-", 9) == 0);
}

/* A namespace of the dynamic linker (dlmopen) has copies of its own of everything: there the calls of a
 * program find no shim. Its C library shows it to us. */
static void check_namespaces(struct xs_doctor *d, const struct xs_proc *p)
{
    size_t copies = 0;

    for (size_t i = 0; i < p->object_count; i++)
        copies += p->objects[i].code && is_libc(p->objects[i].path);
    if (copies > 1)
        xs_doctor_problem(
            d, "namespace", "Load the libraries whose calls XSched should schedule with dlopen, not dlmopen.",
            "the process has %zu copies of the C library (dlmopen, LD_AUDIT): calls from the namespace "
            "of another copy bypass preloaded shims",
            copies);
}

/* A vendor's library for whose platform nothing preloads: the loader takes the shim as a layer (doctor_layers.c), or there
 * is none. */
static void check_platform(struct xs_doctor *d, const struct xs_proc *p, const struct xs_proc_library *l)
{
    const struct xs_platform *row = row_of(l->platform);
    const char *preload = xs_proc_preload(p);
    char shim[64];

    if (!row || xs_proc_has(p, XS_LIB_SHIM, l->platform) || !xs_platform_is_preloaded(row))
        return;
    snprintf(shim, sizeof(shim), "libshim%s.so", row->stem);
    if (preload && strstr(preload, shim))
        preload_failed(d, p, strstr(preload, shim));
    else
        xs_doctor_problem(d, "no_shim_for_platform",
                          "Start the program with `xsched run`, which preloads the shims of the "
                          "platforms that this machine can use. XSCHED_<PLATFORM>_LIB names "
                          "a library that it does not find.",
                          "the process has the vendor's library of %s (%s), and neither the process nor "
                          "LD_PRELOAD has the shim for it",
                          l->platform, l->path);
}

bool xs_doctor_shims(struct xs_doctor *d, const struct xs_proc *p)
{
    bool shim = false, vendor = false;

    for (size_t i = 0; i < p->library_count; i++) {
        const struct xs_proc_library *l = &p->libraries[i];

        shim |= l->kind == XS_LIB_SHIM;
        vendor |= l->kind == XS_LIB_VENDOR;
        if (l->kind == XS_LIB_SHIM && l->deleted)
            xs_doctor_problem(d, "shim_replaced", "Start the program again.",
                              "%s is gone, or another file has its name since the program started", l->path);
        for (size_t k = 0; k < i; k++)
            check_copies(d, p, &p->libraries[k], l);
    }
    for (size_t i = 0; shim && i < p->library_count; i++)
        if (p->libraries[i].kind == XS_LIB_VENDOR)
            check_platform(d, p, &p->libraries[i]);
    if (shim && vendor)
        check_namespaces(d, p);
    return shim;
}

/* Files that the vendor's driver opens when a program begins to use it, and that queries of the device alone (NVML) do not
 * open. */
static const struct {
    int platform;
    const char *file;
} k_used[] = {{kPlatformCUDA, "/dev/nvidia-uvm"}, {kPlatformHIP, "/dev/kfd"}};

static bool has_open(const struct xs_proc *p, const char *file)
{
    for (size_t i = 0; i < p->devices_count; i++)
        if (strcmp(p->devices[i], file) == 0)
            return true;
    return false;
}

void xs_doctor_unused_shims(struct xs_doctor *d, const struct xs_proc *p)
{
    for (size_t i = 0; i < XS_ARRAY_LEN(k_used); i++) {
        const struct xs_platform *row = NULL;
        int begun;

        for (size_t k = 0; k < XS_PLATFORM_COUNT; k++)
            if (xs_platforms[k].number == k_used[i].platform)
                row = &xs_platforms[k];
        if (!row || !has_open(p, k_used[i].file) || !xs_proc_has(p, XS_LIB_SHIM, row->name))
            continue;
        begun = xs_doctor_begun(p, row);
        if (begun == 0)
            xs_doctor_problem(d, "past_the_shim",
                              "The program, or a library of it, opens the driver by a way of its own "
                              "(RTLD_DEEPBIND, dlmopen, a "
                              "copy linked in): see docs/howto/trouble.md.",
                              "the program uses a device with %s (%s is open), and no call of it came "
                              "through the shim: XSched does not "
                              "schedule it",
                              row->name, k_used[i].file);
        else if (begun == -EACCES || begun == -EPERM)
            xs_doctor_hint(d,
                           "doctor cannot tell whether the program's calls reach the %s shim: the kernel "
                           "lets only root look "
                           "(kernel.yama.ptrace_scope)",
                           row->name);
    }
}
