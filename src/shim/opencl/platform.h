/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL's part for src/shim/common. */
#ifndef XS_SHIM_OPENCL_PLATFORM_H
#define XS_SHIM_OPENCL_PLATFORM_H

#include "hal/opencl/hal.h"
#include "xsched/types.h"

#define XS_API_NAME     "OpenCL"
#define XS_API_LIBRARY  "loader"
#define XS_API_VERSION_NODES 1             /* exported functions have versions, as the loader's */
#define XS_API_NAMES_BEGIN "cl"
#define XS_API_ANSWERS  0                  /* a loader that a program opens by its path takes us as a layer */
#define XS_API_ROWS     "shim/opencl/rows.def"
#define XS_API_PLATFORM kPlatformOpenCL
#define XS_API_SONAME   "libOpenCL.so.1"
#define XS_API_MULTI    1                  /* wheels carry a loader of their own beside the system's */
#define XS_API_OWN_NAME 1                  /* programs have our functions by our SONAME, which leads to one loader */

#define xs_api_vendor   xsched_priv_ocl_vendor

#endif
