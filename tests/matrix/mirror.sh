# SPDX-License-Identifier: Apache-2.0
# For scripts that make Debian roots: where packages come from.

# The mirror that this machine's apt names, or $XSCHED_DEBIAN_MIRROR; nothing when there is none.
mirror()
{
    if [ -n "${XSCHED_DEBIAN_MIRROR:-}" ]; then echo "$XSCHED_DEBIAN_MIRROR"; return; fi
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep -m1 -E '/debian/?$'
}
