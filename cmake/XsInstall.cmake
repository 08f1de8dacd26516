# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, besides the objects of xs_preload_library and the programs,
# which their own rooms install: headers, pkg-config files, the CMake package XSched, man pages.
# Include it last, when all targets are known.
include(CMakePackageConfigHelpers)
include(XsPkgConfig)
set(XS_ORIGINAL_VERSION 1.2.0) # of the original XSched, whose public interface this is

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/xsched DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")

get_property(libraries GLOBAL PROPERTY XS_PUBLIC_LIBRARIES)
if(libraries)
  foreach(library IN LISTS libraries)
    xs_pkg_config(${library} ${library} FOLDER ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endforeach()

  set(XS_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/XSched)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/packaging/XSchedConfig.cmake.in
    ${PROJECT_BINARY_DIR}/packaging/XSchedConfig.cmake INSTALL_DESTINATION ${XS_CMAKE_DIR}
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
  configure_file(${PROJECT_SOURCE_DIR}/packaging/XSchedConfigVersion.cmake.in
    ${PROJECT_BINARY_DIR}/packaging/XSchedConfigVersion.cmake @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/packaging/XSchedConfig.cmake
    ${PROJECT_BINARY_DIR}/packaging/XSchedConfigVersion.cmake DESTINATION ${XS_CMAKE_DIR})
  install(EXPORT XSchedTargets NAMESPACE XSched:: DESTINATION ${XS_CMAKE_DIR})
endif()

# The vendors' names (XsShim.cmake): installed as links where that harms nobody, and in a folder of the build tree, which has
# all libraries as an installed LIBDIR has. Not in lib/ itself: programs of the build tree have that in their RUNPATH.
get_property(pairs GLOBAL PROPERTY XS_VENDOR_NAMES)
if(pairs)
  list(JOIN pairs " " XS_VENDOR_NAMES)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/VendorNames.cmake.in ${PROJECT_BINARY_DIR}/packaging/VendorNames.cmake @ONLY)
  install(SCRIPT ${PROJECT_BINARY_DIR}/packaging/VendorNames.cmake)
  set(output ${PROJECT_BINARY_DIR}/output/lib)
  file(MAKE_DIRECTORY ${output})
  foreach(pair IN LISTS pairs)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 file)
    list(GET pair 1 name)
    file(CREATE_LINK ${file} ${output}/${name} SYMBOLIC)
    file(CREATE_LINK ../../lib/${file} ${output}/${file} SYMBOLIC)
  endforeach()
  foreach(library IN LISTS libraries)
    foreach(file lib${library}.so lib${library}.so.1)
      file(CREATE_LINK ../../lib/${file} ${output}/${file} SYMBOLIC)
    endforeach()
  endforeach()
  file(CREATE_LINK ../../lib/xsched ${output}/xsched SYMBOLIC)
endif()
