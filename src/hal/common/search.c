/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/common/search.h"

#include "base/str.h"
#include "hal/common/objects.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
#define PLATFORM  "x86_64"
#elif defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#define PLATFORM  "aarch64"
#else
#define MULTIARCH "unknown-linux-gnu"
#define PLATFORM  "unknown"
#endif

#define LIB_MULTIARCH "lib/" MULTIARCH

/* Of each C library's own linker. */
static const char k_default_folders[] =
    "/lib/" MULTIARCH ":/usr/lib/" MULTIARCH ":/lib64:/usr/lib64:/usr/local/lib/" MULTIARCH
    ":/usr/local/lib:/lib:/usr/lib";

struct search {
    const struct xs_searcher *by;
    const char *name;
    bool (*try)(const char *path, void *ctx);
    void *ctx;
    char origin[XS_PATH_MAX];     /* folder of the object; "" unknown */
    char path[XS_PATH_MAX];
    char folder[XS_PATH_MAX];
};

static void find_origin(struct search *s)
{
    char *slash;

    s->origin[0] = 0;
    if (s->by->path && s->by->path[0]) {
        if (!realpath(s->by->path, s->origin))
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

/* Tries the file of this path, which may be relative. */
static bool try_file(struct search *s, const char *file)
{
    if (file[0] != '/') { /* the present working folder, as for ld.so */
        if (!realpath(file, s->path))
            return xs_object_look_failed();
    } else {
        xs_str_copy(s->path, sizeof(s->path), file);
    }
    return xs_object_usable_file(s->path) && s->try(s->path, s->ctx);
}

static bool try_in(struct search *s, const char *folder, size_t n)
{
    char joined[XS_PATH_MAX];
    size_t at = 0;

    return append(joined, sizeof(joined), &at, folder, n) && append(joined, sizeof(joined), &at, "/", 1) &&
           append(joined, sizeof(joined), &at, s->name, strlen(s->name)) && try_file(s, joined);
}

static bool try_list(struct search *s, const char *list, const char *separators)
{
    static const char *const libs[] = {LIB_MULTIARCH, "lib64", "lib"};

    if (!list)
        return false;
    while (*list) {
        size_t n = 0;

        while (list[n] && !strchr(separators, list[n]))
            n++;
        for (size_t l = 0; l < XS_ARRAY_LEN(libs); l++) {
            bool uses_lib = memchr(list, '$', n) != NULL;

            if (expand(s, list, n, libs[l]) && try_in(s, s->folder, strlen(s->folder)))
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

static bool try_cache(struct search *s)
{
    for (size_t skip = 0; skip < 8 && xs_object_in_cache(s->name, skip, s->path); skip++)
        if (s->try(s->path, s->ctx))
            return true;
    return false;
}

/* For dynamic linkers that do not tell. */
static bool try_stated(struct search *s)
{
    find_origin(s);
    if (!s->by->runpath && try_list(s, s->by->rpath, ":"))
        return true;
    if (!getauxval(AT_SECURE) && try_list(s, getenv("LD_LIBRARY_PATH"), ":;"))
        return true;
    return try_list(s, s->by->runpath, ":") || try_cache(s) || try_list(s, k_default_folders, ":");
}

#ifdef __GLIBC__

/* The folders in which the dynamic linker itself looks for the libraries of an object: with the RPATH of those that
 * brought it, and LD_LIBRARY_PATH as it was at the start, which the program may have changed since. */
static Dl_serinfo *told_folders(const char *path)
{
    void *handle = dlopen(path && path[0] ? path : NULL, RTLD_LAZY | RTLD_NOLOAD);
    Dl_serinfo size, *told = NULL;

    if (handle && dlinfo(handle, RTLD_DI_SERINFOSIZE, &size) == 0) {
        told = calloc(1, size.dls_size);
        if (!told)
            xs_object_look_failed();
    }
    if (told) {
        told->dls_size = size.dls_size;
        told->dls_cnt = size.dls_cnt;
        if (dlinfo(handle, RTLD_DI_SERINFO, told) < 0) {
            free(told);
            told = NULL;
        }
    }
    if (handle)
        dlclose(handle);
    return told;
}

static bool is_default(const char *folder)
{
    size_t n = strlen(folder);

    for (const char *at = k_default_folders; at; at = strchr(at, ':')) {
        at += *at == ':';
        if (strncmp(at, folder, n) == 0 && (at[n] == ':' || at[n] == 0))
            return true;
    }
    return false;
}

/* ld.so.cache comes before the default folders, which end the list; each of them is there once. */
static unsigned before_cache(const Dl_serinfo *told)
{
    unsigned i = told->dls_cnt;

    while (i && is_default(told->dls_serpath[i - 1].dls_name)) {
        for (unsigned k = i; k < told->dls_cnt; k++)
            if (strcmp(told->dls_serpath[k].dls_name, told->dls_serpath[i - 1].dls_name) == 0)
                return i;
        i--;
    }
    return i;
}

static bool try_told(struct search *s, const Dl_serinfo *told)
{
    unsigned cache = before_cache(told);

    for (unsigned i = 0; i < told->dls_cnt; i++) {
        const char *folder = told->dls_serpath[i].dls_name;

        if ((i == cache && try_cache(s)) || try_in(s, folder, strlen(folder)))
            return true;
    }
    return cache == told->dls_cnt && try_cache(s);
}

#endif

static bool search(struct search *s)
{
    bool taken;
#ifdef __GLIBC__
    Dl_serinfo *told;
#endif

    if (strchr(s->name, '/'))
        return try_file(s, s->name);
#ifdef __GLIBC__
    told = told_folders(s->by->path);
    if (told) {
        taken = try_told(s, told);
        free(told);
        return taken || (s->by->anywhere && try_list(s, k_default_folders, ":"));
    }
#endif
    taken = try_stated(s);
    return taken;
}

bool xs_search(const struct xs_searcher *by, const char *name, bool (*try)(const char *path, void *ctx), void *ctx)
{
    struct search *s = calloc(1, sizeof(*s)); /* paths are long and the caller's stack may be small */
    bool taken;

    if (!s)
        return xs_object_look_failed();
    s->by = by;
    s->name = name;
    s->try = try;
    s->ctx = ctx;
    taken = search(s);
    free(s);
    return taken;
}

static bool keep(const char *path, void *ctx)
{
    return xs_str_copy(ctx, XS_PATH_MAX, path);
}

bool xs_search_first(const struct xs_searcher *by, const char *name, char *ret_path)
{
    return xs_search(by, name, keep, ret_path);
}
