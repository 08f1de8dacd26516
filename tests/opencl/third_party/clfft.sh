#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clFFT's client transforms and checks its own result.
. "$(dirname "$0")/lib.sh"
need clFFT-client
for size in '-x 64 -y 64' '-x 1000'; do
    plain clFFT-client --cpu $size
    ours clFFT-client --cpu $size
    same
    grep -q 'PASS' "$T/ours"
done
counted 8
