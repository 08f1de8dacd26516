/* SPDX-License-Identifier: Apache-2.0 */
/* The log lines about calls that we do not see. */
#include "shim/common/loader.h"

#include "base/env.h"
#include "base/log.h"
#include "shim/common/trace.h"
#include "xqueue/interface.h"

#include XS_SHIM_PLATFORM

static const char *const k_ways[] = {
    [XS_LOADER_NAMESPACE] = "a namespace of its own (dlmopen)",
    [XS_LOADER_BELOW] = "a way past us (an object that has RTLD_DEEPBIND, a namespace of its own)",
};

void xs_loader_note(enum xs_loader_way way, const char *file)
{
    static _Atomic uint32_t said;

    if (xs_env_bool(XS_ENV_XSCHED_DISABLE, false) || (atomic_fetch_or(&said, 1u << way) & 1u << way))
        return;
    if (xsched_priv_auto())
        XS_WARN(XS_API_NAME ": the program reaches %s by %s: XSched does not schedule those calls",
                file ? file : "the " XS_API_LIBRARY, k_ways[way]);
    else
        XS_INFO(XS_API_NAME ": the program reaches %s by %s", file ? file : "the " XS_API_LIBRARY, k_ways[way]);
    if (xs_trace_start())
        xs_trace_note(XS_API_NAME ": the program reaches %s by %s: XSched does not see those calls",
                      file ? file : "the " XS_API_LIBRARY, k_ways[way]);
}
