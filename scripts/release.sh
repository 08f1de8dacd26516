#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes a release from a tag: release.sh [TAG]   (default: the tag of HEAD). Into dist/TAG go
#
#   the sources as a tarball, the wheel and the source distribution, the Debian packages (without a word from lintian),
#   CHANGELOG (that version's part of NEWS.md), a bill of materials (CycloneDX) and SHA256SUMS.
#
# Everything is built in a clone of the tag, so that nothing that is not in it gets in. It fails where tag, CMakeLists.txt,
# debian/changelog, the Python package and NEWS.md do not name one version.
set -eu
cd "$(dirname "$0")/.."
top=$PWD
fail() { echo "release: $*" >&2; exit 1; }
tag=${1:-$(git describe --exact-match --tags 2>/dev/null || true)}
[ -n "$tag" ] && git rev-parse -q --verify "refs/tags/$tag" >/dev/null || fail "there is no tag ${tag:-at HEAD}: git tag v$(sed -n 's/^project(xsched VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)"
version=${tag#v} out=$top/dist/$tag tree=$top/build/release-$tag/xsched-$version
rm -rf "$out" "$(dirname "$tree")"
mkdir -p "$out" "$(dirname "$tree")"
git clone -q --branch "$tag" --depth 1 "file://$top" "$tree" 2>/dev/null
cd "$tree"

same() { [ "$2" = "$version" ] || fail "$1 says ${2:-nothing}, the tag $version"; }
same CMakeLists.txt "$(sed -n 's/^project(xsched VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)"
same debian/changelog "$(dpkg-parsechangelog -S Version)"
same python/xsched/_version.py "$(sed -n 's/^VERSION = "\(.*\)"/\1/p' python/xsched/_version.py)"
same NEWS.md "$(sed -n 's/^## \([0-9.]*\).*/\1/p' NEWS.md | head -1)"
awk '/^## /{n++} n == 1' NEWS.md >"$out/CHANGELOG"

git archive --prefix="xsched-$version/" HEAD | gzip -n9 >"$out/xsched-$version-source.tar.gz"

echo "release: the wheel"
scripts/setup.sh build wheel
scripts/wheel.sh "$out" >wheel.log 2>&1 || { tail -30 wheel.log; fail "the wheel"; }

echo "release: the packages"
scripts/setup.sh build deb
make --no-print-directory deb >deb.log 2>&1 || { tail -30 deb.log; fail "the packages"; }
lintian --allow-root --fail-on error,warning --tag-display-limit 0 build/deb/xsched_*.changes || fail "lintian"
cp build/deb/*.deb "$out/"

scripts/sbom.py "$version" build/wheel/deps/versions "$(git log -1 --format=%cI)" >"$out/xsched-$version.cdx.json"
cd "$out"
sha256sum -- * >SHA256SUMS
ls -l
rm -rf "$(dirname "$tree")"
