# SPDX-License-Identifier: Apache-2.0
"""The packages of the folder fallback come last: the machine's own are taken where it has them."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "fallback"))
