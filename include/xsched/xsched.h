/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that is not about one platform. */
#ifndef XSCHED_XSCHED_H
#define XSCHED_XSCHED_H

#include "xsched/hint.h"
#include "xsched/types.h"
#include "xsched/xqueue.h"

#endif
