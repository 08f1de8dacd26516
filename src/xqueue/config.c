/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/config.h"

#include "base/env.h"
#include "base/log.h"
#include "base/str.h"

#include "xsched/types.h"

void xs_queue_defaults_plain(struct xs_queue_defaults *ret)
{
    *ret = (struct xs_queue_defaults){
        .hints = {.priority = PRIORITY_DEFAULT, .utilization = UTILIZATION_DEFAULT, .deadline_us = NO_DEADLINE,
                  .laxity_us = NO_LAXITY, .lax_priority = PRIORITY_DEFAULT, .critical_priority = PRIORITY_DEFAULT},
        .level = kPreemptLevelInterrupt,
        .batch = XS_DEFAULT_BATCH,
    };
}

void xs_queue_defaults_from_env(struct xs_queue_defaults *ret)
{
    const char *level = xs_env_get(XS_ENV_XSCHED_AUTO_XQUEUE_LEVEL);
    int64_t priority;

    xs_queue_defaults_plain(ret);
    ret->level_auto = !level || xs_str_equal_nocase(level, "auto");
    if (!ret->level_auto) {
        ret->level = (int32_t)xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_LEVEL, 0, 1, 3);
        ret->level_auto = ret->level == 0; /* no valid text: as if unset */
        ret->level = ret->level_auto ? kPreemptLevelInterrupt : ret->level;
    }
    priority = xs_env_i64(XS_ENV_XSCHED_PRIORITY, PRIORITY_DEFAULT, PRIORITY_NO_EXECUTE, PRIORITY_MAX);
    priority = xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_PRIORITY, priority, PRIORITY_NO_EXECUTE, PRIORITY_MAX);
    ret->hints.priority = (int32_t)priority;
    ret->hints.utilization = (int32_t)xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_UTILIZATION, UTILIZATION_DEFAULT,
                                                 UTILIZATION_MIN, UTILIZATION_MAX);
    ret->hints.deadline_us = xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_DEADLINE, NO_DEADLINE, -1, INT64_MAX);
    if (ret->hints.deadline_us == 0)
        ret->hints.deadline_us = NO_DEADLINE;
    ret->hints.laxity_us = xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_LAXITY, NO_LAXITY, -1, INT64_MAX);
    if (ret->hints.laxity_us >= 0) {
        ret->hints.lax_priority = PRIORITY_DEFAULT;
        ret->hints.critical_priority = ret->hints.priority;
    }
    ret->threshold = xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_THRESHOLD, 0, 1, INT64_MAX);
    ret->batch = xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_BATCH_SIZE,
                            ret->threshold > 0 ? XS_MIN(ret->threshold, XS_DEFAULT_BATCH) : XS_DEFAULT_BATCH, 1, INT64_MAX);
    if (ret->threshold > 0 && ret->batch > ret->threshold) {
        XS_WARN_ONCE("XSCHED_AUTO_XQUEUE_BATCH_SIZE is larger than the threshold; using %lld",
                     (long long)ret->threshold);
        ret->batch = ret->threshold;
    }
}

bool xs_auto_enabled(void)
{
    if (xs_env_bool(XS_ENV_XSCHED_DISABLE, false))
        return false;
    return xs_env_bool(XS_ENV_XSCHED_AUTO_XQUEUE, xs_env_get(XS_ENV_XSCHED_PRIORITY) != NULL);
}
