/* SPDX-License-Identifier: Apache-2.0 */
/* What a callback of dl_iterate_phdr can read of an object. Valid as long as the object stays mapped: inside the
 * callback nobody unmaps one. */
#ifndef XS_HAL_MAPPED_H
#define XS_HAL_MAPPED_H

#include "base/xs_base.h"

#include <link.h>

/** The dynamic section and the texts that it names.
 *  @return false: it has none */
bool xs_mapped_dynamic(const struct dl_phdr_info *info, const ElfW(Dyn) **ret_dynamic, const char **ret_strings);

/** Whether it is one of our shims, or a name of one. */
bool xs_mapped_is_ours(const struct dl_phdr_info *info);

bool xs_mapped_holds(const struct dl_phdr_info *info, uintptr_t address);

/** Its first address, and the one behind its last. */
void xs_mapped_range(const struct dl_phdr_info *info, uintptr_t *ret_from, uintptr_t *ret_to);

#endif
