/* SPDX-License-Identifier: Apache-2.0 */
/* Subordinate user ids (subuid(5)). A process with such an id counts for the owner of the range; else
 * he could be as many users as the range has numbers. One thread reads the file, any may look; see
 * xs_subuids_owner. */
#ifndef XS_HOST_SUBUIDS_H
#define XS_HOST_SUBUIDS_H

#include "base/xs_base.h"

struct xs_subuid_range {
    uint32_t first, last; /* both belong to it */
    uint32_t owner;
};

struct xs_subuids {
    struct xs_subuid_range *ranges; /* by first; they do not overlap */
    size_t n, cap;
};

/** Reads lines NAME:FIRST:COUNT out of a text, and changes the text by that. Skips other lines. Where
 *  ranges overlap, the one that starts lower counts. No range has number 0.
 *  @param find_user  the number of a user by name. @return false when there is none
 *  @return 0 or -ENOMEM; *ret is the caller's, see xs_subuids_fini */
int xs_subuids_parse(char *text, bool (*find_user)(const char *name, uint32_t *ret_uid), struct xs_subuids *ret);
void xs_subuids_fini(struct xs_subuids *s);
/** The owner of the range that the number is in, else the number itself. */
uint32_t xs_subuids_find(const struct xs_subuids *s, uint32_t uid);

/** Reads /etc/subuid, at start and at a reload. A file that is not there has no lines. */
void xs_subuids_load(void);
void xs_subuids_unload(void);
/** As xs_subuids_find, in the file as last read. Any thread. */
uint32_t xs_subuids_owner(uint32_t uid);

#endif
