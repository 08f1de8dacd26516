#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clpeak measures, so its figures differ; that it measures the same things is compared.
. "$(dirname "$0")/lib.sh"
need clpeak
plain clpeak --kernel-latency --transfer-bandwidth
ours clpeak --kernel-latency --transfer-bandwidth
same 's/: *[0-9][0-9.]*.*/: N/'
grep -q 'Kernel launch latency' "$T/ours"
counted 100
