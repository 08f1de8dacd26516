/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/shares/log_share.h"

#include "base/log.h"
#include "xserver/server.h"

bool xs_log_share(struct xs_client *c, uint64_t now_ns)
{
    struct xs_quota_user *u = c->user;

    if (c->privileged || !u)
        return true;
    if (now_ns - u->log_since_ns >= XS_LOG_PERIOD_NS) {
        u->log_since_ns = now_ns;
        u->log_lines = 0;
    }
    if (u->log_lines >= XS_LOG_LINES)
        return false;
    if (++u->log_lines == XS_LOG_LINES)
        XS_WARN("uid %u caused %u lines here within %u s: xserver leaves out the next ones of that time", c->peer.uid,
                XS_LOG_LINES, (unsigned)(XS_LOG_PERIOD_NS / XS_NS_PER_S));
    return true;
}
