/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of LD_PRELOAD: those of the shims that this machine can use, by a path that suits programs of each word size. */
#include "launcher/preload.h"

#include "base/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Whether a program here can have a device of the platform: its library is installed, or named, or the kernel's driver is
 * loaded, under which programs bring the library along (PyTorch's wheels for ROCm do). A shim that the user preloads himself
 * is for a platform that he uses. */
static bool is_usable(const struct xs_platform *p)
{
    const char *preload = getenv("LD_PRELOAD");
    char name[128];

    snprintf(name, sizeof(name), "/libshim%s.so", p->stem);
    if (xs_env_get(p->lib) || (preload && strstr(preload, name)))
        return true;
    snprintf(name, sizeof(name), "/sys/module/%s", p->module);
    if (p->module[0] && access(name, F_OK) == 0)
        return true;
    for (size_t i = 0; xs_platform_soname(p, i, name, sizeof(name)); i++)
        if (xs_library_is_installed(name))
            return true;
    /* Windows' kernel is the driver of both vendors there, and has no such module */
    return p->module[0] && access("/dev/dxg", F_OK) == 0;
}

/* The platform of a shim; NULL: it is of none that we know. */
static const struct xs_platform *platform_of(const struct xs_shims *s, const char *path)
{
    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++)
        if (xs_shims_get(s, &xs_platforms[i]) == path)
            return &xs_platforms[i];
    return NULL;
}

/* What glibc's dynamic linker puts in the place of $PLATFORM in programs of this word size, with any of these names. */
static bool has_platform(void)
{
    static const char *const names[] = {"x86_64", "haswell", "xeon_phi"};
    const char *own = (const char *)getauxval(AT_PLATFORM); /* NOLINT(performance-no-int-to-ptr): the kernel's interface */

    for (size_t i = 0; own && i < XS_ARRAY_LEN(names); i++)
        if (strcmp(own, names[i]) == 0)
            return true;
    return false;
}

/* LIBDIR/xsched/NAME by its other path, LIBDIR/xsched-words/$PLATFORM/xsched/NAME (cmake/XsWords.cmake).
 * @return false: there is none */
static bool by_word(const struct xs_shims *s, const char *path, char ret[PATH_MAX])
{
    const char *name = strrchr(path, '/');
    size_t n = strlen(s->folder);

    if (n < 7 || strcmp(s->folder + n - 7, "/xsched") != 0 || !has_platform())
        return false;
    return (size_t)snprintf(ret, PATH_MAX, "%s-words/$PLATFORM/xsched%s", s->folder, name) < PATH_MAX && access(ret, R_OK) == 0;
}

size_t xs_shims_entries(const struct xs_shims *s, bool words, char ret[XS_SHIMS_MAX][PATH_MAX])
{
    const char *paths[XS_SHIMS_MAX];
    size_t count = xs_shims_preloaded(s, paths), kept = 0;

    for (size_t i = 0; i < count; i++) {
        const struct xs_platform *p = platform_of(s, paths[i]);

        if (!p || is_usable(p))
            paths[kept++] = paths[i];
    }
    if (!kept) { /* a machine that only starts programs, on others (a login node): it tells nothing about those */
        kept = xs_shims_preloaded(s, paths);
    }
    for (size_t i = 0; i < kept; i++)
        if (!words || !by_word(s, paths[i], ret[i]))
            snprintf(ret[i], PATH_MAX, "%s", paths[i]);
    return kept;
}
