/* SPDX-License-Identifier: Apache-2.0 */
/* An object that a program opens with RTLD_DEEPBIND looks into what it depends on before it looks at preloaded objects,
 * and its dlopen is the C library's own. So it calls the vendor's library past us, unless we have that library's name.
 *
 * A shim that takes no names (XS_API_NAMES) takes them for such an object alone: each that leads the object to a file
 * of the vendor's, and that no mapped object has. For each there is an object without functions, which depends on us
 * (shim/common/alias.c). A name whose library is absent stays absent. */
#include "shim/common/loader.h"

#include XS_SHIM_PLATFORM

#include "base/env.h"
#include "base/log.h"
#include "base/str.h"
#include "hal/common/needs.h"
#include "hal/common/objects.h"
#include "hal/common/search.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef XS_API_NAMES

#define NAME_BYTES 64u

/* Beside LIBDIR/xsched/libshimX.so, and under LIBDIR/libshimX.so. */
static bool object_of_name(const char *name, char *ret_path, size_t size)
{
    static const char *const folders[] = {XS_API_NAMES, "xsched/" XS_API_NAMES};
    const char *slash;
    Dl_info info;

    if (!dladdr((const void *)object_of_name, &info) || !(slash = strrchr(info.dli_fname, '/')))
        return false;
    for (size_t i = 0; i < XS_ARRAY_LEN(folders); i++) {
        int n = snprintf(ret_path, size, "%.*s/%s/libxsched-%s", (int)(slash - info.dli_fname), info.dli_fname, folders[i],
                         name + strlen("lib"));

        if (n > 0 && (size_t)n < size && xs_object_is_file_of_ours(ret_path))
            return true;
    }
    return false;
}

static void take_name(const struct xs_searcher *by, const char *name)
{
    char *path = malloc(XS_PATH_MAX); /* the caller's stack may be small */

    if (path && !xs_object_named(name, path) && xs_search_first(by, name, path) &&
        object_of_name(name, path, XS_PATH_MAX) && dlopen(path, RTLD_LAZY | RTLD_LOCAL))
        XS_INFO("%s: XSched answers to %s, for an object that the program opens with RTLD_DEEPBIND",
                xs_api_vendor.platform->name, name);
    free(path);
}

static char *text_of_file(const char *file, int64_t tag)
{
    char *text = malloc(XS_PATH_MAX);

    if (text && xs_object_file_text(file, tag, NULL, text, XS_PATH_MAX))
        return text;
    free(text);
    return NULL;
}

static void take_names(const char *file)
{
    bool by_path = strchr(file, '/') != NULL;
    char *rpath = by_path ? text_of_file(file, DT_RPATH) : NULL;
    char *runpath = by_path ? text_of_file(file, DT_RUNPATH) : NULL;
    struct xs_searcher by = {by_path ? file : NULL, rpath, runpath, false};
    char name[NAME_BYTES];

    for (size_t i = 0; xs_platform_soname(xs_api_vendor.platform, i, name, sizeof(name)); i++)
        take_name(&by, name);
    free(rpath);
    free(runpath);
}

#else

static void take_names(const char *file)
{
    (void)file;
}

#endif

void xs_loader_deep(const char *file)
{
    if (!xs_env_bool(XS_ENV_XSCHED_DISABLE, false))
        take_names(file);
}
