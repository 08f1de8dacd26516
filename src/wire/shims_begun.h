/* SPDX-License-Identifier: Apache-2.0 */
/* Which shims have seen a call of the program. The bytes are in libpreempt's memory under the name XS_SHIMS_BEGUN_SYMBOL;
 * `xsched doctor PID` reads them there: a program that uses its device past the shim has none. */
#ifndef XS_WIRE_SHIMS_BEGUN_H
#define XS_WIRE_SHIMS_BEGUN_H

#include "base/xs_base.h"

#define XS_SHIMS_BEGUN_SYMBOL  "xsched_priv_shims_begun"
#define XS_SHIMS_BEGUN_VERSION 1u

struct xs_shims_begun {
    uint32_t version;             /* XS_SHIMS_BEGUN_VERSION */
    uint32_t bytes;               /* of this structure */
    _Atomic uint8_t begun[256];   /* [XPlatform]; writer: xsched_priv_shim_here, in any thread */
};

#endif
