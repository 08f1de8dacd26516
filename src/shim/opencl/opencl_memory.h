/* SPDX-License-Identifier: Apache-2.0 */
/* XSCHED_MEM_LIMIT on OpenCL. */
#ifndef XS_SHIM_OPENCL_OPENCL_MEMORY_H
#define XS_SHIM_OPENCL_OPENCL_MEMORY_H

#include "shim/opencl/opencl_table.h"

/** Puts the counting functions into a table of real ones, before other threads use the table; does nothing
 *  without a limit. */
void xs_ocl_memory_wrap(struct xs_ocl_table *t);

#endif
