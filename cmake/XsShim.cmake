# SPDX-License-Identifier: Apache-2.0
# The shims as they are loaded by path or through LD_LIBRARY_PATH: xs_shim_by_path(PLATFORM MAP file), after all that
# is said of the target shimPLATFORM (decision 0028).
#
# The object that xs_preload_library makes has the vendor's SONAME and lies in LIBDIR/xsched. This makes a second one of
# the same code, LIBDIR/libshimPLATFORM.so, whose SONAME is its own name, so that ldconfig offers nobody the vendor's.
# The names that a program may open (the column `sonames` of platforms.def) are taken by objects without functions in
# LIBDIR/xsched/names, on which it depends and which depend on it.
#
# XSCHED_VENDOR_NAMES: links with the vendor's names in LIBDIR, for LD_LIBRARY_PATH=LIBDIR. Where the dynamic linker
# looks by itself such a link would be everybody's driver: cmake/VendorNames.cmake asks for that when it installs.
set(XSCHED_VENDOR_NAMES AUTO CACHE STRING
  "links with the vendors' names beside our libraries: AUTO (unless LIBDIR is a system folder), ON, OFF")
set_property(CACHE XSCHED_VENDOR_NAMES PROPERTY STRINGS AUTO ON OFF)

# xs_shim_nodes(MAP OUT): the version nodes of a map, without functions.
function(xs_shim_nodes map out)
  file(READ ${map} text)
  string(REGEX MATCHALL "(^|\n)[A-Za-z][A-Za-z0-9._]* {" nodes "${text}")
  set(text "")
  set(before "")
  foreach(node IN LISTS nodes)
    string(REGEX REPLACE "[\n {]" "" node "${node}")
    if(NOT node MATCHES "^(GLIBC|XSCHED)_")
      string(APPEND text "${node} {\n  local:\n    *;\n}${before};\n")
      set(before " ${node}")
    endif()
  endforeach()
  if(NOT text)
    set(text "{\n  local:\n    *;\n};\n")
  endif()
  file(CONFIGURE OUTPUT ${out} CONTENT "${text}" @ONLY)
endfunction()

# A library to link with in place of one that does not exist yet.
function(xs_stand_in target soname)
  add_library(${target} SHARED ${PROJECT_SOURCE_DIR}/src/shim/common/stand_in.c)
  target_link_options(${target} PRIVATE -nostdlib -Wl,-soname,${soname})
  set_target_properties(${target} PROPERTIES NO_SONAME ON
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/stand-in)
endfunction()

# xs_shim_alias(SHIM TARGET SONAME soname FILE file MAP map FOLDER folder RPATH rpath [AUXILIARY|ON_DEMAND]): an object without
# functions. It depends on the shim by the name of its file, found by RPATH: musl knows a preloaded object by no other name.
# The shim depends on it. With AUXILIARY the shim works without it, too, as in a folder of the user's that has a link to
# the shim alone. With ON_DEMAND the shim opens it.
function(xs_shim_alias shim target)
  cmake_parse_arguments(A "AUXILIARY;ON_DEMAND" "SONAME;FILE;MAP;FOLDER;RPATH" "" ${ARGN})
  get_target_property(plain ${shim} OUTPUT_NAME)
  if(NOT plain)
    set(plain ${shim})
  endif()
  if(NOT TARGET ${shim}_stand_in)
    xs_stand_in(${shim}_stand_in lib${plain}.so)
  endif()
  set(nodes ${CMAKE_CURRENT_BINARY_DIR}/${target}.map)
  xs_shim_nodes(${A_MAP} ${nodes})
  add_library(${target} SHARED ${PROJECT_SOURCE_DIR}/src/shim/common/alias.c)
  target_link_libraries(${target} PRIVATE xs_preload_flags
    -Wl,--push-state,--no-as-needed $<TARGET_FILE:${shim}_stand_in> -Wl,--pop-state)
  add_dependencies(${target} ${shim}_stand_in)
  # An RPATH, not a RUNPATH: LD_LIBRARY_PATH comes between the two, and may lead to the other shim of that name.
  target_link_options(${target} PRIVATE -nostdlib -Wl,-soname,${A_SONAME} -Wl,-z,nodelete -Wl,-z,relro,-z,now
    -Wl,--disable-new-dtags
    -Wl,--version-script=${nodes} -Wl,-z,noexecstack)
  set_target_properties(${target} PROPERTIES NO_SONAME ON PREFIX "" SUFFIX "" OUTPUT_NAME ${A_FILE} LINK_DEPENDS ${nodes}
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${A_RPATH}" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/${A_FOLDER})
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/${A_FOLDER})
  set_property(GLOBAL APPEND PROPERTY XS_ALIAS_LIBRARIES ${target})
  if(A_AUXILIARY)
    target_link_options(${shim} PRIVATE -Wl,--auxiliary=${A_FILE})
  elseif(NOT A_ON_DEMAND)
    xs_stand_in(${target}_stand_in ${A_FILE})
    target_link_libraries(${shim} PRIVATE
      -Wl,--push-state,--no-as-needed $<TARGET_FILE:${target}_stand_in> -Wl,--pop-state)
    add_dependencies(${shim} ${target}_stand_in)
  endif()
  add_dependencies(${shim} ${target})
endfunction()

function(xs_shim_by_path platform)
  cmake_parse_arguments(A "NAMES_ON_DEMAND" "MAP" "" ${ARGN})
  set(on_demand "")
  if(A_NAMES_ON_DEMAND)
    set(on_demand ON_DEMAND)
  endif()
  set(private shim${platform})
  set(target shim${platform}_by_path)
  # The same objects and libraries; another SONAME and another place.
  add_library(${target} SHARED $<TARGET_OBJECTS:${private}>)
  foreach(property LINK_LIBRARIES LINK_OPTIONS LINK_DEPENDS)
    get_target_property(value ${private} ${property})
    if(value)
      list(FILTER value EXCLUDE REGEX "^-Wl,-soname,")
      set_target_properties(${target} PROPERTIES ${property} "${value}")
    endif()
  endforeach()
  get_target_property(dependencies ${private} MANUALLY_ADDED_DEPENDENCIES)
  if(dependencies)
    add_dependencies(${target} ${dependencies})
  endif()
  target_link_options(${target} PRIVATE -Wl,-soname,lib${private}.so)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME ${private} NO_SONAME ON
    EXPORT_NAME ${private} XS_SONAME lib${private}.so LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN:$ORIGIN/xsched/names")
  install(TARGETS ${target} EXPORT XSchedTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  add_library(XSched::${private} ALIAS ${target})
  set_property(GLOBAL APPEND PROPERTY XS_PRELOAD_LIBRARIES ${target})
  foreach(soname IN LISTS XS_PLATFORM_SONAMES_${platform})
    string(REGEX REPLACE "^lib" "libxsched-" file ${soname})
    string(MAKE_C_IDENTIFIER ${soname} id)
    xs_shim_alias(${target} alias_${id} SONAME ${soname} FILE ${file} MAP ${A_MAP} FOLDER xsched/names
      RPATH "$ORIGIN/../.." ${on_demand})
    set_property(GLOBAL APPEND PROPERTY XS_VENDOR_NAMES "lib${private}.so:${soname}")
  endforeach()
endfunction()
