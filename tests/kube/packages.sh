#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# containerd 2 of Debian unstable and this distribution's runc, unpacked into a folder: packages.sh FOLDER
#
# 32 MB are downloaded, 120 MB unpacked; nothing is installed. They come from the mirror that this machine's apt names
# (XSCHED_DEBIAN_MIRROR names another); unstable's through an apt with a state of its own. Unstable's runc needs a newer C
# library than Debian 12 has. Exit status 77: they cannot be had (the reason is printed)
set -eu
[ $# = 1 ] || { sed -n '3,7s/^# \{0,1\}//p' "$0"; exit 1; }
. "$(dirname "$0")/../matrix/mirror.sh"
skip() { echo "skipped: $1"; exit 77; }
command -v apt-get >/dev/null || skip "this system has no apt-get"
mkdir -p "$1"
to=$(cd "$1" && pwd)
exec 9>"$to/lock"
flock 9
[ ! -e "$to/complete" ] || exit 0
from=$(mirror || true)
[ -n "$from" ] || skip "apt names no Debian mirror (set XSCHED_DEBIAN_MIRROR)"
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
Acquire::Languages "none";
Acquire::Retries "3";
END
cd "$tmp/debs"
timeout 120 apt-get -qq -o APT::Sandbox::User= download runc >"$tmp/log" 2>&1 || skip "runc: $(tail -1 "$tmp/log")"
export APT_CONFIG="$tmp/apt.conf"
timeout 120 apt-get -qq update >"$tmp/log" 2>&1 || skip "unstable's lists: $(tail -1 "$tmp/log")"
timeout 120 apt-get -qq download containerd >"$tmp/log" 2>&1 || skip "containerd: $(tail -1 "$tmp/log")"
for deb in *.deb; do
    dpkg-deb -x "$deb" "$tmp/root"
    echo "${deb%.deb}" >>"$tmp/versions"
done
mkdir -p "$to/bin"
mv "$tmp/root/usr/bin/containerd" "$tmp/root/usr/bin/containerd-shim-runc-v2" "$tmp/root/usr/bin/ctr" "$to/bin/"
mv "$(find "$tmp/root" -type f -name runc -perm -1 | head -1)" "$to/bin/runc"
mv "$tmp/versions" "$to/versions"
touch "$to/complete"
