#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the build into a scratch tree and uses it as somebody else would: install_test.sh BUILD_DIR SOURCE_DIR CC CXX
# Then ldconfig over the installed library folder: no vendor name may be found through it.
set -eu
build=$1 source=$2 cc=$3 cxx=$4
here=$source/tests/abi/install
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cmake --install "$build" --prefix "$tmp/root/usr" >"$tmp/log" || { cat "$tmp/log"; exit 1; }
pc=$(find "$tmp/root" -name xsched.pc)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH="$libdir/pkgconfig" LD_LIBRARY_PATH="$libdir"

packages=xsched define=
if [ -e "$libdir/pkgconfig/xsched-halopencl.pc" ]; then packages="xsched xsched-halopencl" define=-DUSE_OPENCL; fi
cp "$here/user.c" "$tmp/user.cc"
$cc -std=c11 -Wall -Wextra -pedantic -Werror $define $(pkg-config --cflags $packages) -o "$tmp/c" "$here/user.c" \
    $(pkg-config --libs $packages)
$cxx -std=c++11 -Wall -Wextra -pedantic -Werror $define $(pkg-config --cflags $packages) -o "$tmp/cc" "$tmp/user.cc" \
    $(pkg-config --libs $packages)
printf "%s" "pkg-config, C:   "
"$tmp/c"
printf "%s" "pkg-config, C++: "
"$tmp/cc"
[ "$(pkg-config --modversion xsched)" != "" ]

mkdir "$tmp/project"
cp "$here/CMakeLists.txt.in" "$tmp/project/CMakeLists.txt"
cmake -S "$tmp/project" -B "$tmp/project/build" -DSOURCE="$here/user.c" -DCMAKE_PREFIX_PATH="$tmp/root/usr" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
cmake --build "$tmp/project/build" >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
printf "%s" "find_package, C:   "
"$tmp/project/build/user_c"
printf "%s" "find_package, C++: "
"$tmp/project/build/user_cc"

# The tools find the installed objects by their own place, also after the tree was moved.
mv "$tmp/root" "$tmp/moved"
unset LD_LIBRARY_PATH
found=$("$tmp/moved/usr/bin/xsched" run --no-server --priority 3 -- /usr/bin/env 2>/dev/null | sed -n 's/^LD_PRELOAD=//p')
mv "$tmp/moved" "$tmp/root"
case $found in
*"$tmp/moved/usr/"*/xsched/libshim*.so*) echo "xsched run preloads from the installed tree" ;;
*) echo "xsched run of the installed tree preloads \"$found\""; exit 1 ;;
esac
export LD_LIBRARY_PATH="$libdir"

# The private folder: its objects carry vendor names, and nobody may come to them by a name.
PATH=$PATH:/sbin:/usr/sbin
command -v ldconfig >/dev/null || { echo "no ldconfig here; the rest is left out"; exit 0; }
inside=${libdir#"$tmp/root"}
cached()   # FOLDER...: the names that ldconfig finds there
{
    rm -rf "$tmp/root/etc"
    mkdir -p "$tmp/root/etc"
    printf '%s\n' "$@" >"$tmp/root/etc/ld.so.conf"
    ldconfig -X -r "$tmp/root" 2>/dev/null
    ldconfig -r "$tmp/root" -p | awk '/=>/ { print $1 }' | sort -u
}
cached "$inside" >"$tmp/names"
grep -qx 'libpreempt.so.1' "$tmp/names" || { echo "ldconfig does not see libpreempt.so.1:"; cat "$tmp/names"; exit 1; }
if grep -vE '^lib(preempt|hal[a-z]+)\.so(\.1)?$|^libshim[a-z]+\.so$' "$tmp/names"; then
    echo "ldconfig finds more than our own names through $inside"
    exit 1
fi
for shim in "$libdir"/xsched/*.so; do
    [ -e "$shim" ] || continue
    soname=$(readelf -dW "$shim" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
    # The other way round, so that this test can fail: named to ldconfig, the private folder does give the name.
    cached "$inside/xsched" >"$tmp/names"
    grep -qx "$soname" "$tmp/names" || { echo "expected $soname of $shim in a cache made on purpose"; exit 1; }
    echo "ldconfig: $soname is reached only by those who name the private folder"
done
