/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/common/vendor.h"

#include "base/log.h"
#include "base/str.h"
#include "hal/common/copies.h"
#include "hal/common/next_symbol.h"
#include "hal/common/objects.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_BYTES 64u     /* of a name to search for */

/* A handle of a file that is or becomes mapped, if it is the library that we want. */
static void *open_file(const struct xs_vendor *v, const char *path, int flags)
{
    void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | flags), *probe;

    if (!handle)
        return NULL;
    /* dlsym also looks through the objects on which this one depends, and one of those may be a shim of ours
     * under the vendor's name. */
    probe = xs_dlsym(handle, v->probe);
    if (!probe || xs_object_is_ours(probe)) {
        dlclose(handle);
        return NULL;
    }
    return handle;
}

struct opening {
    const struct xs_vendor *vendor;
    void *handle;
    char *path;                   /* XS_PATH_MAX bytes */
};

static bool try_open(const char *path, void *ctx)
{
    struct opening *o = ctx;

    o->handle = open_file(o->vendor, path, 0);
    if (o->handle)
        xs_str_copy(o->path, XS_PATH_MAX, path);
    else
        XS_INFO("%s: XSched cannot use %s", o->vendor->platform->name, path);
    return o->handle != NULL;
}

struct among {
    char (*paths)[XS_PATH_MAX];
    size_t count, chosen;
};

static bool try_among(const char *path, void *ctx)
{
    struct among *a = ctx;

    for (size_t i = 0; i < a->count; i++) {
        if (xs_object_same_file(a->paths[i], path)) {
            a->chosen = i;
            return true;
        }
    }
    return false;
}

/* For a caller that names no library: all of the platform's names, from its folders. */
static bool search_all(const struct xs_vendor *v, const struct xs_searcher *by,
                       bool (*try)(const char *path, void *ctx), void *ctx)
{
    char name[NAME_MAX_BYTES];

    for (size_t i = 0; xs_platform_soname(v->platform, i, name, sizeof(name)); i++)
        if (xs_search(by, name, try, ctx))
            return true;
    return false;
}

#define MAPPED_MAX 8

/* Of the copies that the program has: the one that the user names, or a caller that depends on none would find. */
static void *find_mapped(const struct xs_vendor *v, const struct xs_searcher *by, char *ret_path)
{
    const char *named = xs_env_get(v->platform->lib);
    char (*paths)[XS_PATH_MAX] = calloc(MAPPED_MAX, XS_PATH_MAX); /* the caller's stack may be small */
    struct among a = {paths, 0, 0};
    void *handle = NULL;

    if (!paths)
        return NULL;
    a.count = xs_object_find(v->platform->vendor, paths, MAPPED_MAX); /* not inside XS_MIN, which would look twice */
    a.count = XS_MIN(a.count, (size_t)MAPPED_MAX);
    if (a.count > 1 && named && try_among(named, &a))
        XS_INFO("%s: the program has %zu copies; using %s, which %s names", v->platform->name, a.count,
                paths[a.chosen], xs_env_rows[v->platform->lib].name);
    else if (a.count > 1 && search_all(v, by, try_among, &a))
        XS_INFO("%s: the program has %zu copies; using %s, which the caller's folders have", v->platform->name, a.count,
                paths[a.chosen]);
    else if (a.count > 1)
        XS_WARN_ONCE("%s: the program has %zu copies, and XSched cannot tell which one the caller means; using %s",
                     v->platform->name, a.count, paths[0]);
    for (size_t n = 0; n < a.count && !handle; n++) {
        size_t i = (a.chosen + n) % a.count;

        handle = open_file(v, paths[i], RTLD_NOLOAD);
        if (handle)
            xs_str_copy(ret_path, XS_PATH_MAX, paths[i]);
    }
    free(paths);
    return handle;
}

static void *find_named(const struct xs_vendor *v, char *ret_path)
{
    const char *named = xs_env_get(v->platform->lib);
    void *handle = NULL;

    if (!named)
        return NULL;
    if (realpath(named, ret_path) && xs_object_usable_file(ret_path))
        handle = open_file(v, ret_path, 0);
    if (!handle)
        XS_WARN_ONCE("%s: XSched cannot use %s=%s (%s); searching", v->platform->name,
                     xs_env_rows[v->platform->lib].name, named,
                     access(named, R_OK) != 0 ? "not readable" : "not such a library, or one of ours");
    return handle;
}

/* A program that has a copy of the library works with that one, and another copy does not know its
 * streams. */
static void refuse_other(const struct xs_vendor *v, const char *mapped)
{
    const char *named = xs_env_get(v->platform->lib);

    if (named && !xs_object_same_file(named, mapped))
        XS_WARN_ONCE("%s: %s=%s has no effect: the program has %s loaded, and streams belong to the copy that "
                     "made them",
                     v->platform->name, xs_env_rows[v->platform->lib].name, named, mapped);
}

/* The file of the copy that dlopen made visible to all. @return NULL: none */
static const char *visible_copy(const struct xs_vendor *v)
{
    void *probe = xs_dlsym(RTLD_NEXT, v->probe);
    Dl_info info;

    return probe && !xs_object_is_ours(probe) && dladdr(probe, &info) ? info.dli_fname : NULL;
}

enum found { SCOPE_HAS_NONE, SCOPE_HAS, SCOPE_LACKS };

struct scope {
    struct xs_needs *needs;
    struct xs_copies *copies;
    enum found found;
    const char *path;             /* the file, or */
    const char *absent;           /* the name that leads nowhere */
};

static void scope_free(struct scope *s)
{
    xs_copies_free(s->copies);
    free(s->needs);
    s->copies = NULL;
    s->needs = NULL;
}

/* @return false: no memory, or other threads load objects all the time */
static bool scope_read(struct scope *s, const struct xs_vendor *v, const void *caller)
{
    memset(s, 0, sizeof(*s));
    s->needs = xs_needs_read(v->platform->vendor, caller);
    s->copies = s->needs ? xs_copies_new(s->needs, xs_env_get(v->platform->lib)) : NULL;
    if (!s->copies)
        scope_free(s);
    return s->copies != NULL;
}

static void scope_decide(struct scope *s, const struct xs_vendor *v)
{
    s->path = xs_copies_of_caller(s->copies, visible_copy(v), &s->absent);
    s->found = s->path ? SCOPE_HAS : s->absent ? SCOPE_LACKS : SCOPE_HAS_NONE;
}

static void say_absent(const struct xs_vendor *v, const struct scope *s)
{
    XS_WARN_ONCE("%s: %s needs %s, which is not to be found: its calls fail (without XSched it would not load)",
                 v->platform->name, s->needs->path && s->needs->path[0] ? s->needs->path : "the program", s->absent);
}

static void *find_any(const struct xs_vendor *v, const struct scope *s, char *ret_path)
{
    struct xs_searcher by = {s->needs ? s->needs->path : NULL, s->needs ? s->needs->rpath : NULL,
                             s->needs ? s->needs->runpath : NULL, true};
    struct opening o = {v, NULL, ret_path};
    void *handle = NULL;

    if (s->found == SCOPE_HAS)
        handle = open_file(v, s->path, RTLD_NOLOAD);
    if (handle)
        xs_str_copy(ret_path, XS_PATH_MAX, s->path);
    else if (s->found == SCOPE_HAS_NONE)
        handle = find_mapped(v, &by, ret_path);
    if (handle) {
        refuse_other(v, ret_path);
        return handle;
    }
    handle = find_named(v, ret_path);
    if (handle || s->found == SCOPE_LACKS)
        return handle;
    if (s->found == SCOPE_HAS)
        try_open(s->path, &o);
    else
        search_all(v, &by, try_open, &o);
    return o.handle;
}

int xs_vendor_open(const struct xs_vendor *v, const void *caller, void **ret_handle, char *ret_path,
                   size_t path_size)
{
    static _Atomic uint64_t failed_at; /* objects loaded at the last failure; any thread writes */
    uint64_t objects = xs_object_count(NULL);
    uint32_t looks_failed = atomic_load(&xs_object_looks_failed);
    char *path = malloc(XS_PATH_MAX); /* the caller's stack may be small */
    struct scope s = {.found = SCOPE_HAS_NONE};
    void *handle = NULL;

    if (!path || (objects && atomic_load_explicit(&failed_at, memory_order_relaxed) == objects)) {
        free(path);
        return -ENOENT;
    }
    if (scope_read(&s, v, caller))
        scope_decide(&s, v);
    handle = find_any(v, &s, path);
    if (handle) {
        xs_str_copy(ret_path, path_size, path);
        XS_INFO("%s: using %s", v->platform->name, path);
        *ret_handle = handle;
    } else {
        char name[NAME_MAX_BYTES] = "";

        if (atomic_load(&xs_object_looks_failed) == looks_failed)
            atomic_store_explicit(&failed_at, objects, memory_order_relaxed);
        xs_platform_soname(v->platform, 0, name, sizeof(name));
        if (s.found == SCOPE_LACKS)
            say_absent(v, &s);
        else
            XS_WARN_ONCE("%s: XSched did not find the real library (%s): install it, or set %s to its path",
                         v->platform->name, name, xs_env_rows[v->platform->lib].name);
    }
    scope_free(&s);
    free(path);
    return handle ? 0 : -ENOENT;
}

void *xs_vendor_of_caller(const struct xs_vendor *v, const void *caller, struct xs_vendor_caller *ret)
{
    void *handle = NULL;
    struct scope s;

    memset(ret, 0, sizeof(*ret));
    if (!scope_read(&s, v, caller))
        return NULL;
    scope_decide(&s, v);
    ret->from = s.needs->from;
    ret->to = s.needs->to;
    if (s.found == SCOPE_HAS)
        handle = open_file(v, s.path, 0);
    if (handle)
        xs_str_copy(ret->path, sizeof(ret->path), s.path);
    ret->absent = s.found != SCOPE_HAS_NONE && !handle;
    if (s.found == SCOPE_LACKS)
        say_absent(v, &s);
    scope_free(&s);
    return handle;
}

bool xs_vendor_is_alone(const struct xs_vendor *v, void *handle)
{
    void *probe = xs_dlsym(handle, v->probe);
    bool alone = true;
    struct scope s;
    Dl_info info;

    if (!probe || !dladdr(probe, &info) || !scope_read(&s, v, NULL))
        return true;
    alone = xs_copies_all_are(s.copies, info.dli_fname);
    scope_free(&s);
    return alone;
}

void *xs_vendor_named(const struct xs_vendor *v, const void *caller, const char *name, bool mapped_only, bool *ret_sure)
{
    uint32_t failed = atomic_load(&xs_object_looks_failed);
    void *handle = NULL;
    const char *path;
    struct scope s;

    *ret_sure = false;
    if (!scope_read(&s, v, caller))
        return NULL;
    path = xs_copies_opened(s.copies, name, mapped_only);
    if (path)
        handle = open_file(v, path, 0);
    *ret_sure = handle || atomic_load(&xs_object_looks_failed) == failed;
    scope_free(&s);
    return handle;
}

void xs_vendor_path(const struct xs_vendor *v, void *handle, char *ret_path, size_t path_size)
{
    void *probe = xs_dlsym(handle, v->probe);
    Dl_info info;

    xs_str_copy(ret_path, path_size, probe && dladdr(probe, &info) && info.dli_fname ? info.dli_fname : "");
}

size_t xs_vendor_mapped(const struct xs_vendor *v, void **ret_handles, size_t max)
{
    char (*paths)[XS_PATH_MAX] = calloc(MAPPED_MAX, XS_PATH_MAX);
    size_t count = paths ? xs_object_find(v->platform->vendor, paths, MAPPED_MAX) : 0, n = 0;

    for (size_t i = 0; i < XS_MIN(count, (size_t)MAPPED_MAX) && n < max; i++) {
        void *handle = open_file(v, paths[i], RTLD_NOLOAD);

        if (handle)
            ret_handles[n++] = handle;
    }
    free(paths);
    return n;
}
