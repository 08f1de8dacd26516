/* SPDX-License-Identifier: Apache-2.0 */
/* The shim's part for the objects that the loader opens as drivers (driver.c). */
#ifndef XS_SHIM_LEVELZERO_PROXY_H
#define XS_SHIM_LEVELZERO_PROXY_H

#include "base/xs_base.h"
#include "hal/levelzero/ze_abi.h"

#pragma GCC visibility push(default)
/** The answer to the loader's question for a table.
 *  @param driver  row of drivers.def
 *  @param index   row of tables.def */
xs_ze_result xsched_priv_ze_table(int driver, int index, uint32_t version, void **entries);
/** The same for a table in which we take no part. @param late  a driver may lack it */
xs_ze_result xsched_priv_ze_passed(int driver, const char *getter, bool late, uint32_t version, void **entries);
#pragma GCC visibility pop

#endif
