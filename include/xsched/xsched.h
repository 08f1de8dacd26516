/* SPDX-License-Identifier: Apache-2.0 */
/* All headers that are for every platform. */
#ifndef XSCHED_XSCHED_H
#define XSCHED_XSCHED_H

#include "xsched/hint.h"
#include "xsched/types.h"
#include "xsched/xqueue.h"

#endif
