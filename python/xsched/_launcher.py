# SPDX-License-Identifier: Apache-2.0
"""Where the program xsched is."""
from __future__ import annotations

import os

from ._errors import LibraryError
from ._library import _candidates, load


def launcher() -> str:
    """The path of the program `xsched`: of the installation whose libraries this process uses, else the first on
    PATH."""
    try:
        load("preempt")
    except LibraryError:
        pass  # the launcher may be there all the same
    for library in _candidates("libpreempt.so.1"):
        folder = os.path.dirname(library)
        for up in (os.pardir, os.path.join(os.pardir, os.pardir)):
            path = os.path.normpath(os.path.join(folder, up, "bin", "xsched"))
            if os.path.exists(library) and os.access(path, os.X_OK):
                return path
    import shutil    # not above: `import xsched` stays quick
    found = shutil.which("xsched")
    if found is None:
        raise LibraryError("the launcher `xsched` is not found", "install XSched, or put its bin folder on PATH")
    return found
