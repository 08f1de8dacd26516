/* SPDX-License-Identifier: Apache-2.0 */
/* Which file the dynamic linker gives to each object that needs a vendor's library, or gave it without us where a
 * name of ours stands in front. It takes a mapped one of this name (a SONAME, or a name by which it came) before it
 * looks into folders. So the order in which names were needed counts. */
#ifndef XS_HAL_COPIES_H
#define XS_HAL_COPIES_H

#include "hal/common/needs.h"
#include "hal/common/search.h"

struct xs_copies;

/** @param needs    stays with the caller, and must live as long
 *  @param instead  the file that the user wants where the program has none of this name yet; NULL: none
 *  @return to be freed by xs_copies_free; NULL: no memory */
struct xs_copies *xs_copies_new(const struct xs_needs *needs, const char *instead);
void xs_copies_free(struct xs_copies *c);

/** The file of the first need or copy of the caller's scope. Calls dl* functions: the caller has no lock of ours.
 *  @param visible     the file that dlopen has made visible to all (RTLD_GLOBAL); NULL: none
 *  @param ret_absent  the name that leads nowhere. Without us the caller would not have been loaded. NULL: there is none
 *  @return NULL: ret_absent says so, or the caller's scope has no such library */
const char *xs_copies_of_caller(struct xs_copies *c, const char *visible, const char **ret_absent);

/** The file that the caller gets for a name that it opens. @param mapped_only  RTLD_NOLOAD */
const char *xs_copies_opened(struct xs_copies *c, const char *name, bool mapped_only);

/** Whether every need and every mapped copy is this file. */
bool xs_copies_all_are(struct xs_copies *c, const char *path);

#endif
