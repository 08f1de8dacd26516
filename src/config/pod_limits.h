/* SPDX-License-Identifier: Apache-2.0 */
/* How far the priorities of programs in a pod go (option pod-limits-file). An agent of the node writes the file anew
 * whenever pods come or go, so xserver looks at it whenever a program joins. Main thread. */
#ifndef XS_CONFIG_POD_LIMITS_H
#define XS_CONFIG_POD_LIMITS_H

#include "base/xs_base.h"

#define XS_POD_LIMITS_MAX 65536u

/** Names the file; "" for none. It need not be there: then no pod has limits. */
void xs_pod_limits_set_file(const char *path);
bool xs_pod_limits_are_wanted(void);
/** The limits of a pod as the file has them now. A file with an error changes nothing; the log has the reason once.
 *  @param pod  its UID as xs_proc_container() gives it; "": none
 *  @return whether it has any */
bool xs_pod_limits_get(const char *pod, int32_t *ret_least, int32_t *ret_most);

#endif
