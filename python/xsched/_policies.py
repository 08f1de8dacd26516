# SPDX-License-Identifier: Apache-2.0
"""The policies. Made by scripts/reference.py from include/xsched/types.h and src/policy/policies.def; change those."""
from __future__ import annotations

from enum import IntEnum


class XPolicyType(IntEnum):
    kPolicyUnknown = 0
    kPolicyHighestPriorityFirst = 1
    kPolicyHeterogeneousHighestPriorityFirst = 2
    kPolicyCPUHighestPriorityFirst = 3
    kPolicyUtilizationPartition = 4
    kPolicyProcessUtilizationPartition = 5
    kPolicyStrictProcessUtilizationPartition = 6
    kPolicyKEarliestDeadlineFirst = 7
    kPolicyLaxity = 8
    kPolicyActiveWindowFirst = 9
    kPolicyCompletelyFairScheduler = 10
    kPolicyMultiLevelFeedbackQueue = 11
    kPolicyMax = 12


POLICIES = {
    "HPF": XPolicyType.kPolicyHighestPriorityFirst,
    "HHPF": XPolicyType.kPolicyHeterogeneousHighestPriorityFirst,
    "CHPF": XPolicyType.kPolicyCPUHighestPriorityFirst,
    "UP": XPolicyType.kPolicyUtilizationPartition,
    "PUP": XPolicyType.kPolicyProcessUtilizationPartition,
    "SPUP": XPolicyType.kPolicyStrictProcessUtilizationPartition,
    "KEDF": XPolicyType.kPolicyKEarliestDeadlineFirst,
    "LAX": XPolicyType.kPolicyLaxity,
    "AWF": XPolicyType.kPolicyActiveWindowFirst,
    "CFS": XPolicyType.kPolicyCompletelyFairScheduler,
    "MLFQ": XPolicyType.kPolicyMultiLevelFeedbackQueue,
}
