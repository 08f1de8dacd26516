# SPDX-License-Identifier: Apache-2.0
"""Hardware queues of HIP. Streams are integers (the vendor's handle)."""
from __future__ import annotations

from typing import Tuple

from ._calls import queue_of
from ._types import XResult


class XSchedHip:
    """The calls of libhalhip; each returns the XResult and the handle."""

    @staticmethod
    def HipQueueCreate(stream: int) -> Tuple[XResult, int]:
        """Makes a hardware queue of a stream, or gives the one that it has."""
        return queue_of("HipQueueCreate", stream)

    @staticmethod
    def HipQueueGet(stream: int) -> Tuple[XResult, int]:
        """The hardware queue of a stream, if it has one."""
        return queue_of("HipQueueGet", stream)
