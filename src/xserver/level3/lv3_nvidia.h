/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 on NVIDIA's driver from outside: keeps the channel groups that programs passed, and starts a thread
 * that gives them slices. The driver may take milliseconds for a call, so the main loop only says
 * what it wants; the last wish counts. Main loop's thread. */
#ifndef XS_XSERVER_LEVEL3_LV3_NVIDIA_H
#define XS_XSERVER_LEVEL3_LV3_NVIDIA_H

#include "asks/records.h"
#include "nvrm/channel_group.h"
#include "wire/wire.h"
#include "xserver/level3/judge.h"

#include "xsched/types.h"

#define XS_LV3_GROUPS   32u       /* of one program */
#define XS_LV3_CHANNELS 256u      /* of one group */

struct xs_lv3;
struct xs_lv3_program;

/** @return NULL when no thread starts */
struct xs_lv3 *xs_lv3_new(void);
/** Gives everything back first. */
void xs_lv3_free(struct xs_lv3 *l);

/** @param pid  for the log */
struct xs_lv3_program *xs_lv3_join(struct xs_lv3 *l, int32_t pid);
/** Closes the descriptors of the program as soon as no call is under way on them: they would keep a
 *  dead program's memory on the device.
 *  @param lives  give everything back before that */
void xs_lv3_leave(struct xs_lv3 *l, struct xs_lv3_program *p, bool lives);

/** Takes a group, or more channels of one.
 *  @param fds  the descriptors that it keeps become -1
 *  @return NULL, or why not */
const char *xs_lv3_group(struct xs_lv3 *l, struct xs_lv3_program *p, const struct xs_msg_nv_group *m, int *fds,
                         unsigned n_fds);
/** Forgets the groups that did not come again since the last such call. */
void xs_lv3_groups_end(struct xs_lv3 *l, struct xs_lv3_program *p);

/** The devices that it has groups on. @return how many, at most max */
size_t xs_lv3_devices(struct xs_lv3 *l, const struct xs_lv3_program *p, XDevice *ret, size_t max);

/** Whether the driver refused something of this program. */
bool xs_lv3_denied(const struct xs_lv3_program *p);

/** The wish for its groups on the device: slice_us may be XS_LV3_SLICE_DEFAULT. */
void xs_lv3_want(struct xs_lv3 *l, struct xs_lv3_program *p, XDevice device, uint64_t slice_us);

void xs_lv3_counts(struct xs_lv3 *l, struct xs_lv3_counts *ret);
/** Waits until there is nothing more to do; for tests. */
void xs_lv3_settle(struct xs_lv3 *l);

#endif
