/* SPDX-License-Identifier: Apache-2.0 */
/* Level Zero's loader opens this object in place of the driver XS_ZE_DRIVER of drivers.def. It depends on
 * that driver by a filter, so the loader finds there the functions that are not here. An object for a driver
 * that the user named (XS_ZE_NAMED) depends on none, and has the functions for all tables that we know. */
#include "shim/levelzero/proxy.h"

enum {
#define ZE_TABLE(table, getter, late) INDEX_##getter,
#include "shim/levelzero/tables.def"
#undef ZE_TABLE
};

#define ZE_TABLE(table, getter, late)                                                             \
    XS_EXPORT xs_ze_result getter(uint32_t version, void **entries);                              \
    XS_EXPORT xs_ze_result getter(uint32_t version, void **entries)                               \
    {                                                                                             \
        return xsched_priv_ze_table(XS_ZE_DRIVER, INDEX_##getter, version, entries);              \
    }
#include "shim/levelzero/tables.def"
#undef ZE_TABLE

#ifdef XS_ZE_NAMED
#define ZE_PASSED(getter, late)                                                                   \
    XS_EXPORT xs_ze_result getter(uint32_t version, void **entries);                              \
    XS_EXPORT xs_ze_result getter(uint32_t version, void **entries)                               \
    {                                                                                             \
        return xsched_priv_ze_passed(XS_ZE_DRIVER, #getter, late, version, entries);              \
    }
#include "shim/levelzero/passed.def"
#undef ZE_PASSED
#endif
