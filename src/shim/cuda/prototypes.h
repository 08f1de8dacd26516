/* SPDX-License-Identifier: Apache-2.0 */
/* The entries that are not plain jumps. */
#ifndef XS_SHIM_CUDA_PROTOTYPES_H
#define XS_SHIM_CUDA_PROTOTYPES_H

#include "shim/cuda/table.h"

#define CU(kind, symbol, name, version, streams, params, args, stream, key) XS_EXPORT CUresult symbol params;
#include "shim/cuda/cuda_api.def"

#endif
