/* SPDX-License-Identifier: Apache-2.0 */
/* Notices the death of a joined process before the kernel has freed its memory. That takes 0.1 s and
 * more for a large one, and only then come hang-up and pidfd. The control thread's word in the client
 * page is a robust futex, and threads of ours sleep on these words. A hint only: it can miss a death;
 * then the socket and the pidfd show it. */
#ifndef XS_XSERVER_DEATH_WATCH_H
#define XS_XSERVER_DEATH_WATCH_H

#include "base/xs_base.h"

#define XS_OWNER_DIED 0x40000000u /* FUTEX_OWNER_DIED */

struct xs_death_watch;

/** @param event_fd  eventfd that it signals when some watched word shows a death
 *  @return NULL when the kernel has no futex_waitv (before 5.16) or memory is short */
struct xs_death_watch *xs_death_watch_new(int event_fd);
void xs_death_watch_free(struct xs_death_watch *d);
/** Watches a word, which must stay mapped until xs_death_watch_remove.
 *  @return a slot, or -errno: -ENOSPC too many */
int xs_death_watch_add(struct xs_death_watch *d, _Atomic uint32_t *word);
void xs_death_watch_remove(struct xs_death_watch *d, int slot);

#endif
