/* SPDX-License-Identifier: Apache-2.0 */
/* Controls of one channel group of NVIDIA's driver, by plain ioctl(2): no state, no library, no
 * allocation, no lock. The driver looks at the open file, not at the calling process. So they work in
 * the process that made the group, and in one that has its descriptors. Any thread. */
#ifndef XS_NVRM_CHANNEL_GROUP_H
#define XS_NVRM_CHANNEL_GROUP_H

#include "nvrm/nvrm_layout.h"

/** A channel group, and a subdevice that identifies its device. Descriptors are of /dev/nvidiactl; both
 *  may be the same. */
struct xs_nvrm_group {
    int group_fd, subdevice_fd;
    uint32_t group_client, group;
    uint32_t subdevice_client, subdevice;
};

/** Everything below returns 0, or
 *  -EPERM      the driver denies it (rights, not supported, a layout that it does not know)
 *  -ESTALE     there is no such object any more
 *  -EIO        another status of the driver's, in *ret_status
 *  or the -errno of ioctl(2). ret_status may be NULL. */
int xs_nvrm_set_slice(const struct xs_nvrm_group *g, uint64_t us, uint32_t *ret_status);
int xs_nvrm_get_slice(const struct xs_nvrm_group *g, uint64_t *ret_us, uint32_t *ret_status);

/** @param ret_address  PCI address of the device as in XDeviceId */
int xs_nvrm_pci_address(const struct xs_nvrm_group *g, uint32_t *ret_address, uint32_t *ret_status);

/** Whether the descriptor is /dev/nvidiactl, by its device number. errno stays. */
bool xs_nvrm_is_control_device(int fd);

/** Whether the class is of a channel on which these controls work, as far as we know. */
bool xs_nvrm_channel_known(uint32_t object_class);

/** Whether the layouts hold for a driver version ("580.159.04"). */
bool xs_nvrm_version_known(const char *version);
/** Whether the version is of a later branch than those whose headers we compared. Only a probe shows
 *  then whether the layouts hold. */
bool xs_nvrm_version_newer(const char *version);
/** The version of the loaded kernel driver. @return 0 or -errno: -ENOENT no driver */
int xs_nvrm_version(char *ret_text, size_t size);

/** ioctl(2) without libc's function of that name: an interposed one does not see it.
 *  @return as ioctl(2), errno set */
int xs_nvrm_ioctl(int fd, unsigned long request, void *arg);
/** A request of the program's: to the fake, or to `next`, which is as ioctl(2). */
int xs_nvrm_pass(int fd, unsigned long request, void *arg, int (*next)(int fd, unsigned long request, void *arg));

/** For tests: everything that would go to the kernel goes here instead; NULL: the kernel.
 *  is_control_device answers for descriptors, version for the driver. */
struct xs_nvrm_fake {
    int (*ioctl)(int fd, unsigned long request, void *arg);
    bool (*is_control_device)(int fd);
    const char *version;
};
void xs_nvrm_set_fake(const struct xs_nvrm_fake *fake);

#endif
