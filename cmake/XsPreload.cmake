# SPDX-License-Identifier: Apache-2.0
# Objects that are loaded into other people's programs: xs_preload_library(NAME ...).
#
#   xs_preload_library(preempt SONAME libpreempt.so.1 MAP libpreempt.map SOURCES ... LINK ... [WHOLE ...])
#   xs_preload_library(shimopencl SONAME libOpenCL.so.1 PRIVATE_FOLDER MAP shim.map SOURCES ... LINK ...)
#
# SONAME libNAME.so.N gives the versioned file and its links; any other SONAME is the vendor's,
# and the file keeps the plain name libNAME.so. PRIVATE_FOLDER puts the object into xsched/ beside
# our other libraries, where ldconfig does not look, so that the vendor's name in it leads nobody
# else to it. LINK takes static rooms (xs_*_pre, as needed) and our own libraries; WHOLE takes
# static rooms all of whose members are wanted, since they hold exported functions.
#
# The objects need nothing but libc and our own libraries, export only what the map names, and use
# no symbol newer than glibc 2.17 (XsStubs.cmake). No start files are linked in, so there is
# nothing that could run when they are loaded.
include(XsStubs)

add_library(xs_preload_flags INTERFACE)
target_link_libraries(xs_preload_flags INTERFACE xs_flags)
# These stand after CMAKE_C_FLAGS, so they win over what package builders put there.
target_compile_options(xs_preload_flags INTERFACE -O2 -U_FORTIFY_SOURCE -U_FILE_OFFSET_BITS -U_TIME_BITS
  -fno-stack-protector -ftls-model=initial-exec -fno-plt -ffunction-sections -fdata-sections)

function(xs_preload_library name)
  cmake_parse_arguments(A "PRIVATE_FOLDER" "SONAME;MAP" "SOURCES;LINK;WHOLE" ${ARGN})
  set(map ${A_MAP})
  if(NOT IS_ABSOLUTE "${map}")
    set(map ${CMAKE_CURRENT_SOURCE_DIR}/${A_MAP})
  endif()
  add_library(${name} SHARED ${A_SOURCES})
  target_link_libraries(${name} PRIVATE xs_preload_flags ${A_LINK})
  foreach(room IN LISTS A_WHOLE)
    target_link_libraries(${name} PRIVATE -Wl,--whole-archive $<TARGET_FILE:${room}> -Wl,--no-whole-archive)
    target_include_directories(${name} PRIVATE $<TARGET_PROPERTY:${room},INTERFACE_INCLUDE_DIRECTORIES>)
    add_dependencies(${name} ${room})
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS $<TARGET_FILE:${room}>)
  endforeach()
  target_link_options(${name} PRIVATE -Wl,--version-script=${map} -Wl,--no-undefined-version
    -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,-z,nodelete -Wl,--enable-new-dtags -Wl,--gc-sections)
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${map})

  if(XSCHED_STUB_LIBC)
    target_link_options(${name} PRIVATE -nostdlib -Wl,-z,defs)
    list(JOIN XS_STUB_FILES "," stubs)   # as a flag: CMake would turn such a path into -lc
    target_link_libraries(${name} PRIVATE -Wl,--push-state,--as-needed,${stubs},--pop-state -lgcc)
    add_dependencies(${name} xs_stubs)
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${XS_STUB_FILES})
  else()
    # No -z defs here: a sanitizer's runtime comes with the program.
    target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS} pthread)
  endif()

  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  if(A_SONAME MATCHES "^lib${name}\\.so\\.([0-9]+)$")
    set_target_properties(${name} PROPERTIES SOVERSION ${CMAKE_MATCH_1} VERSION ${CMAKE_MATCH_1}.${PROJECT_VERSION})
  else()
    set_target_properties(${name} PROPERTIES NO_SONAME ON)
    target_link_options(${name} PRIVATE -Wl,-soname,${A_SONAME})
  endif()
  if(A_PRIVATE_FOLDER)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/xsched
      INSTALL_RPATH "$ORIGIN:$ORIGIN/..")
    install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/xsched)
    set_property(GLOBAL APPEND PROPERTY XS_PRIVATE_LIBRARIES ${name})
  else()
    # for those who link with it from a folder of the tree (add_subdirectory); the package's target has the installed one
    target_include_directories(${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
    add_library(XSched::${name} ALIAS ${name})
    install(TARGETS ${name} EXPORT XSchedTargets
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
      INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    set_property(GLOBAL APPEND PROPERTY XS_PUBLIC_LIBRARIES ${name})
  endif()
  set_target_properties(${name} PROPERTIES XS_SONAME ${A_SONAME})
  set_property(GLOBAL APPEND PROPERTY XS_PRELOAD_LIBRARIES ${name})
endfunction()
