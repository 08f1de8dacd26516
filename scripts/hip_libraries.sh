#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian unstable's hipBLAS, rocBLAS, MIOpen, rocFFT, rocRAND, hipRAND and hipRTC with the C library that they need,
# unpacked into a folder for the test hip.operations: hip_libraries.sh FOLDER
#
# 300 MB are downloaded, 4 GB unpacked; nothing is installed. Packages come from the mirror that this machine's apt names
# (XSCHED_DEBIAN_MIRROR names another), through an apt with a state of its own.
set -eu
[ $# = 1 ] || { sed -n '3,7s/^# \{0,1\}//p' "$0"; exit 1; }
. "$(dirname "$0")/../tests/matrix/mirror.sh"
from=$(mirror)
[ -n "$from" ] || { echo "apt names no Debian mirror (set XSCHED_DEBIAN_MIRROR)"; exit 1; }
mkdir -p "$1"
to=$(cd "$1" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial" "$tmp/debs"
: >"$tmp/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $from sid main" >"$tmp/sources.list"
cat >"$tmp/apt.conf" <<END
Dir::State::Lists "$tmp/lists";
Dir::State::Status "$tmp/status";
Dir::Cache "$tmp/cache";
Dir::Etc::SourceList "$tmp/sources.list";
Dir::Etc::SourceParts "$tmp/none";
APT::Sandbox::User "";
END
export APT_CONFIG="$tmp/apt.conf"
apt-get -qq update
# what they need; their runtime is the fake one. MIOpen names the version of Boost.
boost=$(apt-cache depends libmiopen1 | sed -n 's/^ *Depends: \(libboost-[a-z]*[0-9.]*\)$/\1/p')
[ -n "$boost" ] || { echo "no libmiopen1 there"; exit 1; }
# hipRTC opens the compiler, which needs the most of all
compiler=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances \
    libamd-comgr3 | grep '^[a-z]' | sort -u)
cd "$tmp/debs"
# shellcheck disable=SC2086
apt-get -q download libhipblas2 librocblas4 libmiopen1 libroctx64-4 librocfft0 librocrand1 libhiprand1 libhiprtc6 \
    libhiprtc-builtins6 libnuma1 libbz2-1.0 libsqlite3-0 $compiler $boost >/dev/null
for deb in *.deb; do dpkg -x "$deb" "$to"; done
for deb in lib[hmr]*.deb; do echo "${deb%.deb}"; done | tee "$to/versions"
