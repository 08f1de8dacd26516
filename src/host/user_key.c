/* SPDX-License-Identifier: Apache-2.0 */
#include "host/user_key.h"

#include "base/map.h"
#include "host/procinfo.h"
#include "host/subuids.h"

uint64_t xs_user_key(bool by_pod, uint32_t uid, int32_t pid, bool *ret_inside)
{
    uint32_t owner = xs_subuids_owner(uid);
    struct xs_container in;
    const char *name;
    uint64_t key = owner;

    *ret_inside = false;
    if (!by_pod)
        return key;
    xs_proc_container(pid, &in);
    name = in.pod[0] ? in.pod : in.id;
    if (!name[0])
        return key;
    *ret_inside = true;
    for (; *name; name++)
        key = xs_hash_u64(key + (unsigned char)*name);
    return key | 1ull << 63; /* no user's number */
}
