/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 on NVIDIA's stock driver, the process's own side: what the driver was asked to make is
 * watched as it passes through ioctl(2), so that the process's channel groups for compute work are
 * known; they can then be given time slices, here or by a process that gets the descriptors.
 * docs/decisions/0010-level3-nvidia.md says what is relied on.
 *
 * The table is in static memory; its lock is held for a few stores, never across an ioctl. */
#ifndef XS_CUDA_RM_H
#define XS_CUDA_RM_H

#include "nvrm/channel_group.h"

#define XS_RM_OBJECTS        2048u   /* devices, subdevices, groups and channels of one process */
#define XS_RM_GROUPS         64u     /* of them, groups for compute work */
#define XS_RM_GROUP_CHANNELS 256u

/** Whether a request is one that the table lives on: two compares for everything else. */
static inline bool xs_rm_wants(unsigned long request)
{
    return ((request >> 8) & 0xff) == 'F' &&
           (request == XS_NVRM_IOC_ALLOC || request == XS_NVRM_IOC_FREE || request == XS_NVRM_IOC_WRAPPED ||
            request == XS_NVRM_IOC_ALLOC_SHORT || request == XS_NVRM_IOC_DUP);
}

/** Before an ioctl(2) that xs_rm_wants: what is about to be freed is forgotten, so that nobody
 *  acts on a handle that is used again. Any thread; errno is kept. */
void xs_rm_observe_before(int fd, unsigned long request, const void *arg);
/** After it: what was made is remembered. A group's slice is set again before this returns, when a
 *  channel was made in it. @param result  what ioctl(2) returned
 *  @return whether a channel group was made: the driver is about to be given work */
bool xs_rm_observe(int fd, unsigned long request, const void *arg, int result);
/** Called by the exported ioctl after that; whoever links it says what follows. */
void xs_rm_group_made(void);
/** This descriptor is the driver's no longer: what was made through it is forgotten. Nobody is told
 *  when a program closes one (close(2) is not watched), so whoever is about to use one looks first.
 *  The lock is only tried. */
void xs_rm_closed(int fd);

/** One channel group for compute work. */
struct xs_rm_group {
    uint32_t id;                  /* unique in this process, never used again; not 0 */
    uint32_t changes;             /* counts changes of its channels */
    struct xs_nvrm_group handles; /* descriptors are the program's own */
    uint32_t device_instance;     /* the driver's number of the device */
    uint32_t n_channels;
    uint32_t channels[XS_RM_GROUP_CHANNELS];
};

/** Changes with every change of the groups. Any thread, no lock. */
uint32_t xs_rm_generation(void);
/** Copies the i-th group. The lock is only tried.
 *  @return 0, -ENOENT (no more), -EAGAIN (the table is being changed: later) */
int xs_rm_group_get(uint32_t index, struct xs_rm_group *ret);

/** 3, or 2 when level 3 is not to be had in this process (for its life). */
int xs_rm_level(void);
/** Why it is 2: static text; "" at 3. */
const char *xs_rm_why(void);
/** Warns that there is no level 3, and why: one line a process. Says nothing where the user has switched it off, and
 *  where no driver of NVIDIA's is loaded that could have it. */
void xs_rm_warn(void);
/** Whether it is 3 only because `xsched doctor --probe` has seen it work: the driver is newer than those that are known. */
bool xs_rm_by_probe(void);
/** For the probe, before the driver is called: a newer driver is taken for known. */
void xs_rm_try_newer(void);
/** Ends level 3 in this process: everything gets its default back, one line says why. */
void xs_rm_demote(const char *why);
/** The same for a caller who says why itself. */
void xs_rm_end(const char *why);

#define XS_RM_SLICE_DEFAULT 0ull

/** Gives all groups of a device this slice; XS_RM_SLICE_DEFAULT what they had. One denied call
 *  demotes. @param pci_address  of the device, or UINT32_MAX for all @return 0 or -errno: -ENOENT there is none */
int xs_rm_set_slices(uint32_t pci_address, uint64_t us);
/** Default slices: the scheduler is gone. Calls no vendor function, waits for
 *  no lock. @return false: the table is being changed, call again soon */
bool xs_rm_restore(void);

/** PCI address of a group's device, asked once. @return 0 or -errno */
int xs_rm_group_address(const struct xs_rm_group *g, uint32_t *ret_address);
/** The same and the slice that the driver gave it, without waiting for a lock.
 *  @return 0 or -errno: -EAGAIN later; -ESTALE its descriptors are not the driver's any more */
int xs_rm_group_facts(const struct xs_rm_group *g, uint32_t *ret_address, uint64_t *ret_default_us);

/** Offers the groups to a scheduler outside, through libpreempt (rm_publish.c). Once, any thread. */
void xs_rm_publish(void);

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
