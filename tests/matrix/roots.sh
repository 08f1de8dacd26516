# SPDX-License-Identifier: Apache-2.0
# For scripts that make Debian roots and run something in them. They have skip().

. "$(dirname "${BASH_SOURCE[0]}")/mirror.sh"

# The name that debootstrap knows; nothing for another userland.
suite_of()
{
    case $1 in
    debian11) echo bullseye ;;
    debian12) echo bookworm ;;
    debian13) echo trixie ;;
    esac
}

# make_root SUITE ROOT SECONDS PACKAGES: once, whoever asks
make_root()
{
    local suite=$1 root=$2 seconds=$3 packages=$4 from
    exec 9>"$root.lock"
    flock 9
    [ -e "$root/.complete" ] && return
    [ "$(id -u)" = 0 ] || skip "debootstrap needs root"
    command -v debootstrap >/dev/null || skip "debootstrap is not installed"
    from=$(mirror)
    [ -n "$from" ] || skip "apt names no Debian mirror (set XSCHED_DEBIAN_MIRROR)"
    rm -rf "$root"
    if ! timeout "$seconds" debootstrap --variant=minbase --include="$packages" "$suite" "$root" "$from" \
            >"$root.log" 2>&1 </dev/null; then
        tail -3 "$root.log"
        skip "debootstrap of $suite failed"
    fi
    touch "$root/.complete"
}
