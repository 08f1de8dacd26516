# SPDX-License-Identifier: Apache-2.0
"""Types and values of the C interface, under their C names (xsched/types.h); XPolicyType is in _policies.py."""
from __future__ import annotations

from enum import IntEnum

XDevice = int
XDeviceId = int
XQueueHandle = int
HwQueueHandle = int
HwCommandHandle = int
Priority = int
Utilization = int
Timeslice = int
Laxity = int
Deadline = int

PRIORITY_NO_EXECUTE = -256
PRIORITY_MIN = -255
PRIORITY_DEFAULT = 0
PRIORITY_MAX = 255
UTILIZATION_MIN = 0
UTILIZATION_MAX = 100
UTILIZATION_DEFAULT = 100
TIMESLICE_MIN = 100
TIMESLICE_DEFAULT = 5000
TIMESLICE_MAX = 10000000
TIMESLICE_UNLIMITED = 0xFFFFFFFFFFFFFFFF
NO_LAXITY = -1
NO_DEADLINE = -1


class XResult(IntEnum):
    kXSchedSuccess = 0
    kXSchedErrorHardware = 1
    kXSchedErrorInvalidValue = 2
    kXSchedErrorNotFound = 3
    kXSchedErrorNotAllowed = 4
    kXSchedErrorNotSupported = 5
    kXSchedErrorBadResponse = 6
    kXSchedErrorUnknown = 999


class XPlatform(IntEnum):
    kPlatformUnknown = 0
    kPlatformVPI = 1
    kPlatformCUDA = 2
    kPlatformCUDLA = 3
    kPlatformHIP = 4
    kPlatformAscend = 5
    kPlatformOpenCL = 6
    kPlatformLevelZero = 7


class XDeviceType(IntEnum):
    kDeviceTypeUnknown = 0
    kDeviceTypeCPU = 1
    kDeviceTypeGPU = 2
    kDeviceTypeNPU = 3
    kDeviceTypeFPGA = 4
    kDeviceTypeASIC = 5
    kDeviceTypeMCA = 6


class XPreemptLevel(IntEnum):
    kPreemptLevelUnknown = 0
    kPreemptLevelBlock = 1
    kPreemptLevelDeactivate = 2
    kPreemptLevelInterrupt = 3
    kPreemptLevelMax = 4


class XQueueState(IntEnum):
    kQueueStateUnknown = 0
    kQueueStateIdle = 1
    kQueueStateReady = 2


class XQueueFeature(IntEnum):
    kQueueFeatureNone = 0
    kQueueFeatureAsyncSubmit = 0x1
    kQueueFeatureDynamicLevel = 0x2
    kQueueFeatureDynamicThreshold = 0x4
    kQueueFeatureDynamicBatchSize = 0x8
    kQueueFeatureSyncSuspend = 0x10
    kQueueFeatureResumeDropCommands = 0x20
    kQueueFeatureMaskAll = -1


class XQueueCreateFlag(IntEnum):
    kQueueCreateFlagNone = 0
    kQueueCreateFlagBlockingSubmit = 1
    kQueueCreateFlagMaskAll = -1


class XQueueSuspendFlag(IntEnum):
    kQueueSuspendFlagNone = 0
    kQueueSuspendFlagSyncHwQueue = 1
    kQueueSuspendFlagWaitAll = 2
    kQueueSuspendFlagWaitIdle = 4
    kQueueSuspendFlagMaskAll = -1


class XQueueResumeFlag(IntEnum):
    kQueueResumeFlagNone = 0
    kQueueResumeFlagDropCommands = 1
    kQueueResumeFlagMaskAll = -1


class XSchedulerType(IntEnum):
    kSchedulerUnknown = 0
    kSchedulerAppManaged = 1
    kSchedulerLocal = 2
    kSchedulerGlobal = 3
    kSchedulerMax = 4
