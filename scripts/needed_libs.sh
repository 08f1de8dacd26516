#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needed_libs.sh PROGRAM...: the libraries that these programs need and another machine may lack; never the C library itself
ldd "$@" | awk '$3 ~ /^\// { print $3 }' | grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so' | sort -u
