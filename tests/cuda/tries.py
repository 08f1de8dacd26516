# SPDX-License-Identifier: Apache-2.0
"""For what can only be judged by the clock: something else that this machine had to do may spoil a try, a defect spoils
them all."""

TRIES = 3


def judged(attempt):
    """-> exit status: attempt() says whether it was as it should be, up to three times."""
    for i in range(TRIES):
        if attempt():
            return 0
        print(f"try {i + 1} of {TRIES}: not as it should be", flush=True)
    return 1
