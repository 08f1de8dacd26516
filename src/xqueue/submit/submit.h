/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of xsched_priv_submit_begin beside those of interface.h. The way of one command is in submit.c. */
#ifndef XS_XQUEUE_SUBMIT_H
#define XS_XQUEUE_SUBMIT_H

/** From the deferred list itself, so it does not wait for it. */
#define XS_SUBMIT_FROM_LIST 0x10000u

#endif
