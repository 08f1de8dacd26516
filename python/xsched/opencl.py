# SPDX-License-Identifier: Apache-2.0
"""Hardware queues of OpenCL. Streams are integers (the vendor's handle)."""
from __future__ import annotations

from typing import Tuple

from ._calls import queue_of
from ._types import XResult


class XSchedOpenCL:
    """The calls of libhalopencl; each returns the XResult and the handle."""

    @staticmethod
    def OclQueueCreate(stream: int) -> Tuple[XResult, int]:
        """Makes a hardware queue of a stream, or gives the one that it has."""
        return queue_of("OclQueueCreate", stream)
