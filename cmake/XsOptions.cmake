# SPDX-License-Identifier: Apache-2.0
# Options and the flags that every target has.
option(XSCHED_TESTS "build the tests" ${PROJECT_IS_TOP_LEVEL}) # not as a folder of somebody else's project
option(XSCHED_STUB_LIBC "link preloaded objects against stub libraries (one object for every libc)" ON)
set(XSCHED_SANITIZE "" CACHE STRING "address,undefined or thread; empty for none")
set_property(CACHE XSCHED_SANITIZE PROPERTY STRINGS "" "address,undefined" "thread")

option(XSCHED_RELEASE "what is installed: programs hardened, objects without the names of folders" OFF)
option(XSCHED_WERROR "warnings are errors: for who changes the code; another compiler may warn of more than ours" OFF)
option(XSCHED_FUZZ "build the fuzzers with libFuzzer (clang; target fuzzers)" OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(xs_flags INTERFACE)
target_include_directories(xs_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(xs_flags INTERFACE _GNU_SOURCE XSCHED_VERSION="${PROJECT_VERSION}")
target_compile_options(xs_flags INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wpointer-arith -Wwrite-strings -fno-strict-aliasing)
if(XSCHED_WERROR)
  target_compile_options(xs_flags INTERFACE -Werror)
endif()
if(XSCHED_RELEASE)
  # the same objects whatever folder they are built in
  target_compile_options(xs_flags INTERFACE -ffile-prefix-map=${PROJECT_BINARY_DIR}=build
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
endif()
if(XSCHED_SANITIZE)
  set(XSCHED_STUB_LIBC OFF)
  target_compile_options(xs_flags INTERFACE -fsanitize=${XSCHED_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer -O1 -g1)
  target_link_options(xs_flags INTERFACE -fsanitize=${XSCHED_SANITIZE})
endif()
if(XSCHED_FUZZ)
  target_compile_options(xs_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
