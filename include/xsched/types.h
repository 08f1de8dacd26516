/* SPDX-License-Identifier: Apache-2.0 */
/* Types and values of the public interface. The numbers are part of the ABI. */
#ifndef XSCHED_TYPES_H
#define XSCHED_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A device: (XDeviceType << 32) | XDeviceId. */
typedef uint64_t XDevice;
/** PCI address (domain << 16 | bus << 8 | device << 3 | function); a device without PCI:
 *  0xFFFF0000 | a 16-bit hash of platform and device name. */
typedef uint32_t XDeviceId;
/** Handles are unique on the host; 0 is never a handle. */
typedef uint64_t XQueueHandle;
typedef uint64_t HwQueueHandle;
typedef uint64_t HwCommandHandle;

typedef enum {
    kXSchedSuccess           = 0,
    kXSchedErrorHardware     = 1,   /**< the vendor's library or the device reported an error */
    kXSchedErrorInvalidValue = 2,   /**< an argument is null or out of range */
    kXSchedErrorNotFound     = 3,   /**< no object has this handle */
    kXSchedErrorNotAllowed   = 4,   /**< the object is in use in a way that forbids this call */
    kXSchedErrorNotSupported = 5,   /**< this platform or device cannot do it */
    kXSchedErrorBadResponse  = 6,   /**< the server answered with something unexpected */
    kXSchedErrorUnknown      = 999
} XResult;

typedef enum {
    kPlatformUnknown   = 0,
    kPlatformVPI       = 1,
    kPlatformCUDA      = 2,
    kPlatformCUDLA     = 3,
    kPlatformHIP       = 4,
    kPlatformAscend    = 5,
    kPlatformOpenCL    = 6,
    kPlatformLevelZero = 7
} XPlatform;

typedef enum {
    kDeviceTypeUnknown = 0,
    kDeviceTypeCPU     = 1,
    kDeviceTypeGPU     = 2,
    kDeviceTypeNPU     = 3,
    kDeviceTypeFPGA    = 4,
    kDeviceTypeASIC    = 5,
    kDeviceTypeMCA     = 6
} XDeviceType;

typedef enum {
    kPreemptLevelUnknown    = 0,
    kPreemptLevelBlock      = 1,   /**< commands wait before their launch */
    kPreemptLevelDeactivate = 2,   /**< commands that the device has but has not started wait too */
    kPreemptLevelInterrupt  = 3,   /**< the running command leaves the device */
    kPreemptLevelMax
} XPreemptLevel;

typedef enum {
    kQueueStateUnknown = 0,
    kQueueStateIdle    = 1,   /**< every submitted command is complete */
    kQueueStateReady   = 2    /**< some command waits or runs */
} XQueueState;

typedef enum {
    kQueueFeatureNone               = 0,
    kQueueFeatureAsyncSubmit        = 0x1,
    kQueueFeatureDynamicLevel       = 0x2,
    kQueueFeatureDynamicThreshold   = 0x4,
    kQueueFeatureDynamicBatchSize   = 0x8,
    kQueueFeatureSyncSuspend        = 0x10,
    kQueueFeatureResumeDropCommands = 0x20,
    kQueueFeatureMaskAll            = -1
} XQueueFeature;

typedef enum {
    kQueueCreateFlagNone           = 0,
    kQueueCreateFlagBlockingSubmit = 1,   /**< XQueueSubmit returns after the launch of the command */
    kQueueCreateFlagMaskAll        = -1
} XQueueCreateFlag;

typedef enum {
    kQueueSuspendFlagNone      = 0,
    kQueueSuspendFlagSyncHwQueue = 1,   /**< return when all launched commands are complete */
    kQueueSuspendFlagWaitAll   = 2,     /**< first let all earlier submitted commands run */
    kQueueSuspendFlagWaitIdle  = 4,     /**< return when the queue is idle, or no more of it starts */
    kQueueSuspendFlagMaskAll   = -1
} XQueueSuspendFlag;

typedef enum {
    kQueueResumeFlagNone         = 0,
    kQueueResumeFlagDropCommands = 1,   /**< forget the commands that XQueueSubmit still keeps */
    kQueueResumeFlagMaskAll      = -1
} XQueueResumeFlag;

typedef enum {
    kSchedulerUnknown    = 0,
    kSchedulerAppManaged = 1,   /**< the application suspends and resumes by itself */
    kSchedulerLocal      = 2,   /**< a policy inside this process */
    kSchedulerGlobal     = 3,   /**< xserver, for all processes of the host */
    kSchedulerMax
} XSchedulerType;

typedef enum {
    kPolicyUnknown                            = 0,
    kPolicyHighestPriorityFirst               = 1,
    kPolicyHeterogeneousHighestPriorityFirst  = 2,
    kPolicyCPUHighestPriorityFirst            = 3,
    kPolicyUtilizationPartition               = 4,
    kPolicyProcessUtilizationPartition        = 5,
    kPolicyStrictProcessUtilizationPartition  = 6,
    kPolicyKEarliestDeadlineFirst             = 7,
    kPolicyLaxity                             = 8,
    kPolicyActiveWindowFirst                  = 9,
    kPolicyCompletelyFairScheduler            = 10,
    kPolicyMultiLevelFeedbackQueue            = 11,
    kPolicyMax
} XPolicyType;

/** The library calls it when it launches the command, with the stream's context current. A result other
 *  than kXSchedSuccess becomes the command's error, which XQueueWait returns. */
typedef XResult (*LaunchCallback)(HwQueueHandle hwq, void *data);

typedef int32_t Priority;      /**< larger is more urgent */
typedef int32_t Utilization;   /**< percent of the device */
typedef int64_t Timeslice;     /**< microseconds */
typedef int64_t Laxity;        /**< microseconds */
typedef int64_t Deadline;      /**< microseconds from becoming ready */

#define PRIORITY_NO_EXECUTE  (-256)   /**< never runs */
#define PRIORITY_MIN         (-255)
#define PRIORITY_DEFAULT     0
#define PRIORITY_MAX         255
#define UTILIZATION_MIN      0
#define UTILIZATION_MAX      100
#define UTILIZATION_DEFAULT  100
#define TIMESLICE_MIN        100
#define TIMESLICE_DEFAULT    5000
#define TIMESLICE_MAX        10000000
#define TIMESLICE_UNLIMITED  UINT64_MAX
#define NO_LAXITY            (-1)
#define NO_DEADLINE          (-1)

#ifdef __cplusplus
}
#endif
#endif
