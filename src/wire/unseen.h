/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a vendor's library that a program looked up and that no table of ours has. The list is
 * in libpreempt's memory under the name XS_UNSEEN_SYMBOL; `xsched doctor PID` reads it there. */
#ifndef XS_WIRE_UNSEEN_H
#define XS_WIRE_UNSEEN_H

#include "base/xs_base.h"

#define XS_UNSEEN_SYMBOL  "xsched_priv_unseen_list"
#define XS_UNSEEN_VERSION 1u
#define XS_UNSEEN_NAMES   8u      /* names of the first ones of each kind */
#define XS_UNSEEN_BYTES   64u

enum xs_unseen_kind {
    XS_UNSEEN_PASSES,             /* its calls pass the shim by; no other change */
    XS_UNSEEN_WORKS,              /* it hands over work or begins a capture: the process is at level 1 */
    XS_UNSEEN_KINDS
};

struct xs_unseen {
    uint32_t version;             /* XS_UNSEEN_VERSION */
    uint32_t bytes;               /* of this structure */
    _Atomic uint32_t count[XS_UNSEEN_KINDS]; /* times that the program got one; any thread of it */
    /* "cuLaunchKernel 13090"; empty during the write. Writer: the thread whose count gave this place. */
    char names[XS_UNSEEN_KINDS][XS_UNSEEN_NAMES][XS_UNSEEN_BYTES];
};

#endif
