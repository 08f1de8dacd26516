/* SPDX-License-Identifier: Apache-2.0 */
/* A device's names for users (its driver's number, UUID, PCI address), from its XDevice. */
#ifndef XS_HTTP_DEVICE_NAME_H
#define XS_HTTP_DEVICE_NAME_H

#include "xsched/types.h"

struct xs_device_name {
    char gpu[24];  /* the number that the vendor's driver gave it; else its address */
    char uuid[64]; /* "" where unknown */
    char model[64]; /* "NVIDIA H100 80GB HBM3"; "" where the kernel has none */
    char pci[24];  /* 0000:3b:00.0; "" where it has none */
};

/** Reads the kernel driver's files about it; keeps nothing. Any thread. */
void xs_device_name_get(XDevice device, struct xs_device_name *ret);
/** Values of model, UUID and minor number out of the text of .../information. */
void xs_device_name_parse(const char *information, struct xs_device_name *ret);

#endif
