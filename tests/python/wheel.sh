#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wheel.sh PYTHON PACKAGE BUILD: builds the wheel without a network, installs it into a fresh environment and uses it there.
set -eu
python=$1 package=$2 build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
listing() { find "$package" -name __pycache__ -prune -o -print | sort; }
listing >"$work/before"
cd "$work"
"$python" -m pip wheel -q --no-index --no-build-isolation --no-deps -w "$work/wheels" "$package"
listing >"$work/after"
diff "$work/before" "$work/after" || { echo "the build leaves something in $package"; exit 1; }
wheel=$(ls "$work"/wheels/xsched-*-py3-none-any.whl)
"$python" -m zipfile -l "$wheel" > list
for f in xsched/py.typed xsched/platforms.def xsched/hints.def xsched/cuda.py xsched/_scope.py; do
    grep -q "$f" list || { echo "the wheel lacks $f"; cat list; exit 1; }
done
"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-index "$wheel"
[ "$("$work/venv/bin/python" -c 'import xsched; print(xsched.__version__)')" = \
  "$(sed -n 's/^project(xsched VERSION \([0-9.]*\).*/\1/p' "$package/../CMakeLists.txt")" ] || { echo "wrong version"; exit 1; }
LD_LIBRARY_PATH=$build/lib "$work/venv/bin/python" -c \
    'import xsched; assert xsched.XSched.XQueueGet(1)[0] == xsched.XResult.kXSchedErrorNotFound'
PATH=$build/bin:$PATH "$work/venv/bin/xsched-python" run --no-server -q --priority 3 -c \
    'import os, xsched; assert os.environ["XSCHED_PRIORITY"] == "3"; print("installed and used:", xsched.__file__)'
