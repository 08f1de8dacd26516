/* SPDX-License-Identifier: Apache-2.0 */
/* What src/shim/common needs to know of OpenCL. */
#ifndef XS_SHIM_OPENCL_PLATFORM_H
#define XS_SHIM_OPENCL_PLATFORM_H

#include "xsched/types.h"

#define XS_API_ROWS     "shim/opencl/rows.def"
#define XS_API_PLATFORM kPlatformOpenCL

#endif
