#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CLBlast's own test of a routine, checked by it against a BLAS on the CPU: its verdicts.
. "$(dirname "$0")/lib.sh"
need clblast_test_xaxpy clblast_test_xdot
for routine in xaxpy xdot; do
    plain "clblast_test_$routine"
    ours "clblast_test_$routine"
    same
    grep -q 'All 0 test(s) passed\|passed' "$T/ours"
    if grep -E '[1-9][0-9]* (test\(s\)|tests?) failed|As error' "$T/ours"; then
        exit 1
    fi
done
counted 1000
