/* SPDX-License-Identifier: Apache-2.0 */
/* Initial values of XQueues, from the environment or plain. */
#ifndef XS_XQUEUE_CONFIG_H
#define XS_XQUEUE_CONFIG_H

#include "base/settings/hint_rows.h"
#include "policy/policies.h"

#define XS_DEFAULT_THRESHOLD 16   /* the answer of queries while the bound is by time */
#define XS_DEFAULT_BATCH     8

struct xs_queue_defaults {
    struct xs_hints hints;
    struct xs_hints_later later;
    int32_t level;
    bool level_auto;              /* the highest that the platform has, without a log line */
    int64_t threshold, batch;     /* threshold 0: by estimated device time */
};

void xs_queue_defaults_plain(struct xs_queue_defaults *ret);
void xs_queue_defaults_from_env(struct xs_queue_defaults *ret);
/** XSCHED_AUTO_XQUEUE, or XSCHED_PRIORITY alone. */
bool xs_auto_enabled(void);

#endif
