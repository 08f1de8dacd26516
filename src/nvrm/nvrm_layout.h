/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of NVIDIA's resource manager: numbers and structures of ioctl(2) on /dev/nvidiactl. They
 * are private to NVIDIA's driver and library. The layouts are those of the published headers of the
 * open kernel modules (src/common/sdk/nvidia/inc/ and src/nvidia/arch/nvalloc/unix/include/ there),
 * which are the same in every release from 535 to 595. The declarations are our own. Each one names
 * its header.
 *
 * The driver is always x86_64 or aarch64, little endian, so the layout is the C one. */
#ifndef XS_NVRM_LAYOUT_H
#define XS_NVRM_LAYOUT_H

#include "base/xs_base.h"

#include <linux/ioctl.h>

/* nv_escape.h, nv-ioctl-numbers.h: type 'F' and these numbers */
#define XS_NVRM_ESC_FREE    0x29
#define XS_NVRM_ESC_CONTROL 0x2a
#define XS_NVRM_ESC_ALLOC   0x2b
#define XS_NVRM_ESC_DUP     0x34
#define XS_NVRM_ESC_WRAPPED 211   /* any of the above, with its size and address in a structure */

/* nvos.h, NVOS64_PARAMETERS: make an object. Status 0 is success, everywhere. */
struct xs_nvrm_alloc {
    uint32_t client;              /* of a client itself: 0, or its handle */
    uint32_t parent;
    uint32_t object;              /* 0: the driver chooses and writes it here */
    uint32_t object_class;
    uint64_t params;              /* address */
    uint64_t rights;              /* address */
    uint32_t params_bytes;
    uint32_t flags;               /* bit 0: serialized params */
    uint32_t status;
    uint32_t reserved;
};
#define XS_NVRM_ALLOC_SERIALIZED 1u

/* nvos.h, NVOS21_PARAMETERS: the shorter form of the same */
struct xs_nvrm_alloc_short {
    uint32_t client, parent, object, object_class;
    uint64_t params;
    uint32_t params_bytes;
    uint32_t status;
};

/* nvos.h, NVOS00_PARAMETERS: an object and everything below it goes */
struct xs_nvrm_free {
    uint32_t client, parent, object;
    uint32_t status;
};

/* nvos.h, NVOS54_PARAMETERS */
struct xs_nvrm_control {
    uint32_t client, object, command, flags;
    uint64_t params;              /* address */
    uint32_t params_bytes;
    uint32_t status;
};

/* nvos.h, NVOS55_PARAMETERS: the same object under a second handle */
struct xs_nvrm_dup {
    uint32_t client, parent, object;
    uint32_t source_client, source_object;
    uint32_t flags;
    uint32_t status;
};

/* nv-ioctl.h, nv_ioctl_xfer_t */
struct xs_nvrm_wrapped {
    uint32_t escape, bytes;
    uint64_t address;
};

#define XS_NVRM_IOC_FREE        _IOWR('F', XS_NVRM_ESC_FREE, struct xs_nvrm_free)
#define XS_NVRM_IOC_CONTROL     _IOWR('F', XS_NVRM_ESC_CONTROL, struct xs_nvrm_control)
#define XS_NVRM_IOC_ALLOC       _IOWR('F', XS_NVRM_ESC_ALLOC, struct xs_nvrm_alloc)
#define XS_NVRM_IOC_ALLOC_SHORT _IOWR('F', XS_NVRM_ESC_ALLOC, struct xs_nvrm_alloc_short)
#define XS_NVRM_IOC_DUP         _IOWR('F', XS_NVRM_ESC_DUP, struct xs_nvrm_dup)
#define XS_NVRM_IOC_WRAPPED     _IOWR('F', XS_NVRM_ESC_WRAPPED, struct xs_nvrm_wrapped)

/* ---- classes ---- */

#define XS_NVRM_CLASS_ROOT          0x0000u  /* nvos.h; so is the next */
#define XS_NVRM_CLASS_ROOT_NON_PRIV 0x0001u
#define XS_NVRM_CLASS_CLIENT        0x0041u
#define XS_NVRM_CLASS_DEVICE        0x0080u  /* cl0080.h */
#define XS_NVRM_CLASS_SUBDEVICE     0x2080u  /* cl2080.h */
#define XS_NVRM_CLASS_GROUP         0xa06cu  /* cla06c.h */
/* Channels end in 6f (cl906f.h ... clca6f.h). Those that we act on have a row each. */
#define XS_NVRM_CHANNEL_CLASSES(X) \
    X(0xc36f, "Volta") X(0xc46f, "Turing") X(0xc56f, "Ampere, Ada") X(0xc86f, "Hopper") \
    X(0xc96f, "Blackwell") X(0xca6f, "Blackwell")

/* nvos.h, NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS */
struct xs_nvrm_group_params {
    uint32_t error_context, ecc_error_context, address_space;
    uint32_t engine;              /* cl2080_notification.h, NV2080_ENGINE_TYPE_*: 1..8 graphics and compute */
    uint8_t of_vgpu_plugin;
    uint8_t reserved[3];
};
#define XS_NVRM_ENGINE_FIRST_COMPUTE 1u
#define XS_NVRM_ENGINE_LAST_COMPUTE  8u

/* ---- controls ---- */

/* ctrla06c.h, on a channel group */
#define XS_NVRM_CMD_SET_TIMESLICE 0xa06c0103u
#define XS_NVRM_CMD_GET_TIMESLICE 0xa06c0104u
struct xs_nvrm_timeslice {
    uint64_t us;
};

/* ctrl2080gpu.h, on a subdevice */
#define XS_NVRM_CMD_GPU_ID 0x20800142u
struct xs_nvrm_gpu_id {
    uint32_t gpu_id;              /* PCI domain << 16 | bus << 8 | device */
};

/* nvstatuscodes.h */
#define XS_NVRM_OK                   0x00u
#define XS_NVRM_ERR_PERMISSIONS      0x1bu
#define XS_NVRM_ERR_INVALID_ARGUMENT 0x1fu
#define XS_NVRM_ERR_INVALID_CLIENT   0x23u
#define XS_NVRM_ERR_INVALID_OBJECT   0x31u
#define XS_NVRM_ERR_INVALID_HANDLE   0x33u
#define XS_NVRM_ERR_NOT_SUPPORTED    0x56u
#define XS_NVRM_ERR_OBJECT_NOT_FOUND 0x57u

_Static_assert(sizeof(struct xs_nvrm_alloc) == 48, "NVOS64_PARAMETERS");
_Static_assert(offsetof(struct xs_nvrm_alloc, status) == 40, "NVOS64_PARAMETERS");
_Static_assert(sizeof(struct xs_nvrm_alloc_short) == 32, "NVOS21_PARAMETERS");
_Static_assert(sizeof(struct xs_nvrm_free) == 16, "NVOS00_PARAMETERS");
_Static_assert(sizeof(struct xs_nvrm_control) == 32, "NVOS54_PARAMETERS");
_Static_assert(sizeof(struct xs_nvrm_dup) == 28, "NVOS55_PARAMETERS");
_Static_assert(sizeof(struct xs_nvrm_wrapped) == 16, "nv_ioctl_xfer_t");
_Static_assert(sizeof(struct xs_nvrm_group_params) == 20, "NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS");

#endif
