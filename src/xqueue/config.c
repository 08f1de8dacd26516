/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/config.h"

#include "base/env.h"
#include "base/log.h"
#include "base/str.h"

#include "xsched/types.h"

#define LEVEL_AUTO 3 /* behind 1, 2 and 3 in the row of env.def */

void xs_queue_defaults_plain(struct xs_queue_defaults *ret)
{
    *ret = (struct xs_queue_defaults){
#define QUEUE_HINT(symbol, number, field, type, without, ...) .hints.field = without,
#define MORE(symbol, field, type, without, ...) .hints.field = without,
#define LATER_HINT(since, fold, symbol, number, field, type, without, ...) .later.field = without,
#include "base/settings/hints.def"
        .level = kPreemptLevelInterrupt,
        .batch = XS_DEFAULT_BATCH,
    };
}

void xs_queue_defaults_from_env(struct xs_queue_defaults *ret)
{
    int64_t level = xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_LEVEL, LEVEL_AUTO);

    xs_queue_defaults_plain(ret);
    ret->level_auto = level == LEVEL_AUTO;
    if (!ret->level_auto)
        ret->level = (int32_t)level + 1;
    ret->hints.priority = (int32_t)xs_env_i64(XS_ENV_XSCHED_PRIORITY, PRIORITY_DEFAULT);
#define QUEUE_HINT(symbol, number, field, type, ...) \
    ret->hints.field = (__typeof__(ret->hints.field))xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_##symbol, ret->hints.field);
#define LATER_HINT(since, fold, symbol, number, field, ...) \
    ret->later.field = xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_##symbol, ret->later.field);
#include "base/settings/hints.def"
    if (ret->hints.laxity_us >= 0)
        ret->hints.critical_priority = ret->hints.priority;
    ret->threshold = xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_THRESHOLD, 0);
    ret->batch = xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_BATCH_SIZE,
                            ret->threshold > 0 ? XS_MIN(ret->threshold, XS_DEFAULT_BATCH) : XS_DEFAULT_BATCH);
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
