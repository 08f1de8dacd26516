/* SPDX-License-Identifier: Apache-2.0 */
/* Level Zero's part for src/shim/common. */
#ifndef XS_SHIM_LEVELZERO_PLATFORM_H
#define XS_SHIM_LEVELZERO_PLATFORM_H

#include "base/platforms.h"

#define XS_API_ROWS     "shim/levelzero/rows.def"
#define XS_API_PLATFORM kPlatformLevelZero

#endif
