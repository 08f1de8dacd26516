# SPDX-License-Identifier: Apache-2.0
# Objects that are loaded into other people's programs: xs_preload_library(NAME ...).
#
#   xs_preload_library(preempt SONAME libpreempt.so.1 MAP libpreempt.map SOURCES ... LINK ...)
#
# They need nothing but libc and our own libraries, export only what the map names, and use no
# symbol newer than glibc 2.17.
add_library(xs_preload_flags INTERFACE)
target_link_libraries(xs_preload_flags INTERFACE xs_flags)
target_compile_options(xs_preload_flags INTERFACE -O2 -U_FORTIFY_SOURCE -fno-stack-protector
  -ftls-model=initial-exec -fno-plt)

function(xs_preload_library name)
  cmake_parse_arguments(A "PRIVATE_FOLDER" "SONAME;MAP" "SOURCES;LINK" ${ARGN})
  add_library(${name} SHARED ${A_SOURCES})
  target_link_libraries(${name} PRIVATE xs_preload_flags ${A_LINK} ${CMAKE_DL_LIBS} pthread)
  target_link_options(${name} PRIVATE -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/${A_MAP}
    -Wl,-z,relro,-z,now -Wl,-z,defs -Wl,--no-undefined-version)
  set_target_properties(${name} PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${A_MAP}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib BUILD_RPATH "\$ORIGIN:\$ORIGIN/.." INSTALL_RPATH "\$ORIGIN:\$ORIGIN/..")
  if(A_PRIVATE_FOLDER)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/xsched)
  endif()
endfunction()
