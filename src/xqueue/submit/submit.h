/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of xsched_priv_submit_begin beside those of interface.h. The way of one command is in submit.c. */
#ifndef XS_XQUEUE_SUBMIT_H
#define XS_XQUEUE_SUBMIT_H

/** From the worker of the deferred list, so the command does not wait for the list. */
#define XS_SUBMIT_FROM_LIST 0x10000u

#endif
