/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a vendor's library that a program was given and that no table of ours knows. libpreempt keeps the list in
 * memory under the name XS_UNSEEN_SYMBOL; `xsched doctor PID` reads it there. */
#ifndef XS_WIRE_UNSEEN_H
#define XS_WIRE_UNSEEN_H

#include "base/xs_base.h"

#define XS_UNSEEN_SYMBOL  "xsched_priv_unseen_list"
#define XS_UNSEEN_VERSION 1u
#define XS_UNSEEN_NAMES   8u      /* the first ones of each kind are named */
#define XS_UNSEEN_BYTES   64u

enum xs_unseen_kind {
    XS_UNSEEN_PASSES,             /* its calls are not seen, and nothing else changes */
    XS_UNSEEN_WORKS,              /* it hands over work or begins a capture: the process is at level 1 */
    XS_UNSEEN_KINDS
};

struct xs_unseen {
    uint32_t version;             /* XS_UNSEEN_VERSION */
    uint32_t bytes;               /* of this structure */
    _Atomic uint32_t count[XS_UNSEEN_KINDS]; /* times that one was given; any thread of the program */
    /* "cuLaunchKernel 13090", empty while it is being written. Writer: the thread that counted to this place. */
    char names[XS_UNSEEN_KINDS][XS_UNSEEN_NAMES][XS_UNSEEN_BYTES];
};

#endif
