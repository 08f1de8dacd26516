#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# PyOpenCL: element-wise and reduction kernels, profiling, events.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3
/usr/bin/python3 -c 'import pyopencl' 2>/dev/null || { echo "skipped: python3-pyopencl is not installed"; exit 77; }
export PYOPENCL_NO_CACHE=1
plain /usr/bin/python3 -W ignore "$(dirname "$0")/pyopencl_client.py"
ours /usr/bin/python3 -W ignore "$(dirname "$0")/pyopencl_client.py"
same
counted 20
