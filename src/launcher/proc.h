/* SPDX-License-Identifier: Apache-2.0 */
/* The state of another process, from /proc. */
#ifndef XS_LAUNCHER_PROC_H
#define XS_LAUNCHER_PROC_H

#include "base/xs_base.h"

#include <limits.h>
#include <sys/types.h>

enum xs_proc_kind {
    XS_LIB_SHIM,   /* ours, in place of a vendor library */
    XS_LIB_OURS,   /* libpreempt, libhal* */
    XS_LIB_VENDOR, /* the vendor's runtime, or a loader of runtimes */
};

struct xs_proc_library {
    enum xs_proc_kind kind;
    const char *platform; /* "OpenCL", "CUDA", ...; "ICD" for a vendor's part behind a loader; NULL: none */
    bool deleted;         /* the file is gone, or another is in its place */
    char path[PATH_MAX];
};

#define XS_PROC_LIBRARIES_MAX 32

/** A mapped file, from its first address to its last; code in it if `code`. */
struct xs_proc_object {
    uint64_t from, to;
    bool code;
    char *path;
};

#define XS_PROC_DEPTH       16 /* PID namespaces, one in the other */
#define XS_PROC_DEVICES_MAX 8
#define XS_PROC_GROUPS_MAX  64

struct xs_proc {
    pid_t pid, asked; /* the process, and the number that the caller gave, which may be that of a thread */
    pid_t parent;
    uid_t uid, effective_uid, saved_uid;
    gid_t gid;
    size_t groups_count;
    gid_t groups[XS_PROC_GROUPS_MAX]; /* the first ones of its supplementary groups */
    uint64_t capabilities;            /* permitted ones */
    int threads, descriptors;
    char name[64], state[32];
    bool is_kernel; /* a thread of the kernel: it has no program */
    bool is_secure; /* AT_SECURE: the dynamic linker ignored LD_PRELOAD, and XSched its variables */
    bool is_frozen; /* by its control group */
    bool elsewhere; /* it has another root folder or other mounts than this process */
    char root[40];  /* "/proc/PID/root" then, else "" */
    int numbers_count;
    pid_t numbers[XS_PROC_DEPTH]; /* its numbers, from this PID namespace inwards */
    int denied;                   /* 0, or why nothing of all below could be read: -EACCES, -EPERM */
    char exe[PATH_MAX]; /* as the process sees it */
    char exe_link[64];  /* /proc/PID/exe: opens the very file */
    bool client_page;   /* it has made its page: it has created a queue at some time */
    bool server_page;   /* it holds a page of an xserver: it has joined */
    size_t devices_count;
    char devices[XS_PROC_DEVICES_MAX]
                [64]; /* files of GPUs and other accelerators that it has open or mapped */
    size_t library_count;
    struct xs_proc_library libraries[XS_PROC_LIBRARIES_MAX];
    size_t object_count;
    struct xs_proc_object *objects;
    char *env_text;
    size_t env_count;
    char **env;
};

/** @return 0 (see denied), -ENOENT or -ESRCH: no such process */
int xs_proc_read(pid_t pid, struct xs_proc *ret);
void xs_proc_free(struct xs_proc *p);

/** Whether it has ended, and its parent has not asked for its status. */
bool xs_proc_has_ended(const struct xs_proc *p);

/** The value at the start of the process; NULL when unset. */
const char *xs_proc_env(const struct xs_proc *p, const char *name);
/** LD_PRELOAD as the dynamic linker read it: where it stands twice (podman), the last one. */
const char *xs_proc_preload(const struct xs_proc *p);
/** Whether the process maps such a library. @param platform  NULL: any */
bool xs_proc_has(const struct xs_proc *p, enum xs_proc_kind kind, const char *platform);
/** The platform whose vendor library has such a name ("libamdhip64.so.6": "HIP"); NULL: none. */
const char *xs_proc_vendor_platform(const char *name);
/** The mapped file that holds an address; NULL: none. */
const struct xs_proc_object *xs_proc_object_at(const struct xs_proc *p, uint64_t address);
const char *xs_proc_kind_name(enum xs_proc_kind kind);

#endif
