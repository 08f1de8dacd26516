# SPDX-License-Identifier: Apache-2.0
# Stub C libraries for preloaded objects, made from cmake/stubs/*.syms: they hold the names and
# versions of the allowed symbols and no code. Whatever links against them runs on every glibc
# from 2.17 and on musl, whatever C library this machine has; a symbol that is not listed is a
# link error. HACKING.md says how to add one.
#
# After inclusion: XS_STUB_FILES (to link with), XSCHED_STUB_LIBC set to OFF where it cannot work,
# target xs_stubs.
set(XS_STUB_FILES "")
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|aarch64|arm64)$")
  if(XSCHED_STUB_LIBC)
    message(WARNING "no stub libraries for ${CMAKE_SYSTEM_PROCESSOR}: preloaded objects need this machine's C library")
  endif()
  set(XSCHED_STUB_LIBC OFF)
endif()

# The oldest version that a processor's glibc has: older ones in the lists are raised to it.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(XS_STUB_FLOOR 2.17)
else()
  set(XS_STUB_FLOOR 2.2.5)
endif()
set(XS_STUB_CEILING 2.17)

# xs_stub_read(LIST_FILE ret_asm ret_map): the two sources of one stub library.
function(xs_stub_read file ret_asm ret_map)
  file(STRINGS ${file} lines REGEX "^[^#]")
  set(asm "")
  set(versions "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "[ \t]+" ";" row "${line}")
    list(LENGTH row columns)
    if(columns LESS 4)
      message(FATAL_ERROR "${file}: a row has name, since, func|data and why: ${line}")
    endif()
    list(GET row 0 name)
    list(GET row 1 since)
    list(GET row 2 kind)
    if(since VERSION_GREATER XS_STUB_CEILING)
      message(FATAL_ERROR "${file}: ${name} is newer than glibc ${XS_STUB_CEILING}")
    endif()
    if(since VERSION_LESS XS_STUB_FLOOR)
      set(since ${XS_STUB_FLOOR})
    endif()
    if(kind STREQUAL "func")
      string(APPEND asm "\t.globl ${name}\n\t.type ${name},%function\n${name}:\n\t.byte 0\n")
    elseif(kind STREQUAL "data")
      string(APPEND asm "\t.globl ${name}\n\t.type ${name},%object\n\t.size ${name},8\n${name}:\n\t.quad 0\n")
    else()
      message(FATAL_ERROR "${file}: ${name} is neither func nor data")
    endif()
    list(APPEND versions ${since})
    list(APPEND names_${since} ${name})
  endforeach()
  list(REMOVE_DUPLICATES versions)
  list(SORT versions COMPARE NATURAL)
  set(map "")
  foreach(v IN LISTS versions)
    list(JOIN names_${v} "; " names)
    string(APPEND map "GLIBC_${v} { global: ${names}; };\n")
  endforeach()
  set(${ret_asm} "\t.text\n${asm}\t.section .note.GNU-stack,\"\",%progbits\n" PARENT_SCOPE)
  set(${ret_map} "${map}" PARENT_SCOPE)
endfunction()

# xs_stub_library(NAME SONAME LIST FILE OUTPUT VAR): a stub library with the symbols of FILE, built
# under the file name that VAR then holds.
function(xs_stub_library list_name soname)
  cmake_parse_arguments(A "" "LIST;OUTPUT" "" ${ARGN})
  set(list_file ${A_LIST})
  set(dir ${PROJECT_BINARY_DIR}/stubs)
  if(NOT list_name MATCHES "^lib")
    set(dir ${PROJECT_BINARY_DIR}/stubs/${list_name})
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list_file})
  xs_stub_read(${list_file} asm map)
  file(CONFIGURE OUTPUT ${dir}/${list_name}.s CONTENT "${asm}" @ONLY)
  file(CONFIGURE OUTPUT ${dir}/${list_name}.map CONTENT "${map}" @ONLY)
  add_custom_command(OUTPUT ${dir}/${soname}
    COMMAND ${CMAKE_C_COMPILER} -shared -nostdlib -Wl,-soname,${soname}
            -Wl,--version-script=${dir}/${list_name}.map -o ${dir}/${soname} ${dir}/${list_name}.s
    DEPENDS ${dir}/${list_name}.s ${dir}/${list_name}.map
    COMMENT "Stub library ${soname}" VERBATIM)
  set(${A_OUTPUT} ${dir}/${soname} PARENT_SCOPE)
endfunction()

if(XSCHED_STUB_LIBC)
  foreach(pair libc:libc.so.6 libdl:libdl.so.2 libpthread:libpthread.so.0)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 name)
    list(GET pair 1 soname)
    xs_stub_library(${name} ${soname} LIST ${PROJECT_SOURCE_DIR}/cmake/stubs/${name}.syms OUTPUT stub)
    list(APPEND XS_STUB_FILES ${stub})
  endforeach()
  add_custom_target(xs_stubs ALL DEPENDS ${XS_STUB_FILES})
endif()
