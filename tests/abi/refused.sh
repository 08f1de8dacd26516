#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The stub libraries refuse what they should: refused.sh COMPILER STUBS_BUILD_DIR SOURCE
set -u
cc=$1 stubs=$2 source=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0
link()
{
    "$cc" -shared -fPIC -O1 "$@" -nostdlib -Wl,-z,defs -o "$tmp/x.so" "$source" \
        "$stubs/libc.so.6" "$stubs/libdl.so.2" "$stubs/libpthread.so.0" -lgcc >"$tmp/log" 2>&1
}
link -DUSE_NOTHING || { cat "$tmp/log"; echo "the plain object does not link"; bad=1; }
for what in "USE_STDIO:puts:" "USE_EXIT:exit:" "USE_PROTECTOR:__stack_chk_fail:-fstack-protector-all" \
            "USE_TLS:__tls_get_addr:-ftls-model=global-dynamic"; do
    define=${what%%:*} rest=${what#*:}
    symbol=${rest%%:*} flag=${rest#*:}
    if link "-D$define" $flag; then
        echo "$symbol was linked in"
        bad=1
    elif ! grep -q "$symbol" "$tmp/log"; then
        cat "$tmp/log"
        echo "refused, but not for $symbol"
        bad=1
    fi
done
exit $bad
