# SPDX-License-Identifier: Apache-2.0
"""XSched from Python: priorities, deadlines and shares for work on accelerators.

    with xsched.priority(5):                  # what this thread launches inside is urgent
        y = model(x)
    xsched.set_priority(torch_stream, 5)      # or by stream: PyTorch, CuPy, Numba, pyopencl, an integer
    xsched.hint("train.py", priority=-5)      # another program, by its name or its process number
    print(xsched.status().policy)             # what xserver does

`python -m xsched run --priority 0 script.py` (or `xsched run`) starts a program under XSched.
Importing this package loads no library, opens no device and imports no framework.

Class XSched has the C calls one by one, with results as numbers. So has the class of a platform in its module, such as
XSchedCuda in xsched.cuda. Everything else raises exceptions. Each call takes strict=False. Then a missing library, xserver
or program gives an XSchedWarning once, and the program goes on.
"""
from __future__ import annotations

from ._calls import XSched
from ._errors import (HardwareError, InvalidValueError, LibraryError, NotAllowedError, NotFoundError, NotSupportedError,
                      ServerError, StreamTypeError, XSchedError, XSchedWarning)
from ._hints import (PROCESS, set_deadline, set_hint, set_laxity, set_priority, set_scheduler, set_timeslice, set_utilization)
from ._launcher import launcher
from ._policies import XPolicyType
from ._programs import hint, policy, resume, status, suspend
from ._queue import Command, Queue
from ._scope import priority
from ._server import ProcessStatus, QueueStatus, Status
from ._types import (NO_DEADLINE, NO_LAXITY, PRIORITY_DEFAULT, PRIORITY_MAX, PRIORITY_MIN, PRIORITY_NO_EXECUTE,
                     TIMESLICE_DEFAULT, TIMESLICE_MAX, TIMESLICE_MIN, TIMESLICE_UNLIMITED, UTILIZATION_DEFAULT,
                     UTILIZATION_MAX, UTILIZATION_MIN, Deadline, HwCommandHandle, HwQueueHandle, Laxity, Priority,
                     Timeslice, Utilization, XDevice, XDeviceId, XDeviceType, XPlatform, XPreemptLevel, XQueueCreateFlag,
                     XQueueFeature, XQueueHandle, XQueueResumeFlag, XQueueState, XQueueSuspendFlag,
                     XResult, XSchedulerType)
from ._version import VERSION as __version__

__all__ = [
    "Command", "Deadline", "HardwareError", "HwCommandHandle", "HwQueueHandle", "InvalidValueError", "Laxity",
    "LibraryError", "NO_DEADLINE", "NO_LAXITY", "NotAllowedError", "NotFoundError", "NotSupportedError", "PRIORITY_DEFAULT",
    "PRIORITY_MAX", "PRIORITY_MIN", "PRIORITY_NO_EXECUTE", "PROCESS", "Priority", "ProcessStatus", "Queue", "QueueStatus",
    "ServerError", "Status", "StreamTypeError", "TIMESLICE_DEFAULT", "TIMESLICE_MAX", "TIMESLICE_MIN",
    "TIMESLICE_UNLIMITED", "Timeslice", "UTILIZATION_DEFAULT", "UTILIZATION_MAX", "UTILIZATION_MIN", "Utilization",
    "XDevice", "XDeviceId", "XDeviceType", "XPlatform", "XPolicyType", "XPreemptLevel", "XQueueCreateFlag",
    "XQueueFeature", "XQueueHandle", "XQueueResumeFlag", "XQueueState", "XQueueSuspendFlag", "XResult", "XSched",
    "XSchedError", "XSchedWarning", "XSchedulerType", "__version__", "hint", "launcher", "policy", "priority", "resume", "set_deadline",
    "set_hint", "set_laxity", "set_priority", "set_scheduler", "set_timeslice", "set_utilization", "status", "suspend",
]
