#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hashcat finds a password (it opens the loader and asks the handle). Building its kernels takes a minute.
. "$(dirname "$0")/lib.sh"
need hashcat
printf 'apple\nbanana\nsecret\npassword\n' >"$T/words"
printf secret | md5sum | cut -d' ' -f1 >"$T/hash"
crack() {
    "$1" hashcat -m 0 -a 0 --force --potfile-disable --self-test-disable -O --quiet "$T/hash" "$T/words"
}
crack plain
crack ours
same
grep -q ':secret$' "$T/ours"
counted 20
