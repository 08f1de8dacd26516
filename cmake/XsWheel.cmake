# SPDX-License-Identifier: Apache-2.0
# What the wheel holds (pyproject.toml): a prefix with bin/, lib/, include/ and share/, as an installed XSched has, which
# becomes that of the Python environment. So xsched finds its libraries beside itself, the Python package finds both, and
# man(1) finds the pages of a prefix whose bin/ is on PATH.
# A wheel holds no links: a library has the one name by which it is loaded, and the .pc files link with that.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME wheel)
foreach(program IN LISTS XS_WHEEL_PROGRAMS)
  install(PROGRAMS $<TARGET_FILE:${program}> DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)
endforeach()

get_property(libraries GLOBAL PROPERTY XS_PRELOAD_LIBRARIES)
get_property(aliases GLOBAL PROPERTY XS_ALIAS_LIBRARIES)
foreach(library IN LISTS libraries aliases)
  get_target_property(folder ${library} LIBRARY_OUTPUT_DIRECTORY)
  file(RELATIVE_PATH folder ${PROJECT_BINARY_DIR} ${folder})
  get_target_property(version ${library} SOVERSION)
  if(version)
    set(name $<TARGET_SONAME_FILE_NAME:${library}>)
  else()
    set(name $<TARGET_FILE_NAME:${library}>)
  endif()
  install(PROGRAMS $<TARGET_FILE:${library}> DESTINATION ${SKBUILD_DATA_DIR}/${folder} RENAME ${name} COMPONENT wheel)
endforeach()

get_property(manifests GLOBAL PROPERTY XS_LAYER_MANIFESTS)
foreach(manifest IN LISTS manifests)
  get_filename_component(folder ${manifest} DIRECTORY)
  install(FILES ${PROJECT_BINARY_DIR}/lib/${manifest} DESTINATION ${SKBUILD_DATA_DIR}/lib/${folder} COMPONENT wheel)
endforeach()

set(XSCHED_LICENSES "" CACHE PATH "the folder with the licences of libraries that are linked into the programs")
if(XSCHED_LICENSES)
  install(DIRECTORY ${XSCHED_LICENSES}/ DESTINATION ${SKBUILD_METADATA_DIR}/licenses/linked COMPONENT wheel)
endif()

include(XsPkgConfig)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/xsched DESTINATION ${SKBUILD_DATA_DIR}/include FILES_MATCHING PATTERN "*.h")
get_property(libraries GLOBAL PROPERTY XS_PUBLIC_LIBRARIES)
foreach(library IN LISTS libraries)
  get_target_property(version ${library} SOVERSION)
  xs_pkg_config(${library} :lib${library}.so.${version} FOLDER ${SKBUILD_DATA_DIR}/lib/pkgconfig)
endforeach()

# Manual pages, and what xsched-verify-hip runs.
set(CMAKE_INSTALL_DATADIR ${SKBUILD_DATA_DIR}/share)
set(CMAKE_INSTALL_MANDIR ${SKBUILD_DATA_DIR}/share/man)
set(CMAKE_INSTALL_LIBEXECDIR ${SKBUILD_DATA_DIR}/libexec)
add_subdirectory(docs/man)
add_subdirectory(tests/gpu)
