/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/common/vendor.h"

#include "base/log.h"
#include "base/str.h"
#include "hal/common/next_symbol.h"
#include "hal/common/objects.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
#define PLATFORM  "x86_64"
#define MUSL_ARCH "x86_64"
#elif defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#define PLATFORM  "aarch64"
#define MUSL_ARCH "aarch64"
#else
#define MULTIARCH "unknown-linux-gnu"
#define PLATFORM  "unknown"
#define MUSL_ARCH "unknown"
#endif

/* At the end, the folders of each C library's own linker. */
#define LIB_MULTIARCH "lib/" MULTIARCH

static const char k_default_folders[] =
    "/lib/" MULTIARCH ":/usr/lib/" MULTIARCH ":/lib64:/usr/lib64:/usr/local/lib/" MULTIARCH
    ":/usr/local/lib:/lib:/usr/lib";

#define NAME_MAX_BYTES 64u     /* of a name to search for */

struct search {
    const struct xs_vendor *vendor;
    struct xs_object caller;
    char origin[XS_PATH_MAX];     /* folder of the caller; "" unknown */
    char path[XS_PATH_MAX];
    char folder[XS_PATH_MAX];
};

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

static bool same_file(const char *a, const char *b)
{
    char ra[XS_PATH_MAX], rb[XS_PATH_MAX];

    return strcmp(a, b) == 0 || (realpath(a, ra) && realpath(b, rb) && strcmp(ra, rb) == 0);
}

static void find_origin(struct search *s)
{
    char *slash;

    s->origin[0] = 0;
    if (!s->caller.found)
        return;
    if (s->caller.path[0]) {
        if (!realpath(s->caller.path, s->origin))
            s->origin[0] = 0;
    } else { /* the main program has no name there */
        ssize_t n = readlink("/proc/self/exe", s->origin, sizeof(s->origin) - 1);

        s->origin[n > 0 ? n : 0] = 0;
    }
    slash = strrchr(s->origin, '/');
    if (slash)
        slash[slash == s->origin] = 0;
}

static bool append(char *out, size_t size, size_t *at, const char *text, size_t n)
{
    if (n >= size - *at)
        return false;
    memcpy(out + *at, text, n);
    *at += n;
    out[*at] = 0;
    return true;
}

/* $ORIGIN, ${ORIGIN}, $LIB, $PLATFORM. $LIB differs between distributions: `lib` chooses. */
static bool expand(struct search *s, const char *in, size_t n, const char *lib)
{
    const struct {
        const char *name, *value;
    } tokens[] = {{"ORIGIN", s->origin}, {"LIB", lib}, {"PLATFORM", PLATFORM}};
    size_t at = 0;

    s->folder[0] = 0;
    for (size_t i = 0; i < n;) {
        bool hit = false;

        for (size_t t = 0; in[i] == '$' && t < XS_ARRAY_LEN(tokens) && !hit; t++) {
            size_t len = strlen(tokens[t].name), brace = i + 1 < n && in[i + 1] == '{';

            if (n - i < 1 + len + 2 * brace || strncmp(in + i + 1 + brace, tokens[t].name, len) != 0 ||
                (brace && in[i + 2 + len] != '}'))
                continue;
            if (!tokens[t].value[0] || !append(s->folder, sizeof(s->folder), &at, tokens[t].value,
                                               strlen(tokens[t].value)))
                return false;
            i += 1 + len + 2 * brace;
            hit = true;
        }
        if (!hit && !append(s->folder, sizeof(s->folder), &at, in + i++, 1))
            return false;
    }
    return at > 0;
}

/* s->path = an absolute path of the name in s->folder, if each_folder may try it. */
static bool in_folder(struct search *s, const char *name)
{
    char joined[XS_PATH_MAX];
    size_t at = 0;

    if (!append(joined, sizeof(joined), &at, s->folder, strlen(s->folder)) ||
        !append(joined, sizeof(joined), &at, "/", 1) ||
        !append(joined, sizeof(joined), &at, name, strlen(name)))
        return false;
    if (access(joined, R_OK) != 0)
        return false;
    if (joined[0] != '/') { /* a relative folder means the present working folder, as for ld.so */
        if (!realpath(joined, s->path))
            return false;
    } else {
        xs_str_copy(s->path, sizeof(s->path), joined);
    }
    return xs_object_usable_file(s->path);
}

typedef bool (*try_fn)(struct search *s, void *ctx);

/* Calls try for the name in each folder of a list. @return true when try took one */
static bool each_folder(struct search *s, const char *list, const char *separators, const char *name,
                        try_fn try, void *ctx)
{
    static const char *const libs[] = {LIB_MULTIARCH, "lib64", "lib"};

    while (list && *list) {
        size_t n = 0;

        while (list[n] && !strchr(separators, list[n]))
            n++;
        for (size_t l = 0; l < XS_ARRAY_LEN(libs); l++) {
            bool uses_lib = memchr(list, '$', n) != NULL;

            if (expand(s, list, n, libs[l]) && in_folder(s, name) && try(s, ctx))
                return true;
            if (!uses_lib)
                break;
        }
        list += n;
        while (*list && strchr(separators, *list))
            list++;
    }
    return false;
}

static bool search_name(struct search *s, const char *name, try_fn try, void *ctx)
{
    if (!s->caller.runpath && each_folder(s, s->caller.rpath, ":", name, try, ctx))
        return true;
    if (!getauxval(AT_SECURE) && each_folder(s, getenv("LD_LIBRARY_PATH"), ":;", name, try, ctx))
        return true;
    if (each_folder(s, s->caller.runpath, ":", name, try, ctx))
        return true;
    for (size_t skip = 0; skip < 8 && xs_object_in_cache(name, skip, s->path); skip++)
        if (try(s, ctx))
            return true;
    return each_folder(s, k_default_folders, ":", name, try, ctx);
}

static bool search_all(struct search *s, try_fn try, void *ctx)
{
    char name[NAME_MAX_BYTES];

    if (s->caller.needed && search_name(s, s->caller.needed, try, ctx))
        return true;
    for (size_t i = 0; xs_platform_soname(s->vendor->platform, i, name, sizeof(name)); i++)
        if (search_name(s, name, try, ctx))
            return true;
    return false;
}

static bool try_open(struct search *s, void *ctx)
{
    void **handle = ctx;

    *handle = open_file(s->vendor, s->path, 0);
    if (!*handle)
        XS_INFO("%s: XSched cannot use %s", s->vendor->platform->name, s->path);
    return *handle != NULL;
}

struct among {
    char (*paths)[XS_PATH_MAX];
    size_t count, chosen;
};

static bool among(struct among *a, const char *path)
{
    for (size_t i = 0; i < a->count; i++) {
        if (same_file(a->paths[i], path)) {
            a->chosen = i;
            return true;
        }
    }
    return false;
}

static bool try_among(struct search *s, void *ctx)
{
    return among(ctx, s->path);
}

#define MAPPED_MAX 8

static void *find_mapped(struct search *s, char (*paths)[XS_PATH_MAX], char *ret_path, size_t path_size)
{
    const struct xs_vendor *v = s->vendor;
    const char *named = xs_env_get(v->platform->lib);
    struct among a = {paths, 0, 0};
    void *handle;

    a.count = xs_object_find(v->platform->vendor, paths, MAPPED_MAX); /* not inside XS_MIN, which would look twice */
    a.count = XS_MIN(a.count, (size_t)MAPPED_MAX);
    if (a.count > 1 && named && among(&a, named))
        XS_INFO("%s: the program has %zu copies; using %s, which %s names", v->platform->name, a.count,
                paths[a.chosen], xs_env_rows[v->platform->lib].name);
    else if (a.count > 1 && search_all(s, try_among, &a))
        XS_INFO("%s: the program has %zu copies; using %s, which the caller depends on", v->platform->name, a.count,
                paths[a.chosen]);
    else if (a.count > 1)
        XS_WARN_ONCE("%s: the program has %zu copies, and XSched cannot tell which one the caller means; using %s",
                     v->platform->name, a.count, paths[0]);
    for (size_t n = 0; n < a.count; n++) {
        size_t i = (a.chosen + n) % a.count;

        handle = open_file(v, paths[i], RTLD_NOLOAD);
        if (handle) {
            xs_str_copy(ret_path, path_size, paths[i]);
            return handle;
        }
    }
    return NULL;
}

static void *find_named(const struct xs_vendor *v, char *ret_path, size_t path_size)
{
    const char *named = xs_env_get(v->platform->lib);
    char path[XS_PATH_MAX];
    void *handle = NULL;

    if (!named)
        return NULL;
    if (realpath(named, path) && xs_object_usable_file(path))
        handle = open_file(v, path, 0);
    if (!handle) {
        XS_WARN_ONCE("%s: XSched cannot use %s=%s (%s); searching", v->platform->name,
                     xs_env_rows[v->platform->lib].name, named,
                     access(named, R_OK) != 0 ? "not readable" : "not such a library, or one of ours");
        return NULL;
    }
    xs_str_copy(ret_path, path_size, path);
    return handle;
}

/* A program that has a copy of the library works with that one, and another copy does not know its
 * streams. */
static void refuse_other(const struct xs_vendor *v, const char *mapped)
{
    const char *named = xs_env_get(v->platform->lib);

    if (named && !same_file(named, mapped))
        XS_WARN_ONCE("%s: %s=%s has no effect: the program has %s loaded, and streams belong to the copy that "
                     "made them",
                     v->platform->name, xs_env_rows[v->platform->lib].name, named, mapped);
}

int xs_vendor_open(const struct xs_vendor *v, const void *caller, void **ret_handle, char *ret_path,
                   size_t path_size)
{
    static _Atomic uint64_t failed_at; /* objects loaded at the last failure; any thread writes */
    uint64_t objects = xs_object_count();
    struct search *s;
    char (*paths)[XS_PATH_MAX];
    void *handle = NULL;

    if (objects && atomic_load_explicit(&failed_at, memory_order_relaxed) == objects)
        return -ENOENT;
    s = calloc(1, sizeof(*s)); /* paths are long and the caller's stack may be small */
    paths = calloc(MAPPED_MAX, XS_PATH_MAX);
    if (s && paths) {
        s->vendor = v;
        xs_object_of(caller, v->platform->vendor, &s->caller);
        find_origin(s);
        handle = find_mapped(s, paths, ret_path, path_size);
        if (handle)
            refuse_other(v, ret_path);
        else
            handle = find_named(v, ret_path, path_size);
        if (!handle && search_all(s, try_open, &handle))
            xs_str_copy(ret_path, path_size, s->path);
    }
    free(paths);
    free(s);
    if (!handle) {
        char name[NAME_MAX_BYTES] = "";

        atomic_store_explicit(&failed_at, objects, memory_order_relaxed);
        xs_platform_soname(v->platform, 0, name, sizeof(name));
        XS_WARN_ONCE("%s: XSched did not find the real library (%s): install it, or set %s to its path",
                     v->platform->name, name, xs_env_rows[v->platform->lib].name);
        return -ENOENT;
    }
    XS_INFO("%s: using %s", v->platform->name, ret_path);
    *ret_handle = handle;
    return 0;
}

static void *find_by_name(struct search *s, const char *name, bool mapped_only)
{
    void *handle = NULL;

    find_origin(s);
    if (xs_object_named(name, s->path))
        handle = open_file(s->vendor, s->path, RTLD_NOLOAD);
    if (!handle && !mapped_only)
        search_name(s, name, try_open, &handle);
    return handle;
}

void *xs_vendor_of_caller(const struct xs_vendor *v, const void *caller, struct xs_vendor_caller *ret)
{
    struct search *s = calloc(1, sizeof(*s));
    void *handle = NULL;

    memset(ret, 0, sizeof(*ret));
    if (!s)
        return NULL;
    s->vendor = v;
    xs_object_of(caller, v->platform->vendor, &s->caller);
    ret->from = s->caller.from;
    ret->to = s->caller.to;
    if (s->caller.needed)
        handle = find_by_name(s, s->caller.needed, false);
    if (handle)
        xs_str_copy(ret->path, sizeof(ret->path), s->path);
    free(s);
    return handle;
}

void *xs_vendor_named(const struct xs_vendor *v, const void *caller, const char *name, bool mapped_only)
{
    struct search *s = calloc(1, sizeof(*s));
    void *handle = NULL;

    if (!s)
        return NULL;
    s->vendor = v;
    xs_object_of(caller, v->platform->vendor, &s->caller);
    handle = find_by_name(s, name, mapped_only);
    free(s);
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
