#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing of scripts/packages.txt: setup.sh [GROUP...]   (build, test, demo; default: all)
#
# With root, or sudo that asks for no password, apt-get installs it. Without, the missing packages
# are named and nothing is changed. XSCHED_SETUP=check never installs; XSCHED_SETUP=skip does
# nothing at all (for systems without dpkg where the tools are there).
set -eu
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
groups=${*:-build test demo}

[ "${XSCHED_SETUP:-install}" != skip ] || exit 0
if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    echo "setup: this system has no dpkg and apt-get. Install what these Debian packages hold, then run again" >&2
    echo "with XSCHED_SETUP=skip:" >&2
    for g in $groups; do sed -n "s/^$g  *\([^ ]*\).*/    \1/p" "$here/packages.txt"; done | sort -u >&2
    exit 1
fi

is_installed()
{
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# missing [optional]: the names, one a line, that are not installed
missing()
{
    for g in $groups; do
        while read -r group name kind; do
            [ "$group" = "$g" ] && [ "${kind:-}" = "${1:-}" ] || continue
            is_installed "$name" || echo "$name"
        done <"$here/packages.txt"
    done | sort -u
}

needed=$(missing)
optional=$(missing optional)
[ -n "$needed$optional" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    as_root=none
fi
if [ "$as_root" = none ] || [ "${XSCHED_SETUP:-install}" = check ]; then
    [ -n "$needed" ] || exit 0
    echo "setup: these packages are missing, and they may not be installed from here:" >&2
    echo "    apt-get install --no-install-recommends" $needed >&2
    echo "Run that as root, then the same command again." >&2
    exit 1
fi

# A machine of CI is thrown away: nothing need survive its crash, and nobody looks for manual pages.
quick=
if [ -n "${CI:-}" ]; then
    quick="-o DPkg::Options::=--force-unsafe-io"
    echo "man-db man-db/auto-update boolean false" | $as_root debconf-set-selections 2>/dev/null || true
fi
apt()
{
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
        -o Acquire::Retries=3 -o APT::Get::Assume-Yes=true $quick "$@" </dev/null
}

# One question for all: each takes a second or more.
look()
{
    candidates=$(apt-cache policy $needed $optional 2>/dev/null |
        sed -n -e '/^[^ ]/{s/:$//;h;}' -e '/^  Candidate: [^(]/{x;p;}')
}
has_candidate()
{
    printf '%s\n' "$candidates" | grep -qxF -e "$1"
}

look
known=yes
for p in $needed; do has_candidate "$p" || known=no; done
if [ "$known" = no ]; then
    echo "setup: apt-get update"
    apt update >/dev/null || echo "setup: apt-get update failed; trying with the lists that are there" >&2
    look
    for p in $needed; do
        has_candidate "$p" && continue
        echo "setup: no package source offers $p (on Ubuntu, enable the component \"universe\")" >&2
        exit 1
    done
fi
for p in $optional; do
    has_candidate "$p" && needed="$needed $p"
done
[ -n "$needed" ] || exit 0
echo "setup: installing" $needed
log=$(mktemp)
if ! apt install --no-install-recommends $needed >"$log" 2>&1; then
    # Lists that are older than the mirror name files that are gone: one more try with new ones.
    apt update >/dev/null 2>&1 || true
    if ! apt install --no-install-recommends $needed >"$log" 2>&1; then
        tail -20 "$log" >&2
        rm -f "$log"
        echo "setup: apt-get could not install them" >&2
        exit 1
    fi
fi
rm -f "$log"
