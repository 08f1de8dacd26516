/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime with functions that are newer than the table. The dynamic linker binds a program that is linked with one to the
 * runtime, past the shim, and tells nobody. The runtime's version nodes tell that there are such functions. Those that
 * hipGetProcAddress gives become known one by one (shim/stream/answer.c). */
#include "shim/stream/stream_table.h"

#include "base/log.h"
#include "base/mapped/mapped_symbol.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#define WITHOUT_NUMBER 799 /* hip_profiler_ext, in hip_api.def */

static int newest_row(void)
{
    int newest = 0;

    for (int row = 0; row < ROW_COUNT; row++)
        if (xs_row_info[row].version > newest && xs_row_info[row].version != WITHOUT_NUMBER)
            newest = xs_row_info[row].version;
    return newest;
}

/* hip_7.18 -> 718; 0: another name */
static int node_version(const char *name)
{
    int major = 0, minor = 0;

    if (strncmp(name, "hip_", 4) != 0)
        return 0;
    for (name += 4; *name >= '0' && *name <= '9' && major < 1000; name++)
        major = major * 10 + *name - '0';
    if (*name != '.')
        return 0;
    for (name++; *name >= '0' && *name <= '9' && minor < 1000; name++)
        minor = minor * 10 + *name - '0';
    return *name || minor > 99 ? 0 : major * 100 + minor;
}

static int newest_node(const struct link_map *map)
{
    const ElfW(Verdef) *def = NULL;
    const char *strings = NULL;
    int newest = 0;

    for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_VERDEF)
            def = xs_mapped_at(map->l_addr, d);
        else if (d->d_tag == DT_STRTAB)
            strings = xs_mapped_at(map->l_addr, d);
    }
    while (def && strings) {
        const ElfW(Verdaux) *name = (const ElfW(Verdaux) *)((const char *)def + def->vd_aux);
        int version = node_version(strings + name->vda_name);

        newest = version > newest ? version : newest;
        def = def->vd_next ? (const ElfW(Verdef) *)((const char *)def + def->vd_next) : NULL;
    }
    return newest;
}

void xs_api_library_found(void *handle)
{
    static _Atomic bool said;
    int known = newest_row(), has = 0;
    struct link_map *map = NULL;

#ifdef __GLIBC__
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0)
        has = newest_node(map);
#else
    (void)handle;
#endif
    if (has <= known || atomic_exchange(&said, true))
        return;
    XS_LOG_AT(xsched_priv_auto() ? XS_LOG_WARN : XS_LOG_INFO,
              "HIP: %s has functions up to hip_%d.%d, and XSched knows those up to hip_%d.%d: calls of newer ones pass unseen",
              map->l_name, has / 100, has % 100, known / 100, known % 100);
}
