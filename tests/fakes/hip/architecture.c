/* SPDX-License-Identifier: Apache-2.0 */
/* The device as libraries ask about it, which choose their kernels by its architecture. FAKE_HIP_ARCH=gfx1100 says that it
 * is one; without it these calls are not supported. Kernels that the fake does not have do nothing then. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define PROPERTIES_BYTES 1472     /* hipDeviceProp_tR0600 */

const char *fake_hip_arch(void)
{
    return getenv("FAKE_HIP_ARCH");
}

API hipGetDevicePropertiesR0600(void *properties, int dev)
{
    const char *arch = fake_hip_arch();
    char *at = properties;

    (void)dev;
    if (!arch)
        return fake_result(XS_HIP_NOT_SUPPORTED);
    memset(at, 0, PROPERTIES_BYTES);
    memcpy(at, "fake", 5);
#define SET(offset, type, value) memcpy(at + (offset), &(type){value}, sizeof(type))
    SET(288, size_t, (size_t)1 << 34);  /* totalGlobalMem */
    SET(296, size_t, 65536);            /* sharedMemPerBlock */
    SET(304, int, 65536);               /* regsPerBlock */
    SET(308, int, 32);                  /* warpSize */
    SET(320, int, 1024);                /* maxThreadsPerBlock */
    for (size_t i = 0; i < 3; i++) {
        SET(324 + 4 * i, int, 1024);    /* maxThreadsDim */
        SET(336 + 4 * i, int, 65535);   /* maxGridSize */
    }
    SET(348, int, 1000000);             /* clockRate */
    SET(360, int, 11);                  /* major */
    SET(388, int, 96);                  /* multiProcessorCount */
    SET(624, int, 2048);                /* maxThreadsPerMultiProcessor */
    strncpy(at + 1160, arch, 255);      /* gcnArchName */
    SET(1416, size_t, 65536);           /* maxSharedMemoryPerMultiProcessor */
    return 0;
}

API hipDeviceGetAttribute(int *value, int attribute, int dev)
{
    (void)dev;
    if (!fake_hip_arch())
        return fake_result(XS_HIP_NOT_SUPPORTED);
    switch (attribute) {
    case 56: /* hipDeviceAttributeMaxThreadsPerBlock */
        *value = 1024;
        break;
    case 63: /* hipDeviceAttributeMultiprocessorCount */
        *value = 96;
        break;
    case 87: /* hipDeviceAttributeWarpSize */
        *value = 32;
        break;
    default:
        *value = 1;
    }
    return 0;
}
