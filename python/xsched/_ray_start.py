# SPDX-License-Identifier: Apache-2.0
"""The command that begins a worker of Ray on its node. It travels in the runtime_env as text, since the node need not have
this package: what XSched is there, the node itself finds out.

Ray starts a worker as `exec PY_EXECUTABLE default_worker.py ...` in a shell; PY_EXECUTABLE is bash with the script below.
"""
from __future__ import annotations

import shlex

NAME = "xsched-ray"

# Runs default_worker.py as the interpreter would, with this package's thread beside it (_ray_worker.py).
_BOOT = """\
import os, runpy, sys
del sys.argv[0]
sys.path[0] = os.path.dirname(sys.argv[0])
try:
    from xsched import _ray_worker
    _ray_worker.begin()
except Exception as error:
    print("xsched: no metrics and no later priorities of this worker: " + str(error), file=sys.stderr)
runpy.run_path(sys.argv[0], run_name="__main__")
"""

# A worker always begins: under `xsched run` where the node has it, else as it would without XSched.
# The interpreter is the user's own (XSCHED_RAY_PYTHON), else the one that Ray made for this runtime_env, else the raylet's.
_SCRIPT = """\
say() { echo "xsched: $HOSTNAME: $1" >&2; }
[ -z "$XSCHED_RAY_NOTE" ] || say "$XSCHED_RAY_NOTE"
py=$XSCHED_RAY_PYTHON
if [ -z "$py" ]; then
    case $(type -P python) in
    */runtime_resources/*) py=python ;;
    *) while IFS= read -r -d "" word; do
           case $word in --python_worker_command=*) py=${word#*=}; py=${py%% *} ;; esac
       done <"/proc/$PPID/cmdline" ;;
    esac
fi
[ -n "$py" ] || py=python3
case $py in
*" "*) ;;
*) set -- -c BOOT "$@" ;;
esac
case $py in
/*) beside=${py%% *} beside=${beside%/*}/xsched ;;
esac
for launcher in "$beside" "$(type -P xsched)" /usr/local/bin/xsched /usr/bin/xsched ""; do
    [ -x "$launcher" ] && "$launcher" --version >/dev/null 2>&1 && break
done
if [ -z "$launcher" ]; then
    say "XSched is not installed on this node: the worker runs unscheduled"
    exec $py "$@"
fi
exec "$launcher" run --no-server $XSCHED_RAY_OPTIONS -- $py "$@"
"""


def command() -> str:
    """The py_executable of a runtime_env."""
    return f"bash -c {shlex.quote(_SCRIPT.replace('BOOT', shlex.quote(_BOOT)))} {NAME}"


def is_command(py_executable: str) -> bool:
    """Whether it is one of ours, of this version or another."""
    return py_executable.startswith("bash -c ") and py_executable.endswith(" " + NAME)
