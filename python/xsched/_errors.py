# SPDX-License-Identifier: Apache-2.0
"""Exceptions: each says what went wrong and what to do about it."""
from __future__ import annotations

from typing import Dict, Optional, Tuple, Type

from ._types import XResult


class XSchedError(RuntimeError):
    """Base of all exceptions of this package.

    :ivar result: the C call's result, where there was a call
    :ivar reason: what went wrong
    :ivar remedy: what to do about it
    """

    def __init__(self, reason: str, remedy: str = "", result: XResult = XResult.kXSchedErrorUnknown) -> None:
        super().__init__(f"{reason}; {remedy}" if remedy else reason)
        self.reason = reason
        self.remedy = remedy
        self.result = result


class LibraryError(XSchedError):
    """A library of XSched is missing, too old, or there twice."""


class HardwareError(XSchedError):
    """The vendor's library or the device reported an error."""


class InvalidValueError(XSchedError, ValueError):
    """An argument is out of range."""


class StreamTypeError(XSchedError, TypeError):
    """An argument should be a stream, and is none."""


class NotFoundError(XSchedError, LookupError):
    """The stream or queue does not exist (any more)."""


class NotAllowedError(XSchedError):
    """The object is in use in a way that forbids this."""


class NotSupportedError(XSchedError):
    """The platform or the device cannot do it."""


class ServerError(XSchedError):
    """No xserver answers, or it refused."""


class XSchedWarning(RuntimeWarning):
    """A request has no effect."""


_KINDS: Dict[XResult, Tuple[Type[XSchedError], str, str]] = {
    XResult.kXSchedErrorHardware: (
        HardwareError, "the vendor's library or the device reported an error",
        "look at earlier errors of the framework, and at dmesg"),
    XResult.kXSchedErrorInvalidValue: (
        InvalidValueError, "an argument is out of range, or not a stream of this platform",
        "see xsched/hint.h for the ranges, and pass a live stream of the right platform"),
    XResult.kXSchedErrorNotFound: (
        NotFoundError, "no such stream or queue, or no context for a default stream",
        "the program may have destroyed it; a default stream needs a current context "
        "(run something on the device first)"),
    XResult.kXSchedErrorNotAllowed: (
        NotAllowedError, "the object is in use", "destroy the XQueue before its hardware queue; submit a command once"),
    XResult.kXSchedErrorNotSupported: (
        NotSupportedError, "this platform or device cannot do it", "`xsched doctor` says what it can"),
    XResult.kXSchedErrorBadResponse: (
        XSchedError, "the server answered with something unexpected", "use xserver and libraries of one version"),
}


def to_result(number: int) -> XResult:
    """A result that a newer library may have added counts as unknown."""
    try:
        return XResult(number)
    except ValueError:
        return XResult.kXSchedErrorUnknown


def check(number: int, call: str, what: Optional[str] = None) -> None:
    """Raises unless number is kXSchedSuccess."""
    if number == 0:
        return
    result = to_result(number)
    kind, reason, remedy = _KINDS.get(
        result, (XSchedError, "an unknown error", "XLOG_LEVEL=DEBG and XLOG_FILE=path show more"))
    where = f"{call}({what})" if what else call
    raise kind(f"{where}: {reason} ({result.name})", remedy, result)
