#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_object.py finds each fault that is built in here: self_test.sh PYTHON CHECKER COMPILER
set -eu
python=$1 checker=$2 cc=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cat >"$tmp/x.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <pthread.h>
__thread char xs_big[100];
__attribute__((constructor)) static void at_load(void) { puts("x"); }
double XQueueStray(double x);
double XQueueStray(double x) { pthread_join(pthread_self(), 0); xs_big[(int)x] = 1; if (x > 9) exit(1); return pow(x, x); }
END
"$cc" -shared -fPIC -w -z execstack -o "$tmp/x.so" "$tmp/x.c" -lm
for text in "uses exit" "uses puts" "uses __tls_get_addr" "NEEDED libm" "INIT_ARRAY" "100 bytes of TLS" \
            "stack is executable" "not bound at load" "can be unloaded" "exports XQueueStray" "SONAME"; do
    "$python" "$checker" "$tmp/x.so" --soname libx.so.1 --exports /dev/null --expect "$text" >"$tmp/out" ||
        { cat "$tmp/out"; echo "overlooked: $text"; exit 1; }
done
