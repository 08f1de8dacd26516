/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers the last programs that left. Users see them in the status, and a process that joins anew
 * gets back the settings of an operator. */
#ifndef XS_XSERVER_HISTORY_H
#define XS_XSERVER_HISTORY_H

#include "asks/records.h"

/** When it is full, the user with most records loses one of his: the oldest that no operator changed,
 *  else the oldest. */
struct xs_history {
    uint32_t n;
    uint16_t order[XS_HISTORY_LENGTH];   /* places in records, the oldest first */
    uint16_t of_user[XS_HISTORY_LENGTH]; /* number of records that this one's user has */
    uint64_t keys[XS_HISTORY_LENGTH];    /* their share_key */
    struct xs_client_record records[XS_HISTORY_LENGTH];
};

void xs_history_add(struct xs_history *h, const struct xs_client_record *r);
/** The i-th one, from the oldest. i: below n. */
const struct xs_client_record *xs_history_at(const struct xs_history *h, uint32_t i);
/** The newest one of that process. @return NULL when there is none, or too many left since */
const struct xs_client_record *xs_history_of(const struct xs_history *h, uint64_t handle_prefix, int32_t pid, uint32_t uid);

#endif
