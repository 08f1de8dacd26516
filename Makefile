# SPDX-License-Identifier: Apache-2.0
# A thin door to CMake: `make help`.
PREFIX ?= /usr/local
BUILD  ?= build/release
CCACHE := $(shell command -v ccache 2>/dev/null)
CONFIGURE = cmake $(if $(CCACHE),-DCMAKE_C_COMPILER_LAUNCHER=ccache)

# As the original XSched's README has it: `make cuda INSTALL_PATH=...` builds and installs, `make PLATFORM="cuda hip"` too.
INSTALL_PATH ?= $(CURDIR)/output
PLATFORMS = $(shell awk -F'"' '/^XS_PLATFORM.kPlatform/ && $$6 != "" { print $$4 }' src/base/platforms.def)
ABSENT    = $(filter-out $(PLATFORMS),ascend corex cuda cudla hip levelzero opencl vpi)

.PHONY: $(PLATFORMS) $(ABSENT) all help setup demo demo-third-party test test-fast fuzz sequences faults model soak trials long install deb wheel release lint figures clean
ifeq ($(origin PLATFORM),command line)
all: $(filter $(ABSENT),$(PLATFORM)) $(or $(firstword $(filter $(PLATFORMS),$(PLATFORM))),build)
else
all: build
endif

.PHONY: build
build: $(BUILD)/build.ninja
	cmake --build $(BUILD)

# All platforms are built at each time; none needs the vendor's toolkit.
$(PLATFORMS):
	@$(MAKE) --no-print-directory PLATFORM=NONE install PREFIX=$(abspath $(INSTALL_PATH))

$(ABSENT):
	@echo "there is no code for the platform $@ (there is for: $(PLATFORMS))" >&2; exit 2

help:
	@echo "make demo             install what is missing, build, run two programs on one device and show the table"
	@echo "make demo-third-party the same with programs of the distribution"
	@echo "make test             install what is missing, build with gcc and clang, run all tests and sanitizers"
	@echo "make test-fast        gcc build and the fast tests (under two minutes)"
	@echo "make fuzz             every parser against changed inputs (FUZZ_SECONDS=60 in all)"
	@echo "make sequences        random programs with and without XSched (SEQUENCES=100000 of 100 calls each)"
	@echo "make faults           every call that can fail fails once; deaths, clock jumps, ten thousand connections"
	@echo "make model            all interleavings of the shared words' protocols"
	@echo "make soak             bounded load, and counters that would show a leak (SOAK_SECONDS=60)"
	@echo "make long             longer tests, and programs of others where they are installed"
	@echo "make trials           add a function, a policy, a platform, a stage and a hint to a copy of the tree, build and test it"
	@echo "make                  build what is installed (build/release)"
	@echo "make install          ... into PREFIX ($(PREFIX)), under DESTDIR if set"
	@echo "make cuda             (hip, opencl) build, and install into INSTALL_PATH (output): as the original's README has it"
	@echo "make deb              Debian packages, into build/deb"
	@echo "make wheel            the Python wheel (manylinux_2_17) and the source distribution, into dist"
	@echo "make release          from a tag: tarball, wheel, Debian packages, bill of materials, checksums (TAG=v0.2.0), into dist"
	@echo "make lint             cppcheck, clang-tidy and gcc -fanalyzer over src/: a gate (scripts/lint.sh says more)"
	@echo "make figures          put the figures of docs/results into README.md and docs"
	@echo "make clean            remove build/"

setup:
	@scripts/setup.sh build

$(BUILD)/build.ninja:
	@scripts/setup.sh build
	$(CONFIGURE) --preset release -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX)

demo:
	@scripts/setup.sh build demo
	@$(CONFIGURE) --preset release >/dev/null
	cmake --build build/release
	XSCHED_BUILD_DIR=$(CURDIR)/build/release demo/run

demo-third-party:
	@scripts/setup.sh build demo third-party
	@$(CONFIGURE) --preset release >/dev/null
	cmake --build build/release
	XSCHED_BUILD_DIR=$(CURDIR)/build/release demo/third-party

test:
	@scripts/setup.sh build test
	@scripts/test.sh

test-fast:
	@scripts/setup.sh build test
	@scripts/test.sh fast

long:
	@scripts/setup.sh build test
	@scripts/test.sh long

fuzz:
	@scripts/setup.sh build test
	@scripts/fuzz.sh

sequences:
	@scripts/setup.sh build test
	@scripts/robust.sh sequences

faults:
	@scripts/setup.sh build test
	@scripts/robust.sh faults

model:
	@scripts/setup.sh build test
	@scripts/robust.sh model

soak:
	@scripts/setup.sh build test
	@scripts/robust.sh soak

trials:
	@scripts/setup.sh build test
	@scripts/trials.sh

# Some files name the prefix, so that another one than before means to build them anew.
install: build
	@grep -q '^CMAKE_INSTALL_PREFIX:[A-Z]*=$(PREFIX)$$' $(BUILD)/CMakeCache.txt || \
		{ $(CONFIGURE) --preset release -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null && cmake --build $(BUILD); }
	cmake --install $(BUILD) --prefix $(PREFIX)

deb:
	@scripts/setup.sh build deb
	rm -rf build/deb && mkdir -p build/deb/src
	git ls-files -z | tar c --null -T - | tar x -C build/deb/src
	cd build/deb/src && dpkg-buildpackage -b -uc -us
	@ls build/deb/*.deb

wheel:
	@scripts/setup.sh build wheel
	@scripts/wheel.sh

release:
	@scripts/release.sh $(TAG)

lint:
	@scripts/setup.sh build test
	@scripts/lint.sh

figures:
	@scripts/figures.py
	@scripts/bars.py

clean:
	rm -rf build
