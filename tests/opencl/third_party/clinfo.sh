#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clinfo: everything that it says about platforms and devices. It enqueues nothing, so nothing is counted.
. "$(dirname "$0")/lib.sh"
need clinfo
plain clinfo
ours clinfo
same
grep -q 'clGetDeviceInfo pass' "$T/trace"
