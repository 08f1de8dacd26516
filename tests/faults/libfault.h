/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of libfault.so share. */
#ifndef LIBFAULT_H
#define LIBFAULT_H

#include <stdbool.h>

/** So many calls were made so far; failed: the one that fails now, or NULL. */
void fault_count(long calls, const char *failed);

/* vendor.c */
extern bool fault_vendor_on;
void fault_vendor_begin(void);
/** @return what is to be called instead of the vendor's function, which may be itself
 *  @param object  which object of ours asked for it */
void *fault_vendor_wrap(void *function, const char *name, const char *object, void *(*find)(void *, const char *));

#endif
