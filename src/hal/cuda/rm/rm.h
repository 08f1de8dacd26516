/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 on NVIDIA's stock driver, the process's own side. It watches the process's requests to the driver
 * in ioctl(2), and so learns of its channel groups for compute work. This process, or one that gets the
 * descriptors, can then give them time slices. docs/decisions/0010-level3-nvidia.md says on what this relies.
 *
 * The table is in static memory; a thread has its lock for a few stores, never across an ioctl. */
#ifndef XS_CUDA_RM_H
#define XS_CUDA_RM_H

#include "nvrm/channel_group.h"

#define XS_RM_OBJECTS        2048u   /* devices, subdevices, groups and channels of one process */
#define XS_RM_GROUPS         64u     /* of them, groups for compute work */
#define XS_RM_GROUP_CHANNELS 256u

/** Whether the table needs this request: two compares for everything else. */
static inline bool xs_rm_wants(unsigned long request)
{
    return ((request >> 8) & 0xff) == 'F' &&
           (request == XS_NVRM_IOC_ALLOC || request == XS_NVRM_IOC_FREE || request == XS_NVRM_IOC_WRAPPED ||
            request == XS_NVRM_IOC_ALLOC_SHORT || request == XS_NVRM_IOC_DUP);
}

/** Before an ioctl(2) that xs_rm_wants: forgets the object that it frees, so that no thread acts on a handle
 *  with a new use. Any thread; keeps errno. */
void xs_rm_observe_before(int fd, unsigned long request, const void *arg);
/** After it: remembers the object that it made. Sets a group's slice again before it returns, if it made a
 *  channel there. @param result  of ioctl(2)
 *  @return whether it made a channel group: the program will give work to the driver */
bool xs_rm_observe(int fd, unsigned long request, const void *arg, int result);
/** The exported ioctl calls this after that; the object that links it defines it. */
void xs_rm_group_made(void);
/** This descriptor is the driver's no longer: forgets all objects made through it. Nothing tells us when a
 *  program closes one (we do not watch close(2)), so each user looks first. Only tries the lock. */
void xs_rm_closed(int fd);

/** One channel group for compute work. */
struct xs_rm_group {
    uint32_t id;                  /* unique in this process, no other group ever gets it; not 0 */
    uint32_t changes;             /* counts changes of its channels */
    struct xs_nvrm_group handles; /* descriptors are the program's own */
    uint32_t device_instance;     /* the driver's number of the device */
    uint32_t n_channels;
    uint32_t channels[XS_RM_GROUP_CHANNELS];
};

/** Changes with every change of the groups. Any thread, no lock. */
uint32_t xs_rm_generation(void);
/** Copies the i-th group. Only tries the lock.
 *  @return 0, -ENOENT (no more), -EAGAIN (another thread changes the table: later) */
int xs_rm_group_get(uint32_t index, struct xs_rm_group *ret);

/** 3, or 2 when this process has no level 3 (for its life). */
int xs_rm_level(void);
/** Why it is 2: static text; "" at 3. */
const char *xs_rm_why(void);
/** Warns that there is no level 3, and why: one line a process. Says nothing if the user has switched it off
 *  or shares the device in space, and if there is no driver of NVIDIA's that could have it. */
void xs_rm_warn(void);
/** Whether it is 3 only because `xsched doctor --probe` has seen it work: XSched does not know so new a
 *  driver. */
bool xs_rm_by_probe(void);
/** For the probe, before it calls the driver: treats a newer driver as a known one. */
void xs_rm_try_newer(void);
/** Ends level 3 in this process: everything gets its default back, one line says why. */
void xs_rm_demote(const char *why);
/** The same for a caller that says why itself. */
void xs_rm_end(const char *why);

#define XS_RM_SLICE_DEFAULT 0ull

/** Gives all groups of a device this slice; XS_RM_SLICE_DEFAULT the slice that they had. One denied call ends
 *  level 3. @param pci_address  of the device, or UINT32_MAX for all @return 0 or -errno: -ENOENT there is
 *  none */
int xs_rm_set_slices(uint32_t pci_address, uint64_t us);
/** Default slices: the scheduler is gone. Calls no vendor function, waits for no lock. @return false: another
 *  thread changes the table, call again soon */
bool xs_rm_restore(void);

/** PCI address of a group's device, with one request for each. @return 0 or -errno */
int xs_rm_group_address(const struct xs_rm_group *g, uint32_t *ret_address);
/** The same and the slice that the driver gave it, without waiting for a lock.
 *  @return 0 or -errno: -EAGAIN later; -ESTALE its descriptors are not the driver's any more */
int xs_rm_group_facts(const struct xs_rm_group *g, uint32_t *ret_address, uint64_t *ret_default_us);

/** Offers the groups to a scheduler outside, through libpreempt (rm_publish.c). Once, any thread. */
void xs_rm_publish(void);

/** Lends the groups to queues of other platforms, whose libraries reach the same driver. Any thread, no
 *  lock. */
void xs_rm_lend(void);

/** Called after each change of the groups, in the thread that made it, with no lock held. */
void xs_rm_set_listener(void (*changed)(void));

/** For tests: forgets everything. */
void xs_rm_reset(void);

/** For people and tests. */
struct xs_rm_counts {
    uint64_t observed, objects, groups, channels, other_groups, unknown_classes, controls, refused;
};
void xs_rm_counts(struct xs_rm_counts *ret);

#endif
