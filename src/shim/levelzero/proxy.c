/* SPDX-License-Identifier: Apache-2.0 */
/* The first way: drivers of ours, which Level Zero's loader opens in place of the real ones
 * (ZE_ENABLE_ALT_DRIVERS). Each is a small object (driver.c) that passes the loader's question for a table of
 * functions on to here. The real driver fills the table, and our functions take the place of those that have
 * a row. Functions without a row, and every table that we do not know, are the real driver's own. */
#include "shim/levelzero/ze_table.h"

#include "base/env.h"
#include "base/log.h"
#include "hal/common/next_symbol.h"
#include "shim/levelzero/proxy.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define OUR_DRIVERS  "libxsched-ze_"
#define OUR_VERSION  (1u << 16 | 17)  /* of the interface, for our own calls */
#define TABLE_MOST   256              /* functions of a table */

_Atomic bool xs_ze_proxied;

typedef xs_ze_result (*get_table_fn)(uint32_t version, void **table);

/* NULL: one that the user names, in XSCHED_LEVELZERO_DRIVERS. */
static const char *const k_files[XS_ZE_DRIVERS] = {
#define ZE_DRIVER(number, stem) [number] = "lib" #stem ".so.1",
#include "shim/levelzero/drivers.def"
};

static const struct {
    const char *table, *getter;
    bool late;                        /* younger than the interface itself: a driver may lack it */
} k_tables[] = {
#define ZE_TABLE(table, getter, late) {#table, #getter, late},
#include "shim/levelzero/tables.def"
#undef ZE_TABLE
};

static const struct {
    const char *table;
    uint16_t slot, since;
} k_rows[ROW_COUNT] = {
#define ZE(kind, table, slot, since, name, params, args, key) [ROW_##name] = {#table, slot, since},
#include "shim/levelzero/levelzero_api.def"
#undef ZE
};

/* Whether the user names drivers: then the user wants those, and the loader opens them by itself. */
static bool others_named(void)
{
    const char *at = getenv("ZE_ENABLE_ALT_DRIVERS");

    while (at && *at) {
        const char *name = at;
        size_t n = 0;

        for (; at[n] && at[n] != ','; n++)
            name = at[n] == '/' ? at + n + 1 : name;
        if (n && strncmp(name, OUR_DRIVERS, strlen(OUR_DRIVERS)) != 0)
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

/* The file that the user named, for which this row stands. @return whether there is one */
static bool named(int driver, char *ret, size_t size)
{
    const char *at = xs_env_get(XS_ENV_XSCHED_LEVELZERO_DRIVERS);
    int before = driver;
    size_t n;

    for (int i = 0; i < driver; i++)
        before -= k_files[i] != NULL;
    for (; at && before > 0; before--) {
        at = strchr(at, ',');
        at = at ? at + 1 : NULL;
    }
    n = at ? (size_t)(strchrnul(at, ',') - at) : 0;
    if (!n || n >= size)
        return false;
    memcpy(ret, at, n);
    ret[n] = 0;
    return true;
}

/* It stays, as the loader's drivers do. @return NULL: there is none */
static void *open_named(int driver)
{
    static _Atomic(void *) handles[XS_ZE_DRIVERS]; /* writer: the thread that opened it first */
    void *handle = atomic_load(&handles[driver]), *first = NULL;
    char file[1024];

    if (handle)
        return handle;
    if (!named(driver, file, sizeof(file)) || strstr(file, OUR_DRIVERS) || !(handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL))) {
        XS_WARN_ONCE("Level Zero: a driver of XSCHED_LEVELZERO_DRIVERS does not open: the program does not see it");
        return NULL;
    }
    if (!atomic_compare_exchange_strong(&handles[driver], &first, handle))
        dlclose(handle);              /* the same one, opened twice */
    return handle;
}

/* NULL: it has none. */
static get_table_fn getter_of(int driver, const char *name)
{
    const char *file = k_files[driver];
    /* it is loaded: our object depends on it */
    void *handle = file ? dlopen(file, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD) : open_named(driver), *p;
    get_table_fn f = NULL;

    if (!handle)
        return NULL;
    p = xs_dlsym(handle, name);
    memcpy(&f, &p, sizeof(f));
    if (file)
        dlclose(handle);              /* our object still holds it */
    return f;
}

/* For xsched_priv_ze_api_fill: from the table itself, so that our own calls bypass our functions. */
struct asked {
    int driver;
    const char *table;                /* that is in `entries`; NULL: none */
    void *entries[TABLE_MOST];
};

static void *used(void *ctx, const char *table, int slot, int since, const char *name)
{
    struct asked *a = ctx;

    (void)since, (void)name;
    if (!a->table || strcmp(a->table, table) != 0) {
        get_table_fn get = NULL;

        memset(a->entries, 0, sizeof(a->entries));
        for (size_t i = 0; i < XS_ARRAY_LEN(k_tables); i++) {
            if (strcmp(k_tables[i].table, table) == 0)
                get = getter_of(a->driver, k_tables[i].getter);
        }
        if (!get || get(OUR_VERSION, a->entries) != XS_ZE_SUCCESS)
            memset(a->entries, 0, sizeof(a->entries));
        a->table = table;
    }
    return a->entries[slot];
}

static void patch(int driver, const char *table, uint32_t version, void **entries)
{
    struct xs_ze_side *side = xs_ze_side_of(driver);

    for (int row = 0; row < ROW_COUNT; row++) {
        void **at = &entries[k_rows[row].slot];

        /* an older loader's table ends before it */
        if (strcmp(k_rows[row].table, table) != 0 || k_rows[row].since > (version & 0xffff) || !*at)
            continue;
        side->real.real[row] = *at;
        *at = xs_ze_entry(driver, (enum xs_row)row);
    }
}

XS_EXPORT xs_ze_result xsched_priv_ze_table(int driver, int index, uint32_t version, void **entries)
{
    get_table_fn get;
    struct asked *a;
    xs_ze_result r;

    if (k_files[driver] && others_named()) {
        XS_WARN_ONCE("Level Zero: ZE_ENABLE_ALT_DRIVERS names other drivers: XSched does not schedule programs that "
                     "open the loader while they run");
        return XS_ZE_ERROR_UNINITIALIZED;
    }
    get = getter_of(driver, k_tables[index].getter);
    if (!get)                         /* the loader is content with a table without functions */
        return k_tables[index].late && (k_files[driver] || open_named(driver)) ? XS_ZE_SUCCESS : XS_ZE_ERROR_UNINITIALIZED;
    r = get(version, entries);
    if (r != XS_ZE_SUCCESS || version >> 16 != OUR_VERSION >> 16)
        return r;
    xs_shim_wishes_once();
    if (xs_shim_disabled)
        return r;
    if (!xs_ze_side_of(driver)->api.zeFenceCreate) {
        a = calloc(1, sizeof(*a));    /* the caller's stack may be small */
        if (!a)
            return XS_ZE_ERROR_OUT_OF_HOST_MEMORY;
        a->driver = driver;
        xsched_priv_ze_api_fill(&xs_ze_side_of(driver)->api, used, a);
        free(a);
    }
    patch(driver, k_tables[index].table, version, entries);
    if (!atomic_exchange(&xs_ze_proxied, true) && xs_shim_tracing)
        xs_trace_note("Level Zero: between the loader and its drivers");
    return r;
}

XS_EXPORT xs_ze_result xsched_priv_ze_passed(int driver, const char *getter, bool late, uint32_t version, void **entries)
{
    get_table_fn get = getter_of(driver, getter);

    if (get)
        return get(version, entries);
    return late && open_named(driver) ? XS_ZE_SUCCESS : XS_ZE_ERROR_UNINITIALIZED;
}
