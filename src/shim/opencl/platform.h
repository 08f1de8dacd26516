/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL's part for src/shim/common. */
#ifndef XS_SHIM_OPENCL_PLATFORM_H
#define XS_SHIM_OPENCL_PLATFORM_H

#include "xsched/types.h"

#define XS_API_ROWS     "shim/opencl/rows.def"
#define XS_API_PLATFORM kPlatformOpenCL

#endif
